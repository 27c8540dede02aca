//! Every scheme that is measured.

use std::sync::Arc;

use hookonce::scheme::evolution::{Evolution, EvolutionSignature};
use hookonce::scheme::generic::{
    Condition, Encoding, Generic, GenericOptions, HmacSigning, Rule, SecretForm, Signing, Template,
};
use hookonce::scheme::meta::Meta;
use hookonce::scheme::signature::Hash;
use hookonce::scheme::twilio::Twilio;
use hookonce::scheme::waha::Waha;
use hookonce::scheme::wasender::Wasender;
use hookonce::scheme::{Proof, Scheme, Secret};

use super::bodies;

/// A scheme with what its sender posts.
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    pub(crate) scheme: fn(Secret) -> Arc<dyn Scheme>,
    /// A body of about 1 kB with one event.
    pub(crate) small: fn() -> String,
    /// As many events as the sender puts into one request, and their number; `None` where it is
    /// always one.
    pub(crate) batch: Option<fn() -> (String, usize)>,
}

/// Every scheme.
pub(crate) const SUBJECTS: [Subject; 6] = [
    Subject {
        name: "meta",
        scheme: |secret| Arc::new(Meta::new(proof(secret), None)),
        small: bodies::meta_small,
        batch: Some(bodies::meta_batch),
    },
    Subject {
        name: "wasender",
        scheme: |secret| Arc::new(Wasender::new(proof(secret))),
        small: bodies::wasender_small,
        batch: Some(bodies::wasender_batch),
    },
    Subject {
        name: "twilio",
        scheme: |secret| {
            let url = "https://hooks.example.org/webhooks/source";
            Arc::new(Twilio::new(proof(secret), Some(url.to_owned())))
        },
        small: bodies::twilio_small,
        batch: Some(bodies::twilio_batch),
    },
    Subject {
        name: "waha",
        scheme: |secret| Arc::new(Waha::new(proof(secret))),
        small: bodies::waha_small,
        batch: None,
    },
    Subject {
        name: "evolution",
        scheme: |secret| Arc::new(Evolution::new(proof(secret), EvolutionSignature::Jwt)),
        small: bodies::evolution_small,
        batch: Some(bodies::evolution_batch),
    },
    Subject {
        name: "generic",
        scheme: generic,
        small: bodies::generic_small,
        batch: Some(bodies::generic_batch),
    },
];

fn proof(secret: Secret) -> Proof {
    Proof::Secrets(vec![secret])
}

/// Three rules for messages and one for what became of them, as the presets of gateways have them,
/// under an HMAC.
fn generic(secret: Secret) -> Arc<dyn Scheme> {
    let pointer = |text: &str| text.parse().expect("it is a pointer");
    let parts = |texts: &[&str]| -> Vec<_> {
        texts.iter().map(|text| text.parse().expect("it is a part")).collect()
    };
    let when = |part: &str, text: &str| {
        let texts = vec![text.to_owned()];
        vec![Condition { part: part.parse().expect("it is a part"), texts }]
    };
    let rule = |place: &str, word: &str, when| Rule {
        events: Some(vec![pointer(place)]),
        when,
        key: parts(&[word, "root:/channel_id", "/id"]),
        kind: parts(&[word, "/type"]),
        lane: parts(&["root:/channel_id", "/chat_id"]),
        time: Some("/timestamp".parse().expect("it is a part")),
        ..Rule::default()
    };
    let rules = vec![
        rule("/messages", "literal:change", when("root:/event/event", "patch")),
        rule("/messages", "literal:echo", when("/from_me", "true")),
        rule("/messages", "literal:message", Vec::new()),
        rule("/statuses", "literal:status", Vec::new()),
    ];
    let signing = HmacSigning {
        hash: Hash::Sha256,
        encoding: Encoding::Hex,
        header: "x-hub-signature-256".parse().expect("it is a name"),
        separator: None,
        prefix: "sha256=".to_owned(),
        template: Template::body(),
        timestamp: None,
        tolerance: None,
        secret_form: SecretForm::default(),
    };
    let events = ["/messages", "/statuses", "/chats", ""].map(pointer).to_vec();
    let signing = Some(Signing::Hmac(signing));
    let options = GenericOptions { signing, events, rules, ..GenericOptions::default() };
    Arc::new(Generic::new(options, proof(secret)).expect("it can be any secret"))
}
