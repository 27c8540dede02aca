//! Runs a command for each event: the payload on its standard input, the event's attributes in its
//! environment.
//!
//! It goes through no shell of its own, reads no environment, and keeps nothing of what the command
//! says but the end of a failure's text. It can't end a command that outlives this process itself
//! (`kill -9`).

mod output;
mod process;

use std::ffi::OsString;
use std::fmt;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use futures_util::future::FusedFuture as _;

use crate::sink::attributes;
use crate::step::{Done, Failure, Step, StepContext};

use output::Output;
use process::Process;

/// The exit that says that it can never succeed: `EX_DATAERR` of `sysexits.h`.
const PERMANENT: i32 = 65;
/// The exit that says that it is too early: `EX_TEMPFAIL` of `sysexits.h`.
const NOT_YET: i32 = 75;
/// How long *not yet* is: an exit can't say.
const NOT_YET_DELAY: Duration = Duration::from_secs(10);
/// How long the last words of a command that has ended are waited for. They are in the pipe by
/// then; only a process that left the command's group can keep it open.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Which command is run, and how.
#[derive(Debug, Clone)]
pub struct ExecOptions {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The directory in which it runs.
    pub directory: PathBuf,
    /// How long it may run; then it is killed with its children.
    pub timeout: Duration,
    /// Its `PATH`, in which the program is looked for, too.
    pub path: Option<OsString>,
    /// Its `HOME`.
    pub home: Option<OsString>,
}

impl ExecOptions {
    /// Runs `command` in the current directory with everything else as it is by default, and
    /// without a `PATH` and a `HOME`.
    pub fn new(command: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            command: command.into_iter().map(Into::into).collect(),
            directory: PathBuf::from("."),
            timeout: Duration::from_secs(30),
            path: None,
            home: None,
        }
    }
}

/// Why a sink can't be made of its options. Each says what to change.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecSinkError {
    /// There is nothing to run.
    #[error("`command` is empty; write the program and its arguments")]
    NoProgram,
    /// No process can be given such a word.
    #[error("`command` has a NUL character in it; remove it")]
    Nul,
}

/// Runs a command for each event.
pub struct ExecSink {
    /// The command has a first word; [`ExecSink::new`] sees to it.
    options: ExecOptions,
}

impl ExecSink {
    /// Makes a sink of its options. Whether there is such a program shows when it is run.
    pub fn new(options: ExecOptions) -> Result<Self, ExecSinkError> {
        if options.command.first().is_none_or(|program| program.trim().is_empty()) {
            return Err(ExecSinkError::NoProgram);
        }
        if options.command.iter().any(|word| word.contains('\0')) {
            return Err(ExecSinkError::Nul);
        }
        Ok(Self { options })
    }

    /// Starts the command. What can't be started ran nothing, and would not for another event.
    fn start(&self, context: &StepContext<'_>) -> Result<Process, Failure> {
        let ExecOptions { directory, path, home, .. } = &self.options;
        let mut command = std::process::Command::new(self.program());
        command.args(&self.options.command[1..]).current_dir(directory).env_clear();
        command.envs(path.as_ref().map(|path| ("PATH", path)));
        command.envs(home.as_ref().map(|home| ("HOME", home)));
        command.envs(environment(context));
        Process::start(command).map_err(|error| {
            let advice = if directory.is_dir() {
                "install it, make it executable, or correct `command`"
            } else {
                "the directory that it runs in is missing: create it"
            };
            Failure::SinkDown(format!("can't start `{}`: {error}; {advice}", self.program()))
        })
    }

    fn program(&self) -> &str {
        &self.options.command[0]
    }

    /// Waits for the end of the command while its payload is handed over and its output is read.
    async fn finish(&self, mut process: Process, payload: &str) -> Result<(), Failure> {
        let mut output = Output::default();
        let ended = {
            let mut talk = pin!(output.talk(process.pipes(), payload.as_bytes()).fuse());
            let ended = async {
                loop {
                    tokio::select! {
                        ended = process.ended() => break ended,
                        // A command may close its pipes and work on.
                        () = &mut talk => {}
                    }
                }
            };
            let ended = tokio::time::timeout(self.options.timeout, ended).await;
            if matches!(&ended, Ok(Ok(status)) if status.success()) {
                return Ok(());
            }
            // Its children close the pipes with it, so that there is an end to what is read.
            process.kill();
            if !talk.is_terminated() {
                let _ = tokio::time::timeout(LAST_WORDS, talk).await;
            }
            ended
        };
        let said = output.quote();
        match ended {
            Ok(Ok(status)) => Err(judge(status, &said)),
            Ok(Err(error)) => {
                Err(Failure::Unknown(format!("can't learn how the command ended: {error}")))
            }
            Err(_) => Err(Failure::Unknown(format!(
                "not done within {:?} and killed; whether it was handled is unknown{said}",
                self.options.timeout
            ))),
        }
    }
}

#[async_trait]
impl Step for ExecSink {
    async fn run(&self, context: &StepContext<'_>) -> Result<Done, Failure> {
        let Some(payload) = &context.claim.event.payload else {
            return Err(Failure::permanent("the payload was pruned; nothing is left to hand over"));
        };
        self.finish(self.start(context)?, payload).await.map(|()| Done::PLAIN)
    }
}

impl fmt::Debug for ExecSink {
    /// Shows the program alone: its arguments may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecSink").field("program", &self.program()).finish_non_exhaustive()
    }
}

/// What an exit that is no success means.
fn judge(status: ExitStatus, said: &str) -> Failure {
    let Some(code) = status.code() else {
        let signal = status.signal().unwrap_or_default();
        return Failure::Unknown(format!(
            "ended by signal {signal}; whether it was handled is unknown{said}"
        ));
    };
    let error = format!("exited with {code}{said}");
    match code {
        PERMANENT => Failure::Permanent(error),
        NOT_YET => Failure::NotYet { error, after: NOT_YET_DELAY },
        _ => Failure::transient(error),
    }
}

/// The attributes as variables. A variable ends at a NUL, so that one is replaced.
fn environment(context: &StepContext<'_>) -> Vec<(String, String)> {
    let mut variables: Vec<_> = attributes::of(context)
        .into_iter()
        .map(|(name, value)| (format!("CE_{}", name.to_uppercase()), value.into_owned()))
        .collect();
    variables.push(("IDEMPOTENCY_KEY".to_owned(), context.idempotency_key()));
    variables.push(("CONTENT_TYPE".to_owned(), context.claim.event.content_type.clone()));
    for (_, value) in &mut variables {
        *value = value.replace('\0', "\u{fffd}");
    }
    variables
}
