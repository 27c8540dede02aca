//! Runs a statement in one transaction with the record of its step: exactly once, where the effect
//! lies in the database that stores the events.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::element;
use crate::step::{Done, Failure, Step, StepContext};
use crate::store::{Parameter, Statement};

/// The parameters that a statement may name, each behind a colon.
pub const PARAMETERS: [&str; 10] =
    ["id", "source", "key", "kind", "lane", "payload", "element", "attempt", "run", "received_at"];

/// How long a statement may take where nothing else is said.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A statement with the parameters `:id :source :key :kind :lane :payload :element :attempt :run
/// :received_at`. The store runs it, so the store classifies its failures.
#[derive(Debug, Clone)]
pub struct SqlSink {
    statement: Arc<str>,
    timeout: Duration,
}

impl SqlSink {
    /// A sink that runs `statement` for each event, and gives it up after 30 s.
    pub fn new(statement: impl Into<Arc<str>>) -> Self {
        Self::limited(statement, TIMEOUT)
    }

    /// A sink that runs `statement` for each event, and gives it up after `timeout`; in `SQLite` after
    /// the store's own second.
    pub fn limited(statement: impl Into<Arc<str>>, timeout: Duration) -> Self {
        Self { statement: statement.into(), timeout }
    }
}

#[async_trait]
impl Step for SqlSink {
    /// Is called only where a store doesn't take the statement.
    async fn run(&self, _: &StepContext<'_>) -> Result<Done, Failure> {
        Err(Failure::permanent("an `sql` sink needs an SQL store: use `sqlite:` or `postgres:`"))
    }

    fn statement(&self, context: &StepContext<'_>) -> Option<Statement> {
        let claim = context.claim;
        let event = &claim.event;
        let text = |text: &str| Parameter::Text(text.to_owned());
        // What the statement doesn't name is neither cut nor copied.
        let names = |parameter: &str| self.statement.contains(parameter);
        let payload = event.payload.as_deref();
        let element = payload.filter(|_| names(":element"));
        let element = element.map(|_| element::readable(context.element()).into_owned());
        let values = [
            Parameter::Text(event.id.to_string()),
            text(&event.source),
            text(&event.key),
            text(&event.kind),
            event.lane.as_deref().map_or(Parameter::Null, text),
            payload.filter(|_| names(":payload")).map_or(Parameter::Null, text),
            element.map_or(Parameter::Null, Parameter::Text),
            Parameter::Number(claim.attempt.into()),
            Parameter::Number(claim.run.into()),
            Parameter::Text(event.received_at.to_string()),
        ];
        let parameters = PARAMETERS.into_iter().zip(values).collect();
        Some(Statement { sql: self.statement.clone(), parameters, timeout: self.timeout })
    }
}
