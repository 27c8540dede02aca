//! Inserting events: the unique index decides what is new.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::error::{Failed, again};
use super::fate::{self, Number};
use super::held::Held;
use super::pool::{Connection, Pool};
use super::rows;
use super::time::Time;
use crate::element;
use crate::event::{EventId, Lane, NewEvent};
use crate::store::batch::{Ask, Batcher, Pace};
use crate::store::unproven::{REFUSED, TOO_OLD};
use crate::store::{Arrival, StoreError};
use crate::task::{NewTask, lane_id};

/// How many batches are in flight at the most: each has the queue to itself until it proves to be slow.
const WIDTH: usize = 3;
/// How often an element that differs is kept.
const KEPT: usize = 3;

pub(super) type Request = Ask<Vec<NewEvent>, Vec<Arrival>>;

/// Starts what stores events.
pub(super) fn start(
    running: &mut JoinSet<()>,
    pool: &Arc<Pool>,
    due: &Arc<Notify>,
) -> Batcher<Vec<NewEvent>, Vec<Arrival>> {
    let (alone, woken) = (pool.clone(), due.clone());
    let held = Held::start(running, pool.held_width(), move |held: Held, request| {
        let (pool, due) = (alone.clone(), woken.clone());
        async move {
            store_held(&pool, &held, request).await;
            due.notify_one();
        }
    });
    let (pool, due) = (pool.clone(), due.clone());
    Batcher::start(running, Pace::of(WIDTH), move |batch: Vec<Request>| {
        let (pool, due, held) = (pool.clone(), due.clone(), held.clone());
        async move {
            let waiting = batch.into_iter().filter(|ask| !ask.is_abandoned());
            let (apart, batch): (Vec<_>, Vec<_>) = waiting.partition(|ask| held.knows(ask));
            for ask in apart {
                held.put(ask);
            }
            store(&pool, &held, batch).await;
            due.notify_one();
        }
    })
}

/// Stores a request alone, one of whose keys somebody's open transaction is storing.
async fn store_held(pool: &Pool, held: &Held, request: Request) {
    let mut alone = vec![request];
    match store_all(pool, &alone, include_str!("begin_insert_held.sql")).await {
        Ok(mut answers) => {
            let request = alone.remove(0);
            held.forget(&request);
            request.answer(Ok(answers.remove(0)));
        }
        Err(Broken::OnData) => store_refused(pool, alone.remove(0)).await,
        Err(Broken::OnLock) => {
            let message = "somebody's open transaction is storing the same event: it can be stored \
                           once that has ended";
            alone.remove(0).answer(Err(StoreError::unavailable(message)));
        }
        Err(Broken::On(error)) => alone.remove(0).answer(Err(error)),
    }
}

/// Stores the events of requests; those that a batch breaks on are stored alone.
async fn store(pool: &Pool, held: &Held, mut batch: Vec<Request>) {
    if batch.is_empty() {
        return;
    }
    for ask in &mut batch {
        for event in &mut ask.what {
            // No text of the server's can hold it.
            if event.payload.contains('\0') {
                *event = event.clone().refused(REFUSED);
            }
        }
    }
    match store_all(pool, &batch, include_str!("begin_insert.sql")).await {
        Ok(answers) => {
            for (ask, answer) in batch.into_iter().zip(answers) {
                ask.answer(Ok(answer));
            }
        }
        Err(Broken::OnData | Broken::OnLock) if batch.len() > 1 => {
            // Halved, so that many good ones don't wait for one that is stuck.
            let rest = batch.split_off(batch.len() / 2);
            Box::pin(store(pool, held, batch)).await;
            Box::pin(store(pool, held, rest)).await;
        }
        Err(Broken::OnData | Broken::OnLock) => {
            for ask in batch {
                held.put(ask);
            }
        }
        Err(Broken::On(error)) => {
            let message = error.to_string();
            for ask in batch {
                ask.answer(Err(StoreError::unavailable(message.clone())));
            }
        }
    }
}

/// Stores the events of one request that the server refuses for its data: halved until those that it
/// refuses are found.
async fn store_refused(pool: &Pool, mut ask: Request) {
    if let Err(error) = refuse(pool, &mut ask.what).await {
        return ask.answer(Err(error.into()));
    }
    let plan = Plan::of(&[&ask.what]);
    let stored = again!(insert(pool, &plan, include_str!("begin_insert_held.sql")).await);
    ask.answer(stored.map(|mut answers| answers.remove(0)));
}

/// Takes from those of these events what the server refuses that it refuses.
async fn refuse(pool: &Pool, events: &mut [NewEvent]) -> Result<(), Failed> {
    match try_out(pool, events).await {
        Err(failed) if failed.is_of_the_data() => {}
        tried => return tried,
    }
    if let [event] = events {
        *event = event.clone().refused(REFUSED);
        return Ok(());
    }
    let (some, others) = events.split_at_mut(events.len() / 2);
    Box::pin(refuse(pool, some)).await?;
    Box::pin(refuse(pool, others)).await
}

/// Stores events and takes them back, to see whether the server takes them.
async fn try_out(pool: &Pool, events: &[NewEvent]) -> Result<(), Failed> {
    let plan = Plan::of(&[events]);
    let connection = pool.get().await?;
    connection.begin(include_str!("begin_insert_held.sql")).await?;
    let tried = insert_events(&connection, &plan).await;
    connection.end("rollback").await?;
    tried.map(drop)
}

/// Why a batch could not be stored.
enum Broken {
    /// On the data of one of its requests.
    OnData,
    /// On a key that somebody's open transaction is storing.
    OnLock,
    /// On what concerns all.
    On(StoreError),
}

async fn store_all(
    pool: &Pool,
    batch: &[Request],
    begin: &str,
) -> Result<Vec<Vec<Arrival>>, Broken> {
    let requests: Vec<&[NewEvent]> = batch.iter().map(|ask| &*ask.what).collect();
    let plan = Plan::of(&requests);
    let stored = again!(match insert(pool, &plan, begin).await {
        Err(failed) if failed.is_of_the_data() => Ok(Err(Broken::OnData)),
        Err(failed) if failed.is_a_lock() => Ok(Err(Broken::OnLock)),
        stored => stored.map(Ok),
    });
    stored.unwrap_or_else(|error| Err(Broken::On(error)))
}

/// What a batch is to store.
struct Plan<'a> {
    /// By request.
    requests: Vec<&'a [NewEvent]>,
    /// The first of each id.
    first: Vec<&'a NewEvent>,
}

impl<'a> Plan<'a> {
    fn of(requests: &[&'a [NewEvent]]) -> Self {
        let mut seen = HashSet::new();
        let events = requests.iter().flat_map(|request| request.iter());
        let first = events.filter(|event| seen.insert(event.id)).collect();
        Self { requests: requests.to_vec(), first }
    }
}

/// Stores the events of several requests in one transaction.
async fn insert(pool: &Pool, plan: &Plan<'_>, begin: &str) -> Result<Vec<Vec<Arrival>>, Failed> {
    let connection = pool.get().await?;
    let inserted = async {
        let begin = connection.begin(begin);
        let ((), (number, known)) = tokio::try_join!(begin, insert_events(&connection, plan))?;
        let (answers, further) = judge(plan, &known);
        further.write(&connection).await?;
        Ok((number, answers))
    };
    match inserted.await {
        Ok((number, answers)) => match connection.end("commit").await {
            Ok(()) => Ok(answers),
            Err(failed) => {
                drop(connection);
                fate::learn(pool, failed, &number).await?;
                if is_stored(pool, plan).await? {
                    return Ok(answers);
                }
                Box::pin(insert(pool, plan, begin)).await
            }
        },
        Err(failed) => {
            // A connection that can't even do this is not used again.
            let _ = connection.end("rollback").await;
            Err(failed)
        }
    }
}

/// Whether all of these are stored. A server that lost a transaction in a crash gives its number out
/// again, and then tells of another.
async fn is_stored(pool: &Pool, plan: &Plan<'_>) -> Result<bool, Failed> {
    let ids: Vec<Uuid> = plan.first.iter().map(|event| rows::uuid(event.id)).collect();
    let parameters = [(&ids as _, Type::UUID_ARRAY)];
    let found = pool.query(include_str!("seq_of.sql"), &parameters).await?;
    Ok(found.len() == ids.len())
}

/// Stores what is new; gives the number of the transaction and the digests of what is known, by the
/// place of its event in the plan.
async fn insert_events(
    connection: &Connection,
    plan: &Plan<'_>,
) -> Result<(Number, Vec<Option<Vec<u8>>>), Failed> {
    let events = || plan.first.iter().copied();
    let ids: Vec<Uuid> = events().map(|event| rows::uuid(event.id)).collect();
    let sources: Vec<&str> = events().map(|event| &*event.source).collect();
    let keys: Vec<&str> = events().map(|event| event.key.as_str()).collect();
    let kinds: Vec<&str> = events().map(|event| event.kind.as_str()).collect();
    let lanes: Vec<Option<&str>> =
        events().map(|event| event.lane.as_ref().map(Lane::as_str)).collect();
    let priorities: Vec<i16> = events().map(|event| event.priority as i16).collect();
    let types: Vec<&str> = events().map(|event| event.content_type).collect();
    let elements: Vec<&str> = events().map(|event| &*event.element).collect();
    let digests: Vec<&[u8]> = events().map(|event| &event.digest[..]).collect();
    let weak: Vec<bool> = events().map(|event| event.weak_key).collect();
    let sent: Vec<Option<Time>> = events().map(|event| event.sent_at.map(Time)).collect();
    let received: Vec<Time> = events().map(|event| Time(event.received_at)).collect();
    let payloads: Vec<&str> = events().map(|event| &*event.payload).collect();

    let tasks: Vec<(&NewEvent, &NewTask)> =
        events().flat_map(|event| event.tasks.iter().map(move |task| (event, task))).collect();
    let task_ids: Vec<Uuid> = tasks.iter().map(|(event, _)| rows::uuid(event.id)).collect();
    let routes: Vec<&str> = tasks.iter().map(|(_, task)| &*task.route).collect();
    let task_lanes: Vec<Option<Uuid>> =
        tasks.iter().map(|(event, task)| task_lane(event, task)).collect();
    let most: Vec<i32> = tasks.iter().map(|(_, task)| rows::max_attempts(task)).collect();
    let errors: Vec<Option<&str>> = tasks.iter().map(|(event, _)| event.unreadable).collect();
    let row = connection
        .query_typed(
            include_str!("insert.sql"),
            &[
                (&ids, Type::UUID_ARRAY),
                (&sources, Type::TEXT_ARRAY),
                (&keys, Type::TEXT_ARRAY),
                (&kinds, Type::TEXT_ARRAY),
                (&lanes, Type::TEXT_ARRAY),
                (&priorities, Type::INT2_ARRAY),
                (&types, Type::TEXT_ARRAY),
                (&elements, Type::TEXT_ARRAY),
                (&digests, Type::BYTEA_ARRAY),
                (&weak, Type::BOOL_ARRAY),
                (&sent, Type::TIMESTAMPTZ_ARRAY),
                (&received, Type::TIMESTAMPTZ_ARRAY),
                (&payloads, Type::TEXT_ARRAY),
                (&task_ids, Type::UUID_ARRAY),
                (&routes, Type::TEXT_ARRAY),
                (&task_lanes, Type::UUID_ARRAY),
                (&most, Type::INT4_ARRAY),
                (&errors, Type::TEXT_ARRAY),
                (&TOO_OLD, Type::TEXT),
            ],
        )
        .await?
        .pop()
        .ok_or_else(|| StoreError::unavailable("the server gave no answer"))?;
    Ok((Number::of(&row)?, row.try_get(1)?))
}

fn task_lane(event: &NewEvent, task: &NewTask) -> Option<Uuid> {
    let lane = event.lane.as_ref().filter(|_| task.ordered)?;
    Some(Uuid::from_bytes(lane_id(&event.source, &task.route, lane.as_str())))
}

/// Says of each event what becomes of it, and what is to be noted of those that are not new.
fn judge<'a>(plan: &Plan<'a>, known: &[Option<Vec<u8>>]) -> (Vec<Vec<Arrival>>, Further<'a>) {
    let mut further = Further::default();
    let known: HashMap<EventId, Option<&[u8]>> =
        plan.first.iter().map(|event| event.id).zip(known.iter().map(Option::as_deref)).collect();
    let mut met = HashMap::new();
    let mut judge = |event: &'a NewEvent| {
        // Within the batch, the first of a new event is what its repeats are compared with.
        let stored =
            known.get(&event.id).copied().flatten().or_else(|| met.get(&event.id).copied());
        match stored {
            None => {
                met.insert(event.id, &event.digest[..]);
                Arrival::New
            }
            Some(digest) => further.note(event, digest != event.digest),
        }
    };
    let requests = plan.requests.iter();
    let answers = requests.map(|request| request.iter().map(&mut judge).collect()).collect();
    (answers, further)
}

/// What a batch says of events that are not new.
#[derive(Default)]
struct Further<'a> {
    /// By event and whether it differs: how many.
    arrivals: BTreeMap<(EventId, bool), i64>,
    /// Elements that differ, a few an event.
    elements: Vec<(EventId, &'a str)>,
    counts: BTreeMap<(&'a str, &'static str), i64>,
}

impl<'a> Further<'a> {
    fn note(&mut self, event: &'a NewEvent, differs: bool) -> Arrival {
        let kept = self.elements.iter().filter(|(id, _)| *id == event.id).count();
        if differs && kept < KEPT {
            let element = element::pointer(&event.payload, &event.element);
            self.elements.push((event.id, element.unwrap_or(&event.payload)));
        } else {
            *self.arrivals.entry((event.id, differs)).or_default() += 1;
        }
        let word = if differs { "mismatch" } else { "duplicate" };
        *self.counts.entry((&event.source, word)).or_default() += 1;
        if differs { Arrival::Mismatch } else { Arrival::Duplicate }
    }

    async fn write(&self, connection: &Connection) -> Result<(), Failed> {
        if self.counts.is_empty() {
            return Ok(());
        }
        let arrivals = self.arrivals.iter().map(|((id, differs), n)| (*id, *n, *differs, None));
        let kept = self.elements.iter().map(|(id, element)| (*id, 1, true, Some(*element)));
        let arrivals: Vec<(EventId, i64, bool, Option<&str>)> = arrivals.chain(kept).collect();
        let ids: Vec<Uuid> = arrivals.iter().map(|row| rows::uuid(row.0)).collect();
        let numbers: Vec<i64> = arrivals.iter().map(|row| row.1).collect();
        let differ: Vec<bool> = arrivals.iter().map(|row| row.2).collect();
        // What the server's text can't hold was refused before; an element of it may differ still.
        let elements: Vec<Option<String>> =
            arrivals.iter().map(|row| row.3.map(|text| text.replace('\0', "\u{fffd}"))).collect();
        let sources: Vec<&str> = self.counts.keys().map(|(source, _)| *source).collect();
        let words: Vec<&str> = self.counts.keys().map(|(_, word)| *word).collect();
        let counts: Vec<i64> = self.counts.values().copied().collect();
        connection
            .query_typed(
                include_str!("insert_again.sql"),
                &[
                    (&ids, Type::UUID_ARRAY),
                    (&numbers, Type::INT8_ARRAY),
                    (&differ, Type::BOOL_ARRAY),
                    (&elements, Type::TEXT_ARRAY),
                    (&sources, Type::TEXT_ARRAY),
                    (&words, Type::TEXT_ARRAY),
                    (&counts, Type::INT8_ARRAY),
                ],
            )
            .await?;
        Ok(())
    }
}
