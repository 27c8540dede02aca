//! Many connections that are slow or broken, and senders beside them who must notice nothing.

mod bad;
mod senders;

use std::process::Command;
use std::time::Duration;

use crate::crash::sender::SECRET;
use crate::crash::wait_until;
use crate::program::{Place, Server};
use bad::Flood;
use senders::{Measured, SENDERS, Senders};

/// How many bad connections there are at once.
const BAD: usize = 2000;
/// How long a sender waits for its answer once the onset is over, but for one in a hundred.
const P99: Duration = Duration::from_millis(100);
/// How long the onset lasts, in which every place is taken by what may still be honest (for a second),
/// and the system's queue of connections is full: one that finds no room is tried again after 1 s.
const ONSET: Duration = Duration::from_secs(3);
/// How long a sender waits at most, then too.
const LONGEST: Duration = Duration::from_secs(6);
/// How many connections the server has at once.
const PLACES: usize = 1024;
/// What each may take: 64 kB of a head or of what is read ahead, as much room for a body, and the rest.
const PLACE_KB: usize = 64 + 64 + 16;

/// Fails when `shed` in the library's `listener.rs` spares a body that is waited for.
#[test]
fn two_thousand_bad_connections_keep_no_sender_waiting() {
    let this = std::env::current_exe().unwrap();
    let inside = "connections::inside_a_process_with_enough_descriptors";
    // A limit of its own, so that no other test's program gets another.
    let script = format!(r#"ulimit -Sn 4096 && exec "$0" --exact {inside} --ignored --nocapture"#);
    let output = Command::new("sh").arg("-c").arg(script).arg(this).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "is run by the test above, in a process that may have enough descriptors"]
fn inside_a_process_with_enough_descriptors() {
    let place = Place::new();
    let config = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n\
         [sources.whatsapp]\nscheme = \"meta\"\nsecrets = [\"{SECRET}\"]\nverify_token = \"y\"\n"
    );
    place.write("hookonce.toml", &config);
    let server = place.serve(&[]);
    let own = sockets(&server);

    let alone = senders_alone(&server, "before");
    let memory = status(&server, "VmHWM:");

    let senders = Senders::start(&server.url, "beside");
    let flood = Flood::start(&server.url, BAD);
    // Its ends of the connections are still open then, but for what the server has given up.
    wait_until("the server gives each bad connection up", || {
        flood.comes_no_more() && sockets(&server) <= own + SENDERS
    });
    let beside = senders.end();
    let peak = status(&server, "VmHWM:");
    let alone_again = senders_alone(&server, "after");
    println!("alone: {alone}; {alone_again}");
    let p99 = beside.p99_from(flood.began + ONSET);
    println!("beside {} bad connections: {beside}; p99 after the onset {p99:?}", flood.opened());
    println!("memory: {memory} kB alone, {peak} kB at most");

    assert!(flood.opened() >= BAD, "{} opened", flood.opened());
    // Where the machine has much else to do, senders alone wait, too.
    let would_do = P99.max(4 * alone.p99().max(alone_again.p99()));
    assert!(p99 < would_do, "{p99:?}, and {would_do:?} would do");
    assert!(beside.longest() < LONGEST, "{:?}", beside.longest());
    assert!(peak < memory + PLACES * PLACE_KB, "{peak} kB, before {memory} kB");
    let stored = place.asks().number("select count(*) from hookonce_events");
    let answered = alone.answered() + beside.answered() + alone_again.answered();
    assert_eq!(usize::try_from(stored).unwrap(), answered);
    drop(flood);
    wait_until("every descriptor is given back", || sockets(&server) <= own);
    assert!(server.terminate().success());
}

fn senders_alone(server: &Server, name: &str) -> Measured {
    let senders = Senders::start(&server.url, name);
    wait_until("senders alone", || senders.answered() > 500);
    senders.end()
}

/// A line of the process's status, in kB.
fn status(server: &Server, name: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// How many sockets the process has open. Its other descriptors are the store's.
fn sockets(server: &Server) -> usize {
    let files = std::fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap();
    // One may be closed while they are listed.
    let target =
        |file: std::io::Result<std::fs::DirEntry>| std::fs::read_link(file.ok()?.path()).ok();
    let is_socket = |target: &std::path::PathBuf| target.to_string_lossy().starts_with("socket:");
    files.filter_map(target).filter(is_socket).count()
}
