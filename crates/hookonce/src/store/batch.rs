//! Gathers what many ask for into batches, each one transaction.
//!
//! Nothing waits for a batch to grow: what has queued up while the one before was under way is the next.
//! Only where that one is slow, another begins beside it.

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
/// How many batches may be under way at once, and for how long one has the queue to itself.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    pub(super) width: usize,
    pub(super) patience: Duration,
}

impl Pace {
    /// Fewer, larger batches cost less than many at once, but one that is slow keeps nobody waiting.
    pub(super) fn of(width: usize) -> Self {
        Self { width, patience: Duration::from_millis(5) }
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
        let queue = Arc::new(Mutex::new(queue));
        for _ in 0..pace.width {
            let (queue, work) = (queue.clone(), work.clone());
            running.spawn(async move {
                loop {
                    let mut turn = queue.lock().await;
                    let Some(batch) = next(&mut turn).await else { return };
                    let mut work = pin!(work(batch));
                    if tokio::time::timeout(pace.patience, &mut work).await.is_err() {
                        drop(turn);
                        work.await;
                    }
                }
            });
        }
        Self { asks, bytes: Arc::new(Semaphore::new(BYTES)) }
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

/// Waits for work and takes what one transaction may hold; `None` once the store is dropped.
async fn next<T, A>(queue: &mut mpsc::Receiver<Ask<T, A>>) -> Option<Vec<Ask<T, A>>> {
    let mut batch = vec![queue.recv().await?];
    let mut n = batch[0].n;
    while n < BATCH
        && let Ok(ask) = queue.try_recv()
    {
        n += ask.n;
        batch.push(ask);
    }
    Some(batch)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::sync::Barrier;
    use tokio::task::JoinSet;

    use super::{Ask, BATCH, Batcher, Pace};

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
}
