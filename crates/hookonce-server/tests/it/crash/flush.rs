//! What an answer means when the power fails: seen in the program's system calls.

use std::process::Command;

use super::sender::{Message, SECRET, Sender, body};
use crate::program::{Place, Server};

/// Fails when the flush thread tells without flushing, or the writer tells by itself.
#[test]
fn an_answer_follows_the_flush_of_what_it_acks() {
    let place = Place::new();
    // Without a route nothing but the requests writes.
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
        .args([env!("CARGO_BIN_EXE_hookonce"), "serve"])
        .current_dir(place.path("."));
    let server = Server::listening(&mut traced);
    let mut sender = Sender::new(&server.url);
    for n in 0..20 {
        let request = body(&[Message::new(format!("wamid.flush{}", n / 2), 1)]);
        assert_eq!(sender.post(&request).unwrap().status, 200);
    }
    let traced = format!("/proc/{0}/task/{0}/children", server.pid());
    let program = std::fs::read_to_string(traced).unwrap();
    let program = program.split_whitespace().next().unwrap().parse().unwrap();
    crate::program::send("TERM", program);
    server.ended();

    let calls = place.read("calls");
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
