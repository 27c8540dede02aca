//! The sections of sources in `hookonce.toml`: what every source has, and what its scheme adds. Their
//! comments are the reference, as those of the other sections are.

mod evolution;
mod generic;
mod meta;
mod preset;
mod signature;
mod signing;
mod twilio;
mod waha;
mod wasender;
mod written;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::document::{Document, Table};
use super::quantity::{Period, Size};

pub(crate) use evolution::{EvolutionConfig, EvolutionSignatureName};
pub(crate) use generic::{GenericConfig, RuleConfig};
pub(crate) use meta::{MetaConfig, MetaSignatureName};
pub(crate) use signature::{SignatureConfig, SignatureType};
pub(crate) use twilio::TwilioConfig;
pub(crate) use waha::WahaConfig;
pub(crate) use wasender::WasenderConfig;
pub(crate) use written::{Several, Written};

/// One way in: its name is the last part of its path, `/webhooks/NAME`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SourceConfig {
    /// How the sender signs and shapes its requests: `meta`, `wasender`, `twilio`, `waha`,
    /// `evolution`, or `generic` for any other sender; what each adds stands below. Or one of the
    /// presets of `generic`, which have its keys already and take yours instead: `standard-webhooks`,
    /// `gupshup`, `whapi`, `github`, `stripe`, `slack`.
    pub(crate) scheme: String,
    /// Secrets that the sender signs with; any of them proves a request, so that several apps can
    /// share a source and a secret can be rotated. Each is `env:NAME`, `file:PATH` or the secret
    /// itself. For `meta`: the App Secret; `wasender`: the webhook secret; `twilio`: the Auth Token;
    /// `waha`: the HMAC key; `evolution`: the `jwt_key`, or the value of the header.
    #[serde(default, deserialize_with = "one_or_several")]
    pub(crate) secrets: Vec<String>,
    /// What event ids are computed from, beside the key; the source's name where it is not given.
    /// Sources of one scope share their events. Keep it when you rename a source.
    pub(crate) scope: Option<String>,
    /// When the sender is answered 200. `stored`: once its events are stored. `handled`: once every
    /// task of theirs has ended; 503 as soon as an attempt fails, so that the sender comes again.
    #[serde(default)]
    pub(crate) ack: AckName,
    /// Addresses from which requests may come, each alone or as a range, such as `192.0.2.0/24`; from
    /// anywhere where it is not given. Others are answered 403. Behind a proxy, `server.proxies` has
    /// to name it.
    pub(crate) allow: Option<Vec<String>>,
    /// Takes requests from anybody, without a signature. For trying things out.
    #[serde(default)]
    pub(crate) unverified: bool,
    /// The address that the sender was given, such as `https://hooks.example.com/webhooks/NAME`.
    /// Needed where a sender signs it.
    pub(crate) public_url: Option<String>,
    /// What the scheme adds.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) own: SchemeConfig,
}

/// A list, or the one that it would have.
fn one_or_several<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<Vec<String>, D::Error> {
    Several::<String>::deserialize(reader).map(|several| several.0)
}

/// When a sender is answered 200.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AckName {
    /// Once its events are stored.
    #[default]
    Stored,
    /// Once its events are handled.
    Handled,
}

/// The scheme of a source, with its own keys.
#[derive(Debug, Clone)]
pub(crate) enum SchemeConfig {
    Meta(MetaConfig),
    Wasender(WasenderConfig),
    Twilio(TwilioConfig),
    Waha(WahaConfig),
    Evolution(EvolutionConfig),
    /// `generic` itself, or a preset of it.
    Generic(Box<GenericConfig>),
}

impl Default for SchemeConfig {
    /// What a source has until its scheme's own keys are read.
    fn default() -> Self {
        Self::Meta(MetaConfig::default())
    }
}

impl SchemeConfig {
    /// The schemes there are.
    pub(super) const NAMES: [&str; 12] = [
        "meta",
        "wasender",
        "twilio",
        "waha",
        "evolution",
        "generic",
        "standard-webhooks",
        "gupshup",
        "whapi",
        "github",
        "stripe",
        "slack",
    ];

    /// Reads a scheme's own keys; `also` are those that every source has.
    pub(super) fn read(
        document: &mut Document,
        (path, scheme): (&str, &str),
        table: Table<'_>,
        also: &[String],
    ) -> Option<Self> {
        let generic = |document: &mut Document, table| {
            GenericConfig::read(document, path, table, also).map(|own| Self::Generic(Box::new(own)))
        };
        match scheme {
            "meta" => document.read_beside(path, table, also).map(Self::Meta),
            "wasender" => document.read_beside(path, table, also).map(Self::Wasender),
            "twilio" => document.read_beside(path, table, also).map(Self::Twilio),
            "waha" => document.read_beside(path, table, also).map(Self::Waha),
            "evolution" => document.read_beside(path, table, also).map(Self::Evolution),
            "generic" => generic(document, table),
            preset => generic(document, preset::lay(preset, table)?),
        }
    }

    /// The same without what only a running server needs to have at hand.
    pub(crate) fn without_secrets(&self) -> Self {
        match self {
            Self::Meta(meta) => Self::Meta(MetaConfig { verify_token: None, ..meta.clone() }),
            _ => self.clone(),
        }
    }

    /// Whether the sender signs the address that it was given.
    pub(super) fn signs_address(&self) -> bool {
        match self {
            Self::Twilio(_) => true,
            Self::Generic(own) => own.signature.as_ref().is_some_and(|signature| {
                signature.template.as_ref().is_some_and(|template| template.0.has_url())
            }),
            Self::Meta(_) | Self::Wasender(_) | Self::Waha(_) | Self::Evolution(_) => false,
        }
    }

    /// For how long the sender sends a request again that was not answered 200, and who that is;
    /// `None` where nobody says.
    pub(super) fn horizon(&self) -> Option<(Period, &'static str)> {
        match self {
            Self::Meta(_) => Some((Period::days(7), "Meta")),
            // Ten attempts, 29 minutes at most; it may be told to make more.
            Self::Evolution(_) => Some((Period::seconds(60 * 60), "Evolution API")),
            // They document neither whether nor for how long.
            Self::Wasender(_) | Self::Twilio(_) | Self::Waha(_) => None,
            Self::Generic(own) => own.retries.map(|retries| (retries, "the sender")),
        }
    }

    /// How long a request may be by the sender's documentation, and what that says.
    pub(super) fn longest(&self) -> Option<(Size, &'static str)> {
        match self {
            Self::Meta(_) => Some((Size::mebibytes(3), "Meta's requests are up to 3 MB long")),
            _ => None,
        }
    }
}
