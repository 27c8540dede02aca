//! A process that has no file descriptors left.

use std::fs::File;
use std::process::Command;
use std::time::{Duration, Instant};

use super::client::{Client, post};
use super::metrics::Memory;
use super::server::Server;
use super::store::Mood;

#[test]
fn want_of_file_descriptors_neither_ends_the_listener_nor_lets_it_spin() {
    let this = std::env::current_exe().unwrap();
    let inside = "receiving::descriptors::inside_a_process_with_few_descriptors";
    // A limit of its own, so that no other test runs out.
    let script = format!(r#"ulimit -n 60 && exec "$0" --exact {inside} --ignored --nocapture"#);
    let output = Command::new("sh").arg("-c").arg(script).arg(this).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}

#[tokio::test]
#[ignore = "is run by the test above, in a process that is allowed few descriptors"]
async fn inside_a_process_with_few_descriptors() {
    let memory = Memory::default();
    let _recorder = metrics::set_default_local_recorder(&memory);
    let server = Server::start().await;
    server.store.set(Mood::Gated);
    let mut first = server.connect().await;
    first.send(post("a")).await;
    server.store.begun.notified().await;

    let mut files = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        files.push(file);
        assert!(files.len() < 1000, "the limit is not in force");
    }
    // One descriptor for the client's end, none for the server's.
    drop(files.pop());
    let mut second = Client::connect(server.address).await;
    second.send(post("b")).await;
    let errors = || memory.values().get("hookonce_accept_errors_total{}").copied().unwrap_or(0);
    let began = Instant::now();
    while errors() < 3 && began.elapsed() < Duration::from_secs(10) {
        tokio::task::yield_now().await;
    }
    assert!((3..100).contains(&errors()) && began.elapsed() > Duration::from_millis(150));

    // Once the first is answered its connection is idle, and makes place.
    server.store.open();
    assert_eq!(first.answer().await.status, 200);
    server.store.open();
    assert_eq!(second.answer().await.status, 200);
    drop(files);
    server.store.set(Mood::Fine);
    assert_eq!(server.ask(post("c")).await.status, 200);
}
