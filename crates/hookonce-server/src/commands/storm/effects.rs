//! Counts what the events have effected: each by its id, or all together where nothing else is told.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request as HttpRequest, header};
use hookonce::event::EventId;
use hookonce::scheme::{Origin, Request, Scheme, Unsigned};
use hookonce::store::{Clock, Store};
use http_body_util::{BodyExt as _, Limited};
use rusqlite::OpenFlags;
use rusqlite::types::ValueRef;
use serde_json::Value;
use tokio::process::Command;
use tokio::task::JoinSet;

use super::drip::Drip;
use super::shape::Shape;
use super::target::Target;

/// How long one count may take.
const LIMIT: Duration = Duration::from_secs(60);
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
    /// How many each event has, by number.
    Each(Vec<u64>),
    /// How many there are of all events, and of earlier ones.
    All(u64),
}

/// A row of what a count says: text, and how many effects it stands for.
type Row = (String, u64);

impl Counter {
    /// Counts the effects of so many events.
    pub(super) async fn count(&self, shape: &Shape, events: usize) -> anyhow::Result<Effects> {
        let counting = async {
            if let Self::Store { store, ids } = self {
                return of_store(&**store, ids).await;
            }
            let rows = match self {
                Self::Sqlite { file, query } => {
                    let (file, query) = (file.clone(), query.clone());
                    tokio::task::spawn_blocking(move || of_sqlite(&file, &query)).await??
                }
                Self::Postgres { url, query } => of_postgres(url, query).await?,
                Self::Url(target) => read(&of_url(target).await?),
                Self::Command(command) => read(&of_command(command).await?),
                Self::Store { .. } => Vec::new(),
            };
            Ok(effects(&rows, shape, events))
        };
        let counted = tokio::time::timeout(LIMIT, counting).await;
        counted
            .unwrap_or_else(|_| bail!("it takes longer than a minute"))
            .context("cannot count effects")
    }
}

/// What the rows tell of the events. A number alone tells of all.
fn effects(rows: &[Row], shape: &Shape, events: usize) -> Effects {
    if let [(text, 1)] = rows
        && let Ok(all) = text.trim().parse()
    {
        return Effects::All(all);
    }
    let mut each = vec![0; events];
    for (text, n) in rows {
        if let Some(event) = shape.event_in(text, 0..events) {
            each[event] += n;
        }
    }
    Effects::Each(each)
}

/// Reads what was said: a JSON array, or lines, each with a number behind it or without.
fn read(said: &str) -> Vec<Row> {
    if let Ok(Value::Array(rows)) = serde_json::from_str(said) {
        let text = |row: Value| match row {
            Value::String(text) => text,
            other => other.to_string(),
        };
        return rows.into_iter().map(|row| (text(row), 1)).collect();
    }
    let row = |line: &str| {
        let parts = line.rsplit_once([' ', '\t', '|', ',']);
        let counted = parts.and_then(|(text, n)| Some((text.to_owned(), n.trim().parse().ok()?)));
        counted.unwrap_or_else(|| (line.to_owned(), 1))
    };
    said.lines().filter(|line| !line.trim().is_empty()).map(row).collect()
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
            ValueRef::Real(_) | ValueRef::Null => continue,
        };
        let n = if columns > 1 { row.get::<_, i64>(1)? } else { 1 };
        found.push((text, u64::try_from(n)?));
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
    let answer = connection.send(request.body(Drip::whole(&Bytes::new()))?).await?;
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
        bail!("the command failed ({}): {}", said.status, why.trim());
    }
    Ok(String::from_utf8_lossy(&said.stdout).into_owned())
}

/// An event's effects in a store of ours: how often all its tasks were completed; where it has none,
/// that it is there.
async fn of_store(store: &dyn Store, ids: &[EventId]) -> anyhow::Result<Effects> {
    let mut each = Vec::with_capacity(ids.len());
    for id in ids {
        let Some(details) = store.get(*id).await? else {
            each.push(0);
            continue;
        };
        let tasks = &details.summary.tasks;
        let completed = |route: &str| {
            let own = details.attempts.iter().filter(|attempt| *attempt.route == *route);
            own.filter(|attempt| attempt.outcome == "completed").count()
        };
        let least = tasks.iter().map(|task| completed(&task.route)).min().unwrap_or(1);
        each.push(least as u64);
    }
    Ok(Effects::Each(each))
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
    use super::{Effects, Shape, effects, read};

    #[test]
    fn rows_are_read_as_whoever_counts_writes_them() {
        let shape = Shape::of_scheme("meta", 7, 0).unwrap();
        let id = |event| shape.id(event);
        let lines = format!("{}\n\n{} 3\n{}|2\nsomebody else's\n", id(0), id(1), id(2));
        let array = serde_json::json!([id(0), { "id": id(1) }, id(1), id(1), id(2), id(2), 5]);
        for said in [lines, array.to_string()] {
            assert_eq!(effects(&read(&said), &shape, 4), Effects::Each(vec![1, 3, 2, 0]), "{said}");
        }
        assert_eq!(effects(&read("12\n"), &shape, 4), Effects::All(12));
        assert_eq!(effects(&read(""), &shape, 2), Effects::Each(vec![0, 0]));
    }
}
