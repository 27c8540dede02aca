//! What the server is told while it runs: to stop, or to read its configuration anew.

/// What a signal tells the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    /// To finish what runs and end.
    Stop,
    /// To read its configuration anew.
    Reload,
}

/// The signals that the server listens to.
#[derive(Debug)]
pub(super) struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    hangup: tokio::signal::unix::Signal,
    /// A write beyond a limit of file size: unwatched it ends the process, watched the write fails
    /// and is answered as on a full disk.
    #[cfg(unix)]
    _file_size: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub(super) fn watch() -> anyhow::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
            _file_size: signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?,
        })
    }

    pub(super) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.terminate.recv() => Signal::Stop,
            _ = self.interrupt.recv() => Signal::Stop,
            _ = self.hangup.recv() => Signal::Reload,
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    pub(super) fn watch() -> anyhow::Result<Self> {
        Ok(Self {})
    }

    pub(super) async fn next(&mut self) -> Signal {
        // Where Ctrl-C can't be watched nothing can be waited for.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Signal::Stop
    }
}

impl Signals {
    /// Waits to be told to stop.
    pub(super) async fn stop(&mut self) {
        while self.next().await != Signal::Stop {}
    }
}
