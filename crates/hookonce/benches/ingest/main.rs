//! How fast webhooks are stored durably, beside the same server with a store that does nothing:
//! `cargo bench -p hookonce --bench ingest [-- REQUESTS]`; `scripts/bench.sh` runs it with all that
//! it can print. `cargo test` runs it small, to see that it works.
//!
//! One message a request, distinct ids, 64 connections; no worker takes anything away. The server is
//! a process of its own, so that its CPU time is its own; client and server share the machine. The
//! stores take turns, so that what else the machine does falls on all.
//!
//! The store that does nothing has no writer either, and so all cores to itself: a ratio says
//! something only beside the requests per second that it was made of.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]
#![expect(clippy::cast_precision_loss, reason = "numbers of requests are far below 2^52")]

/// As the program does.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod idle_store;
#[path = "../../tests/it/receiving/intake.rs"]
mod intake;
mod load;
mod server;

use std::path::Path;
use std::process::Command;

use load::{Load, Measured};

/// How often both stores take their turn.
const ROUNDS: usize = 3;
/// What a test sends to each store.
const FEW: usize = 500;

/// What is measured beside the idle store, and what is written for each event.
const KINDS: [(&str, &str); 3] = [
    ("recorded", "the event alone: no route takes it"),
    ("task", "the event and a task, in no order"),
    ("lane", "the event and a task that waits in its conversation's lane"),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [word, kind, folder] = &words[..]
        && word == "serve"
    {
        return server::serve(kind, Path::new(folder));
    }
    // Only `cargo bench` says this.
    if !words.iter().any(|word| word == "--bench") {
        let load = Load::prepare(FEW);
        return ["idle", "lane"].iter().for_each(|kind| drop(run(kind, &load, None)));
    }
    let requests = words.iter().find_map(|word| word.parse().ok()).unwrap_or(100_000);
    let load = Load::prepare(requests);
    let mut ratios: [Vec<f64>; KINDS.len()] = Default::default();
    for _ in 0..ROUNDS {
        let idle = run("idle", &load, None);
        println!("a store that does nothing: {idle}");
        for ((kind, _), ratios) in KINDS.iter().zip(&mut ratios) {
            let durable = run(kind, &load, None);
            println!("sqlite, durable, {kind:<8}: {durable}");
            ratios.push(durable.rate() / idle.rate());
        }
    }
    for ((kind, about), ratios) in KINDS.iter().zip(&mut ratios) {
        ratios.sort_by(f64::total_cmp);
        let median = ratios[ROUNDS / 2];
        println!("ratio of {kind:<8}: {median:.2} (median of {ratios:.2?}): {about}");
    }
    // Apart from the rest: the tracer costs time of its own.
    match fsyncs(&load) {
        Some(fsyncs) => println!("fsyncs per event: {:.3}", fsyncs as f64 / requests as f64),
        None => println!("fsyncs per event: not counted, `strace` is missing or not allowed"),
    }
}

/// Runs a server with this store under the load, and the server itself under `tracer`.
fn run(kind: &str, load: &Load, tracer: Option<&[&str]>) -> Measured {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let program = std::env::current_exe().expect("this program has a path");
    let mut command = match tracer {
        Some([tracer, options @ ..]) => {
            let mut command = Command::new(tracer);
            command.args(options).arg(program);
            command
        }
        _ => Command::new(program),
    };
    command.args(["serve", kind]).arg(folder.path());
    server::Child::start(command).measure(load)
}

/// How often the server flushes to the disk under the load.
fn fsyncs(load: &Load) -> Option<usize> {
    let tried = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).output().ok()?;
    if !tried.status.success() {
        return None;
    }
    let folder = tempfile::tempdir().ok()?;
    let report = folder.path().join("report");
    let to = report.to_str()?;
    let tracer = ["strace", "-f", "--seccomp-bpf", "-e", "trace=fsync,fdatasync", "-qq", "-o", to];
    run("lane", load, Some(&tracer));
    let report = std::fs::read_to_string(&report).ok()?;
    Some(report.lines().filter(|line| line.contains("sync(")).count())
}
