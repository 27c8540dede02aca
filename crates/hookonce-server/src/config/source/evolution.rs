//! What `scheme = "evolution"` adds to a source.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Evolution API, a gateway to `WhatsApp`. Nothing signs the body of its requests.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct EvolutionConfig {
    /// What proves the sender. `jwt`: a token in `Authorization`, under the `jwt_key` among the
    /// webhook's headers. `header`: the secret itself, in the header that `header` names.
    pub(crate) signature: EvolutionSignatureName,
    /// Name of the header that has the secret, such as `X-Webhook-Secret`; with
    /// `signature = "header"` only.
    pub(crate) header: Option<String>,
}

/// What proves that Evolution API sent a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EvolutionSignatureName {
    /// A token.
    #[default]
    Jwt,
    /// The secret itself.
    Header,
}
