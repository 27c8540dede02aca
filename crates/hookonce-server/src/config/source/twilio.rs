//! What `scheme = "twilio"` adds to a source.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Twilio's messages and status callbacks. It signs the address that it was given: `public_url` is
/// that address, without a query.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TwilioConfig {}
