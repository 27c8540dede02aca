//! Gathers what many ask for into batches, each one transaction.
//!
//! Nothing waits for a batch to grow while no other is under way: what has queued up by the end of one is the
//! next. When one begins beside another is a matter of the [`Pace`].

use std::mem;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;

use crate::store::StoreError;

/// The most asks that wait; more wait to be let in.
const QUEUE: usize = 4096;
/// The most bytes of events that wait; beyond it, intake is refused at once.
const BYTES: usize = 64 << 20;
/// The most events, or other things, that one transaction takes.
const BATCH: usize = 2048;
/// For how long a batch has the queue to itself.
const PATIENCE: Duration = Duration::from_millis(5);

/// How many batches may be under way at once, and when one begins beside another.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    width: usize,
    halves: bool,
}

impl Pace {
    /// Beside one that is slow, which keeps nobody waiting then; fewer, larger batches cost less than many.
    pub(super) fn of(width: usize) -> Self {
        Self { width, halves: false }
    }

    /// Two at once, the second as soon as as much waits as the first has: a store that does one after the
    /// other does the second while the first is answered.
    pub(super) fn in_halves() -> Self {
        Self { width: 2, halves: true }
    }
}

/// Something asked for, and who waits for the answer.
pub(super) struct Ask<T, A> {
    pub(super) what: T,
    n: usize,
    reply: oneshot::Sender<Result<A, StoreError>>,
    _bytes: Option<tokio::sync::OwnedSemaphorePermit>,
}

impl<T, A> Ask<T, A> {
    /// Whether nobody waits any more.
    pub(super) fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    /// Answers; whoever asked may have gone.
    pub(super) fn answer(self, answer: Result<A, StoreError>) {
        let _ = self.reply.send(answer);
    }
}

/// Room for all the bytes of events that may wait at once.
pub(super) fn room() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(BYTES))
}

/// The door to what gathers batches.
pub(super) struct Batcher<T, A> {
    asks: mpsc::Sender<Ask<T, A>>,
    bytes: Arc<Semaphore>,
}

impl<T: Send + 'static, A: Send + 'static> Batcher<T, A> {
    /// Starts loops that do batches by `work`.
    pub(super) fn start<W, F>(running: &mut JoinSet<()>, pace: Pace, work: W) -> Self
    where
        W: Fn(Vec<Ask<T, A>>) -> F + Clone + Send + 'static,
        F: Future<Output = ()> + Send,
    {
        let (asks, queue) = mpsc::channel(QUEUE);
        let waiting = Arc::new(Mutex::new(Waiting { queue, gathered: Vec::new(), n: 0 }));
        for _ in 0..pace.width {
            let (waiting, work) = (waiting.clone(), work.clone());
            running.spawn(async move {
                loop {
                    let mut turn = waiting.lock().await;
                    let Some((batch, n)) = turn.next().await else { return };
                    let mut work = pin!(work(batch));
                    let is_done = tokio::select! {
                        biased;
                        () = &mut work => true,
                        () = turn.gather(n.min(BATCH)), if pace.halves => false,
                        () = tokio::time::sleep(PATIENCE) => false,
                    };
                    if !is_done {
                        drop(turn);
                        work.await;
                    }
                }
            });
        }
        Self { asks, bytes: room() }
    }

    /// What waits here and at the other doors of this room is bounded together.
    pub(super) fn within(self, room: Arc<Semaphore>) -> Self {
        Self { bytes: room, ..self }
    }

    /// Asks and waits for the answer.
    pub(super) async fn ask(&self, what: T, n: usize, bytes: usize) -> Result<A, StoreError> {
        let bytes = match bytes {
            0 => None,
            bytes => {
                let bytes = u32::try_from(bytes.min(BYTES)).unwrap_or(u32::MAX);
                let taken = self.bytes.clone().try_acquire_many_owned(bytes);
                Some(taken.map_err(|_| {
                    StoreError::unavailable(
                        "more events are waiting to be stored than memory is kept for",
                    )
                })?)
            }
        };
        let (reply, answer) = oneshot::channel();
        let closed = || StoreError::unavailable("the store is closed");
        let ask = Ask { what, n, reply, _bytes: bytes };
        self.asks.send(ask).await.map_err(|_| closed())?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }
}

impl<T, A> Batcher<T, A> {
    /// Hands on what was asked elsewhere; it is refused where too much waits already.
    pub(super) fn pass(&self, ask: Ask<T, A>) {
        if let Err(refused) = self.asks.try_send(ask) {
            let message = "too much waits for rows that open transactions have locked";
            refused.into_inner().answer(Err(StoreError::unavailable(message)));
        }
    }
}

/// What waits to be done.
struct Waiting<T, A> {
    queue: mpsc::Receiver<Ask<T, A>>,
    /// What was taken out of the queue already, and how much it is.
    gathered: Vec<Ask<T, A>>,
    n: usize,
}

impl<T, A> Waiting<T, A> {
    /// Waits until so much waits; for ever, once the store is dropped.
    async fn gather(&mut self, enough: usize) {
        while self.n < enough {
            match self.queue.recv().await {
                Some(ask) => self.put(ask),
                None => std::future::pending().await,
            }
        }
    }

    /// Waits for work and takes what one transaction may hold, and how much it is; `None` once the store is
    /// dropped.
    async fn next(&mut self) -> Option<(Vec<Ask<T, A>>, usize)> {
        if self.gathered.is_empty() {
            let ask = self.queue.recv().await?;
            self.put(ask);
        }
        while self.n < BATCH
            && let Ok(ask) = self.queue.try_recv()
        {
            self.put(ask);
        }
        Some((mem::take(&mut self.gathered), mem::take(&mut self.n)))
    }

    fn put(&mut self, ask: Ask<T, A>) {
        self.n += ask.n;
        self.gathered.push(ask);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::sync::{Barrier, mpsc};
    use tokio::task::JoinSet;
    use tokio::time::Instant;

    use super::{Ask, BATCH, Batcher, PATIENCE, Pace};

    /// Fails when the queue isn't let go of while a slow batch is done.
    #[tokio::test]
    async fn a_slow_batch_keeps_no_other_waiting() {
        let (mut running, both) = (JoinSet::new(), Arc::new(Barrier::new(2)));
        let batcher = Batcher::start(&mut running, Pace::of(2), move |batch: Vec<Ask<(), ()>>| {
            let both = both.clone();
            async move {
                both.wait().await;
                for ask in batch {
                    ask.answer(Ok(()));
                }
            }
        });
        // Each as large as a batch may be.
        let asks = async { tokio::join!(batcher.ask((), BATCH, 0), batcher.ask((), BATCH, 0)) };
        let (one, other) = tokio::time::timeout(Duration::from_secs(5), asks).await.unwrap();
        assert!(one.is_ok() && other.is_ok());
    }

    /// Fails when a batch of halves waits for the one before while as much waits, or begins before that.
    #[tokio::test(start_paused = true)]
    async fn another_begins_as_soon_as_as_much_waits() {
        assert_eq!(begun_after(2, Pace::in_halves()).await, Duration::ZERO);
        assert!(begun_after(1, Pace::in_halves()).await >= PATIENCE);
        assert!(begun_after(2, Pace::of(2)).await >= PATIENCE);
    }

    /// Fails when what gathers while a batch is under way is taken whole, however much it is.
    #[tokio::test(start_paused = true)]
    async fn no_batch_is_larger_than_one_may_be() {
        for pace in [Pace::of(2), Pace::in_halves()] {
            let (mut running, mut asking) = (JoinSet::new(), JoinSet::new());
            let (done, mut sizes) = mpsc::unbounded_channel();
            let door = Batcher::start(&mut running, pace, move |batch: Vec<Ask<(), ()>>| {
                let done = done.clone();
                async move {
                    tokio::time::sleep(PATIENCE * 4).await;
                    done.send(batch.iter().map(|ask| ask.n).sum::<usize>()).unwrap();
                    for ask in batch {
                        ask.answer(Ok(()));
                    }
                }
            });
            let door = Arc::new(door);
            let parts = 16;
            for _ in 0..4 * parts {
                let door = door.clone();
                asking.spawn(async move { door.ask((), BATCH / parts, 0).await.unwrap() });
            }
            asking.join_all().await;
            drop(door);
            running.shutdown().await;
            let mut all = 0;
            while let Ok(size) = sizes.try_recv() {
                assert!(size <= BATCH, "{size}");
                all += size;
            }
            assert_eq!(all, 4 * BATCH);
        }
    }

    /// For how long so much waits beside two of a batch that doesn't end.
    async fn begun_after(n: usize, pace: Pace) -> Duration {
        let (mut running, mut asking) = (JoinSet::new(), JoinSet::new());
        let (begun, mut starts) = mpsc::unbounded_channel();
        let door = Batcher::start(&mut running, pace, move |batch: Vec<Ask<(), ()>>| {
            let begun = begun.clone();
            async move {
                begun.send(Instant::now()).unwrap();
                std::future::pending::<()>().await;
                drop(batch);
            }
        });
        let door = Arc::new(door);
        let mut ask = |n| {
            let door = door.clone();
            asking.spawn(async move { door.ask((), n, 0).await });
        };
        ask(2);
        let first = starts.recv().await.unwrap();
        ask(n);
        starts.recv().await.unwrap() - first
    }
}
