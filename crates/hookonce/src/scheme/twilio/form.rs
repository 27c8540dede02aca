//! The parameters of a form, byte for byte as they are signed.
//!
//! Decoding them into text would let different bytes pass under one signature, so that only what is
//! looked at becomes text.

use std::borrow::Cow;

use percent_encoding::{NON_ALPHANUMERIC, percent_decode, percent_encode};
use sha2::{Digest as _, Sha256};

/// The most parameters a form may have: far more than Twilio sends, and few enough to sort before
/// anything is proven.
const PARAMETER_LIMIT: usize = 20_000;

/// The parameters of a form, in order.
#[derive(Debug, Default)]
pub(super) struct Form<'a>(Vec<Parameter<'a>>);

/// Name and value of a parameter.
type Parameter<'a> = (Cow<'a, [u8]>, Cow<'a, [u8]>);

impl<'a> Form<'a> {
    /// Takes a body apart; `None` if it has too many parameters.
    pub(super) fn read(body: &'a [u8]) -> Option<Self> {
        let pairs = body.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty());
        let mut parameters = Vec::with_capacity(32);
        for pair in pairs {
            if parameters.len() == PARAMETER_LIMIT {
                return None;
            }
            let equals = pair.iter().position(|byte| *byte == b'=');
            let (name, value) =
                equals.map_or((pair, &b""[..]), |at| (&pair[..at], &pair[at + 1..]));
            parameters.push((decode(name), decode(value)));
        }
        Some(Self(parameters))
    }

    /// What is signed behind the address: names and values in order of the names; of equal names each
    /// value once, in order.
    pub(super) fn signed(&self) -> Vec<&[u8]> {
        let parameters = self.sorted(|_| true);
        parameters.into_iter().flat_map(|(name, value)| [&**name, &**value]).collect()
    }

    /// The digest of those parameters whose names are wanted, in whatever order they came.
    pub(super) fn digest(&self, wanted: impl Fn(&[u8]) -> bool) -> [u8; 32] {
        let mut hash = Sha256::new();
        for (name, value) in self.sorted(wanted) {
            for part in [name, value] {
                hash.update(part.len().to_be_bytes());
                hash.update(part);
            }
        }
        hash.finalize().into()
    }

    /// Whether there is a parameter of this name, be it empty.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(other, _)| &**other == name.as_bytes())
    }

    /// The value of a parameter as text, escaped where it is none; of a repeated one the last. `None`
    /// also where it is empty.
    pub(super) fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        let (_, value) = self.0.iter().rfind(|(other, _)| &**other == name.as_bytes())?;
        let escaped = || Cow::Owned(percent_encode(value, NON_ALPHANUMERIC).to_string());
        let text = str::from_utf8(value).map_or_else(|_| escaped(), Cow::Borrowed);
        (!text.is_empty()).then_some(text)
    }

    /// The first of these parameters that has a value.
    pub(super) fn first_text(&self, names: &[&str]) -> Option<Cow<'_, str>> {
        names.iter().find_map(|name| self.text(name))
    }

    fn sorted(&self, wanted: impl Fn(&[u8]) -> bool) -> Vec<&Parameter<'a>> {
        let mut sorted: Vec<_> = self.0.iter().filter(|(name, _)| wanted(name)).collect();
        sorted.sort_unstable();
        sorted.dedup();
        sorted
    }
}

/// Decodes a name or value: `+` is a space, and an escape that is none stands for itself.
fn decode(part: &[u8]) -> Cow<'_, [u8]> {
    if !part.contains(&b'+') {
        return percent_decode(part).into();
    }
    let spaced: Vec<u8> = part.iter().map(|b| if *b == b'+' { b' ' } else { *b }).collect();
    Cow::Owned(percent_decode(&spaced).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_signed_in_order_of_names_each_value_once() {
        let form = Form::read(b"b=2&a=x+y&&b=1&b=2&c&%61=%2B&d=%ff%zz").unwrap();
        let signed = form.signed().concat();
        assert_eq!(signed, b"a+ax yb1b2cd\xff%zz");
        assert_eq!(form.text("b").as_deref(), Some("2"));
        assert_eq!(form.text("d").as_deref(), Some("%FF%25zz"));
        assert_eq!((form.text("c"), form.text("x")), (None, None));
    }

    #[test]
    fn a_digest_is_of_what_is_wanted_in_any_order() {
        let of = |body: &[u8]| Form::read(body).unwrap().digest(|name| name != b"new");
        assert_eq!(of(b"a=1&b=2"), of(b"b=2&new=1&a=1"));
        assert_ne!(of(b"a=1&b=2"), of(b"a=1&b=3"));
        assert_ne!(of(b"a=b"), of(b"ab="));
    }

    #[test]
    fn parameters_have_a_limit() {
        assert!(Form::read(&b"a&".repeat(20_000)).is_some());
        assert!(Form::read(&b"a&".repeat(20_001)).is_none());
        assert!(Form::read(&b"&".repeat(1_000_000)).is_some());
    }
}
