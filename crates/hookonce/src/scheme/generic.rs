//! Any sender: how it signs, where its events are and what makes each one are options.
//!
//! Holds no sender's facts and no syntax of a configuration file but that of a [`Part`], a
//! [`Pointer`] and a [`Template`], which are texts wherever they come from. Takes JSON only.

mod find;
mod mac;
mod part;
mod pointer;
mod rule;
mod signing;
mod template;

use std::borrow::Cow;

use thiserror::Error;

use crate::element::Json;
use crate::event::NewEvent;

use super::{Origin, Proof, Request, Scheme, Signed, Unproven, Unsigned, Verified, cut};

use find::Found;

pub use mac::{Encoding, HmacSigning, SecretForm, TimestampPlace};
pub use part::Part;
pub use pointer::Pointer;
pub use rule::{Condition, Rule};
pub use signing::{JwtSigning, Signing};
pub use template::Template;

/// The most rules: each may look at every element.
const RULES_LIMIT: usize = 64;

/// The longest challenge that is answered, in bytes.
const CHALLENGE_LIMIT: usize = 1024;

/// A scheme that is told everything about its sender.
#[derive(Debug)]
pub struct Generic {
    options: GenericOptions,
    proof: Proof,
}

/// What there is to know of a sender.
#[derive(Debug, Clone, Default)]
pub struct GenericOptions {
    /// How it signs; needed wherever there are secrets.
    pub signing: Option<Signing>,
    /// The address that it was given, where it signs that.
    pub public_url: Option<String>,
    /// Where its elements are: arrays of them, or objects that are one. None of these may lie within
    /// another. The empty pointer is the body itself, and counts only where no other holds anything.
    pub events: Vec<Pointer>,
    /// What makes an element an event: the first rule that takes it decides.
    pub rules: Vec<Rule>,
    /// The question that it asks by POST, if it asks one.
    pub question: Option<Question>,
}

/// A question of the sender's, by POST, whether we are who it thinks.
#[derive(Debug, Clone)]
pub struct Question {
    /// What tells it from events: all of these hold. Pointers start at the body.
    pub when: Vec<Condition>,
    /// What is to be answered.
    pub answer: Part,
}

/// A text that says nothing we understand; the message says what to write.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Misspelt(String);

impl Misspelt {
    fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl Generic {
    /// Takes requests that `proof` proves in the way of `options`. Refuses secrets that can't be of
    /// this sender's, and such without a way to sign: nobody could ever be proven by them.
    pub fn new(options: GenericOptions, proof: Proof) -> Result<Self, Misspelt> {
        // The last is what holds where none does.
        if options.rules.len() > RULES_LIMIT + 1 {
            return Err(Misspelt::new(format!("there are more than {RULES_LIMIT} rules")));
        }
        if let Proof::Secrets(secrets) = &proof {
            let Some(signing) = &options.signing else {
                return Err(Misspelt::new("there are secrets, and nothing says how they sign"));
            };
            for secret in secrets {
                signing.check(secret)?;
            }
        }
        Ok(Self { options, proof })
    }
}

impl Scheme for Generic {
    fn verify(&self, request: Request) -> Result<Verified, Unproven> {
        match (&self.proof, &self.options.signing) {
            (Proof::Unverified, _) => Verified::prove(request, &self.proof, |_, _| false),
            (Proof::Secrets(_), Some(signing)) => {
                signing.verify(request, &self.proof, self.options.public_url.as_deref())
            }
            (Proof::Secrets(_), None) => Err(Unproven::Missing),
        }
    }

    fn parse(&self, verified: &Verified, origin: &Origin) -> Vec<NewEvent> {
        cut::events(verified.body(), origin, |root, cuts| {
            find::each(&self.options, verified.request(), root, &mut |found| {
                cuts.push(found.into_cut())
            })
        })
    }

    fn sign(&self, unsigned: &Unsigned<'_>) -> Signed {
        let signing = self.options.signing.as_ref().zip(self.proof.first());
        let url = self.options.public_url.as_deref().unwrap_or(unsigned.url);
        let mut headers: Vec<(String, String)> = signing
            .map(|(signing, secret)| signing.sign(secret, &Unsigned { url, ..*unsigned }))
            .unwrap_or_default();
        // A sender that tells its events apart by a header gives each a value of its own.
        for name in self.options.rules.iter().flat_map(Rule::key_headers) {
            if !headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
                headers.push((name.to_owned(), unsigned.id.to_owned()));
            }
        }
        Signed::json(headers)
    }

    fn question(&self, verified: &Verified) -> Option<String> {
        let question = self.options.question.as_ref()?;
        let root = find::Tree::of(Json::read(verified.body()).ok()?);
        let view = find::View::of_body(verified.request(), &root);
        let asked = question.when.iter().all(|condition| condition.holds(&view));
        let answer = question.answer.text(&view).filter(|text| text.len() <= CHALLENGE_LIMIT);
        answer.filter(|_| asked).map(Cow::into_owned)
    }

    fn lacks(&self, verified: &Verified) -> Vec<Vec<String>> {
        let mut lacks = Vec::new();
        let Ok(root) = Json::read(verified.body()) else { return lacks };
        // It is never too much to look at: nothing is copied.
        let _ = find::each(&self.options, verified.request(), root, &mut |found| {
            lacks.push(match found {
                Found::Element { rule, view, .. } => rule.missing(&view),
                Found::Malformed { .. } => Vec::new(),
            });
            Ok(())
        });
        lacks
    }
}
