//! How fast requests are proven and cut: `cargo bench -p hookonce --bench parse [-- SCHEME… [TIMES]]`.
//!
//! Prints for each scheme the bytes and the requests a second that one core verifies and parses, of a
//! small body and of a full batch. Nothing is received, routed or stored. `cargo test` does each once,
//! to see that it works.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]
#![expect(clippy::cast_precision_loss, reason = "what is counted is far below 2^52")]

mod bodies;
#[path = "../../../../fuzz/src/request.rs"]
#[allow(unreachable_pub, reason = "it is a file of the fuzzer's library")]
mod request;
mod subjects;

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use subjects::SUBJECTS;

use hookonce::scheme::{Origin, Request, Scheme, Secret, Verified};

/// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long each is measured, and in how many parts: the best is what counts, for everything else
/// that a machine does only makes it slower. Short ones find a moment in which it does nothing else.
const PART: Duration = Duration::from_millis(5);
const PARTS: usize = 400;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    // Only `cargo bench` says this.
    let is_large = words.iter().any(|word| word == "--bench");
    // A number is for profilers: each runs so often, and nothing is measured.
    let times: usize = words.iter().find_map(|word| word.parse().ok()).unwrap_or(1);
    let named = |subject: &&subjects::Subject| words.iter().any(|word| word == subject.name);
    let asked: Vec<_> = SUBJECTS.iter().filter(named).collect();
    let asked = if asked.is_empty() { SUBJECTS.iter().collect() } else { asked };
    if is_large {
        println!(
            "| scheme | request | bytes | events | MB/s | ns/request | to prove it | ns/event |"
        );
        println!("|---|---|--:|--:|--:|--:|--:|--:|");
    }
    for subject in asked {
        let batch = subject.batch.map(|batch| batch());
        let batch = batch.into_iter().map(|(body, events)| ("batch", body, events));
        for (what, body, events) in std::iter::once(("small", (subject.small)(), 1)).chain(batch) {
            let secret = Secret::new("a secret of some length").expect("it is not empty");
            let scheme = (subject.scheme)(secret);
            let job = Job::new(&*scheme, &body);
            for _ in 0..times {
                assert_eq!(job.run(), events, "{} {what}", subject.name);
            }
            if is_large && times == 1 {
                let ns = measure(|| job.run());
                let proof = measure(|| usize::from(job.prove().secret.is_some()));
                let (bytes, name) = (body.len(), subject.name);
                let (speed, each) = (bytes as f64 * 1e3 / ns, ns / events as f64);
                println!(
                    "| {name} | {what} | {bytes} | {events} | {speed:.0} | {ns:.0} | {proof:.0} | {each:.0} |"
                );
            }
        }
    }
}

/// One signed request, to be proven and cut again and again.
struct Job<'s> {
    scheme: &'s dyn Scheme,
    request: Request,
    origin: Origin,
}

impl<'s> Job<'s> {
    fn new(scheme: &'s dyn Scheme, body: &str) -> Self {
        // What else comes along is looked past.
        let more = [("host", &b"hooks.example.org"[..]), ("user-agent", b"a sender/1.0")];
        let request = request::signed(scheme, body.as_bytes(), &more);
        let source = Arc::<str>::from("whatsapp");
        let (scope, received_at) = (Arc::clone(&source), request.received_at);
        let origin = Origin { source, scope, received_at };
        Self { scheme, request, origin }
    }

    /// Proves it once.
    fn prove(&self) -> Verified {
        // Copies no byte of the body; the headers are the receiver's to make.
        self.scheme.verify(black_box(self.request.clone())).expect("it is signed")
    }

    /// Proves and cuts it once, and says how many events there are.
    fn run(&self) -> usize {
        black_box(self.scheme.parse(&self.prove(), &self.origin)).len()
    }
}

/// How long once takes, in nanoseconds.
fn measure(once: impl Fn() -> usize) -> f64 {
    let part = || {
        let (began, mut times) = (Instant::now(), 0_u32);
        loop {
            black_box(once());
            times += 1;
            let took = began.elapsed();
            if took > PART {
                return took.as_secs_f64() * 1e9 / f64::from(times);
            }
        }
    };
    (0..PARTS).map(|_| part()).fold(f64::INFINITY, f64::min)
}
