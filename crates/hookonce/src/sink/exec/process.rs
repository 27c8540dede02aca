//! A command that runs, in a process group of its own: nothing of the group outlives this value.
//!
//! A process that leaves the group (`setsid`) is no longer ours to end.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{ExitStatus, Stdio};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::signal::unix::{self, SignalKind};

/// A command and its children. Killed when dropped.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    /// The number of the command and of its group, until it is reaped.
    group: Option<Pid>,
    /// Tells that some child of ours has ended.
    endings: unix::Signal,
}

/// The ends of a command's pipes; each is there once.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
}

impl Process {
    /// Starts the command; an error means that nothing ran.
    pub(super) fn start(mut command: std::process::Command) -> io::Result<Self> {
        // Watched before there is a child, so that no end is missed.
        let endings = unix::signal(SignalKind::child())?;
        command.process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Kills the command even if it has moved to another group.
        let child = Command::from(command).kill_on_drop(true).spawn()?;
        let group = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        Ok(Self { child, group, endings })
    }

    /// The ends of its pipes.
    pub(super) fn pipes(&mut self) -> Pipes {
        let Child { stdin, stdout, stderr, .. } = &mut self.child;
        Pipes { stdin: stdin.take(), stdout: stdout.take(), stderr: stderr.take() }
    }

    /// Waits until the command has ended, and then ends what it left running. May be dropped and
    /// called again.
    pub(super) async fn ended(&mut self) -> io::Result<ExitStatus> {
        // As long as the command isn't reaped nobody else can have its number. So it is looked at
        // first, its group killed, and only then reaped: no group but its own is ever killed.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        while let Some(group) = self.group
            && waitid(WaitId::Pid(group), look)?.is_none()
        {
            self.endings.recv().await;
        }
        self.kill();
        self.child.wait().await
    }

    /// Kills the command and its children.
    pub(super) fn kill(&mut self) {
        if let Some(group) = self.group.take() {
            // The one way to fail is that all of them are gone.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
