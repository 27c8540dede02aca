//! Tells open pages that something has changed: one look at the store a second for all of them, and none
//! while nobody looks.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use hookonce::store::Store;
use tokio::sync::watch;

use super::Failure;
use super::session::Session;
use crate::admin::Shared;

/// How often it is looked.
const LOOK: Duration = Duration::from_secs(1);

/// What open pages are told.
#[derive(Debug)]
pub(crate) struct Live(watch::Sender<u64>);

impl Live {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(0))
    }

    /// Looks for as long as it runs.
    pub(crate) async fn keep_up(&self, store: &dyn Store) {
        let mut last = None;
        loop {
            tokio::time::sleep(LOOK).await;
            if self.0.receiver_count() == 0 {
                continue;
            }
            // What can't be counted now is counted the next time.
            let Ok(counts) = store.counts().await else { continue };
            if last.as_ref() != Some(&counts) {
                last = Some(counts);
                self.0.send_modify(|version| *version += 1);
            }
        }
    }
}

/// Says each time that something has changed.
pub(super) async fn follow(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    if let Err(failure) = Session::of(&shared, &headers, "/") {
        return match failure {
            Failure::SignedOut(_) => axum::http::StatusCode::UNAUTHORIZED.into_response(),
            other => other.into_response(),
        };
    }
    let changes = stream::unfold(shared.live.0.subscribe(), async |mut changes| {
        changes.changed().await.ok()?;
        let version = *changes.borrow_and_update();
        Some((Ok::<_, Infallible>(Event::default().data(version.to_string())), changes))
    });
    Sse::new(changes).keep_alive(KeepAlive::default()).into_response()
}
