//! What goes into a command and what comes out of it. Of what comes out the end is kept.

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::ChildStdin;

use super::process::Pipes;
use crate::sink::quote;

/// How much of an output is kept, in bytes: enough for what is quoted of it.
const KEPT: usize = 4 << 10;

/// The ends of a command's outputs, so far.
#[derive(Debug, Default)]
pub(super) struct Output {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Output {
    /// Hands the payload over and reads both outputs to their ends, all at the same time: neither
    /// side ever waits for the other. What was read stays when this is dropped.
    pub(super) async fn talk(&mut self, pipes: Pipes, payload: &[u8]) {
        let Pipes { stdin, stdout, stderr } = pipes;
        tokio::join!(
            hand_over(stdin, payload),
            read(stdout, &mut self.stdout),
            read(stderr, &mut self.stderr),
        );
    }

    /// What was said at last, to stand behind an error: on standard error, else on standard output.
    pub(super) fn quote(&self) -> String {
        let quotes = [&self.stderr, &self.stdout].map(|output| quote::last(output));
        let quote = quotes.into_iter().find(|quote| !quote.is_empty());
        quote.map_or_else(String::new, |quote| format!(": {quote}"))
    }
}

/// Writes the payload, and closes the pipe behind it.
async fn hand_over(stdin: Option<ChildStdin>, payload: &[u8]) {
    if let Some(mut stdin) = stdin {
        // It fails where nobody reads (any more). Whether all that mattered was read, the command
        // knows: its exit says it.
        let _ = stdin.write_all(payload).await;
    }
}

/// Reads to the end; keeps the last part.
async fn read(pipe: Option<impl AsyncRead + Unpin>, kept: &mut Vec<u8>) {
    let Some(mut pipe) = pipe else { return };
    let mut part = vec![0; KEPT];
    while let Ok(length @ 1..) = pipe.read(&mut part).await {
        kept.extend_from_slice(&part[..length]);
        kept.drain(..kept.len().saturating_sub(KEPT));
    }
}
