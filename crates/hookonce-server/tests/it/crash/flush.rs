//! What an answer means when the power fails: seen in the program's system calls.

use std::process::Command;

use super::sender::{Message, SECRET, Sender, body};
use crate::program::{Place, Server};

/// A server without a route, so that nothing but the requests writes, with its system calls written
/// to `calls`.
fn traced(place: &Place) -> Server {
    place.write(
        "hookonce.toml",
        &format!(
            "[server]\nlisten = \"127.0.0.1:0\"\n\
             [sources.whatsapp]\nscheme = \"meta\"\nsecrets = [\"{SECRET}\"]\n"
        ),
    );
    let mut traced = Command::new("strace");
    traced
        .args(["-f", "-y", "-qq", "-s", "40", "-o", "calls"])
        .args(["-e", "trace=pwrite64,fdatasync,fsync,writev,write,sendto"])
        .args([env!("CARGO_BIN_EXE_hookonce"), "serve", "--admin-listen", "127.0.0.1:0"])
        .current_dir(place.path("."));
    Server::listening(&mut traced)
}

/// Ends the program itself, which the tracer stands before, and gives its calls.
fn calls(place: &Place, server: Server) -> String {
    let traced = format!("/proc/{0}/task/{0}/children", server.pid());
    let program = std::fs::read_to_string(traced).unwrap();
    let program = program.split_whitespace().next().unwrap().parse().unwrap();
    crate::program::send("TERM", program);
    server.ended();
    place.read("calls")
}

#[test]
fn a_request_of_a_thousand_updates_is_one_commit() {
    let place = Place::new();
    let server = traced(&place);
    let mut sender = Sender::new(&server.url);
    let messages: Vec<_> =
        (0..1000).map(|n| Message::new(format!("wamid.many{n}"), n % 7)).collect();
    assert_eq!(sender.post(&body(&messages)).unwrap().status, 200);
    let calls = calls(&place, server);
    let before = calls.lines().take_while(|call| !call.contains("HTTP/1.1 200"));
    let flushed = |call: &&str| call.contains("sync") && call.trim_end().ends_with("= 0");
    // From the first page of the log that holds events on: the tables were made before.
    let last_of_setup = calls.lines().position(|call| call.contains("listens on")).unwrap();
    assert_eq!(before.skip(last_of_setup).filter(flushed).count(), 1, "{calls}");
}

/// Fails when the flush thread tells without flushing, or the writer tells by itself.
#[test]
fn an_answer_follows_the_flush_of_what_it_acks() {
    let place = Place::new();
    let server = traced(&place);
    let mut sender = Sender::new(&server.url);
    for n in 0..20 {
        let request = body(&[Message::new(format!("wamid.flush{}", n / 2), 1)]);
        assert_eq!(sender.post(&request).unwrap().status, 200);
    }
    let calls = calls(&place, server);
    let (mut dirty, mut answers) = (false, 0);
    for call in calls.lines() {
        let is_log = call.contains("-wal>");
        let is_flush = call.contains("sync");
        if is_log && call.contains("pwrite64(") {
            dirty = true;
        } else if is_flush && call.trim_end().ends_with("= 0") {
            dirty = false;
        } else if call.contains("HTTP/1.1 200") {
            answers += 1;
            assert!(!dirty, "answered before the flush:\n{call}");
        }
    }
    assert_eq!(answers, 20, "{calls}");
}
