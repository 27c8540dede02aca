//! Senders that post to any of the nodes, over several lanes each, and know the order of acks.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::fleet::Fleet;
use crate::crash::sender::{Message, Sender, body};

/// How many lanes a sender posts to.
const LANES: u64 = 4;
/// How long a sender waits before it comes again.
const AGAIN: Duration = Duration::from_millis(20);
/// The 3 s after which a node answers 503, and what a machine that is busy takes.
const LONGEST: Duration = Duration::from_secs(6);

/// What a sender knows at the end.
#[derive(Default)]
pub(super) struct Sent {
    /// The messages of each lane, in the order of acks; those of one request in theirs.
    pub(super) acked: HashMap<u64, Vec<String>>,
    /// How often a request was not acked.
    pub(super) refused: u64,
    /// The longest time until an answer.
    pub(super) longest: Duration,
}

impl Sent {
    pub(super) fn add(&mut self, other: Self) {
        self.acked.extend(other.acked);
        self.refused += other.refused;
        self.longest = self.longest.max(other.longest);
    }

    pub(super) fn count(&self) -> usize {
        self.acked.values().map(Vec::len).sum()
    }
}

/// Tells the senders that it is over.
pub(super) struct Over<'a>(pub(super) &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Posts until `is_over`, each message again and again until it is acked by some node, and only then the
/// next one of its lane; now and then several in one request, and a copy of an earlier one.
pub(super) fn post(
    nodes: &Fleet,
    name: u64,
    mut random: fastrand::Rng,
    is_over: &AtomicBool,
) -> Sent {
    let mut sent = Sent::default();
    let mut connections = HashMap::new();
    let mut n = 0;
    while !is_over.load(Ordering::Relaxed) {
        let lane = 1000 * (name + 1) + random.u64(..LANES);
        let mut messages: Vec<Message> = vec![];
        for _ in 0..if random.u8(..4) == 0 { random.u8(2..5) } else { 1 } {
            n += 1;
            messages.push(Message::new(format!("wamid.{name}.{n}"), lane));
        }
        let earlier = sent.acked.entry(lane).or_default();
        let new = messages.iter().map(|message| message.id.clone()).collect::<Vec<_>>();
        if random.u8(..8) == 0 && !earlier.is_empty() {
            messages.push(Message::new(earlier[random.usize(..earlier.len())].clone(), lane));
        }
        let request = body(&messages);
        while !try_post(nodes, &mut connections, &request, &mut random, &mut sent) {
            sent.refused += 1;
            thread::sleep(AGAIN);
        }
        sent.acked.entry(lane).or_default().extend(new);
    }
    sent
}

/// Posts to one node, and says whether it acked.
fn try_post(
    nodes: &Fleet,
    connections: &mut HashMap<String, Sender>,
    request: &str,
    random: &mut fastrand::Rng,
    sent: &mut Sent,
) -> bool {
    let node = random.usize(..nodes.running.len());
    let Some(url) = nodes.url(node) else { return false };
    let sender = connections.entry(url.clone()).or_insert_with(|| Sender::new(&url));
    let begun = Instant::now();
    let Ok(answer) = sender.post(request) else {
        connections.remove(&url);
        return false;
    };
    let took = begun.elapsed();
    assert!(took < LONGEST, "an answer took {took:?}");
    sent.longest = sent.longest.max(took);
    assert!(matches!(answer.status, 200 | 503), "{answer:?}");
    assert!(answer.status == 200 || answer.head.contains("\r\nretry-after: "), "{answer:?}");
    answer.status == 200
}
