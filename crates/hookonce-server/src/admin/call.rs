//! One call of the API: who may make it, what it is asked with, what it does and what it answers.
//!
//! What a call takes and gives is said by types, from which both the work and the document are
//! made, so that the two can't differ.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hookonce::event::EventId;
use hookonce::store::Store;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Settings;
use super::problem::Problem;
use super::token::Caller;
use crate::config::{RoleName, nearest};

/// How long a call may take that does one thing.
const PATIENCE: Duration = Duration::from_secs(10);

/// One call.
pub(crate) struct Call {
    pub(crate) method: Method,
    /// As the router takes it: `/api/events/{id}`.
    pub(crate) path: &'static str,
    /// One word for it, as generated clients name it.
    pub(crate) name: &'static str,
    pub(crate) roles: &'static [RoleName],
    /// What it does, in sentences.
    pub(crate) about: &'static str,
    pub(crate) input: Part,
    pub(crate) answer: Option<MakeSchema>,
    run: Run,
    patience: Option<Duration>,
}

/// What a call is asked with beside its path.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    Nothing,
    Query(MakeSchema),
    Body(MakeSchema),
}

/// Describes a type.
pub(crate) type MakeSchema = fn(&mut SchemaGenerator) -> Schema;

type Running = Pin<Box<dyn Future<Output = Result<Response, Problem>> + Send>>;
type Run = Box<dyn Fn(Asked, &Given) -> Result<Running, Problem> + Send + Sync>;

/// Who asks what of whom.
pub(super) struct Asked {
    pub(super) store: Arc<dyn Store>,
    pub(super) settings: Arc<Settings>,
    pub(super) caller: Arc<Caller>,
    /// The parts of the path that have names.
    pub(super) path: BTreeMap<String, String>,
}

/// A request's query, headers and body.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) query: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Call {
    /// A call that `run` does.
    pub(super) fn new<I, A, F>(
        (method, path): (Method, &'static str),
        name: &'static str,
        roles: &'static [RoleName],
        about: &'static str,
        run: impl Fn(Asked, I) -> F + Send + Sync + 'static,
    ) -> Self
    where
        I: Input,
        A: Answer,
        F: Future<Output = Result<A, Problem>> + Send + 'static,
    {
        let members = I::members();
        let run: Run = Box::new(move |asked, given| {
            let done = run(asked, I::read(given, &members)?);
            Ok(Box::pin(async { done.await?.respond() }))
        });
        let patience = Some(PATIENCE);
        Self { method, path, name, roles, about, input: I::PART, answer: A::SCHEMA, run, patience }
    }

    /// The call may take as long as there is something to do.
    pub(super) fn unhurried(self) -> Self {
        Self { patience: None, ..self }
    }

    /// Does the call.
    pub(super) async fn answer(&self, asked: Asked, given: &Given) -> Result<Response, Problem> {
        if !self.roles.contains(&asked.caller.role) {
            let roles: Vec<&str> = self.roles.iter().map(|role| role.as_str()).collect();
            let (role, roles) = (asked.caller.role.as_str(), roles.join(" or "));
            return Err(Problem::forbidden(format!(
                "this is for {roles}; the token's role is {role}"
            )));
        }
        let running = (self.run)(asked, given)?;
        match self.patience {
            Some(limit) => match tokio::time::timeout(limit, running).await {
                Ok(answer) => answer,
                Err(_) => Err(Problem::slow()),
            },
            None => running.await,
        }
    }
}

impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

impl Asked {
    /// The event that the path names. What is no id at all is the id of nothing.
    pub(super) fn event_id(&self) -> Result<EventId, Problem> {
        let id = self.part("id");
        id.parse().map_err(|_| Problem::not_found(format!("`{id}` is no id of an event")))
    }

    /// A part of the path.
    pub(super) fn part(&self, name: &str) -> &str {
        self.path.get(name).map(String::as_str).unwrap_or_default()
    }
}

/// What a call can be asked with.
pub(super) trait Input: Sized + Send + 'static {
    const PART: Part;

    /// The names of its members.
    fn members() -> Vec<String>;

    fn read(given: &Given, members: &[String]) -> Result<Self, Problem>;
}

/// The parameters of a query. An empty one asks for nothing.
#[derive(Debug)]
pub(super) struct Query<T>(pub(super) T);

/// A body of JSON. None at all stands for an empty object.
#[derive(Debug)]
pub(super) struct Body<T>(pub(super) T);

impl Input for () {
    const PART: Part = Part::Nothing;

    fn members() -> Vec<String> {
        vec![]
    }

    fn read(_: &Given, _: &[String]) -> Result<Self, Problem> {
        Ok(())
    }
}

impl<T: DeserializeOwned + JsonSchema + Send + 'static> Input for Query<T> {
    const PART: Part = Part::Query(described::<T>);

    fn members() -> Vec<String> {
        members_of::<T>()
    }

    fn read(given: &Given, members: &[String]) -> Result<Self, Problem> {
        let mut pairs = Vec::new();
        for pair in given.query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            check_member("parameter", name, members)?;
            if !value.is_empty() {
                pairs.push(pair);
            }
        }
        parsed(&pairs).map(Self).map_err(|error| {
            let blamed = pairs.iter().enumerate().find(|(n, _)| {
                let others = [&pairs[..*n], &pairs[n + 1..]].concat();
                parsed::<T>(&others).is_ok()
            });
            let name = blamed.and_then(|(_, pair)| pair.split('=').next());
            Problem::unread(name, &error)
        })
    }
}

impl<T: DeserializeOwned + JsonSchema + Send + 'static> Input for Body<T> {
    const PART: Part = Part::Body(described::<T>);

    fn members() -> Vec<String> {
        members_of::<T>()
    }

    fn read(given: &Given, members: &[String]) -> Result<Self, Problem> {
        let mut body: &[u8] = &given.body;
        if body.is_empty() {
            body = b"{}";
        } else if !is_json(&given.headers) {
            return Err(Problem::not_json());
        }
        let names: BTreeMap<String, serde::de::IgnoredAny> = serde_json::from_slice(body)
            .map_err(|error| Problem::bad(format!("the body is no object of JSON: {error}")))?;
        for name in names.keys() {
            check_member("member", name, members)?;
        }
        serde_json::from_slice(body).map(Self).map_err(|error| {
            let name = names.keys().find(|name| is_to_blame::<T>(body, name));
            Problem::unread(name.map(String::as_str), &error)
        })
    }
}

/// What a call can answer.
pub(super) trait Answer {
    /// `None` where it has no body.
    const SCHEMA: Option<MakeSchema>;

    fn respond(self) -> Result<Response, Problem>;
}

/// An answer of JSON.
#[derive(Debug)]
pub(super) struct Shown<T>(pub(super) T);

/// It is done, and there is nothing to say about it.
#[derive(Debug)]
pub(super) struct Done;

impl<T: Serialize + JsonSchema> Answer for Shown<T> {
    const SCHEMA: Option<MakeSchema> = Some(described::<T>);

    fn respond(self) -> Result<Response, Problem> {
        let body = serde_json::to_vec(&self.0).map_err(|error| Problem::bad(error.to_string()))?;
        let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        Ok((json, body).into_response())
    }
}

impl Answer for Done {
    const SCHEMA: Option<MakeSchema> = None;

    fn respond(self) -> Result<Response, Problem> {
        Ok(StatusCode::NO_CONTENT.into_response())
    }
}

fn described<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

fn parsed<T: DeserializeOwned>(pairs: &[&str]) -> Result<T, String> {
    let uri = format!("/?{}", pairs.join("&")).parse();
    let uri = uri.map_err(|_| "the query can't be read".to_owned())?;
    let query = axum::extract::Query::try_from_uri(&uri);
    query.map(|axum::extract::Query(query)| query).map_err(|error| {
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        cause.unwrap_or_else(|| error.to_string())
    })
}

/// Whether it is this member that can't be read: without it the body can, but for its want.
fn is_to_blame<T: DeserializeOwned>(body: &[u8], name: &str) -> bool {
    let mut others: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(body).unwrap_or_default();
    others.remove(name);
    let missing = format!("missing field `{name}`");
    let read = serde_json::from_value::<T>(others.into());
    read.err().is_none_or(|error| error.to_string() == missing)
}

/// The names of a type's members; of one that has several shapes, those of all.
fn members_of<T: JsonSchema>() -> Vec<String> {
    let schema = schemars::schema_for!(T);
    let shapes = schema.get("oneOf").and_then(|shapes| shapes.as_array());
    let shapes = shapes.into_iter().flatten().chain([schema.as_value()]);
    let members = shapes.filter_map(|shape| shape["properties"].as_object());
    let mut names: Vec<String> = members.flat_map(|members| members.keys().cloned()).collect();
    names.sort();
    names.dedup();
    names
}

fn check_member(what: &str, name: &str, members: &[String]) -> Result<(), Problem> {
    if members.iter().any(|member| member == name) {
        return Ok(());
    }
    let words: Vec<&str> = members.iter().map(String::as_str).collect();
    let hint = match nearest(name, &words) {
        Some(word) => format!("did you mean `{word}`?"),
        None => format!("there are {}", words.join(", ")),
    };
    Err(Problem::bad(format!("there is no {what} `{name}`; {hint}")))
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}
