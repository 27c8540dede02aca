//! Accepts connections and serves HTTP on them, within limits of number and time.
//!
//! It knows nothing of webhooks: what is served is a router, when to stop is a future, both given
//! as arguments. Each request carries its client's address, as axum's `ConnectInfo<SocketAddr>`. No
//! connection outlives [`serve`].

mod activity;
mod connection;
mod handshake;
mod head;
mod tls;
mod wire;

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use crate::telemetry;
use activity::{Activity, Command, Phase};
pub use tls::{Tls, TlsError, TlsOptions};

/// How long accepting rests after an error that would come again at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How often a connection that waits for a place looks for one that has become idle.
const PLACE_POLL: Duration = Duration::from_millis(10);

/// How long a head or a body may take, and a connection may be idle, before it is among the first that
/// are shed.
const SPARED: Duration = Duration::from_secs(1);

/// Limits of a listener.
#[derive(Debug, Clone)]
pub struct ListenerOptions {
    /// Connections that are open at once.
    pub connections: usize,
    /// How long the head of a request may take, and a new connection until it sends one. The
    /// handshake of TLS is part of the first head.
    pub header_timeout: Duration,
    /// How long a connection is kept open between requests.
    pub idle_timeout: Duration,
    /// How long requests in flight may take to finish once it is time to stop.
    pub grace: Duration,
    /// What connections are encrypted with; plain HTTP is spoken without it.
    pub tls: Option<Arc<Tls>>,
}

impl Default for ListenerOptions {
    fn default() -> Self {
        Self {
            connections: 1024,
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            grace: Duration::from_secs(30),
            tls: None,
        }
    }
}

/// Serves `router` on the connections that `listener` accepts, until `shutdown` completes; then
/// accepts no more, finishes the requests in flight, and returns when all are done or the grace
/// time has passed.
pub async fn serve(
    listener: TcpListener,
    router: axum::Router,
    options: ListenerOptions,
    shutdown: impl Future<Output = ()>,
) {
    let mut connections = Connections::new(router, options);
    let mut shutdown = pin!(shutdown);
    let mut sweep = interval(connections.sweep_interval());
    sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            Some(ended) = connections.running.join_next_with_id() => {
                connections.close(ended);
                continue;
            }
            _ = sweep.tick() => {
                connections.sweep();
                continue;
            }
            accepted = listener.accept() => accepted,
        };
        let admitted = tokio::select! {
            () = &mut shutdown => break,
            admitted = connections.admit(accepted) => admitted,
        };
        if let Some(accepted) = admitted {
            connections.open(accepted);
        }
    }
    // A connection that nobody has accepted by now is refused by the system.
    drop(listener);
    connections.finish().await;
}

/// The connections that are open.
struct Connections {
    router: axum::Router,
    options: ListenerOptions,
    running: JoinSet<()>,
    activities: HashMap<Id, Arc<Activity>>,
    started_at: Instant,
}

impl Connections {
    fn new(router: axum::Router, options: ListenerOptions) -> Self {
        let (running, activities) = (JoinSet::new(), HashMap::new());
        Self { router, options, running, activities, started_at: Instant::now() }
    }

    fn open(&mut self, accepted: (TcpStream, SocketAddr)) {
        let activity = Arc::new(Activity::new(self.started_at));
        let (tls, router) = (self.options.tls.clone(), self.router.clone());
        let served = connection::serve(accepted, tls, router, activity.clone());
        let id = self.running.spawn(served).id();
        self.activities.insert(id, activity);
        telemetry::connection_opened();
    }

    fn close(&mut self, ended: Result<(Id, ()), JoinError>) {
        let id = ended.map_or_else(
            |error| {
                if error.is_panic() {
                    telemetry::connection_panicked(&error);
                }
                error.id()
            },
            |(id, ())| id,
        );
        if self.activities.remove(&id).is_some() {
            telemetry::connection_closed();
        }
    }

    /// Gives what was accepted once there is a place for it. An error of one connection is that
    /// connection's; one of the process (out of file descriptors) passes when others close, so it
    /// neither ends the loop nor lets it spin.
    async fn admit(
        &mut self,
        accepted: io::Result<(TcpStream, SocketAddr)>,
    ) -> Option<(TcpStream, SocketAddr)> {
        match accepted {
            Ok(accepted) => {
                self.make_place().await;
                Some(accepted)
            }
            Err(error) => {
                telemetry::accept_failed(&error);
                let own = matches!(
                    error.kind(),
                    io::ErrorKind::ConnectionAborted
                        | io::ErrorKind::ConnectionReset
                        | io::ErrorKind::Interrupted
                );
                if !own {
                    // The system says so even when no connection waits, as after the one that took
                    // the last descriptor: which must not be the one that is shed.
                    self.shed(SPARED);
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
                None
            }
        }
    }

    /// Returns when one more connection may be opened; while there is no place, sheds others. If
    /// every one has a request in flight, the new one waits, and those behind it wait in the
    /// system's queue.
    async fn make_place(&mut self) {
        while self.activities.len() >= self.options.connections.max(1) {
            self.shed(Duration::ZERO);
            self.sweep();
            if let Ok(Some(ended)) = timeout(PLACE_POLL, self.running.join_next_with_id()).await {
                self.close(ended);
            }
        }
    }

    /// Tells the connection that makes place most cheaply to close: the one that was idle the longest,
    /// if that is for more than a moment; else the one whose head or body has been trickling in the
    /// longest, since a sender writes both at once; else the one that was idle the longest, for
    /// `idle_least` at least. A request that has arrived is never shed.
    fn shed(&self, idle_least: Duration) {
        let spare = |activity: &&Arc<Activity>| {
            let (phase, age) = activity.phase();
            let class = match phase {
                Phase::New | Phase::Idle if age > SPARED => 2,
                Phase::Head if age > SPARED => 1,
                Phase::Busy if age > SPARED && activity.awaits_body() => 1,
                // Of a sender that posts all the time, which is to keep its connection before others.
                Phase::New | Phase::Idle if age >= idle_least => 0,
                _ => return None,
            };
            (activity.command() == Command::None).then_some((class, age))
        };
        let spares = self.activities.values().filter_map(|one| Some((spare(&one)?, one)));
        if let Some(((class, _), first)) = spares.max_by_key(|(rank, _)| *rank) {
            // To what has begun to arrive, finishing would mean to wait for its end.
            first.order(if class == 1 { Command::Drop } else { Command::Finish });
            telemetry::connection_ended("shed");
        }
    }

    /// Ends what has been idle or slow for too long. One look at every connection once in a while
    /// costs less than a timer for each request.
    fn sweep(&self) {
        let ListenerOptions { header_timeout, idle_timeout, .. } = self.options;
        for activity in self.activities.values() {
            let (phase, age) = activity.phase();
            let (command, reason) = match phase {
                Phase::New | Phase::Head if age > header_timeout => (Command::Drop, "slow_header"),
                // It was told to close and can't: its client doesn't read the last answer.
                Phase::Idle if age > idle_timeout + header_timeout => (Command::Drop, "idle"),
                Phase::Idle if age > idle_timeout => (Command::Finish, "idle"),
                _ => continue,
            };
            if activity.order(command) {
                telemetry::connection_ended(reason);
            }
        }
    }

    fn sweep_interval(&self) -> Duration {
        let shortest = self.options.header_timeout.min(self.options.idle_timeout);
        (shortest / 4).clamp(Duration::from_millis(10), Duration::from_secs(1))
    }

    async fn finish(mut self) {
        for activity in self.activities.values() {
            activity.order(Command::Finish);
        }
        let grace = self.options.grace;
        let mut sweep = interval(self.sweep_interval());
        let all = async {
            loop {
                tokio::select! {
                    ended = self.running.join_next_with_id() => match ended {
                        Some(ended) => self.close(ended),
                        None => break,
                    },
                    // A request whose head has begun to arrive is in flight, but not for ever.
                    _ = sweep.tick() => self.sweep(),
                }
            }
        };
        if timeout(grace, all).await.is_err() {
            for _ in 0..self.activities.len() {
                telemetry::connection_ended("cut_off");
                telemetry::connection_closed();
            }
            self.running.shutdown().await;
        }
    }
}
