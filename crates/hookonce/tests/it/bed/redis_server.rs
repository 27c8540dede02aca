//! A Redis server of a test's own.

use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::port;

/// Settings of a server that has on the disk whatever it has answered.
pub(crate) const EACH_TO_DISK: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];

/// A server that ends when it is dropped, with all that is in it.
#[derive(Debug)]
pub(crate) struct Server {
    process: Mutex<Child>,
    port: u16,
    settings: Vec<String>,
    client: redis::Client,
    dir: TempDir,
}

impl Server {
    /// Starts a server, with these settings beside; without any, it keeps nothing on the disk.
    pub(crate) fn start(settings: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
        loop {
            // Another program may take the port before the server does.
            let port = port::free();
            let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).unwrap();
            if let Some(process) = process(port, &settings, &dir) {
                return Self { process: Mutex::new(process), port, settings, client, dir };
            }
        }
    }

    /// Kills the server, and starts it again on what it has on the disk.
    pub(crate) fn restart(&self) {
        let mut running = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        running.kill().unwrap();
        running.wait().unwrap();
        let start = Instant::now();
        *running = loop {
            // A connection of another test may have the port for a moment.
            if let Some(process) = process(self.port, &self.settings, &self.dir) {
                break process;
            }
            assert!(start.elapsed() < Duration::from_secs(20), "port {} stays taken", self.port);
        };
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn client(&self) -> redis::Client {
        self.client.clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let process = self.process.get_mut().unwrap_or_else(PoisonError::into_inner);
        // It is gone either way.
        let _ = process.kill();
        let _ = process.wait();
    }
}

/// Starts a server; none where its port is taken.
#[expect(clippy::zombie_processes, reason = "a test that fails here ends with its process")]
fn process(port: u16, settings: &[String], dir: &TempDir) -> Option<Child> {
    // At the port somebody else's server may answer. It has its port before it has this.
    let socket = dir.path().join("socket");
    let client = redis::Client::open(format!("redis+unix://{}", socket.display())).unwrap();
    let mut process = Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        .args(["--save", "", "--loglevel", "warning", "--dir"])
        .arg(dir.path())
        .arg("--unixsocket")
        .arg(&socket)
        .args(settings)
        .stdout(Stdio::piped())
        .spawn()
        .expect("`redis-server` is installed, as scripts/test.sh does");
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(20) {
        if let Some(status) = process.try_wait().unwrap() {
            let mut said = String::new();
            process.stdout.take().unwrap().read_to_string(&mut said).unwrap();
            assert!(said.contains("bind"), "redis-server ended with {status}: {said}");
            return None;
        }
        let answers = client
            .get_connection()
            .and_then(|mut connection| redis::cmd("PING").query::<String>(&mut connection));
        match answers {
            Ok(_) => return Some(process),
            // One that wants a password answers, too; one that reads its file is not there yet.
            Err(error) if !error.is_io_error() && error.code() != Some("LOADING") => {
                return Some(process);
            }
            Err(_) => std::thread::yield_now(),
        }
    }
    panic!("redis-server did not answer on port {port}");
}
