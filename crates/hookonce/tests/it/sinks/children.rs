//! The processes of a command end with their step.

use std::path::Path;
use std::time::{Duration, Instant};

use hookonce::sink::exec::ExecOptions;
use hookonce::step::Failure;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::exec::{run, script};

/// How long anything that is waited for may take.
const LIMIT: Duration = Duration::from_secs(20);

/// Starts a child that works on by itself, and notes its number.
const CHILD: &str = "sleep 1000 & echo $! > new; mv new child";

/// Waits until `is_so`; gives up with what was waited for.
async fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < until, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The number of a process that was noted in `dir`.
fn noted(dir: &Path) -> Pid {
    let text = std::fs::read_to_string(dir.join("child")).unwrap();
    Pid::from_raw(text.trim().parse().unwrap()).unwrap()
}

/// Whether a process is gone. One that nobody has reaped yet is.
fn is_gone(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name, in parentheses, may hold anything: what counts stands behind it.
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
}

/// Fails without `self.kill()` in `Process::drop`.
#[tokio::test]
async fn a_step_that_is_dropped_ends_its_command_with_its_children() {
    let dir = TempDir::new().unwrap();
    let step = run(script(dir.path(), &format!("{CHILD}; echo $$ > leader; wait")));
    let leader = dir.path().join("leader");
    let has_started = || std::fs::read_to_string(&leader).is_ok_and(|text| text.ends_with('\n'));
    tokio::select! {
        ran = step => panic!("it ended: {ran:?}"),
        () = wait_until("the command runs", has_started) => {}
    }
    let leader = std::fs::read_to_string(&leader).unwrap().trim().parse().unwrap();
    for pid in [noted(dir.path()), Pid::from_raw(leader).unwrap()] {
        wait_until("it is gone", || is_gone(pid)).await;
    }
}

/// Fails without `kill_process_group` in `Process::kill`: the command alone dies then.
#[tokio::test]
async fn a_command_that_takes_too_long_is_killed_with_its_children() {
    let dir = TempDir::new().unwrap();
    let timeout = Duration::from_secs(2);
    let script = script(dir.path(), &format!("{CHILD}; echo began >&2; wait"));
    let ran = run(ExecOptions { timeout, ..script }).await;
    let Err(Failure::Unknown(error)) = ran else { panic!("{ran:?}") };
    let expected = "not done within 2s and killed; whether it was handled is unknown: began";
    assert_eq!(error, expected);
    let child = noted(dir.path());
    wait_until("the child is gone", || is_gone(child)).await;
}

/// Fails without `kill_process_group` in `Process::kill`, too.
#[tokio::test]
async fn what_a_command_leaves_running_is_ended_and_not_waited_for() {
    let dir = TempDir::new().unwrap();
    for code in [0, 1] {
        let began = Instant::now();
        let ran = run(script(dir.path(), &format!("{CHILD}; echo said; exit {code}"))).await;
        match ran {
            Ok(()) => assert_eq!(code, 0),
            Err(Failure::Transient { error, .. }) => assert_eq!(error, "exited with 1: said"),
            other => panic!("{other:?}"),
        }
        assert!(began.elapsed() < LIMIT, "it waited for the child");
        let child = noted(dir.path());
        wait_until("the child is gone", || is_gone(child)).await;
        std::fs::remove_file(dir.path().join("child")).unwrap();
    }
}

/// A process that left the group can't be found; it may hold the pipes open for as long as it likes.
/// Fails without the limit on `LAST_WORDS`.
#[tokio::test]
async fn a_process_that_leaves_the_group_is_neither_ended_nor_waited_for() {
    let dir = TempDir::new().unwrap();
    let child = "echo $$ > new; mv new child; exec sleep 1000";
    let leaves = format!(
        "setsid sh -c '{child}' & until test -e child; do sleep 0.01; done; echo said; exit 1"
    );
    let ran = run(script(dir.path(), &leaves)).await;
    let child = noted(dir.path());
    let lives = !is_gone(child);
    let _ = kill_process(child, Signal::KILL);
    let Err(Failure::Transient { error, .. }) = ran else { panic!("{ran:?}") };
    assert_eq!(error, "exited with 1: said");
    assert!(lives, "it was ended");
}

#[tokio::test]
async fn many_commands_at_once_each_have_their_own_end() {
    let dir = TempDir::new().unwrap();
    let mut steps = tokio::task::JoinSet::new();
    for code in 1..=40 {
        let options = script(dir.path(), &format!("exit {code}"));
        steps.spawn(async move { (code, run(options).await) });
    }
    for (code, ran) in steps.join_all().await {
        let Err(Failure::Transient { error, .. }) = ran else { panic!("{ran:?}") };
        assert_eq!(error, format!("exited with {code}"));
    }
}
