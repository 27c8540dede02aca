//! What `scheme = "waha"` adds to a source.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// WAHA, a gateway to `WhatsApp`, with the HMAC of its webhooks turned on.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WahaConfig {}
