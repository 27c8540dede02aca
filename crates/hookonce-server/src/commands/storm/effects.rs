//! Counts what the events have effected: each by its id, or all together where nothing else is told.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request as HttpRequest, header};
use futures_util::{StreamExt as _, TryStreamExt as _};
use hookonce::event::EventId;
use hookonce::scheme::{Origin, Request, Scheme, Unsigned};
use hookonce::store::{Clock, Store};
use hookonce::task::State;
use http_body_util::{BodyExt as _, Limited};
use rusqlite::OpenFlags;
use rusqlite::types::ValueRef;
use serde_json::Value;
use tokio::process::Command;
use tokio::task::JoinSet;

use super::body::PacedBody;
use super::shape::Shape;
use super::target::Target;

/// How long one count may take.
const LIMIT: Duration = Duration::from_secs(300);
/// How many events are looked at at once.
const AT_ONCE: usize = 32;
/// The most that a count may say, in bytes.
const SAID: usize = 256 << 20;

/// Where effects are counted.
#[derive(Debug)]
pub(super) enum Counter {
    Sqlite { file: String, query: String },
    Postgres { url: String, query: String },
    Url(Target),
    Command(String),
    Store { store: Arc<dyn Store>, ids: Vec<EventId> },
}

/// What was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effects {
    /// How many each event has, by number; and how many rows name none of them, with one of those.
    Each { each: Vec<u64>, others: u64, other: Option<String> },
    /// How many there are of all events, and of earlier ones.
    All(u64),
}

/// A row of what a count says: text, and how many effects it stands for.
type Row = (String, u64);

/// What tells of which event a row is.
#[derive(Debug)]
pub(super) struct Names {
    shape: Shape,
    pub(super) events: usize,
    /// By the ids that hookonce itself gives them, where it is known.
    by_id: HashMap<String, usize>,
}

impl Counter {
    /// Counts the effects of events.
    pub(super) async fn count(&self, names: &Names) -> anyhow::Result<Effects> {
        let counting = async {
            let rows = match self {
                Self::Store { store, ids } => return of_store(store, ids).await,
                Self::Sqlite { file, query } => {
                    let (file, query) = (file.clone(), query.clone());
                    tokio::task::spawn_blocking(move || of_sqlite(&file, &query)).await??
                }
                Self::Postgres { url, query } => of_postgres(url, query).await?,
                Self::Url(target) => read(&of_url(target).await?)?,
                Self::Command(command) => read(&of_command(command).await?)?,
            };
            Ok(names.effects(&rows))
        };
        let counted = tokio::time::timeout(LIMIT, counting).await;
        counted
            .unwrap_or_else(|_| bail!("it takes longer than {LIMIT:?}"))
            .context("cannot count effects")
    }
}

impl Names {
    pub(super) fn new(shape: Shape, events: usize, ids: &[EventId]) -> Self {
        let by_id = ids.iter().enumerate().map(|(event, id)| (id.to_string(), event)).collect();
        Self { shape, events, by_id }
    }

    /// What the rows tell of the events. A number alone tells of all.
    fn effects(&self, rows: &[Row]) -> Effects {
        if let [(text, 1)] = rows
            && let Ok(all) = text.trim().parse()
        {
            return Effects::All(all);
        }
        let (mut each, mut others, mut other) = (vec![0_u64; self.events], 0, None);
        for (text, n) in rows {
            let is_part = |c: char| c.is_ascii_hexdigit() || c == '-';
            let mut parts = text.split(|c| !is_part(c)).map(str::to_ascii_lowercase);
            let event = self.shape.event_in(text, 0..self.events);
            if let Some(event) =
                event.or_else(|| parts.find_map(|part| self.by_id.get(&part).copied()))
            {
                each[event] = each[event].saturating_add(*n);
            } else {
                others += 1;
                other = other.or_else(|| Some(text.clone()));
            }
        }
        Effects::Each { each, others, other }
    }
}

/// Reads what was said: a JSON array of ids, or of pairs of an id and a number; or lines, each an id, or an id
/// and a number with a blank, a tab, a comma or a bar between.
fn read(said: &str) -> anyhow::Result<Vec<Row>> {
    if said.trim_start().starts_with(['[', '{']) {
        let Ok(Value::Array(rows)) = serde_json::from_str(said) else {
            bail!("it says JSON that is no array; let it give the ids as an array, or as lines");
        };
        let row = |row: Value| match row {
            Value::String(text) => Ok((text, 1)),
            Value::Array(pair) => match &pair[..] {
                [Value::String(text), n] if n.is_u64() => {
                    Ok((text.clone(), n.as_u64().unwrap_or_default()))
                }
                _ => bail!("a row is an id, or a pair of an id and a number, and not an array"),
            },
            other => Ok((other.to_string(), 1)),
        };
        return rows.into_iter().map(row).collect();
    }
    let row = |line: &str| {
        let parts: Vec<&str> =
            line.split([' ', '\t', '|', ',']).filter(|part| !part.is_empty()).collect();
        match parts[..] {
            [text, n] if n.parse::<u64>().is_ok() => {
                (text.to_owned(), n.parse().unwrap_or_default())
            }
            _ => (line.to_owned(), 1),
        }
    };
    Ok(said.lines().filter(|line| !line.trim().is_empty()).map(row).collect())
}

fn of_sqlite(file: &str, query: &str) -> anyhow::Result<Vec<Row>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = rusqlite::Connection::open_with_flags(Path::new(file), flags)
        .with_context(|| format!("cannot open `{file}`"))?;
    connection.busy_timeout(Duration::from_secs(5))?;
    let mut statement = connection.prepare(query)?;
    let columns = statement.column_count();
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let text = match row.get_ref(0)? {
            ValueRef::Text(text) | ValueRef::Blob(text) => {
                String::from_utf8_lossy(text).into_owned()
            }
            ValueRef::Integer(n) => n.to_string(),
            ValueRef::Real(n) => n.to_string(),
            ValueRef::Null => continue,
        };
        // Of a row without a number it is not known how many it stands for.
        let n = if columns > 1 { row.get::<_, Option<i64>>(1)?.unwrap_or_default() } else { 1 };
        found.push((text, u64::try_from(n).context("a count is negative")?));
    }
    Ok(found)
}

async fn of_postgres(url: &str, query: &str) -> anyhow::Result<Vec<Row>> {
    let connected = tokio_postgres::connect(url, tokio_postgres::NoTls).await;
    let (client, connection) = connected.context(
        "cannot connect to the database; one that asks for TLS is counted by \
         `--count-cmd 'psql -At -c …'`",
    )?;
    let mut driver = JoinSet::new();
    driver.spawn(async move { drop(connection.await) });
    client.batch_execute("set default_transaction_read_only = on").await?;
    // As text, so that a query may give whatever type it likes.
    let messages = client.simple_query(query).await?;
    let mut found = Vec::new();
    for message in messages {
        if let tokio_postgres::SimpleQueryMessage::Row(row) = message {
            let Some(text) = row.get(0) else { continue };
            let n = if row.len() > 1 { row.get(1).unwrap_or("0").parse()? } else { 1 };
            found.push((text.to_owned(), n));
        }
    }
    Ok(found)
}

async fn of_url(target: &Target) -> anyhow::Result<String> {
    let (path, host) = Target::asked(&target.url)?;
    let request = HttpRequest::get(path).header(header::HOST, host);
    let mut connection = target.connect().await.context("cannot connect to --count-url")?;
    let answer = connection.send(request.body(PacedBody::whole(&Bytes::new()))?).await?;
    let status = answer.status();
    let body = Limited::new(answer.into_body(), SAID).collect().await;
    let body = body.map_err(|error| anyhow!("what --count-url says can't be read: {error}"))?;
    if !status.is_success() {
        bail!("--count-url answered {status}");
    }
    Ok(String::from_utf8_lossy(&body.to_bytes()).into_owned())
}

async fn of_command(command: &str) -> anyhow::Result<String> {
    let said = Command::new("sh").args(["-c", command]).kill_on_drop(true).output().await?;
    if !said.status.success() {
        let why = String::from_utf8_lossy(&said.stderr);
        let why = if why.trim().is_empty() { "it says nothing of why" } else { why.trim() };
        bail!("the command failed ({}): {why}", said.status);
    }
    Ok(String::from_utf8_lossy(&said.stdout).into_owned())
}

/// An event's effects in a store of ours: how often all its tasks were completed, or one of them more often;
/// where it has none, that it is there. None as long as a task of it isn't.
async fn of_store(store: &Arc<dyn Store>, ids: &[EventId]) -> anyhow::Result<Effects> {
    let looks = ids.iter().map(|id| of_event(store, *id));
    let each: Vec<u64> = futures_util::stream::iter(looks).buffered(AT_ONCE).try_collect().await?;
    Ok(Effects::Each { each, others: 0, other: None })
}

async fn of_event(store: &Arc<dyn Store>, id: EventId) -> anyhow::Result<u64> {
    let Some(details) = store.get(id).await? else { return Ok(0) };
    let completed = |route: &str| {
        let own = details.attempts.iter().filter(|attempt| *attempt.route == *route);
        own.filter(|attempt| attempt.outcome == "completed").count() as u64
    };
    let tasks = &details.summary.tasks;
    if tasks.iter().any(|task| task.state != State::Completed) {
        return Ok(0);
    }
    Ok(tasks.iter().map(|task| completed(&task.route)).max().unwrap_or(1))
}

/// The ids under which a source stores the events, by number.
pub(super) fn ids(
    shape: &Shape,
    events: usize,
    (open, sender, origin): (&dyn Scheme, &dyn Scheme, &Origin),
) -> anyhow::Result<Vec<EventId>> {
    let mut ids = Vec::with_capacity(events);
    for event in 0..events {
        let body = shape.body(&[event]);
        let id = format!("msg_{}", shape.token(event));
        let at = Clock::system().now();
        let unsigned = Unsigned { body: body.as_bytes(), url: "http://localhost/", id: &id, at };
        let headers = sender.sign(&unsigned).headers.into_iter();
        let headers: Result<HeaderMap, anyhow::Error> = headers
            .map(|(name, value)| Ok((name.parse::<HeaderName>()?, HeaderValue::from_str(&value)?)))
            .collect();
        let request = Request { headers: headers?, ..Request::of(body, at) };
        let verified = open.verify(request);
        let verified =
            verified.map_err(|reason| anyhow!("it can't be read: {}", reason.as_str()))?;
        let [found] = &open.parse(&verified, origin)[..] else {
            bail!("the source does not take its body for one event; give another with --body");
        };
        ids.push(found.id);
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use hookonce::event::EventId;

    use super::{Effects, Names, Shape, read};

    fn each(effects: Effects) -> (Vec<u64>, u64) {
        match effects {
            Effects::Each { each, others, .. } => (each, others),
            Effects::All(all) => panic!("{all}"),
        }
    }

    #[test]
    fn rows_are_read_as_whoever_counts_writes_them() {
        let shape = Shape::of_scheme("meta", 7, 0).unwrap();
        let own = [0, 1, 2].map(|n| EventId::of("s", &n.to_string()));
        let names = Names::new(shape.clone(), 4, &own);
        let id = |event| shape.id(event);
        let lines = format!(
            "{}\n\n{} 3\n{}|2\nsomebody else's\nbooked {} took 12\n",
            id(0),
            id(1),
            own[2],
            id(3)
        );
        let array = serde_json::json!([
            id(0), [id(1), 2], { "id": id(1) }, own[2].to_string(), id(2), 5, format!("it was {} 7", id(3))
        ]);
        for said in [lines, array.to_string()] {
            let counted = each(names.effects(&read(&said).unwrap()));
            assert_eq!(counted, (vec![1, 3, 2, 1], 1), "{said}");
        }
        assert_eq!(names.effects(&read("12\n").unwrap()), Effects::All(12));
        assert_eq!(each(names.effects(&read("").unwrap())), (vec![0; 4], 0));
        for strange in ["{\"ids\":[]}", "[[1]]", "[[\"a\",\"b\"]]", "[[\"a\",-1]]"] {
            assert!(read(strange).is_err(), "{strange}");
        }
    }
}
