//! Makes webhook processing idempotent: at-least-once delivery in, exactly-once effects out.
//!
//! Senders deliver webhooks *at least once*: the same message comes again when an answer was slow,
//! or for no reason at all. This library receives them, proves who sent them, cuts each request
//! into its events, and stores each event **once** before it answers 200. Then it sees each event
//! through: claimed under a lease, handled, retried, and at last completed or dead.
//!
//! It reads no file but its store's, no environment, and prints nothing. The program `hookonce`
//! puts a configuration and a command line around it.
//!
//! # Two functions
//!
//! ```text
//! receive:  request → verify → parse → events → store.insert → ack
//! attempt:  store.claim → steps under an extended lease → outcome → store.finish
//! ```
//!
//! The first is [`receiver`], the second [`worker`]. They never call each other; they meet in the
//! store. [`janitor`] finishes what a dead worker left, by the same policy ([`retry`]). What a person
//! does to many tasks at once, such as a replay of what is dead, is [`steer`].
//!
//! # Three traits
//!
//! | trait | turns | ships with |
//! |---|---|---|
//! | [`Scheme`] | bytes of a request into proven [events](event); pure | [`scheme::meta`] |
//! | [`Store`] | everything that is remembered; each method is one atomic step | [`store::sqlite`] |
//! | [`Step`] | a claimed event into an effect in the world | [`sink`]: HTTP, commands, SQL, log, queues |
//!
//! A [`Route`](route::Route) says which events go through which steps. Every route that takes an
//! event has a [task] for it, independent of the others.
//!
//! # To embed it
//!
//! One store, one receiver whose router you serve or nest into your own, one worker, one janitor:
//!
//! ```
//! use std::{sync::Arc, time::Duration};
//!
//! use hookonce::async_trait;
//! use hookonce::gate::Gate;
//! use hookonce::janitor::{Janitor, JanitorOptions};
//! use hookonce::receiver::{Receiver, ReceiverOptions, Source};
//! use hookonce::route::Route;
//! use hookonce::scheme::{Proof, Secret, meta::Meta};
//! use hookonce::step::{Done, Failure, Step, StepContext};
//! use hookonce::store::sqlite::{SqliteOptions, SqliteStore};
//! use hookonce::worker::{Worker, WorkerOptions};
//!
//! /// Your code: run until it succeeds or the route gives up.
//! #[derive(Debug)]
//! struct Reply;
//!
//! #[async_trait]
//! impl Step for Reply {
//!     async fn run(&self, context: &StepContext<'_>) -> Result<Done, Failure> {
//!         // `?` on any error means: try again later.
//!         let message: serde_json::Value = serde_json::from_str(context.element())?;
//!         // Whoever you call tells a second try of this step by this key.
//!         let key = context.idempotency_key();
//!         println!("answering {} under {key}", message["from"]);
//!         Ok(Done::PLAIN)
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("hookonce.db");
//! # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let store = Arc::new(SqliteStore::open(&path, SqliteOptions::default())?);
//! let secret = Secret::new("the app secret").ok_or("an empty secret proves nothing")?;
//! let meta = Meta::new(Proof::Secrets(vec![secret]), None);
//! let sources = vec![Source::new("whatsapp", Arc::new(meta))];
//! let routes: Arc<[Route]> = Arc::from([Route {
//!     kinds: Some(vec!["message.*".into()]),
//!     steps: vec![Gate::new("reply", Arc::new(Reply))],
//!     ..Route::new("bot")
//! }]);
//!
//! // POST /webhooks/whatsapp. Serve it with `hookonce::listener`, or nest it into your router.
//! let receiver =
//!     Receiver::new(store.clone(), sources, routes.clone(), ReceiverOptions::default());
//! let router = receiver.router();
//! # let _ = router;
//!
//! let worker = Worker::new(store.clone(), routes.clone(), WorkerOptions::new("host:1"));
//! let janitor = Janitor::new(store, routes, JanitorOptions::default());
//!
//! // Both run until `stop` turns true: spawn them beside your server.
//! let (stop, stopped) = tokio::sync::watch::channel(false);
//! # stop.send_replace(true);
//! tokio::join!(worker.run(stopped.clone(), Duration::from_secs(30)), janitor.run(stopped));
//! # Ok(())
//! # })
//! # }
//! ```
//!
//! Where the effect is in the store's own database, `finish_in`
//! ([`SqliteStore`](store::sqlite::SqliteStore::finish_in),
//! [`PostgresStore`](store::postgres::PostgresStore::finish_in)) and [`sink::sql`] make effect and
//! completion one transaction. `examples/embed.rs` does so, and `docs/guides/embed.md` goes through
//! it: failures, limits, shutting down, several nodes, testing.

mod breaker;
pub mod element;
pub mod event;
pub mod gate;
pub mod janitor;
pub mod listener;
pub mod receiver;
pub mod redis_link;
pub mod retry;
pub mod route;
pub mod scheme;
pub mod sink;
pub mod steer;
pub mod step;
pub mod store;
pub mod task;
pub mod telemetry;
pub mod worker;

/// What a `Step`, `Store` or `Scheme` of one's own is implemented with.
pub use async_trait::async_trait;
pub use scheme::Scheme;
pub use step::Step;
pub use store::Store;

/// The code in the guide compiles and does what it says.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guides/embed.md")]
struct Guide;
