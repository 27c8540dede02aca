//! Inserting events: what has queued up of a scope is one script.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::error::{again, is_a_scripts};
use super::facts::Keeping;
use super::rows::{About, strange};
use super::scope::{Ask, Scopes};
use super::script::INSERT;
use super::wait::Replicas;
use crate::element;
use crate::event::{JSON, Lane, NewEvent};
use crate::store::batch::{self, Pace};
use crate::store::unproven::TOO_OLD;
use crate::store::{Arrival, StoreError};
use crate::task::Token;

/// What is asked for at once: the events of one request, all of one scope.
type Request = batch::Ask<Vec<NewEvent>, Vec<Arrival>>;
type Door = batch::Batcher<Vec<NewEvent>, Vec<Arrival>>;

/// Where new events come in, those of each scope by a door of their own: another may be on a server that
/// gives no answer.
pub(super) struct Intake {
    scopes: Arc<Scopes>,
    replicas: Option<Arc<Replicas>>,
    doors: Mutex<Doors>,
    room: Arc<Semaphore>,
}

#[derive(Default)]
struct Doors {
    by_scope: BTreeMap<Arc<str>, Arc<Door>>,
    /// Ends with the store.
    running: JoinSet<()>,
}

impl Intake {
    pub(super) fn new(scopes: Arc<Scopes>, replicas: Option<Arc<Replicas>>) -> Self {
        Self { scopes, replicas, doors: Mutex::default(), room: batch::room() }
    }

    /// Stores events, those of one scope all or none.
    pub(super) async fn insert(&self, events: Vec<NewEvent>) -> Result<Vec<Arrival>, StoreError> {
        let mut arrivals = vec![Arrival::New; events.len()];
        let mut scopes = BTreeMap::<Arc<str>, (Vec<usize>, Vec<NewEvent>)>::new();
        for (n, event) in events.into_iter().enumerate() {
            let (places, events) = scopes.entry(event.scope.clone()).or_default();
            places.push(n);
            events.push(event);
        }
        for (scope, (places, events)) in scopes {
            let bytes = events.iter().map(|event| event.payload.len() + 512).sum();
            let own = self.door(&scope).ask(events, places.len(), bytes).await?;
            for (place, arrival) in places.into_iter().zip(own) {
                arrivals[place] = arrival;
            }
        }
        Ok(arrivals)
    }

    fn door(&self, scope: &Arc<str>) -> Arc<Door> {
        let mut doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        let Doors { by_scope, running } = &mut *doors;
        let open = || {
            let (scopes, replicas) = (self.scopes.clone(), self.replicas.clone());
            let keeping = Arc::default();
            let inserter = Inserter { scope: scope.clone(), scopes, replicas, keeping };
            let work = move |requests| inserter.clone().answer(requests);
            Arc::new(Door::start(running, Pace::in_halves(), work).within(self.room.clone()))
        };
        by_scope.entry(scope.clone()).or_insert_with(open).clone()
    }
}

/// Stores the events of one scope.
#[derive(Clone)]
struct Inserter {
    scope: Arc<str>,
    scopes: Arc<Scopes>,
    replicas: Option<Arc<Replicas>>,
    keeping: Arc<Keeping>,
}

/// What the script is asked.
#[derive(Serialize)]
struct Asked<'a> {
    events: Vec<New<'a>>,
    too_old: &'static str,
}

/// An event as the script reads it, without what goes through it as it is.
#[derive(Serialize)]
struct New<'a> {
    id: String,
    source: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    lane: Option<&'a str>,
    priority: u8,
    digest: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    sent: Option<i64>,
    received: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    unreadable: Option<&'a str>,
    /// Where in the payload the element is: the first of its bytes, counted from 1, and the last.
    from: usize,
    to: usize,
    tasks: Vec<Task<'a>>,
}

#[derive(Serialize)]
struct Task<'a> {
    route: &'a str,
    max: u32,
    ordered: bool,
}

impl Inserter {
    /// Stores what was asked for, each request wholly, and answers.
    async fn answer(self, requests: Vec<Request>) {
        let waiting: Vec<Request> =
            requests.into_iter().filter(|request| !request.is_abandoned()).collect();
        let events: Vec<&NewEvent> = waiting.iter().flat_map(|request| &request.what).collect();
        if events.is_empty() {
            for request in waiting {
                request.answer(Ok(Vec::new()));
            }
            return;
        }
        let is_alone = waiting.len() == 1;
        match self.insert(&events).await {
            Ok(arrivals) => {
                let mut arrivals = arrivals.into_iter();
                for request in waiting {
                    let own = arrivals.by_ref().take(request.what.len()).collect();
                    request.answer(Ok(own));
                }
            }
            // One of them may be at fault alone. Of any other error nobody knows whether all are stored:
            // done again, every copy would be counted twice.
            Err(error) if !is_alone && is_a_scripts(&error) => {
                for request in waiting {
                    let own = self.insert(&request.what.iter().collect::<Vec<_>>()).await;
                    request.answer(own);
                }
            }
            Err(error) => {
                for request in waiting {
                    request.answer(Err(again(&error)));
                }
            }
        }
    }

    /// Stores events, all or none, in their order.
    async fn insert(&self, events: &[&NewEvent]) -> Result<Vec<Arrival>, StoreError> {
        let news = events.iter().map(|event| new(event)).collect();
        let asked = Asked { events: news, too_old: TOO_OLD };
        let abouts: Vec<String> =
            events.iter().map(|event| about(event)).collect::<Result<_, _>>()?;
        let payloads = events.iter().map(|event| &*event.payload);
        let texts: Vec<&str> =
            abouts.iter().zip(payloads).flat_map(|(about, payload)| [about, payload]).collect();
        let key = self.scopes.key_of(&self.scope);
        self.keeping.check(&self.scopes.link, &key).await?;
        let call = Token::draw();
        let ask = Ask { script: &INSERT, call: Some(call), asked: &asked, texts: &texts };
        let letters: String = self.scopes.run(&self.scope, &ask).await?;
        if letters.len() != events.len() {
            return Err(strange());
        }
        if let Some(replicas) = &self.replicas {
            replicas.wait(&key, &call).await?;
        }
        letters.chars().map(arrival).collect()
    }
}

fn arrival(letter: char) -> Result<Arrival, StoreError> {
    match letter {
        'n' => Ok(Arrival::New),
        'd' => Ok(Arrival::Duplicate),
        'm' => Ok(Arrival::Mismatch),
        _ => Err(strange()),
    }
}

fn new(event: &NewEvent) -> New<'_> {
    let payload = &*event.payload;
    let element = element::pointer(payload, &event.element).unwrap_or(payload);
    let from = element.as_ptr().addr() - payload.as_ptr().addr();
    New {
        id: hex::encode(event.id.as_bytes()),
        source: &event.source,
        lane: event.lane.as_ref().map(Lane::as_str),
        priority: event.priority as u8,
        digest: BASE64.encode(event.digest),
        sent: event.sent_at.map(Timestamp::as_millisecond),
        received: event.received_at.as_millisecond(),
        unreadable: event.unreadable,
        from: from + 1,
        to: from + element.len(),
        tasks: event
            .tasks
            .iter()
            .map(|task| Task { route: &task.route, max: task.max_attempts, ordered: task.ordered })
            .collect(),
    }
}

/// What never changes of an event, as it is kept.
fn about(event: &NewEvent) -> Result<String, StoreError> {
    let about = About {
        key: event.key.as_str().into(),
        kind: event.kind.as_str().into(),
        content_type: (event.content_type != JSON).then(|| event.content_type.into()),
        element: (&*event.element).into(),
        weak: event.weak_key,
        sent: event.sent_at.map(Timestamp::as_millisecond),
        received: event.received_at.as_millisecond(),
        unreadable: event.unreadable.map(Into::into),
    };
    serde_json::to_string(&about).map_err(|error| StoreError::unavailable(error.to_string()))
}

/// A duration in the store's milliseconds.
pub(super) fn millis(duration: Duration) -> i64 {
    // Beyond it nothing is exact in a script's numbers, and it is 30 000 years.
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX).min(1_000_000_000_000_000)
}
