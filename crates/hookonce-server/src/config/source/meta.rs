//! What `scheme = "meta"` adds to a source.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `WhatsApp` Business and everything else that Meta sends, from Meta itself or by 360dialog.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct MetaConfig {
    /// Who signs. `meta`: Meta, by `X-Hub-Signature-256`. `dialog360`: 360dialog, by
    /// `x-360dialog-signature` under the platform secret; it asks no challenge.
    pub(crate) signature: MetaSignatureName,
    /// Answers Meta's question whether we are who it thinks (the challenge); written like a secret.
    /// Without one, challenges are refused.
    pub(crate) verify_token: Option<String>,
}

/// Who signs what Meta sends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MetaSignatureName {
    /// Meta itself.
    #[default]
    Meta,
    /// 360dialog.
    Dialog360,
}
