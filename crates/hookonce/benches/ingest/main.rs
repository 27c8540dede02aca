//! How fast webhooks are stored durably, beside the same server with a store that does nothing:
//! `cargo bench -p hookonce --bench ingest [-- REQUESTS] [sqlite]`; `scripts/bench.sh` runs it
//! with all that it can print. `cargo test` runs it small, to see that it works.
//!
//! One message a request, distinct ids, 64 connections, a route that wants each event. The server is
//! a process of its own, so that its CPU time is its own; client and server share the machine. Both
//! stores take turns, so that what else the machine does falls on both.
//!
//! The server leaves one core to the store's writer, as the program does. The store that does nothing
//! has no writer: on two cores that costs it a quarter of its speed, and the durable one nothing. So
//! a ratio says something only beside the requests per second that it was made of.

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

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [word, store, folder] = &words[..]
        && word == "serve"
    {
        return server::serve(store, Path::new(folder));
    }
    // Only `cargo bench` says this.
    if !words.iter().any(|word| word == "--bench") {
        let load = Load::prepare(FEW);
        return ["idle", "sqlite"].iter().for_each(|store| drop(run(store, &load, None)));
    }
    let requests = words.iter().find_map(|word| word.parse().ok()).unwrap_or(100_000);
    let load = Load::prepare(requests);
    if words.iter().any(|word| word == "sqlite") {
        return println!("{}", run("sqlite", &load, None));
    }
    let mut ratios = Vec::new();
    for _ in 0..ROUNDS {
        let idle = run("idle", &load, None);
        let sqlite = run("sqlite", &load, None);
        println!("store that does nothing: {idle}");
        println!("sqlite, durable:         {sqlite}");
        ratios.push(sqlite.rate() / idle.rate());
    }
    ratios.sort_by(f64::total_cmp);
    println!("ratio: {:.2} (median of {ROUNDS}; {ratios:.2?})", ratios[ROUNDS / 2]);
    // Apart from the rest: the tracer costs time of its own.
    match fsyncs(&load) {
        Some(fsyncs) => println!("fsyncs per event: {:.3}", fsyncs as f64 / requests as f64),
        None => println!("fsyncs per event: not counted, `strace` is missing or not allowed"),
    }
}

/// Runs a server with this store under the load, and the server itself under `tracer`.
fn run(store: &str, load: &Load, tracer: Option<&[&str]>) -> Measured {
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
    command.args(["serve", store]).arg(folder.path());
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
    run("sqlite", load, Some(&tracer));
    let report = std::fs::read_to_string(&report).ok()?;
    Some(report.lines().filter(|line| line.contains("sync(")).count())
}
