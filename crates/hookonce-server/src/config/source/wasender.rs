//! What `scheme = "wasender"` adds to a source.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `WASenderApi`, a gateway to `WhatsApp`. Its `X-Webhook-Signature` is the secret itself, so that
/// nothing signs the body. One source for each session.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WasenderConfig {}
