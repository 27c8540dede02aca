//! A sender that puts its secret into a header and its events into a list.

use std::sync::Arc;

use hookonce::event::{EventId, Key, Kind, NewEvent, Priority};
use hookonce::scheme::{
    Challenge, Origin, Proof, Request, Scheme, Secret, Signed, Unproven, Unsigned, Verified,
};

pub(crate) const SECRET: &str = "s3cret-of-the-test";

/// `x-secret` proves the sender; the body is a comma-separated list of keys, of which one that
/// begins with `bad` can't be read.
#[derive(Debug)]
pub(crate) struct ListScheme;

impl Scheme for ListScheme {
    fn verify(&self, request: Request) -> Result<Verified, Unproven> {
        let mut values = request.headers.get_all("x-secret").iter();
        let value = values.next().ok_or(Unproven::Missing)?;
        let text = value.to_str().map_err(|_| Unproven::Malformed)?.to_owned();
        if values.next().is_some() {
            return Err(Unproven::Malformed);
        }
        let secrets = ["an older one", SECRET].into_iter().filter_map(Secret::new).collect();
        Verified::prove(request, &Proof::Secrets(secrets), |_, secret| secret.matches(&text))
    }

    fn parse(&self, verified: &Verified, origin: &Origin) -> Vec<NewEvent> {
        let body = String::from_utf8_lossy(verified.body()).into_owned();
        body.split(',').map(|key| event(key, origin)).collect()
    }

    fn challenge(&self, query: &str) -> Challenge {
        let part = |name: &str| query.split('&').find_map(|part| part.strip_prefix(name));
        match (part("token="), part("challenge=")) {
            (Some("right"), Some(text)) => Challenge::Answer(text.to_owned()),
            (Some(_), _) => Challenge::Refused,
            (None, _) => Challenge::NotAsked,
        }
    }

    fn sign(&self, _: &Unsigned<'_>) -> Signed {
        Signed::json([("x-secret".to_owned(), SECRET.to_owned())])
    }
}

fn event(key: &str, origin: &Origin) -> NewEvent {
    let key = Key::of(&["message", key]);
    NewEvent {
        id: EventId::of(&origin.scope, key.as_str()),
        source: Arc::clone(&origin.source),
        scope: Arc::clone(&origin.scope),
        kind: Kind::of("message", Some("text")),
        lane: None,
        priority: Priority::Urgent,
        payload: key.as_str().to_owned(),
        content_type: "text/plain",
        element: String::new(),
        digest: [0; 32],
        weak_key: false,
        sent_at: None,
        received_at: origin.received_at,
        unreadable: key.as_str().contains("bad").then_some("it is bad"),
        tasks: Vec::new(),
        key,
    }
}
