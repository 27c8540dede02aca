//! The section of a store on Redis.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a `store` that is `redis://…` or `redis+cluster://…` is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct RedisConfig {
    /// How many replicas must have what a webhook brought before it is answered. 0: the server alone,
    /// and a failover to a replica may lose what was answered in its last moments.
    pub(crate) wait_replicas: usize,
    /// The password, where `store` has none: `env:NAME` or `file:PATH`.
    pub(crate) password: Option<String>,
}
