//! Which of a source's secrets its requests were signed with, counted by position.

use std::sync::OnceLock;

/// So many secrets of a source have counters of their own; those behind them share one. A rotation
/// needs two.
const COUNTED: usize = 8;

/// The counters of one source's secrets, each looked up when it is first needed: a secret that never
/// matched is not shown.
#[derive(Debug, Default)]
pub(super) struct Secrets([OnceLock<metrics::Counter>; COUNTED]);

impl Secrets {
    /// The counter of the secret at `position`, from 0.
    pub(super) fn counter(&self, source: &str, position: usize) -> &metrics::Counter {
        let position = position.min(COUNTED - 1);
        self.0[position].get_or_init(|| {
            let shown = (position + 1).to_string();
            metrics::counter!(
                "hookonce_secret_requests_total", "source" => source.to_owned(), "secret" => shown
            )
        })
    }
}
