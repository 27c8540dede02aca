//! The sink that is a command: what it is given, and what each exit means.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use hookonce::sink::exec::{ExecOptions, ExecSink, ExecSinkError};
use hookonce::step::{Failure, Step as _};
use hookonce::task::Claim;
use tempfile::TempDir;

use super::claim::{changed, claim, context};

/// A payload that is longer than a pipe holds.
const LONG: usize = 1 << 20;

/// A script that runs in `dir`.
pub(super) fn script(dir: &Path, script: &str) -> ExecOptions {
    ExecOptions {
        directory: dir.to_owned(),
        path: Some("/usr/local/bin:/usr/bin:/bin".into()),
        ..ExecOptions::new(["sh", "-c", script])
    }
}

/// What becomes of a claim by a sink with these options.
pub(super) async fn run_for(claim: &Claim, options: ExecOptions) -> Result<(), Failure> {
    ExecSink::new(options).unwrap().run(&context(claim)).await.map(|result| {
        assert_eq!(result, hookonce::step::Done::PLAIN, "nothing of a success is kept");
    })
}

pub(super) async fn run(options: ExecOptions) -> Result<(), Failure> {
    run_for(&claim(), options).await
}

fn with_payload(payload: &str) -> Claim {
    changed(|event| event.payload = Some(payload.to_owned()))
}

/// The error of a failure that costs an attempt.
fn transient(ran: Result<(), Failure>) -> String {
    let Err(Failure::Transient { error, retry_after: None }) = ran else { panic!("{ran:?}") };
    error
}

#[tokio::test]
async fn exit_0_alone_is_a_success_65_permanent_75_not_yet_and_any_other_transient() {
    let dir = TempDir::new().unwrap();
    let exit = |code: u8| run(script(dir.path(), &format!("echo no such user >&2; exit {code}")));
    assert!(matches!(exit(0).await, Ok(())));
    let Err(Failure::Permanent(error)) = exit(65).await else { panic!() };
    assert_eq!(error, "exited with 65: no such user");
    let Err(Failure::NotYet { error, after }) = exit(75).await else { panic!() };
    assert_eq!((&*error, after), ("exited with 75: no such user", Duration::from_secs(10)));
    for code in [1, 2, 64, 66, 74, 76, 126, 127, 137, 255] {
        assert_eq!(transient(exit(code).await), format!("exited with {code}: no such user"));
    }
}

#[tokio::test]
async fn a_command_that_a_signal_ends_leaves_the_outcome_unknown() {
    let dir = TempDir::new().unwrap();
    let ran = run(script(dir.path(), "echo gone; kill -9 $$")).await;
    let Err(Failure::Unknown(error)) = ran else { panic!("{ran:?}") };
    assert_eq!(error, "ended by signal 9; whether it was handled is unknown: gone");
}

#[tokio::test]
async fn of_what_a_failure_says_the_end_is_kept_of_standard_error_before_standard_output() {
    let dir = TempDir::new().unwrap();
    let says = |text: &str| run(script(dir.path(), text));
    let both = says("echo out; printf 'a\\n\\tb\\n' >&2; exit 1").await;
    assert_eq!(transient(both), "exited with 1: a b");
    assert_eq!(transient(says("echo out; exit 1").await), "exited with 1: out");
    assert_eq!(transient(says("exit 1").await), "exited with 1");
    let long =
        says("head -c 3000000 /dev/zero | tr '\\0' x >&2; echo ' the end' >&2; exit 1").await;
    let error = transient(long);
    assert!(error.ends_with("xxx the end"), "{error}");
    assert_eq!(error.len(), "exited with 1: ".len() + 500);
}

#[tokio::test]
async fn the_environment_is_path_home_and_the_attributes_and_nothing_else() {
    let passed_on = |name: &std::ffi::OsStr| name == "PATH" || name == "HOME";
    assert!(std::env::vars_os().any(|(name, _)| !passed_on(&name)), "nothing to keep back");
    let dir = TempDir::new().unwrap();
    let options = ExecOptions {
        directory: dir.path().to_owned(),
        path: Some("/usr/bin:/bin".into()),
        home: Some("/home/é".into()),
        ..ExecOptions::new(["cp", "/proc/self/environ", "environment"])
    };
    run(options).await.unwrap();
    let key = "message:200000000000001:wamid.TEST0001";
    let id = "c0fa7022-8b40-85d9-86c1-3f71bb80f8c7";
    let idempotency_key = format!("{id}/crm/reply");
    let expected = [
        ("PATH", "/usr/bin:/bin"),
        ("HOME", "/home/é"),
        ("CE_SPECVERSION", "1.0"),
        ("CE_ID", id),
        ("CE_SOURCE", "/webhooks/whatsapp"),
        ("CE_TYPE", "message.text"),
        ("CE_TIME", "2026-01-02T03:04:05.678Z"),
        ("CE_SUBJECT", "200000000000001:José 100%"),
        ("CE_KEY", key),
        ("CE_ROUTE", "crm"),
        ("CE_EPOCH", "3"),
        ("CE_RUN", "1"),
        ("IDEMPOTENCY_KEY", &idempotency_key),
        ("CONTENT_TYPE", "application/json"),
    ];
    assert_eq!(environment(dir.path()), expected.map(|(k, v)| (k.into(), v.into())).into());
}

#[tokio::test]
async fn what_is_not_there_is_no_variable_and_a_nul_in_one_is_replaced() {
    let dir = TempDir::new().unwrap();
    let claim = changed(|event| {
        event.lane = None;
        event.key = "a\0b=c\n".to_owned();
    });
    let options = ExecOptions {
        directory: dir.path().to_owned(),
        ..ExecOptions::new(["/bin/cp", "/proc/self/environ", "environment"])
    };
    run_for(&Claim { run: 2, ..claim }, options).await.unwrap();
    let environment = environment(dir.path());
    for name in ["PATH", "HOME", "CE_SUBJECT"] {
        assert!(!environment.contains_key(name), "{name}");
    }
    assert_eq!(environment["CE_KEY"], "a\u{fffd}b=c\n");
    assert_eq!(environment["CE_RUN"], "2");
    assert!(environment["IDEMPOTENCY_KEY"].ends_with("/crm/reply/2"));
}

/// The variables that a command has copied.
fn environment(dir: &Path) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(dir.join("environment")).unwrap();
    let variables = text.split_terminator('\0').map(|variable| variable.split_once('=').unwrap());
    variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[tokio::test]
async fn the_payload_comes_untouched_on_standard_input_in_the_directory_that_is_asked_for() {
    let dir = TempDir::new().unwrap();
    let payload = format!("\u{feff} {{\"é\": \"\\u0000\0😀\r\n\"}} {}", "x".repeat(LONG));
    run_for(&with_payload(&payload), script(dir.path(), "cat > payload")).await.unwrap();
    assert!(std::fs::read_to_string(dir.path().join("payload")).unwrap() == payload);
}

#[tokio::test]
async fn a_command_that_reads_nothing_is_judged_by_its_exit() {
    let dir = TempDir::new().unwrap();
    let claim = with_payload(&"x".repeat(LONG));
    for ignores in ["", "exec <&-; ", "head -c 1; "] {
        let exit = |code| format!("{ignores}exit {code}");
        run_for(&claim, script(dir.path(), &exit(0))).await.unwrap();
        let failed = run_for(&claim, script(dir.path(), &exit(65))).await;
        assert!(matches!(failed, Err(Failure::Permanent(_))), "{failed:?}");
    }
}

#[tokio::test]
async fn a_command_that_says_much_before_it_reads_is_not_held_up() {
    let dir = TempDir::new().unwrap();
    let claim = with_payload(&"x".repeat(LONG));
    let talks = "head -c 8000000 /dev/zero; head -c 8000000 /dev/zero >&2; cat > payload";
    run_for(&claim, script(dir.path(), talks)).await.unwrap();
    assert_eq!(dir.path().join("payload").metadata().unwrap().len(), LONG as u64);
}

#[tokio::test]
async fn a_command_that_closes_its_pipes_and_works_on_is_waited_for() {
    let dir = TempDir::new().unwrap();
    let works_on = |code| format!("exec <&- >&- 2>&-; sleep 0.1; : > done; exit {code}");
    run(script(dir.path(), &works_on(0))).await.unwrap();
    assert!(dir.path().join("done").exists());
    assert_eq!(transient(run(script(dir.path(), &works_on(1))).await), "exited with 1");
}

#[tokio::test]
async fn a_command_that_cannot_be_started_has_run_nothing_and_the_sink_is_down() {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("text"), "no program").unwrap();
    let missing = dir.path().join("missing");
    let at = |dir: &Path, program: &str| ExecOptions {
        directory: dir.to_owned(),
        path: Some("/usr/bin:/bin".into()),
        ..ExecOptions::new([program])
    };
    let cases = [
        (at(dir.path(), "no-such-program"), "No such file", "install it, make it executable, or"),
        (at(dir.path(), "./text"), "Permission denied", "install it, make it executable, or"),
        (at(&missing, "true"), "No such file", "the directory that it runs in is missing: create"),
    ];
    for (options, why, advice) in cases {
        let start = format!("can't start `{}`: {why}", options.command[0]);
        let ran = run(options).await;
        let Err(Failure::SinkDown(error)) = ran else { panic!("{ran:?}") };
        assert!(error.starts_with(&start) && error.contains(advice), "{error}");
    }
}

#[tokio::test]
async fn an_event_whose_payload_was_pruned_is_not_handed_over() {
    let dir = TempDir::new().unwrap();
    let claim = changed(|event| event.payload = None);
    let ran = run_for(&claim, script(dir.path(), ": > ran")).await;
    assert!(matches!(ran, Err(Failure::Permanent(_))), "{ran:?}");
    assert!(!dir.path().join("ran").exists());
}

#[test]
fn a_command_that_nothing_could_run_is_refused_with_what_to_change() {
    let make = |command: &[&str]| ExecSink::new(ExecOptions::new(command.iter().copied()));
    for command in [&[][..], &[""], &[" ", "x"]] {
        assert!(matches!(make(command), Err(ExecSinkError::NoProgram)), "{command:?}");
    }
    assert!(matches!(make(&["sh", "a\0b"]), Err(ExecSinkError::Nul)));
}

#[test]
fn arguments_are_not_shown() {
    let sink = ExecSink::new(ExecOptions::new(["curl", "--user", "me:hush"])).unwrap();
    let shown = format!("{sink:?}");
    assert!(shown.contains("curl") && !shown.contains("hush"), "{shown}");
}
