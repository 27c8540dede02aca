//! A server of a test's own that a sink writes to: to be stopped, killed, frozen and started again on
//! the same port.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::bed::port;

/// How long a server may take to start.
const LIMIT: Duration = Duration::from_secs(180);

/// A server, killed when it is dropped.
pub(crate) struct Broker {
    _dir: tempfile::TempDir,
    pub(crate) port: u16,
    command: Command,
    running: Option<Child>,
}

impl Broker {
    /// Starts what `command` makes of a folder of its own and a free port.
    pub(crate) fn start(command: impl FnOnce(&Path, u16) -> Command) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let port = port::free();
        let mut command = command(dir.path(), port);
        command.current_dir(dir.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut broker = Self { _dir: dir, port, command, running: None };
        broker.up();
        broker
    }

    /// Starts it again, and waits until it listens.
    pub(crate) fn up(&mut self) {
        assert!(self.running.is_none(), "it runs");
        self.running = Some(self.command.spawn().unwrap());
        let address = SocketAddr::from(([127, 0, 0, 1], self.port));
        let until = Instant::now() + LIMIT;
        while TcpStream::connect(address).is_err() {
            assert!(Instant::now() < until, "it doesn't start");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends it in order.
    pub(crate) fn stop(&mut self) {
        self.signal(Signal::TERM);
        self.running.take().unwrap().wait().unwrap();
    }

    /// Ends it at once.
    pub(crate) fn kill(&mut self) {
        let mut running = self.running.take().unwrap();
        running.kill().unwrap();
        running.wait().unwrap();
    }

    /// `Signal::STOP` freezes it, `Signal::CONT` lets it go on.
    pub(crate) fn signal(&self, signal: Signal) {
        let id = self.running.as_ref().unwrap().id();
        kill_process(Pid::from_raw(i32::try_from(id).unwrap()).unwrap(), signal).unwrap();
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        if self.running.is_some() {
            self.kill();
        }
    }
}
