//! Cutting a proven request into its events, a long one apart from what serves connections.
//!
//! Stores nothing, and gives back none of the budget while the body is held.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::Rejection;
use super::body::Held;
use crate::event::NewEvent;
use crate::scheme::{Origin, Scheme, Verified};

/// From this length on, in bytes, a body is parsed apart.
const LONG_BODY: usize = 64 << 10;

/// Cuts a request into its events; a long one apart, so that no other request waits meanwhile. What it
/// holds of the budget goes with it: if the client hangs up, what has begun goes on.
pub(super) async fn parse(
    scheme: &Arc<dyn Scheme>,
    (verified, held): (Verified, Held),
    origin: Origin,
) -> Result<(Vec<NewEvent>, Held), Rejection> {
    if verified.body().len() < LONG_BODY {
        return Ok((scheme.parse(&verified, &origin), held));
    }
    let scheme = Arc::clone(scheme);
    // Dropped with the request, so that what has not begun then never does.
    let mut parsing = JoinSet::new();
    parsing.spawn_blocking(move || {
        let events = scheme.parse(&verified, &origin);
        // Before what it counts.
        drop(verified);
        (events, held)
    });
    match parsing.join_next().await {
        Some(Ok(parsed)) => Ok(parsed),
        Some(Err(error)) => match error.try_into_panic() {
            // That is the connection's.
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime ends. The sender's next copy finds another.
            Err(_) => Err(Rejection::NotStored),
        },
        None => Err(Rejection::NotStored),
    }
}
