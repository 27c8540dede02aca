//! The way in: proves who sent a request, cuts it into events and stores them before it answers.
//!
//! The receiver handles nothing and knows no worker; they meet in the store. It trusts no forwarded
//! header but those of the proxies it is told of, redirects nobody, and tells whoever isn't proven
//! nothing about secrets or keys.

mod body;
mod client;
mod handling;
mod network;
mod parsing;
mod rejection;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use tokio::time::Instant;

use crate::event::NewEvent;
use crate::route::{self, Route};
use crate::scheme::{Answer, Challenge, Origin, Request, Scheme};
use crate::store::{Arrival, Clock, Store, StoreError};
use crate::telemetry::{self, SourceMeter};

use body::Budget;
pub use client::Client;
use handling::{Before, Handled, Handling};
pub use network::{Network, NetworkError};
pub use rejection::Rejection;

/// How much earlier than the sender's time limit the store's ends: what the answer itself needs.
const ANSWER_TIME: Duration = Duration::from_millis(100);
/// How long readiness may take to find out.
const READY_TIMEOUT: Duration = Duration::from_secs(2);
/// What a webhook path can be asked.
const METHODS: &str = "GET, HEAD, POST, OPTIONS";

/// Takes the webhooks of all sources.
pub struct Receiver {
    store: Arc<dyn Store>,
    plan: RwLock<Arc<Plan>>,
    handling: Handling,
    options: ReceiverOptions,
    budget: Arc<Budget>,
    draining: AtomicBool,
}

/// One configured way in.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its name, the last part of its path.
    pub name: Arc<str>,
    /// What its events' ids are computed from, beside the key.
    pub scope: Arc<str>,
    /// How its sender signs and shapes requests.
    pub scheme: Arc<dyn Scheme>,
    /// When its sender is answered 200.
    pub ack: Ack,
    /// From where its requests may come; `None`: from anywhere. Whoever comes from elsewhere, or
    /// nobody knows from where, is answered 403.
    pub allow: Option<Vec<Network>>,
}

impl Source {
    /// A source whose name is its scope, answered once its events are stored, and open to all
    /// addresses.
    pub fn new(name: impl Into<Arc<str>>, scheme: Arc<dyn Scheme>) -> Self {
        let name = name.into();
        Self { scope: name.clone(), name, scheme, ack: Ack::default(), allow: None }
    }
}

/// When a sender is answered 200.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ack {
    /// Once its events are stored.
    #[default]
    Stored,
    /// Once every task of its events is completed or dead; 503 as soon as an attempt fails, or after
    /// [`ReceiverOptions::handled_timeout`].
    Handled,
}

/// Limits of the receiver.
#[derive(Debug, Clone)]
pub struct ReceiverOptions {
    /// The longest body, in bytes.
    pub body_limit: usize,
    /// How long a whole body may take to arrive.
    pub body_timeout: Duration,
    /// How long after the end of its body a request is stored or answered 503.
    pub ack_timeout: Duration,
    /// How long after the end of its body a request is answered at the latest whose sender waits for
    /// its events to be handled.
    pub handled_timeout: Duration,
    /// Bytes of bodies that are held at once, over all requests.
    pub bytes_in_flight: usize,
    /// Proxies whose word counts about whom they forward: `X-Forwarded-For`, `X-Forwarded-Proto`,
    /// `X-Forwarded-Host` and `Forwarded`.
    pub proxies: Vec<Network>,
    /// Stamps each request.
    pub clock: Clock,
}

impl Default for ReceiverOptions {
    fn default() -> Self {
        Self {
            body_limit: 4 << 20,
            body_timeout: Duration::from_secs(10),
            ack_timeout: Duration::from_secs(3),
            handled_timeout: Duration::from_secs(10),
            bytes_in_flight: 128 << 20,
            proxies: vec![],
            clock: Clock::system(),
        }
    }
}

/// What a request brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// Events stored now, those dead on arrival included.
    pub new: usize,
    /// Events stored before, mismatches and repeats within the request included.
    pub duplicates: usize,
}

/// What comes in where, and who wants it; replaced as a whole.
struct Plan {
    sources: HashMap<Arc<str>, Entrance>,
    routes: Arc<[Route]>,
}

/// A source with its counters.
struct Entrance {
    source: Source,
    meter: SourceMeter,
}

impl Receiver {
    /// A receiver for these sources, which gives each event a task for every route that takes it.
    pub fn new(
        store: Arc<dyn Store>,
        sources: Vec<Source>,
        routes: Arc<[Route]>,
        options: ReceiverOptions,
    ) -> Arc<Self> {
        Arc::new(Self {
            store,
            plan: RwLock::new(Arc::new(Plan::new(sources, routes))),
            handling: Handling::default(),
            budget: Arc::new(Budget::new(options.bytes_in_flight)),
            options,
            draining: AtomicBool::new(false),
        })
    }

    /// Receives for these sources and routes from now on. Requests that are being received go on as
    /// they began.
    pub fn set_plan(&self, sources: Vec<Source>, routes: Arc<[Route]>) {
        let plan = Arc::new(Plan::new(sources, routes));
        *self.plan.write().unwrap_or_else(PoisonError::into_inner) = plan;
    }

    fn plan(&self) -> Arc<Plan> {
        self.plan.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The paths that senders and load balancers use: `/webhooks/{source}`, with or without one slash
    /// behind it, `/healthz` and `/readyz`. To be served alone, or merged with others.
    pub fn router(self: Arc<Self>) -> axum::Router {
        axum::Router::new()
            // Both are served, neither redirects: a redirected POST arrives as an empty GET.
            .route("/webhooks/{source}", any(webhook))
            .route("/webhooks/{source}/", any(webhook))
            .with_state(self.clone())
            .merge(self.health_router())
    }

    /// The paths that load balancers use, alone: for a second listener of the same server.
    pub fn health_router(self: Arc<Self>) -> axum::Router {
        axum::Router::new()
            .route("/healthz", get(async || "ok\n"))
            .route("/readyz", get(readiness))
            .with_state(self)
    }

    /// Turns readiness red, so that a load balancer sends nothing new; requests are still taken.
    pub fn set_draining(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Bytes of bodies that are held at this moment.
    pub fn bytes_in_flight(&self) -> usize {
        self.budget.taken()
    }

    /// Proves the sender, cuts the request into events, and stores them with their tasks.
    async fn receive(
        &self,
        (plan, entrance): (&Plan, &Entrance),
        client: Client,
        request: axum::extract::Request,
    ) -> Result<Response, Rejection> {
        let Entrance { source, meter } = entrance;
        // The bytes count against the budget until the events are stored, or, if the client doesn't
        // wait for that, for as long as they are parsed.
        let (request, held) = body::read(request, &self.options, &self.budget).await?;
        let request = Request { base: client.base, ..request };
        let complete_at = Instant::now();

        let received_at = request.received_at;
        let verified = source.scheme.verify(request)?;
        meter.proven(verified.secret);
        if let Some(text) = source.scheme.question(&verified) {
            meter.challenged();
            return Ok((plain(), text).into_response());
        }
        let (name, scope) = (source.name.clone(), source.scope.clone());
        let origin = Origin { source: name, scope, received_at };
        let (mut events, held) = parsing::parse(&source.scheme, (verified, held), origin).await?;
        route::assign(&plan.routes, &mut events);
        meter.parsed(&events);
        let lags = telemetry::lags(&events);

        let limit = self.options.ack_timeout.saturating_sub(ANSWER_TIME);
        let insert = self.insert(entrance, events);
        let (arrivals, waits_for) = match tokio::time::timeout_at(complete_at + limit, insert).await
        {
            Ok(Ok(stored)) => stored,
            Ok(Err(error)) => {
                telemetry::not_stored(&error);
                return Err(Rejection::NotStored);
            }
            // Whether it gets stored after all is unknown; the sender's next copy settles it.
            Err(_) => {
                telemetry::store_slow(limit);
                return Err(Rejection::StoreSlow);
            }
        };
        meter.stored(&arrivals, complete_at.elapsed());
        meter.lagged(&lags, &arrivals);
        drop(held);
        if let Some(before) = waits_for {
            let until = complete_at + self.options.handled_timeout.saturating_sub(ANSWER_TIME);
            match self.handling.wait(&*self.store, before, until).await {
                Handled::Wholly => {}
                Handled::Failed => return Err(Rejection::NotHandled),
                Handled::Late => return Err(Rejection::HandledSlow),
            }
        }
        meter.acked();
        Ok(match source.scheme.answer() {
            Some(Answer { content_type, body }) => {
                ([(header::CONTENT_TYPE, HeaderValue::from_static(content_type))], body)
                    .into_response()
            }
            None => Receipt::of(&arrivals).into_response(),
        })
    }

    /// Stores the events; where their sender waits for them to be handled, says what they had behind
    /// them before.
    async fn insert(
        &self,
        Entrance { source, meter }: &Entrance,
        events: Vec<NewEvent>,
    ) -> Result<(Vec<Arrival>, Option<Before>), StoreError> {
        let before = match source.ack {
            Ack::Stored => None,
            Ack::Handled => {
                let events = events.iter().map(|event| event.id).collect();
                Some(Before::of(&*self.store, events).await?)
            }
        };
        let begun = Instant::now();
        let arrivals = self.store.insert(events).await?;
        meter.inserted(begun.elapsed());
        Ok((arrivals, before))
    }
}

impl Plan {
    fn new(sources: Vec<Source>, routes: Arc<[Route]>) -> Self {
        let entrance = |source: Source| {
            let meter = SourceMeter::new(source.name.clone());
            (source.name.clone(), Entrance { source, meter })
        };
        Self { sources: sources.into_iter().map(entrance).collect(), routes }
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = self.plan();
        f.debug_struct("Receiver").field("sources", &plan.sources.keys()).finish_non_exhaustive()
    }
}

impl Receipt {
    fn of(arrivals: &[Arrival]) -> Self {
        let new = arrivals.iter().filter(|arrival| **arrival == Arrival::New).count();
        Self { new, duplicates: arrivals.len() - new }
    }
}

impl IntoResponse for Receipt {
    fn into_response(self) -> Response {
        let Self { new, duplicates } = self;
        let body = format!(r#"{{"new":{new},"duplicates":{duplicates}}}"#);
        ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], body)
            .into_response()
    }
}

/// Answers whatever comes to a webhook path.
async fn webhook(
    State(receiver): State<Arc<Receiver>>,
    request: axum::extract::Request,
) -> Response {
    let plan = receiver.plan();
    let Some(entrance) = plan.sources.get(source_name(request.uri().path())) else {
        return Rejection::UnknownSource.answer(None);
    };
    let client = Client::of_request(&request, &receiver.options.proxies);
    if entrance.source.allow.as_ref().is_some_and(|allow| !client.is_in(allow)) {
        telemetry::address_refused(&entrance.meter, client.address);
        return Rejection::Address.answer(Some(&entrance.meter));
    }
    let answer = match *request.method() {
        Method::POST => receiver.receive((&plan, entrance), client, request).await,
        Method::GET | Method::HEAD => challenge(entrance, request.uri().query()),
        Method::OPTIONS => Ok((StatusCode::NO_CONTENT, allow()).into_response()),
        _ => Err(Rejection::Method),
    };
    answer.unwrap_or_else(|rejection| rejection.answer(Some(&entrance.meter)))
}

/// The name in a webhook path, as it stands there: a source's name needs no escapes.
fn source_name(path: &str) -> &str {
    let name = path.strip_prefix("/webhooks/").unwrap_or_default();
    name.strip_suffix('/').unwrap_or(name)
}

/// Answers the sender's question whether we are who it thinks. The answer is its own text, byte for
/// byte, and nothing that a browser would take for a page.
fn challenge(entrance: &Entrance, query: Option<&str>) -> Result<Response, Rejection> {
    match entrance.source.scheme.challenge(query.unwrap_or_default()) {
        Challenge::Answer(text) => {
            entrance.meter.challenged();
            Ok((plain(), text).into_response())
        }
        Challenge::Refused => Err(Rejection::ChallengeRefused),
        Challenge::NotAsked => Err(Rejection::NotAsked),
    }
}

/// Says whether requests can be taken. What is wrong is for the log: the path is open to all.
async fn readiness(State(receiver): State<Arc<Receiver>>) -> Response {
    let red = |why: &'static str| (StatusCode::SERVICE_UNAVAILABLE, plain(), why).into_response();
    if receiver.draining.load(Ordering::Relaxed) {
        return red("not ready: the server is shutting down\n");
    }
    match tokio::time::timeout(READY_TIMEOUT, receiver.store.ready()).await {
        Ok(Ok(())) => (plain(), "ready\n").into_response(),
        Ok(Err(error)) => {
            telemetry::not_ready(&error);
            red("not ready: the store can't take events now; the log says why\n")
        }
        Err(_) => red("not ready: the store does not answer in time\n"),
    }
}

fn plain() -> [(HeaderName, HeaderValue); 2] {
    [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ]
}

fn allow() -> [(HeaderName, HeaderValue); 1] {
    [(header::ALLOW, HeaderValue::from_static(METHODS))]
}
