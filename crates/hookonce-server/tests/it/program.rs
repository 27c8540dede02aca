//! Runs the real binary in a directory of its own.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::engine::{Database, Sql, is_postgres};

/// How long anything that is waited for may take.
const LIMIT: Duration = Duration::from_secs(20);

/// A directory in which the program is run.
pub(crate) struct Place {
    dir: TempDir,
    /// Where its store is, if not in the directory.
    database: Option<Database>,
}

/// What a run of the program said.
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        let database = is_postgres().then(Database::make);
        Self { dir: TempDir::new().unwrap(), database }
    }

    /// One with a database, whatever the test of this thread is about.
    pub(crate) fn on_postgres() -> Self {
        Self { dir: TempDir::new().unwrap(), database: Some(Database::make()) }
    }

    /// The address of its store.
    pub(crate) fn store(&self) -> String {
        match &self.database {
            Some(database) => database.url.clone(),
            None => "sqlite:hookonce.db".to_owned(),
        }
    }

    /// The address of its database through `PgBouncer`.
    pub(crate) fn pooled_store(&self) -> String {
        self.database.as_ref().unwrap().pooled_url()
    }

    /// The application's own connection to the database that its store is in.
    pub(crate) fn sql(&self) -> Sql {
        match &self.database {
            Some(database) => Sql::of(database),
            None => Sql::open(&self.path("hookonce.db")),
        }
    }

    /// The same, in a server's way no longer than a question takes.
    pub(crate) fn asks(&self) -> Sql {
        match &self.database {
            Some(database) => Sql::of(database),
            None => Sql::File(self.path("hookonce.db")),
        }
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.dir.path().join(file)
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        std::fs::write(self.path(file), text).unwrap();
    }

    pub(crate) fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.path(file)).unwrap()
    }

    /// The program with no environment but what is given, so that the tester's own can't matter. A
    /// server's admin listener takes any port, so that tests can run side by side.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hookonce"));
        command.args(arguments).current_dir(self.dir.path()).env_clear();
        if let Some(database) = &self.database {
            command.env("HOOKONCE_STORE", &database.url);
        }
        if arguments.first() == Some(&"serve") {
            command.args(["--admin-listen", "127.0.0.1:0"]);
        }
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        Said::of(self.command(arguments).stdin(Stdio::null()))
    }

    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> Said {
        let mut command = self.command(arguments);
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Said::from(child.wait_with_output().unwrap())
    }

    /// Starts the server and waits until it listens.
    pub(crate) fn serve(&self, arguments: &[&str]) -> Server {
        Server::listening(self.command(&["serve"]).args(arguments))
    }

    /// Starts the server, told to write for programs; `url` is then the line that it writes.
    pub(crate) fn serve_json(&self) -> Server {
        let mut server = Server::start(&mut self.command(&["serve", "--json"]));
        server.url = server.stderr_line("\"listening\"");
        server
    }

    /// Pastes a line into a shell.
    pub(crate) fn shell(&self, line: &str) -> Said {
        let mut command = Command::new("sh");
        Said::of(command.args(["-c", line]).current_dir(self.dir.path()).env("no_proxy", "*"))
    }
}

impl Said {
    fn of(command: &mut Command) -> Self {
        Self::from(command.output().unwrap())
    }

    /// The output of a run that must have succeeded.
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, 0, "{}{}", self.stdout, self.stderr);
        self.stdout
    }
}

impl From<std::process::Output> for Said {
    fn from(output: std::process::Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// A server that runs; killed when dropped.
pub(crate) struct Server {
    child: Child,
    /// Where it listens, such as `http://127.0.0.1:34567`.
    pub(crate) url: String,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
}

impl Server {
    /// Starts the server as this command says.
    pub(crate) fn start(command: &mut Command) -> Self {
        let pipes = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        let stdout = lines(child.stdout.take().unwrap());
        let stderr = lines(child.stderr.take().unwrap());
        Self { child, url: String::new(), stdout, stderr }
    }

    /// Starts the server as this command says and waits until it listens.
    pub(crate) fn listening(command: &mut Command) -> Self {
        let mut server = Self::start(command);
        let line = server.stderr_line("listens on ");
        server.url = line.split("listens on ").nth(1).unwrap().into();
        server
    }

    /// The next line of standard output that contains `part`.
    pub(crate) fn stdout_line(&self, part: &str) -> String {
        next_line(&self.stdout, part)
    }

    /// The next line of standard error that contains `part`.
    pub(crate) fn stderr_line(&self, part: &str) -> String {
        next_line(&self.stderr, part)
    }

    /// Stops it, and gives what it has said on standard error since it was last asked.
    pub(crate) fn into_stderr(self) -> String {
        self.signal();
        let lines: Vec<_> = self.stderr.iter().collect();
        lines.join("\n")
    }

    /// Stops it, and gives all that it has said since it was last asked.
    pub(crate) fn into_output(self) -> String {
        self.signal();
        self.stdout.iter().chain(self.stderr.iter()).collect::<Vec<_>>().join("\n")
    }

    /// Sends SIGTERM and waits for the end.
    pub(crate) fn terminate(self) -> ExitStatus {
        self.signal();
        self.ended()
    }

    /// Sends SIGTERM.
    pub(crate) fn signal(&self) {
        self.send("TERM");
    }

    /// Sends a signal by its name.
    pub(crate) fn send(&self, signal: &str) {
        assert!(send(signal, self.pid()), "it has ended");
    }

    /// The number of its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for the end.
    pub(crate) fn ended(mut self) -> ExitStatus {
        // Its standard error ends when it does.
        let until = Instant::now() + LIMIT;
        while Instant::now() < until {
            match self.stderr.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return self.child.wait().unwrap(),
                Err(RecvTimeoutError::Timeout) => break,
            }
        }
        panic!("the server doesn't stop")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal to a process, and says whether there is one. By a shell: small systems have no
/// `kill` of their own.
pub(crate) fn send(signal: &str, pid: u32) -> bool {
    let script = format!("kill -{signal} {pid}");
    Command::new("sh").args(["-c", &script]).status().unwrap().success()
}

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// Compares `text` with a file of the repository; `UPDATE=1` writes the file.
pub(crate) fn assert_golden(file: &str, text: &str) {
    let path = root().join(file);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(golden == text, "{file} is stale; `UPDATE=1 cargo test` rewrites it\n{text}");
}

fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    receive
}

fn next_line(lines: &Receiver<String>, part: &str) -> String {
    let until = Instant::now() + LIMIT;
    let mut seen = vec![];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match lines.recv_timeout(left) {
            Ok(line) if line.contains(part) => return line,
            Ok(line) => seen.push(line),
            Err(error) => panic!("no line with `{part}`: {error}\n{}", seen.join("\n")),
        }
    }
}
