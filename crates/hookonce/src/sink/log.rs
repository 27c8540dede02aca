//! Writes each event as a line of JSON: for trying things out, and for pipes.

use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use serde::Serialize;

use crate::step::{Done, Failure, Step, StepContext};
use crate::store::{EventSummary, Store};

/// Writes the event as the admin API shows it, with its payload, as one line.
///
/// The line is an effect, not a log: it has the payload, and with it personal data.
pub struct LogSink {
    store: Arc<dyn Store>,
    out: Arc<Mutex<Box<dyn Write + Send>>>,
}

/// What a line consists of.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    summary: &'a EventSummary,
    payload: &'a Option<String>,
}

impl LogSink {
    /// Writes to `out` what `store` knows of each event.
    pub fn new(store: Arc<dyn Store>, out: Box<dyn Write + Send>) -> Self {
        Self { store, out: Arc::new(Mutex::new(out)) }
    }
}

#[async_trait]
impl Step for LogSink {
    async fn run(&self, context: &StepContext<'_>) -> Result<Done, Failure> {
        let id = context.claim.event.id;
        let Some(details) = self.store.get(id).await? else {
            return Err(Failure::permanent(format!("event `{id}` is no longer stored")));
        };
        let line = Line { summary: &details.summary, payload: &details.payload };
        let mut line = serde_json::to_vec(&line)?;
        line.push(b'\n');
        // A pipe that nobody reads blocks whoever writes to it. That must be none of the threads
        // that serve requests.
        let out = self.out.clone();
        tokio::task::spawn_blocking(move || {
            // A writer that panicked has at worst left half a line.
            let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
            out.write_all(&line).and_then(|()| out.flush())
        })
        .await??;
        Ok(Done::PLAIN)
    }
}

impl fmt::Debug for LogSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LogSink")
    }
}
