//! Senders as they should be, who note how long each answer took.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::crash::sender::{Message, Sender, body};

/// How many post over a connection each that they keep, and how many open one for each request.
const KEEPING: usize = 4;
const OPENING: usize = 4;
pub(super) const SENDERS: usize = KEEPING + OPENING;
/// What a sender does between two requests takes so long.
const PAUSE: Duration = Duration::from_millis(10);

/// Senders that post until they are told to end.
pub(super) struct Senders {
    running: Vec<JoinHandle<Measured>>,
    is_over: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
}

impl Senders {
    /// Starts them; no two requests of one name are alike.
    pub(super) fn start(url: &str, name: &str) -> Self {
        let (is_over, answered) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let start = |n: usize| {
            let (url, name) = (url.to_owned(), format!("{name}.{n}"));
            let (is_over, answered) = (is_over.clone(), answered.clone());
            thread::spawn(move || post(&url, &name, n < KEEPING, &is_over, &answered))
        };
        Self { running: (0..SENDERS).map(start).collect(), is_over, answered }
    }

    /// How many requests were answered so far.
    pub(super) fn answered(&self) -> usize {
        self.answered.load(Ordering::Relaxed)
    }

    /// Waits for the answers that are outstanding, and gives what was measured.
    pub(super) fn end(self) -> Measured {
        self.is_over.store(true, Ordering::Relaxed);
        let mut all = Measured::default();
        for sender in self.running {
            let one = sender.join().unwrap();
            all.times.extend(one.times);
            all.again += one.again;
        }
        all.times.sort_unstable();
        all
    }
}

fn post(
    url: &str,
    name: &str,
    keeps: bool,
    is_over: &AtomicBool,
    answered: &AtomicUsize,
) -> Measured {
    let mut measured = Measured::default();
    let mut sender = Sender::new(url);
    let mut n = 0;
    while !is_over.load(Ordering::Relaxed) {
        n += 1;
        let request = body(&[Message::new(format!("wamid.{name}.{n}"), 1)]);
        let began = Instant::now();
        let answer = loop {
            if !keeps {
                sender = Sender::new(url);
            }
            match sender.post(&request) {
                Ok(answer) => break answer,
                // A connection may be closed just as it is written to: every sender comes again.
                Err(_) => measured.again += 1,
            }
            sender = Sender::new(url);
            thread::sleep(PAUSE);
        };
        measured.times.push(began.elapsed());
        assert_eq!(answer.status, 200, "{answer:?}");
        answered.fetch_add(1, Ordering::Relaxed);
        thread::sleep(PAUSE);
    }
    measured
}

/// How long the answers took, in order of length.
#[derive(Default)]
pub(super) struct Measured {
    times: Vec<Duration>,
    /// How often a connection broke before the answer.
    again: usize,
}

impl Measured {
    pub(super) fn answered(&self) -> usize {
        self.times.len()
    }

    pub(super) fn p99(&self) -> Duration {
        self.times[self.times.len() * 99 / 100]
    }

    pub(super) fn longest(&self) -> Duration {
        self.times[self.times.len() - 1]
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, p50, again) = (self.answered(), self.times[self.times.len() / 2], self.again);
        let (p99, longest) = (self.p99(), self.longest());
        write!(
            f,
            "{count} answers, p50 {p50:?}, p99 {p99:?}, longest {longest:?}, {again} repeated"
        )
    }
}
