//! Senders as they should be, who note how long each answer took.
//!
//! Each posts by its timetable, and a time counts from when its request was due: a sender that is kept
//! waiting doesn't get away with fewer requests.

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
/// How often each has something to post.
const EVERY: Duration = Duration::from_millis(25);

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
        all.times.sort_unstable_by_key(|(_, took)| *took);
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
    let (mut n, mut due) = (0, Instant::now());
    while !is_over.load(Ordering::Relaxed) {
        n += 1;
        due += EVERY;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let request = body(&[Message::new(format!("wamid.{name}.{n}"), 1)]);
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
            thread::sleep(EVERY);
        };
        measured.times.push((due, due.elapsed()));
        assert_eq!(answer.status, 200, "{answer:?}");
        answered.fetch_add(1, Ordering::Relaxed);
    }
    measured
}

/// When each request was due and how long its answer took from then, in order of length.
#[derive(Default)]
pub(super) struct Measured {
    times: Vec<(Instant, Duration)>,
    /// How often a connection broke before the answer.
    again: usize,
}

impl Measured {
    pub(super) fn answered(&self) -> usize {
        self.times.len()
    }

    /// How long all but one in a hundred took at most, of those that were due from then on.
    pub(super) fn p99_from(&self, from: Instant) -> Duration {
        let due: Vec<_> = self.times.iter().filter(|(due, _)| *due >= from).collect();
        due[due.len() * 99 / 100].1
    }

    pub(super) fn p99(&self) -> Duration {
        self.times[self.times.len() * 99 / 100].1
    }

    pub(super) fn longest(&self) -> Duration {
        self.times[self.times.len() - 1].1
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, p50, again) = (self.answered(), self.times[self.times.len() / 2].1, self.again);
        let (p99, longest) = (self.p99(), self.longest());
        write!(
            f,
            "{count} answers, p50 {p50:?}, p99 {p99:?}, longest {longest:?}, {again} repeated"
        )
    }
}
