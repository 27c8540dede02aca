//! Sends what is planned, as a sender does that delivers at least once: each request again until it is
//! taken.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::bail;
use axum::body::Bytes;
use axum::http::{Method, Request, StatusCode, header};
use fastrand::Rng;
use hookonce::scheme::{Scheme, Signed, Unsigned};
use hookonce::store::Clock;
use http_body_util::BodyExt as _;
use tokio::task::JoinSet;

use super::body::PacedBody;
use super::plan::{Planned, Way};
use super::shape::Shape;
use super::target::{Connection, Target};

/// What is noted where there was no connection, or it broke.
const NOBODY: &str = "no connection";
/// After how many refusals, with nothing ever taken, it is no matter of chance.
const REFUSED: u64 = 20;
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(30);
/// How long is waited before a request is sent anew: at first, and at most.
const AGAIN: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];
/// After how long a connection is left whose request was cut off or whose answer is not waited for.
const LEFT_AFTER: Duration = Duration::from_millis(20);

/// Who sends what to whom.
#[derive(Debug)]
pub(super) struct Sender {
    pub(super) target: Target,
    pub(super) scheme: Arc<dyn Scheme>,
    pub(super) shape: Shape,
    /// For how long a request is sent anew that isn't taken.
    pub(super) patience: Duration,
    pub(super) tally: Tally,
}

/// What came of it so far.
#[derive(Debug)]
pub(super) struct Tally {
    /// Requests that were taken or given up.
    pub(super) done: AtomicUsize,
    /// The events that an answer said were taken, by number.
    taken: Box<[AtomicBool]>,
    /// Nothing more is sent.
    is_over: AtomicBool,
    seen: Mutex<Seen>,
}

/// What was seen of answers.
#[derive(Debug, Default, Clone)]
pub(super) struct Seen {
    /// How many there were of each status, and of what is none.
    pub(super) answers: BTreeMap<String, u64>,
    /// How long those took that took a request that was sent whole.
    pub(super) times: Vec<Duration>,
    /// How often something was sent that was cut off, or whose answer was not waited for.
    pub(super) cut: u64,
}

impl Tally {
    pub(super) fn of(events: usize) -> Self {
        let taken = (0..events).map(|_| AtomicBool::new(false)).collect();
        let (done, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self { done, taken, is_over, seen: Mutex::default() }
    }

    /// Whether the endpoint ever said that it took this event.
    pub(super) fn was_taken(&self, event: usize) -> bool {
        self.taken[event].load(Ordering::Relaxed)
    }

    /// Whether anything was ever taken.
    fn has_taken(&self) -> bool {
        self.lock().answers.keys().any(|answer| answer.starts_with('2'))
    }

    pub(super) fn seen(&self) -> Seen {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, planned: &Planned, status: StatusCode, took: Duration) {
        for event in &planned.events {
            self.taken[*event].store(true, Ordering::Relaxed);
        }
        self.note(status.as_str());
        if planned.way == Way::Whole {
            self.lock().times.push(took);
        }
    }

    fn note(&self, answer: &str) {
        *self.lock().answers.entry(answer.to_owned()).or_default() += 1;
    }
}

impl Sender {
    /// Sends these over so many connections at once, in their order; `passed` is called when so many
    /// have been begun.
    pub(super) async fn fire(
        self: &Arc<Self>,
        planned: Vec<Planned>,
        connections: usize,
        (after, passed): (usize, tokio::sync::oneshot::Sender<()>),
    ) -> anyhow::Result<()> {
        let queue = Arc::new((planned, AtomicUsize::new(0)));
        let passed = Arc::new(Mutex::new(Some(passed)));
        let mut senders = JoinSet::<anyhow::Result<()>>::new();
        for _ in 0..connections.min(queue.0.len()) {
            let (sender, queue, passed) = (self.clone(), queue.clone(), passed.clone());
            senders.spawn(async move {
                let mut connection = None;
                loop {
                    let n = queue.1.fetch_add(1, Ordering::Relaxed);
                    let Some(planned) = queue.0.get(n) else { return Ok(()) };
                    if n == after {
                        let passed = passed.lock().unwrap_or_else(PoisonError::into_inner).take();
                        // Whoever waited for it may have gone.
                        passed.map(|passed| passed.send(()));
                    }
                    sender.deliver(planned, &mut connection).await?;
                }
            });
        }
        while let Some(ended) = senders.join_next().await {
            ended??;
        }
        Ok(())
    }

    /// Sends one request until it is taken, or nobody has the patience any more.
    async fn deliver(
        &self,
        planned: &Planned,
        kept: &mut Option<Connection>,
    ) -> anyhow::Result<()> {
        let body = Bytes::from(self.shape.body(&planned.events));
        let (begun, mut pause) = (Instant::now(), AGAIN[0]);
        if matches!(planned.way, Way::Cut | Way::Deaf) {
            self.leave(planned, &body).await?;
        }
        let mut was_there = false;
        while !self.tally.is_over.load(Ordering::Relaxed) {
            let sent = Instant::now();
            let paced = if planned.way == Way::Slow { PacedBody::slow } else { PacedBody::whole };
            let request = self.request(planned, &body, paced(&body))?;
            let answer = tokio::time::timeout(ANSWER, self.exchange(request, kept)).await;
            match answer {
                Ok(Ok(status)) if status.is_success() => {
                    self.tally.take(planned, status, sent.elapsed());
                    break;
                }
                Ok(Ok(status)) => {
                    was_there = true;
                    self.tally.note(status.as_str());
                    self.look(status)?;
                }
                Ok(Err(error)) => {
                    *kept = None;
                    self.tally.note(NOBODY);
                    self.must_be_there(&error)?;
                }
                Err(_) => {
                    *kept = None;
                    self.tally.note("no answer");
                }
            }
            if !self.waits(begun, &mut pause).await {
                // Nobody is there any more, or nothing is ever taken: so it would be with the others.
                let is_vain = !was_there || !self.tally.has_taken();
                self.tally.is_over.fetch_or(is_vain, Ordering::Relaxed);
                break;
            }
        }
        self.tally.done.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Waits before the request is sent anew; says whether there is patience left.
    async fn waits(&self, begun: Instant, pause: &mut Duration) -> bool {
        tokio::time::sleep(*pause).await;
        *pause = (*pause * 2).min(AGAIN[1]);
        begun.elapsed() < self.patience
    }

    /// Where nothing was ever taken, a refusal is no matter of load: nothing more is sent.
    fn look(&self, status: StatusCode) -> anyhow::Result<()> {
        let what = match status.as_u16() {
            401 | 403 => "is it signed with the right secret, and by the right scheme?",
            404 | 405 => "is this the path that takes webhooks?",
            300..=399 => "a webhook is not to be redirected: name the address itself",
            // The first copy may be at work, or too much be going on.
            408 | 409 | 423 | 425 | 429 | 500.. => return Ok(()),
            _ => "see what it says in its log",
        };
        let is_clear = matches!(status.as_u16(), 300..=399 | 401 | 403 | 404 | 405);
        let answers: u64 = self.tally.lock().answers.values().sum();
        if !(is_clear || answers >= REFUSED) || self.tally.has_taken() {
            return Ok(());
        }
        self.tally.is_over.store(true, Ordering::Relaxed);
        bail!("the endpoint answers {status} and takes nothing: {what}")
    }

    /// Fails where nobody has ever answered and nothing listens.
    fn must_be_there(&self, error: &anyhow::Error) -> anyhow::Result<()> {
        let is_refused = error
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused);
        let has_answered = self.tally.lock().answers.keys().any(|answer| answer != NOBODY);
        if !is_refused || has_answered {
            return Ok(());
        }
        self.tally.is_over.store(true, Ordering::Relaxed);
        bail!("nothing listens at {}: start the endpoint, or correct the address", self.target.url)
    }

    /// Sends a request on a connection of its own that is left before the answer comes.
    async fn leave(&self, planned: &Planned, body: &Bytes) -> anyhow::Result<()> {
        let paced = if planned.way == Way::Cut { PacedBody::cut } else { PacedBody::whole };
        let request = self.request(planned, body, paced(body))?;
        // A connection that isn't there is told by what follows.
        if let Ok(Ok(mut connection)) = tokio::time::timeout(ANSWER, self.target.connect()).await {
            // Long enough for what is sent to be on its way.
            let left = Rng::new().u32(25..=100);
            let sending = connection.send(request);
            drop(tokio::time::timeout(LEFT_AFTER * left / 100, sending).await);
            self.tally.lock().cut += 1;
        }
        Ok(())
    }

    fn request(
        &self,
        planned: &Planned,
        body: &Bytes,
        paced: PacedBody,
    ) -> anyhow::Result<Request<PacedBody>> {
        let url = self.target.url.as_str();
        let id = format!("msg_{}", self.shape.token(planned.events[0]));
        let unsigned = Unsigned { body, url, id: &id, at: Clock::system().now() };
        let Signed { headers, query } = self.scheme.sign(&unsigned);
        let mut url = self.target.url.clone();
        if let Some(query) = query {
            let query = url.query().map_or_else(|| query.clone(), |own| format!("{own}&{query}"));
            url.set_query(Some(&query));
        }
        let (target, host) = Target::asked(&url)?;
        let mut request = Request::builder().method(Method::POST).uri(target);
        request = request.header(header::HOST, host);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        Ok(request.body(paced)?)
    }

    /// Sends a request on the connection that is kept, or on another, and reads the answer to its end.
    async fn exchange(
        &self,
        request: Request<PacedBody>,
        kept: &mut Option<Connection>,
    ) -> anyhow::Result<StatusCode> {
        if kept.as_ref().is_none_or(Connection::is_closed) {
            *kept = Some(self.target.connect().await?);
        }
        let Some(connection) = kept else { bail!("there is no connection") };
        let answer = connection.send(request).await?;
        let status = answer.status();
        answer.into_body().collect().await?;
        Ok(status)
    }
}
