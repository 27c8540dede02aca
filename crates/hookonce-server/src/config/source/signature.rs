//! How the sender of a generic source signs: `[sources.NAME.signature]`.

use hookonce::scheme::generic::Template;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::quantity::Period;
use super::written::Written;

/// How the sender of a generic source proves itself. Not needed where the source is `unverified`.
/// Which keys there are depends on `type`; those without a mention of one are for `hmac`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SignatureConfig {
    /// `hmac`: an HMAC of the body under the secret. The others say nothing of the body: `header`: the
    /// secret itself in a header; `bearer`: `Authorization: Bearer SECRET`; `basic`: `Authorization:
    /// Basic`, the secret is `user:password`; `jwt`: `Authorization: Bearer` and a token that is signed
    /// with the secret (HS256), which may have the body's hash in it.
    pub(crate) r#type: SignatureType,
    /// The header of the signature, or for `header` of the secret; required for both.
    pub(crate) header: Option<String>,
    /// What stands in front of the signature, or for `header` of the secret.
    pub(crate) prefix: Option<String>,
    /// What stands between several signatures in the header; any of the first 16 may be the right one.
    /// Only what begins with `prefix` is a signature.
    pub(crate) separator: Option<String>,
    /// The hash: `sha1`, `sha256` or `sha512`; `sha256` where it is not given.
    pub(crate) algorithm: Option<AlgorithmName>,
    /// How the signature is written: `hex` or `base64`; `hex` where it is not given.
    pub(crate) encoding: Option<EncodingName>,
    /// What is signed, as a text with `{body}`, `{body_sha256}` (its 32 bytes), `{body_sha256_hex}`,
    /// `{timestamp}`, `{url}` (the source's `public_url`) and `{header:NAME}` in it; `{body}` where it is
    /// not given.
    #[schemars(with = "Option<String>")]
    pub(crate) template: Option<Written<Template>>,
    /// The header of the time that is signed.
    pub(crate) timestamp_header: Option<String>,
    /// What stands in front of that time, where it stands among others in its header.
    pub(crate) timestamp_prefix: Option<String>,
    /// How far the signed time may be from ours, either way; also for `jwt`, whose tokens must then
    /// have one, and whose `iat` must be within it even where an `exp` is later (without it, the times
    /// they have may be off by `5m`, and an `iat` as old as its `exp` allows).
    #[schemars(with = "Option<String>")]
    pub(crate) tolerance: Option<Period>,
    /// What may stand in front of a secret and is no part of it.
    pub(crate) secret_prefix: Option<String>,
    /// How secrets stand for the bytes of a key: `text`, `hex` or `base64`; `text` where it is not
    /// given.
    pub(crate) secret_encoding: Option<SecretEncodingName>,
    /// For `jwt`: the claim with the SHA-256 of the body in hex digits; every token must then have it.
    pub(crate) body_claim: Option<String>,
}

/// How a sender proves itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SignatureType {
    /// By an HMAC over the body.
    Hmac,
    /// By the secret in a header.
    Header,
    /// By the secret as a bearer token.
    Bearer,
    /// By user and password.
    Basic,
    /// By a signed token.
    Jwt,
}

/// What an HMAC is made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AlgorithmName {
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
}

/// How a signature is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EncodingName {
    /// In hex digits.
    Hex,
    /// In base64.
    Base64,
}

/// How a secret is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SecretEncodingName {
    /// As it is.
    Text,
    /// In hex digits.
    Hex,
    /// In base64.
    Base64,
}

impl SignatureType {
    /// The word for it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Hmac => "hmac",
            Self::Header => "header",
            Self::Bearer => "bearer",
            Self::Basic => "basic",
            Self::Jwt => "jwt",
        }
    }

    /// Whether this way of proving has the key.
    fn has(self, key: &str) -> bool {
        match self {
            Self::Hmac => key != "body_claim",
            Self::Header => matches!(key, "header" | "prefix"),
            Self::Bearer | Self::Basic => false,
            Self::Jwt => matches!(key, "tolerance" | "body_claim"),
        }
    }
}

impl SignatureConfig {
    /// The keys that are given and mean nothing in this way of proving.
    pub(crate) fn idle_keys(&self) -> Vec<&'static str> {
        let given = [
            ("header", self.header.is_some()),
            ("prefix", self.prefix.is_some()),
            ("separator", self.separator.is_some()),
            ("algorithm", self.algorithm.is_some()),
            ("encoding", self.encoding.is_some()),
            ("template", self.template.is_some()),
            ("timestamp_header", self.timestamp_header.is_some()),
            ("timestamp_prefix", self.timestamp_prefix.is_some()),
            ("tolerance", self.tolerance.is_some()),
            ("secret_prefix", self.secret_prefix.is_some()),
            ("secret_encoding", self.secret_encoding.is_some()),
            ("body_claim", self.body_claim.is_some()),
        ];
        let idle =
            |(key, given): (&'static str, bool)| (given && !self.r#type.has(key)).then_some(key);
        given.into_iter().filter_map(idle).collect()
    }
}
