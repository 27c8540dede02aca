//! Inserting events: the unique index decides what is new.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_postgres::GenericClient;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::batch::{Ask, Batcher};
use super::error::{Failed, again};
use super::pool::{Connection, Pool, Typed};
use super::rows;
use super::time::Time;
use crate::element;
use crate::event::{EventId, Lane, NewEvent, Priority};
use crate::store::{Arrival, StoreError};
use crate::task::lane_id;

/// How many batches are in flight: while one waits for the disk, the next is written.
const WIDTH: usize = 3;
/// How often an element that differs is kept.
const KEPT: usize = 3;
/// What a batch begins with: nobody's open transaction may hold it up, and what is acked is durable.
const BEGIN: &str = include_str!("insert_begin.sql");

/// Why a task is dead on arrival whose event may have been stored before its key was pruned.
const TOO_OLD: &str = "too old to be proven new: the key of an event of this age may have been \
                       pruned; replay it if it was never handled";
/// Why a task is dead on arrival whose event the database does not take as it is.
pub(in crate::store) const REFUSED: &str =
    "the database refused the event: its payload is kept as base64";

type Request = Ask<Vec<NewEvent>, Vec<Arrival>>;

/// Starts what stores events.
pub(super) fn start(
    running: &mut JoinSet<()>,
    pool: &Arc<Pool>,
    due: &Arc<Notify>,
) -> Batcher<Vec<NewEvent>, Vec<Arrival>> {
    let (pool, due) = (pool.clone(), due.clone());
    Batcher::start(running, WIDTH, move |batch: Vec<Request>| {
        let (pool, due) = (pool.clone(), due.clone());
        async move {
            let batch = batch.into_iter().filter(|ask| !ask.is_abandoned()).collect();
            store(&pool, batch).await;
            due.notify_one();
        }
    })
}

/// Stores the events of requests; those that a batch breaks on are stored alone.
async fn store(pool: &Pool, mut batch: Vec<Request>) {
    for ask in &mut batch {
        for event in &mut ask.what {
            // No text of the server's can hold it.
            if event.payload.contains('\0') {
                *event = event.clone().refused(REFUSED);
            }
        }
    }
    match store_all(pool, &batch).await {
        Ok(answers) => {
            for (ask, answer) in batch.into_iter().zip(answers) {
                ask.answer(Ok(answer));
            }
        }
        Err(Broken::OnOne) if batch.len() > 1 => {
            // Halved, so that many good ones don't wait for one that is stuck.
            let rest = batch.split_off(batch.len() / 2);
            Box::pin(store(pool, batch)).await;
            Box::pin(store(pool, rest)).await;
        }
        Err(Broken::OnOne) => store_refused(pool, batch).await,
        Err(Broken::On(error)) => {
            let message = error.to_string();
            for ask in batch {
                ask.answer(Err(StoreError::unavailable(message.clone())));
            }
        }
    }
}

/// Stores the events of one request that the server refuses for its data or that waits for a key: the
/// events that it refuses are found one by one.
async fn store_refused(pool: &Pool, batch: Vec<Request>) {
    for mut ask in batch {
        for event in &mut ask.what {
            let alone = std::slice::from_ref(event);
            if let Err(failed) = try_alone(pool, alone).await
                && failed.is_of_the_data()
            {
                *event = event.clone().refused(REFUSED);
            }
        }
        let plan = Plan::of(&[&ask.what]);
        let mut drawn = Drawn::default();
        let stored = again!(insert(pool, &plan, &mut drawn).await);
        ask.answer(stored.map(|mut answers| answers.remove(0)));
    }
}

/// Stores an event and takes it back, to see whether the server takes it.
async fn try_alone(pool: &Pool, event: &[NewEvent]) -> Result<(), Failed> {
    let plan = Plan::of(&[event]);
    let connection = pool.get().await?;
    connection.begin(BEGIN).await?;
    let tried = insert_within(&connection, &plan, &mut Drawn::default()).await;
    connection.end("rollback").await?;
    tried.map(drop)
}

/// Why a batch could not be stored.
enum Broken {
    /// On one of its requests.
    OnOne,
    /// On what concerns all.
    On(StoreError),
}

async fn store_all(pool: &Pool, batch: &[Request]) -> Result<Vec<Vec<Arrival>>, Broken> {
    let requests: Vec<&[NewEvent]> = batch.iter().map(|ask| &*ask.what).collect();
    let plan = Plan::of(&requests);
    let mut drawn = Drawn::default();
    let stored = again!(match insert(pool, &plan, &mut drawn).await {
        Err(failed) if failed.is_of_the_data() || failed.is_a_lock() => Ok(None),
        stored => stored.map(Some),
    });
    match stored {
        Ok(Some(answers)) => Ok(answers),
        Ok(None) => Err(Broken::OnOne),
        Err(error) => Err(Broken::On(error)),
    }
}

/// The numbers that a batch drew. One tried again after its connection broke finds its own events by
/// them, if they were committed after all.
#[derive(Default)]
struct Drawn(Vec<i64>);

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
async fn insert(
    pool: &Pool,
    plan: &Plan<'_>,
    drawn: &mut Drawn,
) -> Result<Vec<Vec<Arrival>>, Failed> {
    let connection = pool.get().await?;
    connection.begin(BEGIN).await?;
    let inserted = insert_within(&connection, plan, drawn).await;
    match inserted {
        Ok(answers) => {
            connection.end("commit").await?;
            Ok(answers)
        }
        Err(failed) => {
            // A connection that can't even do this is not used again.
            let _ = connection.end("rollback").await;
            Err(failed)
        }
    }
}

/// What is known of an event that is stored.
struct Known {
    seq: i64,
    digest: Vec<u8>,
    is_ours: bool,
}

async fn insert_within(
    connection: &Connection,
    plan: &Plan<'_>,
    drawn: &mut Drawn,
) -> Result<Vec<Vec<Arrival>>, Failed> {
    let ids: Vec<Uuid> = plan.first.iter().map(|event| rows::uuid(event.id)).collect();
    let mut known = HashMap::new();
    let n = i64::try_from(ids.len()).unwrap_or(i64::MAX);
    let look = know(connection, &ids, drawn, &mut known);
    if drawn.0.is_empty() {
        let numbers = async {
            let sql = include_str!("insert_draw.sql");
            Ok(connection.query_typed(sql, &[(&n, Type::INT8)]).await?)
        };
        let ((), numbers) = tokio::try_join!(look, numbers)?;
        for row in numbers {
            drawn.0.push(row.try_get(0)?);
        }
    } else {
        look.await?;
    }
    let pruned_until = pruned_until(&***connection).await?;

    let mut new: Vec<(i64, &NewEvent)> = plan
        .first
        .iter()
        .zip(&drawn.0)
        .filter(|(event, _)| !known.contains_key(&event.id))
        .map(|(event, seq)| (*seq, *event))
        .collect();
    let stored = insert_events(connection, &new).await?;
    let (ours, raced): (Vec<_>, Vec<_>) = new.iter().partition(|(seq, _)| stored.contains(seq));
    new = ours;
    if !raced.is_empty() {
        let ids: Vec<Uuid> = raced.iter().map(|(_, event)| rows::uuid(event.id)).collect();
        know(connection, &ids, &Drawn::default(), &mut known).await?;
    }
    for (seq, event) in &new {
        let known_now = Known { seq: *seq, digest: event.digest.to_vec(), is_ours: true };
        known.insert(event.id, known_now);
    }
    // A batch whose commit was not answered is found stored: nothing is to be added to it.
    let is_repeated = new.is_empty() && known.values().any(|known| known.is_ours);
    let mut written = Written::default();
    let answers = written.judge(plan, &known);
    if !is_repeated {
        written.add_tasks(&new, pruned_until);
        written.write(connection).await?;
    }
    Ok(answers)
}

/// Learns which of these are stored.
async fn know(
    connection: &Connection,
    ids: &[Uuid],
    drawn: &Drawn,
    known: &mut HashMap<EventId, Known>,
) -> Result<(), Failed> {
    let sql = include_str!("insert_known.sql");
    for row in connection.query_typed(sql, &[(&ids, Type::UUID_ARRAY)]).await? {
        let seq = row.try_get(1)?;
        let is_ours = drawn.0.contains(&seq);
        let event = Known { seq, digest: row.try_get(2)?, is_ours };
        known.insert(rows::id(row.try_get(0)?), event);
    }
    Ok(())
}

/// Gives the numbers of those that are stored now.
async fn insert_events(
    connection: &Connection,
    new: &[(i64, &NewEvent)],
) -> Result<HashSet<i64>, Failed> {
    if new.is_empty() {
        return Ok(HashSet::new());
    }
    let of = |event: &NewEvent| rows::uuid(event.id);
    let seqs: Vec<i64> = new.iter().map(|(seq, _)| *seq).collect();
    let ids: Vec<Uuid> = new.iter().map(|(_, event)| of(event)).collect();
    let sources: Vec<&str> = new.iter().map(|(_, event)| &*event.source).collect();
    let keys: Vec<&str> = new.iter().map(|(_, event)| event.key.as_str()).collect();
    let kinds: Vec<&str> = new.iter().map(|(_, event)| event.kind.as_str()).collect();
    let lanes: Vec<Option<&str>> =
        new.iter().map(|(_, event)| event.lane.as_ref().map(Lane::as_str)).collect();
    let priorities: Vec<i16> = new.iter().map(|(_, event)| event.priority as i16).collect();
    let types: Vec<&str> = new.iter().map(|(_, event)| event.content_type).collect();
    let elements: Vec<&str> = new.iter().map(|(_, event)| &*event.element).collect();
    let digests: Vec<&[u8]> = new.iter().map(|(_, event)| &event.digest[..]).collect();
    let weak: Vec<bool> = new.iter().map(|(_, event)| event.weak_key).collect();
    let sent: Vec<Option<Time>> = new.iter().map(|(_, event)| event.sent_at.map(Time)).collect();
    let received: Vec<Time> = new.iter().map(|(_, event)| Time(event.received_at)).collect();
    let payloads: Vec<&str> = new.iter().map(|(_, event)| &*event.payload).collect();
    let stored = connection
        .query_typed(
            include_str!("insert_event.sql"),
            &[
                (&seqs, Type::INT8_ARRAY),
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
            ],
        )
        .await?;
    let seqs = stored.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    Ok(seqs)
}

/// What goes with the events of a batch.
#[derive(Default)]
struct Written<'a> {
    tasks: Vec<NewTaskRow<'a>>,
    /// By event and whether it differs: how many.
    arrivals: BTreeMap<(i64, bool), i64>,
    /// Elements that differ, a few an event.
    elements: Vec<(i64, &'a str)>,
    counts: BTreeMap<(&'a str, &'static str), i64>,
}

/// A task on its way into the store.
pub(super) struct NewTaskRow<'a> {
    pub(super) seq: i64,
    pub(super) route: &'a str,
    pub(super) id: Uuid,
    pub(super) source: &'a str,
    pub(super) lane_id: Option<Uuid>,
    pub(super) priority: i16,
    pub(super) max_attempts: i32,
    /// Why it is dead on arrival, if it is.
    pub(super) error: Option<&'static str>,
}

impl<'a> Written<'a> {
    /// Says of each event what becomes of it.
    fn judge(&mut self, plan: &Plan<'a>, known: &HashMap<EventId, Known>) -> Vec<Vec<Arrival>> {
        let mut met = HashSet::new();
        let mut judge = |event: &'a NewEvent| {
            let stored = &known[&event.id];
            let arrival = if stored.is_ours && met.insert(event.id) {
                Arrival::New
            } else if stored.digest == event.digest {
                Arrival::Duplicate
            } else {
                Arrival::Mismatch
            };
            let word = match arrival {
                Arrival::New => "new",
                Arrival::Duplicate => "duplicate",
                Arrival::Mismatch => "mismatch",
            };
            *self.counts.entry((&event.source, word)).or_default() += 1;
            let differs = arrival == Arrival::Mismatch;
            let kept = self.elements.iter().filter(|(seq, _)| *seq == stored.seq).count();
            if differs && kept < KEPT {
                let element = element::pointer(&event.payload, &event.element);
                self.elements.push((stored.seq, element.unwrap_or(&event.payload)));
            } else if arrival != Arrival::New {
                *self.arrivals.entry((stored.seq, differs)).or_default() += 1;
            }
            arrival
        };
        plan.requests.iter().map(|request| request.iter().map(&mut judge).collect()).collect()
    }

    fn add_tasks(&mut self, new: &[(i64, &'a NewEvent)], pruned_until: Option<Timestamp>) {
        for (seq, event) in new {
            if event.tasks.is_empty() {
                *self.counts.entry((&event.source, "unrouted")).or_default() += 1;
            }
            let error = dead_reason(event, pruned_until);
            for task in &event.tasks {
                let lane = event.lane.as_ref().filter(|_| task.ordered);
                let lane_id = lane.map(|lane| {
                    Uuid::from_bytes(lane_id(&event.source, &task.route, lane.as_str()))
                });
                if error.is_some() {
                    *self.counts.entry((&event.source, "dead")).or_default() += 1;
                }
                self.tasks.push(NewTaskRow {
                    seq: *seq,
                    route: &task.route,
                    id: rows::uuid(event.id),
                    source: &event.source,
                    lane_id,
                    priority: event.priority as i16,
                    max_attempts: i32::try_from(task.max_attempts).unwrap_or(i32::MAX),
                    error,
                });
            }
        }
    }

    /// Writes it, all statements at once.
    async fn write(&self, connection: &Connection) -> Result<(), Failed> {
        let tasks = async {
            if self.tasks.is_empty() {
                return Ok(());
            }
            write_tasks(&***connection, &self.tasks).await.map(drop)
        };
        let arrivals = async {
            if self.arrivals.is_empty() && self.elements.is_empty() {
                return Ok(());
            }
            self.write_arrivals(connection).await
        };
        tokio::try_join!(tasks, arrivals, self.write_counts(connection))?;
        Ok(())
    }

    async fn write_arrivals(&self, connection: &Connection) -> Result<(), Failed> {
        let rows = self.arrivals.iter().map(|((seq, differs), n)| (*seq, *n, *differs, None));
        let kept = self.elements.iter().map(|(seq, element)| (*seq, 1, true, Some(*element)));
        let rows: Vec<(i64, i64, bool, Option<&str>)> = rows.chain(kept).collect();
        let seqs: Vec<i64> = rows.iter().map(|row| row.0).collect();
        let counts: Vec<i64> = rows.iter().map(|row| row.1).collect();
        let differ: Vec<bool> = rows.iter().map(|row| row.2).collect();
        // What the server's text can't hold was refused before; an element of it may differ still.
        let elements: Vec<Option<String>> =
            rows.iter().map(|row| row.3.map(|text| text.replace('\0', "\u{fffd}"))).collect();
        connection
            .query_typed(
                include_str!("insert_arrival.sql"),
                &[
                    (&seqs, Type::INT8_ARRAY),
                    (&counts, Type::INT8_ARRAY),
                    (&differ, Type::BOOL_ARRAY),
                    (&elements, Type::TEXT_ARRAY),
                ],
            )
            .await?;
        Ok(())
    }

    async fn write_counts(&self, connection: &Connection) -> Result<(), Failed> {
        let sources: Vec<&str> = self.counts.keys().map(|(source, _)| *source).collect();
        let words: Vec<&str> = self.counts.keys().map(|(_, word)| *word).collect();
        let counts: Vec<i64> = self.counts.values().copied().collect();
        connection
            .query_typed(
                include_str!("count.sql"),
                &[
                    (&sources, Type::TEXT_ARRAY),
                    (&words, Type::TEXT_ARRAY),
                    (&counts, Type::INT8_ARRAY),
                ],
            )
            .await?;
        Ok(())
    }
}

/// Stores tasks and wakes their lanes; gives the numbers of the events of those that were not there.
pub(super) async fn write_tasks(
    connection: &impl GenericClient,
    tasks: &[NewTaskRow<'_>],
) -> Result<Vec<i64>, Failed> {
    let seqs: Vec<i64> = tasks.iter().map(|task| task.seq).collect();
    let routes: Vec<&str> = tasks.iter().map(|task| task.route).collect();
    let ids: Vec<Uuid> = tasks.iter().map(|task| task.id).collect();
    let sources: Vec<&str> = tasks.iter().map(|task| task.source).collect();
    let lanes: Vec<Option<Uuid>> = tasks.iter().map(|task| task.lane_id).collect();
    let priorities: Vec<i16> = tasks.iter().map(|task| task.priority).collect();
    let most: Vec<i32> = tasks.iter().map(|task| task.max_attempts).collect();
    let errors: Vec<Option<&str>> = tasks.iter().map(|task| task.error).collect();
    let parameters: [Typed<'_>; 8] = [
        (&seqs, Type::INT8_ARRAY),
        (&routes, Type::TEXT_ARRAY),
        (&ids, Type::UUID_ARRAY),
        (&sources, Type::TEXT_ARRAY),
        (&lanes, Type::UUID_ARRAY),
        (&priorities, Type::INT2_ARRAY),
        (&most, Type::INT4_ARRAY),
        (&errors, Type::TEXT_ARRAY),
    ];
    let stored = connection.query_typed(include_str!("insert_task.sql"), &parameters);
    let alive = tasks.iter().filter(|task| task.error.is_none());
    let woken: Vec<Uuid> = alive.filter_map(|task| task.lane_id).collect();
    let wake = async {
        if !woken.is_empty() {
            let parameters: [Typed<'_>; 1] = [(&woken, Type::UUID_ARRAY)];
            connection.query_typed(include_str!("wake.sql"), &parameters).await?;
        }
        Ok(())
    };
    let (stored, ()) = tokio::try_join!(stored, wake)?;
    Ok(stored.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

/// Why the tasks of a new event are dead on arrival, if they are.
fn dead_reason(event: &NewEvent, pruned_until: Option<Timestamp>) -> Option<&'static str> {
    event.unreadable.or_else(|| too_old(event.priority, event.sent_at, pruned_until))
}

/// Why the tasks of an event are dead that the sender dates before the time up to which keys were
/// removed, if it does.
pub(super) fn too_old(
    priority: Priority,
    sent_at: Option<Timestamp>,
    pruned_until: Option<Timestamp>,
) -> Option<&'static str> {
    let is_old = sent_at.is_some_and(|at| pruned_until.is_some_and(|until| at <= until));
    (priority != Priority::History && is_old).then_some(TOO_OLD)
}

/// The sender's time up to which keys were removed.
pub(super) async fn pruned_until(
    connection: &impl GenericClient,
) -> Result<Option<Timestamp>, Failed> {
    let found = connection.query_typed(include_str!("pruned_until.sql"), &[]).await?;
    Ok(found.first().map(|row| rows::time(row, 0)).transpose()?)
}
