//! The sections of the admin listener.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who may reach the admin listener.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct AdminConfig {
    /// Further names under which the admin listener is reached, such as that of a proxy in front of
    /// it. It answers to loopback addresses, `localhost` and the host of `server.admin_listen`; a
    /// request for any other name is refused, so that no web page can reach it through a name of
    /// its own.
    pub(crate) hosts: Vec<String>,
}

/// Somebody who may call the admin API. Without any, every call is answered 401.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TokenConfig {
    /// What the audit calls whoever has it.
    pub(crate) name: String,
    /// `view`: may look at everything. `operate`: may also replay and bury. `worker`: may claim and
    /// finish the tasks of its `routes`, and look at these.
    pub(crate) role: RoleName,
    /// What comes with every call as `Authorization: Bearer`; at least 16 characters. Written like a
    /// source's secret.
    pub(crate) token: String,
    /// Names of the routes whose tasks a `worker` may claim, each with `worker = "external"`;
    /// required there, and for no other role.
    #[serde(default)]
    pub(crate) routes: Vec<String>,
}

/// What a token allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RoleName {
    /// To look at everything.
    View,
    /// To look at everything, and to steer.
    Operate,
    /// To claim the tasks of its routes.
    Worker,
}

impl RoleName {
    /// The word for the role.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Operate => "operate",
            Self::Worker => "worker",
        }
    }
}
