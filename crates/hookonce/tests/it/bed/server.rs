//! A PostgreSQL server of a test's own, to be stopped, started and set otherwise.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::port;
use super::postgres::address;

/// Where its programs are; `scripts/servers.sh` says so.
const PROGRAMS: &str = "HOOKONCE_TEST_POSTGRES_BIN";

/// A server that ends when it is dropped.
pub(crate) struct Server {
    dir: tempfile::TempDir,
    pub(crate) port: u16,
}

impl Server {
    /// Starts one with these lines in its settings.
    pub(crate) fn start(settings: &str) -> Self {
        let server = Self::make();
        let data = server.data();
        let data = data.to_str().unwrap();
        server.run("initdb", &["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N"]);
        server.set(settings);
        server.up();
        server
    }

    /// Starts a standby of this one.
    pub(crate) fn standby(&self) -> Self {
        let other = Self::make();
        let (data, port) = (other.data(), self.port.to_string());
        let data = data.to_str().unwrap();
        let from = ["-h", "127.0.0.1", "-p", &port, "-U", "postgres", "-D", data];
        self.run("pg_basebackup", &[&from[..], &["-R", "--checkpoint=fast"]].concat());
        other.set("");
        other.up();
        other
    }

    fn make() -> Self {
        let dir = tempfile::tempdir().unwrap();
        if let Some((user, group)) = other_user() {
            chown(dir.path(), Some(user), Some(group)).unwrap();
        }
        Self { dir, port: port::free() }
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Writes a file beside its data, that only it may read; gives its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.dir.path().join(name);
        own(&path, text);
        path.to_str().unwrap().to_owned()
    }

    /// Adds lines to its settings, for its next start or reload.
    fn set(&self, settings: &str) {
        let path = self.data().join("postgresql.conf");
        let before = fs::read_to_string(&path).unwrap();
        let (port, dir) = (self.port, self.dir.path().display());
        let base = "listen_addresses = '127.0.0.1'\nfsync = off\n";
        let settings = format!(
            "{before}\n{base}port = {port}\nunix_socket_directories = '{dir}'\n{settings}\n"
        );
        own(&path, &settings);
    }

    /// Lets in whom these lines let in.
    pub(crate) fn let_in(&self, lines: &str) {
        own(&self.data().join("pg_hba.conf"), lines);
        self.control(&["reload"]);
    }

    pub(crate) fn up(&self) {
        let log = self.dir.path().join("log");
        self.control(&["-l", log.to_str().unwrap(), "-w", "start"]);
    }

    /// `fast` or `immediate`.
    pub(crate) fn stop(&self, mode: &str) {
        self.control(&["-m", mode, "-w", "stop"]);
    }

    pub(crate) fn promote(&self) {
        self.control(&["-w", "promote"]);
    }

    fn control(&self, arguments: &[&str]) {
        let data = self.data();
        self.run("pg_ctl", &[&["-D", data.to_str().unwrap()], arguments].concat());
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let done = self.try_run(program, arguments);
        assert!(done, "{program} {arguments:?} failed");
    }

    fn try_run(&self, program: &str, arguments: &[&str]) -> bool {
        let mut command = Command::new(Path::new(&address(PROGRAMS)).join(program));
        command.args(arguments).current_dir(self.dir.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some((user, group)) = other_user() {
            command.uid(user).gid(group);
        }
        command.status().unwrap().success()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let data = self.data();
        self.try_run("pg_ctl", &["-D", data.to_str().unwrap(), "-m", "immediate", "-w", "stop"]);
    }
}

/// Writes a file that the server's user may read, and nobody else.
fn own(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    if let Some((user, group)) = other_user() {
        chown(path, Some(user), Some(group)).unwrap();
    }
}

/// Whom the server runs as where we are root, which it refuses to.
fn other_user() -> Option<(u32, u32)> {
    let number = |arguments: &[&str]| -> u32 {
        let said = Command::new("id").args(arguments).output().unwrap().stdout;
        String::from_utf8(said).unwrap().trim().parse().unwrap()
    };
    (number(&["-u"]) == 0).then(|| (number(&["-u", "postgres"]), number(&["-g", "postgres"])))
}
