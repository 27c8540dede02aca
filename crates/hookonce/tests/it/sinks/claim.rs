//! A claimed task to give to a step.

use std::collections::BTreeMap;
use std::sync::Arc;

use hookonce::event::{Event, EventId, Priority};
use hookonce::step::StepContext;
use hookonce::task::{Claim, Token};

/// A text message of a customer, claimed by the route `crm` for the third time.
pub(crate) fn claim() -> Claim {
    Claim {
        event: Arc::new(event()),
        route: "crm".into(),
        token: Token::from_bytes([7; 16]),
        attempt: 2,
        max_attempts: 24,
        run: 1,
        epoch: 3,
        claimed_at: "2026-01-02T03:04:05Z".parse().unwrap(),
        lease_until: "2026-01-02T03:05:05Z".parse().unwrap(),
        replayed_at: None,
        first_route: None,
        steps: BTreeMap::new(),
        reaped: false,
    }
}

pub(crate) fn event() -> Event {
    Event {
        id: EventId::of("whatsapp", "message:200000000000001:wamid.TEST0001"),
        seq: 5,
        source: "whatsapp".to_owned(),
        key: "message:200000000000001:wamid.TEST0001".to_owned(),
        kind: "message.text".to_owned(),
        lane: Some("200000000000001:José 100%".to_owned()),
        priority: Priority::Urgent,
        content_type: "application/json".to_owned(),
        element: "/messages/0".to_owned(),
        weak_key: false,
        sent_at: None,
        received_at: "2026-01-02T03:04:05.678Z".parse().unwrap(),
        payload: Some(r#"{"messages":[{"from":"1", "text":"\u00e9\u0000"}]}"#.to_owned()),
    }
}

pub(crate) fn changed(change: impl FnOnce(&mut Event)) -> Claim {
    let mut event = event();
    change(&mut event);
    Claim { event: Arc::new(event), ..claim() }
}

pub(crate) fn context(claim: &Claim) -> StepContext<'_> {
    StepContext { claim, step: "reply" }
}
