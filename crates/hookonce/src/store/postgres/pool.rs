//! Connections: a few for everything, one for leases alone, so that a claim is kept however busy the
//! others are. They are opened when they are needed and closed when they are not.
//!
//! A connection is used again only if it is whole and in no transaction: one that is given back in the
//! middle of anything, since whoever waited for it has gone, is closed, and what it does is cancelled.
//! One that is silent for too long keeps its place until its server has answered, so that they can't
//! pile up there; nothing of it is cancelled, since a commit may wait for a standby.

use std::ops::{Deref, DerefMut};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

use super::PostgresOptions;
use super::address::{SILENCE, WAIT};
use super::connector::{Connector, Driver};
use super::error::Failed;
use crate::store::StoreError;

/// How long a connection stays open that nobody uses, and how often that is looked at.
const IDLE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_secs(1);
/// How long one that is about to come back is waited for, before another is opened: so that what an
/// idle node does at one time doesn't need two.
const PATIENCE: Duration = Duration::from_millis(5);
/// The fewest connections, and how many of them no user's statement gets: so that events are stored,
/// claimed and finished however long the statements take.
const FEWEST: usize = 4;
/// How many there are for leases: another, where the one is silent.
const LEASES: usize = 2;
/// How long one statement may take that is a transaction of its own.
const LONGEST: Duration = Duration::from_secs(30);
const KEPT: usize = 3;

/// A parameter with its type: without named statements, the server has to be told.
pub(super) type Typed<'a> = (&'a (dyn ToSql + Sync), Type);

/// The connections to the database.
pub(super) struct Pool {
    all: Arc<Places>,
    leases: Arc<Places>,
    /// What users' statements may have of all.
    share: Arc<Semaphore>,
}

impl Pool {
    pub(super) fn new(options: &PostgresOptions) -> Result<Self, StoreError> {
        let connector = Arc::new(Connector::new(&options.url, options)?);
        let places = |n| Arc::new(Places::new(connector.clone(), n));
        let n = options.connections.max(FEWEST);
        let share = Arc::new(Semaphore::new(n - KEPT));
        Ok(Self { all: places(n), leases: places(LEASES), share })
    }

    /// How many may be used at a time for events that wait for somebody's open transaction.
    pub(super) fn held_width(&self) -> usize {
        self.all.n / 4
    }

    /// Starts what closes connections that nobody uses.
    pub(super) fn start_closing(self: &Arc<Self>, running: &mut JoinSet<()>) {
        let pool = self.clone();
        running.spawn(async move {
            loop {
                tokio::time::sleep(LOOK).await;
                for places in [&pool.all, &pool.leases] {
                    places.idle().retain(|wire| wire.used_at.elapsed() < IDLE);
                }
            }
        });
    }

    /// A connection for anything.
    pub(super) async fn get(&self) -> Result<Connection, Failed> {
        self.all.get().await
    }

    /// A connection for what a user has it do, which may take long. It is waited for so long at most.
    pub(super) async fn for_users(&self, limit: Duration) -> Result<Connection, Failed> {
        let Ok(Ok(share)) = timeout(limit, self.share.clone().acquire_owned()).await else {
            return Err(Failed::Busy(format!(
                "all {} connections that statements may have were in use for {} s",
                self.all.n - KEPT,
                limit.as_secs_f64()
            )));
        };
        let mut connection = self.get().await?;
        connection.share = Some(share);
        Ok(connection)
    }

    /// The connection for leases.
    pub(super) async fn for_leases(&self) -> Result<Connection, Failed> {
        self.leases.get().await
    }

    /// Runs one statement in a transaction of its own.
    pub(super) async fn query(
        &self,
        sql: &str,
        parameters: &[Typed<'_>],
    ) -> Result<Vec<Row>, Failed> {
        let connection = self.get().await?;
        // Until it is answered: whoever is given up here must not leave the next one waiting behind.
        connection.is_open.store(true, Ordering::Relaxed);
        let asked = async { Ok(connection.client.query_typed(sql, parameters).await?) };
        let answer = connection.within(LONGEST, asked).await;
        connection.is_open.store(false, Ordering::Relaxed);
        answer
    }
}

/// Places for connections, and those that are open and not used.
struct Places {
    connector: Arc<Connector>,
    n: usize,
    free: Arc<Semaphore>,
    /// The one used last at the end: it is used next, so that the others grow old.
    idle: Mutex<Vec<Wire>>,
    returned: Notify,
    /// What becomes of those that nobody has any more.
    leaving: Mutex<JoinSet<()>>,
}

impl Places {
    fn new(connector: Arc<Connector>, n: usize) -> Self {
        let free = Arc::new(Semaphore::new(n));
        let returned = Notify::new();
        Self { connector, n, free, idle: Mutex::default(), returned, leaving: Mutex::default() }
    }

    async fn get(self: &Arc<Self>) -> Result<Connection, Failed> {
        let by = Instant::now() + self.connector.limit();
        let place = timeout_at(by, self.free.clone().acquire_owned());
        let Ok(Ok(place)) = place.await else {
            return Err(Failed::Busy(format!("all {} connections are in use", self.n)));
        };
        let wire = match self.take_idle().await {
            Some(wire) => wire,
            None => match timeout_at(by, self.connector.connect()).await {
                Ok(connected) => connected.map(Wire::new)?,
                Err(_) => return Err(Failed::NoConnection("no answer in time".to_owned())),
            },
        };
        let (is_open, is_silent) = (AtomicBool::new(false), AtomicBool::new(false));
        let (wire, place) = (Some(wire), Some(place));
        Ok(Connection { wire, is_open, is_silent, home: self.clone(), place, share: None })
    }

    /// One that is open already, or comes back at once.
    async fn take_idle(&self) -> Option<Wire> {
        let mut returned = pin!(self.returned.notified());
        returned.as_mut().enable();
        let taken = self.pop();
        let others = self.n - self.free.available_permits() - 1;
        if taken.is_some() || others == 0 {
            return taken;
        }
        // Whether it came is seen in what is idle.
        let _ = tokio::time::timeout(PATIENCE, returned).await;
        self.pop()
    }

    fn pop(&self) -> Option<Wire> {
        let mut idle = self.idle();
        idle.retain(|wire| !wire.client.is_closed());
        idle.pop()
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Wire>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the server give up what a connection is doing, which it would do to the end, and hold its
    /// locks until then, although the connection is closed.
    fn cancel(&self, wire: &Wire) {
        let (token, connector) = (wire.client.cancel_token(), self.connector.clone());
        self.leave(async move { connector.cancel(&token).await });
    }

    /// Waits until the server has answered all that it was asked, or the connection broke.
    fn wait_for_end(&self, wire: Wire, places: [Option<OwnedSemaphorePermit>; 2]) {
        self.leave(async move {
            let _ = wire.client.simple_query("").await;
            drop((wire, places));
        });
    }

    fn leave(&self, work: impl Future<Output = ()> + Send + 'static) {
        let Ok(runtime) = Handle::try_current() else { return };
        let mut leaving = self.leaving.lock().unwrap_or_else(PoisonError::into_inner);
        while leaving.try_join_next().is_some() {}
        leaving.spawn_on(work, &runtime);
    }
}

/// An open connection; closed when it is dropped.
pub(super) struct Wire {
    client: Client,
    used_at: Instant,
    /// What moves its bytes.
    #[expect(dead_code, reason = "held until it is dropped")]
    driving: JoinSet<()>,
}

impl Wire {
    fn new((client, driver): (Client, Driver)) -> Self {
        let mut driving = JoinSet::new();
        driving.spawn(async move {
            // Whoever waits for an answer is told.
            let _ = driver.await;
        });
        Self { client, used_at: Instant::now(), driving }
    }
}

impl Deref for Wire {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl DerefMut for Wire {
    fn deref_mut(&mut self) -> &mut Client {
        &mut self.client
    }
}

/// A connection in use.
pub(super) struct Connection {
    /// There until it is dropped.
    wire: Option<Wire>,
    /// A transaction was begun, and nobody has seen it end.
    is_open: AtomicBool,
    /// An answer was waited for too long.
    is_silent: AtomicBool,
    home: Arc<Places>,
    place: Option<OwnedSemaphorePermit>,
    /// Of what users' statements may have.
    share: Option<OwnedSemaphorePermit>,
}

impl Connection {
    /// Begins a transaction with these words; [`Connection::end`] ends it. Other statements may be
    /// sent before the answer is here.
    pub(super) async fn begin(&self, sql: &str) -> Result<(), Failed> {
        self.is_open.store(true, Ordering::Relaxed);
        in_time(self.batch_execute(sql)).await
    }

    /// Ends the transaction with this word, `commit` or `rollback`.
    pub(super) async fn end(&self, word: &str) -> Result<(), Failed> {
        if self.is_silent.load(Ordering::Relaxed) {
            return Err(Failed::Silent(SILENCE));
        }
        self.within(SILENCE, async { Ok(self.batch_execute(word).await?) }).await?;
        self.is_open.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Asks, and waits for the answer as long as for any.
    pub(super) async fn query_typed(
        &self,
        sql: &str,
        parameters: &[Typed<'_>],
    ) -> Result<Vec<Row>, Failed> {
        self.within(SILENCE, async { Ok(self.client.query_typed(sql, parameters).await?) }).await
    }

    /// Waits for answers so long at most; after that the connection is of no more use.
    pub(super) async fn within<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, Failed>>,
    ) -> Result<T, Failed> {
        timeout(limit, work).await.unwrap_or_else(|_| {
            self.is_silent.store(true, Ordering::Relaxed);
            Err(Failed::Silent(limit))
        })
    }

    /// Takes it out of the pool, to be closed when it is dropped.
    pub(super) fn alone(mut self) -> Alone {
        Alone { wire: self.wire.take().expect(GONE), _place: self.place.take() }
    }

    /// Begins a transaction. One that is not ended costs the connection.
    pub(super) async fn transaction(&mut self) -> Result<Transaction<'_>, Failed> {
        let Self { wire: Some(wire), is_open, .. } = self else { unreachable!("{GONE}") };
        is_open.store(true, Ordering::Relaxed);
        Ok(Transaction { inner: in_time(wire.client.transaction()).await?, is_open })
    }
}

/// The first words of a transaction need no lock and no disk: a pooler that has no server to send them
/// to keeps them for minutes.
async fn in_time<T>(
    work: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, Failed> {
    match tokio::time::timeout(WAIT, work).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(Failed::NoConnection("no answer in time".to_owned())),
    }
}

const GONE: &str = "a connection has its wire until it is dropped";

impl Deref for Connection {
    type Target = Wire;

    fn deref(&self) -> &Wire {
        self.wire.as_ref().expect(GONE)
    }
}

impl DerefMut for Connection {
    fn deref_mut(&mut self) -> &mut Wire {
        self.wire.as_mut().expect(GONE)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let is_open = *self.is_open.get_mut();
        if let Some(mut wire) = self.wire.take().filter(|wire| !wire.client.is_closed()) {
            if *self.is_silent.get_mut() {
                // The others may have gone the same way.
                self.home.idle().clear();
                self.home.wait_for_end(wire, [self.place.take(), self.share.take()]);
            } else if is_open {
                self.home.cancel(&wire);
            } else {
                wire.used_at = Instant::now();
                self.home.idle().push(wire);
            }
        }
        drop((self.place.take(), self.share.take()));
        self.home.returned.notify_waiters();
    }
}

/// A connection that nobody uses after this.
pub(super) struct Alone {
    wire: Wire,
    _place: Option<OwnedSemaphorePermit>,
}

impl Alone {
    pub(super) async fn transaction(
        &mut self,
    ) -> Result<tokio_postgres::Transaction<'_>, tokio_postgres::Error> {
        self.wire.client.transaction().await
    }
}

/// A transaction on a connection.
pub(super) struct Transaction<'a> {
    inner: tokio_postgres::Transaction<'a>,
    is_open: &'a AtomicBool,
}

impl Transaction<'_> {
    pub(super) async fn commit(self) -> Result<(), tokio_postgres::Error> {
        self.inner.commit().await?;
        self.is_open.store(false, Ordering::Relaxed);
        Ok(())
    }

    pub(super) async fn rollback(self) -> Result<(), tokio_postgres::Error> {
        self.inner.rollback().await?;
        self.is_open.store(false, Ordering::Relaxed);
        Ok(())
    }
}

impl DerefMut for Transaction<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.inner
    }
}

impl<'a> Deref for Transaction<'a> {
    type Target = tokio_postgres::Transaction<'a>;

    fn deref(&self) -> &Self::Target {
        &self.inner
    }
}
