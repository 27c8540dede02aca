//! What a generic source says, and what no section of it can say of itself.

use hookonce::scheme::generic::{Part, Pointer, Signing};

use super::super::super::document::{Document, join};
use super::super::super::source::{
    GenericConfig, Several, SignatureConfig, SignatureType, SourceConfig,
};
use super::super::Config;
use super::super::above_zero;

/// Checks that a secret that is at hand can be one of the sender's.
pub(super) fn secret(
    config: &Config,
    document: &mut Document,
    path: &str,
    (own, written): (&GenericConfig, &str),
) {
    let signing = own.signature.as_ref().and_then(|signature| signature.signing().ok());
    let Some((signing, secret)) = signing.zip(config.secret(written).ok()) else { return };
    if let Err(error) = signing.check(&secret) {
        document.problem(path, error.to_string());
    }
}

/// Checks what only a generic source has.
pub(super) fn check(
    document: &mut Document,
    path: &str,
    source: &SourceConfig,
    own: &GenericConfig,
) {
    let signing = check_signature(document, path, source, own);
    check_places(document, path, own);
    check_rules(document, path, own);
    if let Some(retries) = own.retries {
        above_zero(document, &join(path, "retries"), retries);
    }
    if own.challenge.is_none() && !own.challenge_when.0.is_empty() {
        let message = "there is no `challenge` that says what to answer; give one, or remove it";
        document.problem(&join(path, "challenge_when"), message);
    } else if own.challenge.is_some() && own.challenge_when.0.is_empty() {
        let message = "every request that has such a text would be taken for a question and lost; \
                       say in `challenge_when` what tells a question from an event";
        document.problem(&join(path, "challenge"), message);
    }
    // A preset asks for it where there is a signature; who takes requests from anybody didn't.
    let is_presets = source.unverified && source.scheme != "generic";
    if own.require_signed_key && !is_presets {
        let signing = signing.filter(|_| !source.unverified);
        check_coverage(document, path, signing.as_ref(), own);
    }
}

/// Checks how the sender signs; gives that, if it is of use.
fn check_signature(
    document: &mut Document,
    path: &str,
    source: &SourceConfig,
    own: &GenericConfig,
) -> Option<Signing> {
    let Some(signature) = &own.signature else {
        if !source.unverified {
            let message = format!(
                "nothing says how the sender signs; write a table `[{path}.signature]`, or \
                 `unverified = true` to take requests from anybody"
            );
            document.problem(path, message);
        }
        return None;
    };
    let path = join(path, "signature");
    for key in signature.idle_keys() {
        let message = format!("it means nothing where `type` is `{}`", signature.r#type.as_str());
        document.problem(&join(&path, key), format!("{message}; remove it"));
    }
    check_time(document, &path, signature);
    match signature.signing() {
        Ok(signing) => Some(signing),
        Err(message) => {
            document.problem(&path, message);
            None
        }
    }
}

/// Checks where the signed time is.
fn check_time(document: &mut Document, path: &str, signature: &SignatureConfig) {
    if let Some(tolerance) = signature.tolerance {
        above_zero(document, &join(path, "tolerance"), tolerance);
    }
    if signature.r#type != SignatureType::Hmac {
        return;
    }
    if signature.separator.as_ref().is_some_and(String::is_empty) {
        document.problem(&join(path, "separator"), "it is empty; leave it out for one signature");
    }
    let same = |header: &String| Some(header) == signature.header.as_ref();
    let is_told = signature.separator.is_some()
        && signature.timestamp_prefix.as_ref().is_some_and(|prefix| !prefix.is_empty());
    if signature.timestamp_header.as_ref().is_some_and(same) && !is_told {
        let message = "the signature is in this header too; say in `separator` what stands between \
                       the two, and in `timestamp_prefix` what the time begins with";
        document.problem(&join(path, "timestamp_header"), message);
    }
    let signed = signature.template.as_ref().is_some_and(|template| template.0.has_timestamp());
    match (&signature.timestamp_header, signed) {
        (None, true) => {
            let message = "nothing says where `{timestamp}` is; write `timestamp_header`";
            document.problem(&join(path, "template"), message);
        }
        (Some(_), false) => {
            let message = "the template has no `{timestamp}`, so that this time is not signed, and \
                           whoever sends the request again may write another; put it into the \
                           template, or remove this key and `tolerance`";
            document.problem(&join(path, "timestamp_header"), message);
        }
        (None, false) if signature.tolerance.is_some() => {
            let message = "there is no signed time to compare with ours; put `{timestamp}` into the \
                           template and write `timestamp_header`, or remove it";
            document.problem(&join(path, "tolerance"), message);
        }
        (Some(_), true) | (None, false) => {}
    }
}

/// Checks where elements are looked for.
fn check_places(document: &mut Document, path: &str, own: &GenericConfig) {
    let lists: Vec<_> = lists(path, own).collect();
    for (path, events) in &lists {
        if events.0.is_empty() {
            document.problem(path, "it is empty, so nothing is looked at; leave it out for all");
        }
    }
    let places: Vec<(&String, &Pointer)> = lists
        .iter()
        .flat_map(|(path, events)| events.0.iter().map(move |place| (path, place)))
        .collect();
    for (path, place) in &places {
        let outer = places.iter().map(|(_, other)| *other);
        let mut outer = outer.filter(|other| !other.is_empty() && other != place);
        if let Some(outer) = outer.find(|other| other.holds(place)) {
            let message = format!(
                "`{place}` is within `{outer}`, so that its elements would be events twice; remove one"
            );
            document.problem(path, message);
        }
    }
}

/// Every list of places, with its path.
fn lists<'c>(
    path: &str,
    own: &'c GenericConfig,
) -> impl Iterator<Item = (String, &'c Several<Pointer>)> {
    let rules = own.rules.iter().enumerate();
    let rules: Vec<_> =
        rules.map(|(n, rule)| (format!("{path}.rules[{n}].events"), &rule.events)).collect();
    let all = std::iter::once((join(path, "events"), &own.events)).chain(rules);
    all.filter_map(|(path, events)| Some((path, events.as_ref()?)))
}

/// Checks what makes elements events.
fn check_rules(document: &mut Document, path: &str, own: &GenericConfig) {
    let keys: Vec<_> = keys(path, own).collect();
    for (path, key) in &keys {
        if !key.0.is_empty() && key.0.iter().all(Part::is_fixed) {
            let message = "it is the same for every event, so that all but the first would be \
                           duplicates; add the place of an id, such as \"/id\"";
            document.problem(path, message);
        }
    }
    if keys.is_empty() {
        let message = "there is no `key`: an event is told apart only by the bytes of its request, so \
                       that the same one in other bytes is handled again";
        document.warn(path, message);
    }
    let rules = own.rules.iter().enumerate();
    let rules = rules.map(|(n, rule)| (format!("{path}.rules[{n}].priority"), rule.priority));
    for (path, priority) in std::iter::once((join(path, "priority"), own.priority)).chain(rules) {
        if priority.is_some_and(|priority| priority > 2) {
            document.problem(&path, "write 0, 1 or 2");
        }
    }
    for (n, rule) in own.rules.iter().enumerate() {
        let path = format!("{path}.rules[{n}].when");
        if rule.when.0.iter().any(|condition| condition.texts.is_empty()) {
            document.problem(&path, "a list of no texts never holds; write at least one");
        }
    }
}

/// Every key that is made, with its path.
fn keys<'c>(
    path: &str,
    own: &'c GenericConfig,
) -> impl Iterator<Item = (String, &'c Several<Part>)> {
    let rules = own.rules.iter().enumerate();
    let rules: Vec<_> =
        rules.map(|(n, rule)| (format!("{path}.rules[{n}].key"), &rule.key)).collect();
    let all = std::iter::once((join(path, "key"), &own.key)).chain(rules);
    all.filter_map(|(path, key)| Some((path, key.as_ref()?)))
}

/// Checks that no key comes from what the sender didn't sign, nor what decides which key it is.
fn check_coverage(
    document: &mut Document,
    path: &str,
    signing: Option<&Signing>,
    own: &GenericConfig,
) {
    let advice = "take it from what is signed, or remove `require_signed_key`";
    let Some(signing) = signing else {
        document.problem(
            &join(path, "require_signed_key"),
            "nothing is signed where requests are taken from anybody; remove one of the two",
        );
        return;
    };
    let mut refuse = |path: &str, part: &Part| {
        if !signing.covers(part) {
            let message = format!("`{part}` is not covered by the signature; {advice}");
            document.problem(path, message);
        }
    };
    for (path, key) in keys(path, own) {
        key.0.iter().for_each(|part| refuse(&path, part));
    }
    for (n, rule) in own.rules.iter().enumerate() {
        let path = format!("{path}.rules[{n}].when");
        rule.when.0.iter().for_each(|condition| refuse(&path, &condition.part));
    }
}
