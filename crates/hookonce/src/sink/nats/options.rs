//! Where events are published, and how.

use std::fmt;
use std::time::Duration;

use async_nats::ServerAddr;
use rustls::pki_types::CertificateDer;
use sha2::{Digest as _, Sha256};

use crate::scheme::Secret;
use crate::sink::trust::{self, TrustError};
use crate::step::StepContext;

/// Where events are published, and how.
pub struct NatsOptions {
    /// The server: `nats://` or `tls://`, user, host and port.
    pub url: String,
    /// The user's password, in place of the one in the URL; the token where the URL has no user.
    pub password: Option<Secret>,
    /// What a file of credentials has in it, in place of user and password.
    pub credentials: Option<Secret>,
    /// Authorities that may vouch for the server, in PEM, in place of the machine's.
    pub ca: Option<Vec<u8>>,
    /// The subject that events are published under.
    pub subject: Subject,
    /// The stream that has to take them; any that listens to the subject, where none is named.
    pub stream: Option<Stream>,
    /// How long one event may take, from reaching the server to the stream's acknowledgement.
    pub timeout: Duration,
}

impl NatsOptions {
    /// Publishes under `subject` with everything else as it is by default.
    pub fn new(url: impl Into<String>, subject: Subject) -> Self {
        let (password, credentials, ca, stream) = (None, None, None, None);
        let timeout = Duration::from_secs(30);
        Self { url: url.into(), password, credentials, ca, subject, stream, timeout }
    }
}

impl fmt::Debug for NatsOptions {
    /// Shows nothing of the URL, which may have a password in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsOptions").field("subject", &self.subject).finish_non_exhaustive()
    }
}

/// A stream that events are published to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// Its name.
    pub name: String,
    /// It is made, when the server is connected to, where there is none of this name.
    pub declare: bool,
}

/// A subject, in which `{kind}`, `{source}`, `{route}` and `{lane}` stand for those of the event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject(String);

/// What a subject may name.
const PLACES: [&str; 4] = ["{kind}", "{source}", "{route}", "{lane}"];
/// What stands for the lane of an event that has none.
const NO_LANE: &str = "none";
/// Characters of the lane's hash: enough that two lanes are hardly one.
const HASH: usize = 16;

impl Subject {
    /// Reads one; `None` where it is none of NATS, or braces are around anything else.
    pub fn new(written: &str) -> Option<Self> {
        let is_token = |token: &str| {
            let is_plain = |c: char| c.is_ascii_graphic() && !"*>{}".contains(c);
            PLACES.contains(&token) || !token.is_empty() && token.chars().all(is_plain)
        };
        // The server keeps these to itself.
        let is_own = written.starts_with('$') || written.starts_with("_INBOX");
        // What a stream listens to begins with a word of its own.
        let begins = !written.starts_with('{');
        (begins && !is_own && written.split('.').all(is_token)).then(|| Self(written.to_owned()))
    }

    pub(super) fn of(&self, context: &StepContext<'_>) -> String {
        let claim = context.claim;
        let lane = claim.event.lane.as_deref().map_or(NO_LANE.to_owned(), |lane| {
            hex::encode(Sha256::digest(lane.as_bytes()))[..HASH].to_owned()
        });
        // A kind has its own dots, which make tokens of it; a name's would make others.
        let values =
            [claim.event.kind.clone(), token(&claim.event.source), token(&claim.route), lane];
        PLACES
            .iter()
            .zip(values)
            .fold(self.0.clone(), |subject, (place, value)| subject.replace(place, &value))
    }

    /// What a stream listens to that takes every event.
    pub(super) fn every(&self) -> String {
        let every = self.0.replace("{source}", "*").replace("{route}", "*").replace("{lane}", "*");
        match every.split_once("{kind}") {
            Some((before, _)) => format!("{before}>"),
            None => every,
        }
    }
}

/// A name as a token of a subject.
fn token(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// Why a sink can't be made of its options. Each says what to change.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NatsSinkError {
    /// The URL is none of a server.
    #[error("`url` is not a `nats://` or `tls://` URL of a server")]
    Url,
    /// The stream can't be called so.
    #[error("`stream` is no name of a stream: it has no dot, space, `*`, `>` or slash")]
    Stream,
    /// There are two passwords.
    #[error("the password is in `url` and in `password`; remove it from `url`")]
    TwoPasswords,
    /// Two ways to say who comes.
    #[error("`credentials` say who comes; remove the user and `password`")]
    TwoUsers,
    /// An authority for a connection that isn't encrypted.
    #[error("`ca` is for TLS: write `tls://…` in `url`, or remove it")]
    NoTls,
    /// Nobody may vouch for the server.
    #[error(transparent)]
    Trust(#[from] TrustError),
}

/// The same, read.
pub(super) struct Target {
    pub(super) address: ServerAddr,
    pub(super) user: Option<(String, String)>,
    pub(super) token: Option<String>,
    pub(super) credentials: Option<Secret>,
    pub(super) authorities: Option<Vec<CertificateDer<'static>>>,
    pub(super) subject: Subject,
    pub(super) stream: Option<Stream>,
    pub(super) timeout: Duration,
}

impl Target {
    pub(super) fn of(options: NatsOptions) -> Result<Self, NatsSinkError> {
        let NatsOptions { url, password, credentials, ca, subject, stream, timeout } = options;
        // A server may ask for TLS of its own accord.
        trust::install_provider();
        let named = |stream: &Stream| {
            let is_plain = |c: char| c.is_ascii_graphic() && !".*>/\\".contains(c);
            !stream.name.is_empty() && stream.name.chars().all(is_plain)
        };
        if stream.as_ref().is_some_and(|stream| !named(stream)) {
            return Err(NatsSinkError::Stream);
        }
        let mut address = url::Url::parse(&url).map_err(|_| NatsSinkError::Url)?;
        let has_tls = address.scheme() == "tls";
        let has_host = address.host_str().is_some_and(|host| !host.is_empty());
        if !matches!(address.scheme(), "nats" | "tls") || !has_host {
            return Err(NatsSinkError::Url);
        }
        let decoded = |text: &str| {
            percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
        };
        let (name, own) = (decoded(address.username()), address.password().map(decoded));
        if password.is_some() && own.is_some() {
            return Err(NatsSinkError::TwoPasswords);
        }
        if credentials.is_some() && (password.is_some() || !name.is_empty()) {
            return Err(NatsSinkError::TwoUsers);
        }
        if !has_tls && ca.is_some() {
            return Err(NatsSinkError::NoTls);
        }
        let secret = password.map(|password| password.expose().to_owned()).or(own);
        let (user, token) = match (name.is_empty(), secret) {
            (true, secret) => (None, secret),
            (false, secret) => (Some((name, secret.unwrap_or_default())), None),
        };
        // The client would take a user in the address for its own.
        let _ = address.set_username("").and_then(|()| address.set_password(None));
        let authorities = has_tls.then(|| trust::authorities(ca.as_deref())).transpose()?;
        let address = ServerAddr::from_url(address).map_err(|_| NatsSinkError::Url)?;
        Ok(Self { address, user, token, credentials, authorities, subject, stream, timeout })
    }

    pub(super) fn host(&self) -> &str {
        self.address.host()
    }
}

#[cfg(test)]
mod tests {
    use super::Subject;

    #[test]
    fn a_subject_is_one_of_nats_with_known_places() {
        for good in ["whatsapp", "a.{source}.{kind}", "a.{lane}"] {
            assert!(Subject::new(good).is_some(), "{good}");
        }
        let bad =
            "|a..b|.a|a b|a.*|a.>|a.{id}|$JS.a|_INBOX.a|a.{kind|{kind}|a.b{kind}|a.{kind}{lane}";
        for bad in bad.split('|') {
            assert!(Subject::new(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_stream_listens_to_every_event() {
        let every = |written: &str| Subject::new(written).unwrap().every();
        assert_eq!(every("whatsapp"), "whatsapp");
        assert_eq!(every("a.{source}.{kind}"), "a.*.>");
        assert_eq!(every("a.{lane}.b"), "a.*.b");
    }
}
