//! Makes the options of the library's generic scheme out of a source's section.

use hookonce::event::Priority;
use hookonce::scheme::generic::{GenericOptions, Part, Question, Rule};

use crate::config::{GenericConfig, RuleConfig, Several, SignatureConfig, Written};

/// Makes them; the error says what can't be.
pub(super) fn options(
    own: &GenericConfig,
    public_url: Option<&str>,
) -> Result<GenericOptions, String> {
    let question = |answer: &Written<Part>| Question {
        when: own.challenge_when.0.clone(),
        answer: answer.0.clone(),
    };
    let rules = own.rules.iter().map(|own_rule| rule(own_rule, own));
    let last = rule(&RuleConfig::default(), own);
    Ok(GenericOptions {
        signing: own.signature.as_ref().map(SignatureConfig::signing).transpose()?,
        public_url: public_url.map(str::to_owned),
        events: own.places(),
        rules: rules.chain([last]).collect(),
        question: own.challenge.as_ref().map(question),
    })
}

/// Makes a rule; what it doesn't say is as the source itself says.
fn rule(rule: &RuleConfig, source: &GenericConfig) -> Rule {
    fn list<T: Clone>(own: Option<&Several<T>>, source: Option<&Several<T>>) -> Vec<T> {
        own.or(source).map(|list| list.0.clone()).unwrap_or_default()
    }
    fn one<T: Clone>(own: Option<&Written<T>>, source: Option<&Written<T>>) -> Option<T> {
        own.or(source).map(|written| written.0.clone())
    }
    Rule {
        events: rule.events.as_ref().map(|events| events.0.clone()),
        when: rule.when.0.clone(),
        key: list(rule.key.as_ref(), source.key.as_ref()),
        kind: list(rule.kind.as_ref(), source.kind.as_ref()),
        lane: list(rule.lane.as_ref(), source.lane.as_ref()),
        time: one(rule.time.as_ref(), source.time.as_ref()),
        priority: priority(rule.priority.or(source.priority)),
        content: one(rule.content.as_ref(), source.content.as_ref()),
    }
}

fn priority(number: Option<u8>) -> Priority {
    Priority::from_number(number.unwrap_or(1).into())
}
