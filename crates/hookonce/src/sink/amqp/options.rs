//! Where events are published, and how.

use std::fmt;
use std::time::Duration;

use lapin::types::ShortString;
use lapin::uri::{AMQPScheme, AMQPUri};
use rustls::pki_types::CertificateDer;

use super::message;
use crate::scheme::Secret;
use crate::sink::trust::{self, TrustError};
use crate::step::StepContext;

/// How often both sides say that they are there, in seconds: twice this without a word, and the
/// connection is given up.
const HEARTBEAT: u16 = 10;

/// Where events are published, and how.
pub struct AmqpOptions {
    /// The broker: `amqp://` or `amqps://`, user, host, port and virtual host.
    pub url: String,
    /// The user's password, in place of the one in the URL.
    pub password: Option<Secret>,
    /// Authorities that may vouch for the broker, in PEM, in place of the machine's.
    pub ca: Option<Vec<u8>>,
    /// Where to on the broker.
    pub topology: Topology,
    /// Whether the topology is declared whenever the broker is connected to.
    pub declare: bool,
    /// How long one event may take, from reaching the broker to its confirmation.
    pub timeout: Duration,
}

/// The part of the broker's topology that events are published to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Topology {
    /// A queue, by the default exchange.
    Queue {
        /// Its name.
        name: String,
        /// What it is declared as.
        kind: QueueKind,
    },
    /// An exchange; what is bound to it is the consumers' own affair.
    Exchange {
        /// Its name.
        name: String,
        /// What it is declared as.
        kind: ExchangeKind,
        /// What the exchange distributes by.
        routing_key: RoutingKey,
        /// A queue that is declared and bound for every event, if there is one.
        queue: Option<(String, QueueKind)>,
    },
}

/// What an exchange is declared as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangeKind {
    /// By patterns of the routing key.
    Topic,
    /// By the routing key itself.
    Direct,
    /// To every queue.
    Fanout,
    /// By headers.
    Headers,
}

/// What a queue is declared as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueKind {
    /// Kept by several nodes.
    Quorum,
    /// Kept by one node.
    Classic,
}

impl QueueKind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Quorum => "quorum",
            Self::Classic => "classic",
        }
    }
}

/// A routing key, in which `{kind}`, `{source}` and `{route}` stand for those of the event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutingKey(String);

impl RoutingKey {
    /// Reads one; `None` where braces are around anything else.
    pub fn new(written: &str) -> Option<Self> {
        let plain = PLACES.iter().fold(written.to_owned(), |text, place| text.replace(place, ""));
        (!plain.contains(['{', '}'])).then(|| Self(written.to_owned()))
    }

    fn of(&self, context: &StepContext<'_>) -> String {
        let claim = context.claim;
        let values = [claim.event.kind.as_str(), claim.event.source.as_str(), &*claim.route];
        // No value has braces in it that stand for another.
        PLACES
            .iter()
            .zip(values)
            .fold(self.0.clone(), |key, (place, value)| key.replace(place, value))
    }
}

/// What a routing key may name.
const PLACES: [&str; 3] = ["{kind}", "{source}", "{route}"];

/// Why a sink can't be made of its options. Each says what to change.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AmqpSinkError {
    /// The URL is none of a broker.
    #[error("`url` is not an `amqp://` or `amqps://` URL of a broker")]
    Url,
    /// A name is none that a broker takes.
    #[error("`{0}` is not 1 to 255 bytes long")]
    Name(&'static str),
    /// An authority is named, and nothing is encrypted.
    #[error("`ca` needs an `amqps://` URL")]
    CaWithoutTls,
    /// There is nobody to trust.
    #[error(transparent)]
    Trust(#[from] TrustError),
}

/// Options that were found to work.
pub(super) struct Target {
    pub(super) uri: AMQPUri,
    /// Who may vouch for the broker; none where nothing is encrypted.
    pub(super) authorities: Vec<CertificateDer<'static>>,
    /// Its name; empty for the default one.
    pub(super) exchange: ShortString,
    pub(super) topology: Topology,
    pub(super) declare: bool,
    pub(super) timeout: Duration,
}

impl Target {
    pub(super) fn of(options: AmqpOptions) -> Result<Self, AmqpSinkError> {
        let mut uri: AMQPUri = options.url.parse().map_err(|_| AmqpSinkError::Url)?;
        if let Some(password) = options.password {
            password.expose().clone_into(&mut uri.authority.userinfo.password);
        }
        uri.query.heartbeat.get_or_insert(HEARTBEAT);
        let is_encrypted = uri.scheme == AMQPScheme::AMQPS;
        if options.ca.is_some() && !is_encrypted {
            return Err(AmqpSinkError::CaWithoutTls);
        }
        let authorities =
            if is_encrypted { trust::authorities(options.ca.as_deref())? } else { vec![] };
        trust::install_provider();
        let exchange = match &options.topology {
            Topology::Queue { name, .. } => {
                named("queue", name)?;
                ShortString::default()
            }
            Topology::Exchange { name, queue, .. } => {
                if let Some((name, _)) = queue {
                    named("queue", name)?;
                }
                named("exchange", name)?
            }
        };
        let AmqpOptions { topology, declare, timeout, .. } = options;
        Ok(Self { uri, authorities, exchange, topology, declare, timeout })
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.uri.scheme == AMQPScheme::AMQPS
    }

    pub(super) fn routing_key(&self, context: &StepContext<'_>) -> String {
        match &self.topology {
            Topology::Queue { name, .. } => name.clone(),
            Topology::Exchange { routing_key, .. } => routing_key.of(context),
        }
    }
}

fn named(key: &'static str, name: &str) -> Result<ShortString, AmqpSinkError> {
    let short = message::short(name.to_owned()).filter(|_| !name.is_empty());
    short.ok_or(AmqpSinkError::Name(key))
}

impl AmqpOptions {
    /// Publishes to a queue, with everything else as it is by default.
    pub fn new(url: impl Into<String>, queue: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            password: None,
            ca: None,
            topology: Topology::Queue { name: queue.into(), kind: QueueKind::Quorum },
            declare: false,
            timeout: Duration::from_secs(30),
        }
    }
}

impl fmt::Debug for AmqpOptions {
    /// Leaves the URL out, which may have a password in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AmqpOptions").field("topology", &self.topology).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_routing_key_stands_for_what_the_event_has_and_nothing_else() {
        for fine in ["", "events", "{kind}", "wa.{source}.{kind}.{route}"] {
            assert!(RoutingKey::new(fine).is_some(), "{fine}");
        }
        for wrong in ["{lane}", "{kind", "kind}", "{{kind}}"] {
            assert!(RoutingKey::new(wrong).is_none(), "{wrong}");
        }
    }
}
