//! How fast webhooks are stored durably, beside the same server with a store that does nothing:
//! `cargo bench -p hookonce --bench ingest [-- REQUESTS] [sqlite | postgres | redis]`; `scripts/bench.sh`
//! runs it with all that it can print. `cargo test` runs it small, to see that it works.
//!
//! One message a request, distinct ids, 64 connections; no worker takes anything away. The server is
//! a process of its own, so that its CPU time is its own; client, server and database share the
//! machine. The stores take turns, so that what else the machine does falls on all.
//!
//! The store that does nothing has no writer either, and so all cores to itself: a ratio says
//! something only beside the requests per second that it was made of.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]
#![expect(clippy::cast_precision_loss, reason = "numbers of requests are far below 2^52")]

/// As the program does.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[path = "../../tests/it/bed/postgres.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "it is a file of the tests, which ask more of it")]
mod bed;
mod database;
mod idle_store;
#[path = "../../tests/it/receiving/intake.rs"]
mod intake;
mod load;
mod peer;
#[path = "../../tests/it/bed/port.rs"]
mod port;
#[path = "../../tests/it/bed/redis_server.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "it is a file of the tests, which ask more of it")]
mod redis_server;
mod server;

use std::process::Command;

use bed::{Connection, Database};
use database::Spent;
use load::{Load, Measured};
use redis_server::Server;

/// How often every store takes its turn.
const ROUNDS: usize = 3;
/// What a test sends to each store.
const FEW: usize = 500;

/// The stores, with how the server flushes where that is a choice.
const STORES: [&str; 4] = ["sqlite", "postgres", "redis everysec", "redis always"];

/// What is written for each event.
const KINDS: [(&str, &str); 3] = [
    ("recorded", "the event alone: no route takes it"),
    ("task", "the event and a task, in no order"),
    ("lane", "the event and a task that waits in its conversation's lane"),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [word, store, place, kind] = &words[..]
        && word == "serve"
    {
        return server::serve(store, place, kind);
    }
    // Only `cargo bench` says this.
    if !words.iter().any(|word| word == "--bench") {
        let load = Load::prepare(FEW);
        drop(idle(&load));
        return STORES.iter().for_each(|store| drop(run(store, "lane", &load)));
    }
    let requests = words.iter().find_map(|word| word.parse().ok()).unwrap_or(100_000);
    let named = |store: &&str| words.iter().any(|word| word == name_of(store));
    let asked: Vec<&str> = STORES.into_iter().filter(named).collect();
    let stores = if asked.is_empty() { STORES.to_vec() } else { asked };
    compare(&stores, &Load::prepare(requests));
    if stores.contains(&"sqlite") {
        // Apart from the rest: the tracer costs time of its own.
        match fsyncs(&Load::prepare(requests)) {
            Some(fsyncs) => println!("fsyncs per event: {:.3}", fsyncs as f64 / requests as f64),
            None => println!("fsyncs per event: not counted, `strace` is missing or not allowed"),
        }
    }
}

/// Measures every kind on every store, beside the idle one and what people write by hand on the same.
fn compare(stores: &[&str], load: &Load) {
    let mut ratios: Vec<(String, Vec<f64>)> = Vec::new();
    let mut note = |of: &str, ratio: f64| match ratios.iter_mut().find(|(name, _)| name == of) {
        Some((_, ratios)) => ratios.push(ratio),
        None => ratios.push((of.to_owned(), vec![ratio])),
    };
    for _ in 0..ROUNDS {
        let idle = idle(load);
        println!("a store that does nothing: {idle}");
        let mut last = idle.rate();
        for store in stores {
            for (kind, about) in KINDS {
                let durable = run(store, kind, load);
                println!("{store}, durable, {kind}: {durable}");
                note(&format!("{store}, {kind}, to idle ({about})"), durable.rate() / idle.rate());
                last = durable.rate();
            }
            for peer in peer::PEERS.iter().filter(|peer| peer.beside == *store) {
                if let Some(measured) = beside(peer, load) {
                    println!("{} ({store}): {measured}", peer.name);
                    note(&format!("{store}, lane, to {}", peer.name), last / measured.rate());
                }
            }
        }
    }
    for (of, mut ratios) in ratios {
        ratios.sort_by(f64::total_cmp);
        println!("ratio of {of}: {:.2} (median of {ratios:.2?})", ratios[ROUNDS / 2]);
    }
}

/// Puts the load on a server whose store does nothing.
fn idle(load: &Load) -> Measured {
    server::Child::start(program(None, ["idle", "", ""])).measure(load)
}

/// Puts the load on a server with this store.
fn run(store: &str, kind: &str, load: &Load) -> Measured {
    let name = name_of(store);
    if let Some(measured) = elsewhere(store, load, |url| Some(program(None, [name, url, kind]))) {
        return measured;
    }
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let place = folder.path().to_str().expect("its path is text");
    server::Child::start(program(None, [store, place, kind])).measure(load)
}

/// Puts the load on a peer that has its data where this store has its own.
fn beside(peer: &peer::Peer, load: &Load) -> Option<Measured> {
    elsewhere(peer.beside, load, |url| peer.command(url))
}

/// Puts the load on what is started with the address of a new server or database for this store; `None`
/// where the store needs neither, or nothing is started.
fn elsewhere(
    store: &str,
    load: &Load,
    command: impl Fn(&str) -> Option<Command>,
) -> Option<Measured> {
    match store.split_once(' ') {
        Some((_, flush)) => {
            let server = Server::start(&["--appendonly", "yes", "--appendfsync", flush]);
            Some(server::Child::start(command(&server.url())?).measure(load))
        }
        None if store == "postgres" => on_a_database(load, command),
        None => None,
    }
}

/// The name of a store, whatever its server does.
fn name_of(store: &str) -> &str {
    store.split_once(' ').map_or(store, |(name, _)| name)
}

/// Puts the load on what is started with the address of a new database, and says what it cost that.
fn on_a_database(load: &Load, command: impl Fn(&str) -> Option<Command>) -> Option<Measured> {
    let database = Database::make();
    let connection = Connection::open(&database.url);
    let child = server::Child::start(command(&database.url)?);
    let before = Spent::by_now(&connection);
    let mut measured = child.measure(load);
    let spent = Spent::by_now(&connection);
    // What its connections tell of themselves is known once they have ended.
    drop(child);
    measured.database = Some(spent.since(&before, &connection, load.len()));
    Some(measured)
}

/// This program as a server, under `tracer` if there is one.
fn program(tracer: Option<&[&str]>, words: [&str; 3]) -> Command {
    let program = std::env::current_exe().expect("this program has a path");
    let mut command = match tracer {
        Some([tracer, options @ ..]) => {
            let mut command = Command::new(tracer);
            command.args(options).arg(program);
            command
        }
        _ => Command::new(program),
    };
    command.arg("serve").args(words);
    command
}

/// How often the server with SQLite flushes to the disk under the load.
fn fsyncs(load: &Load) -> Option<usize> {
    let tried = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).output().ok()?;
    if !tried.status.success() {
        return None;
    }
    let folder = tempfile::tempdir().ok()?;
    let report = folder.path().join("report");
    let to = report.to_str()?;
    let tracer = ["strace", "-f", "--seccomp-bpf", "-e", "trace=fsync,fdatasync", "-qq", "-o", to];
    let server = program(Some(&tracer), ["sqlite", folder.path().to_str()?, "lane"]);
    server::Child::start(server).measure(load);
    let report = std::fs::read_to_string(&report).ok()?;
    Some(report.lines().filter(|line| line.contains("sync(")).count())
}
