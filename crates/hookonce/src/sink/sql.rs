//! Runs a statement in one transaction with the record of its step: exactly once, where the effect
//! lies in the database that stores the events.

use std::sync::Arc;

use async_trait::async_trait;

use crate::element;
use crate::step::{Failure, Step, StepContext};
use crate::store::{Parameter, Statement};

/// A statement with the parameters `:id :source :key :kind :lane :payload :element :attempt :run
/// :received_at`. The store runs it, so the store classifies its failures.
#[derive(Debug, Clone)]
pub struct SqlSink {
    statement: Arc<str>,
}

impl SqlSink {
    /// A sink that runs `statement` for each event.
    pub fn new(statement: impl Into<Arc<str>>) -> Self {
        Self { statement: statement.into() }
    }
}

#[async_trait]
impl Step for SqlSink {
    /// Is called only where a store doesn't take the statement.
    async fn run(&self, _: &StepContext<'_>) -> Result<Option<String>, Failure> {
        Err(Failure::permanent("an `sql` sink needs an SQL store: use `sqlite:` or `postgres:`"))
    }

    fn statement(&self, context: &StepContext<'_>) -> Option<Statement> {
        let claim = context.claim;
        let event = &claim.event;
        let text = |text: &str| Parameter::Text(text.to_owned());
        let payload = event.payload.as_deref();
        // What is no JSON (a form, undecodable bytes) is its own element.
        let element = payload.map(|payload| {
            let raw = element::pointer(payload, &event.element).unwrap_or(payload);
            element::readable(raw).into_owned()
        });
        let parameters = vec![
            ("id", Parameter::Text(event.id.to_string())),
            ("source", text(&event.source)),
            ("key", text(&event.key)),
            ("kind", text(&event.kind)),
            ("lane", event.lane.as_deref().map_or(Parameter::Null, text)),
            ("payload", payload.map_or(Parameter::Null, text)),
            ("element", element.map_or(Parameter::Null, Parameter::Text)),
            ("attempt", Parameter::Number(claim.attempt.into())),
            ("run", Parameter::Number(claim.run.into())),
            ("received_at", Parameter::Text(event.received_at.to_string())),
        ];
        Some(Statement { sql: self.statement.clone(), parameters })
    }
}
