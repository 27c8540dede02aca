//! Who calls: the tokens of the configuration, and what each allows.
//!
//! A token itself is never kept: only its hash is, which is also what is compared.

use std::sync::Arc;

use axum::http::{HeaderMap, header};
use sha2::{Digest as _, Sha256};
use subtle::{ConditionallySelectable as _, ConstantTimeEq as _};

use crate::config::{Config, RoleName};

/// Everybody who may call.
#[derive(Debug)]
pub(crate) struct Tokens(Vec<([u8; 32], Arc<Caller>)>);

/// Somebody who may call.
#[derive(Debug)]
pub(crate) struct Caller {
    /// What the audit calls them.
    pub(crate) name: String,
    pub(crate) role: RoleName,
    /// Of a worker: the routes whose tasks it may claim.
    routes: Vec<String>,
}

impl Tokens {
    /// Reads the tokens of the configuration.
    pub(super) fn new(config: &Config) -> anyhow::Result<Self> {
        let mut tokens = Vec::new();
        for token in &config.tokens {
            let secret = config
                .secret(&token.token)
                .map_err(|error| anyhow::anyhow!("token `{}`: {error}", token.name))?;
            let (name, routes) = (token.name.clone(), token.routes.clone());
            let caller = Caller { name, role: token.role, routes };
            tokens.push((hash(secret.expose()), Arc::new(caller)));
        }
        Ok(Self(tokens))
    }

    /// Who has this token. Every token is looked at, whichever it is, so that the time it takes
    /// tells nothing of any.
    pub(crate) fn find(&self, given: &str) -> Option<Arc<Caller>> {
        let given = hash(given);
        let mut found = u32::MAX;
        for (n, (hash, _)) in (0_u32..).zip(&self.0) {
            found.conditional_assign(&n, hash.ct_eq(&given));
        }
        let found = usize::try_from(found).ok()?;
        self.0.get(found).map(|(_, caller)| caller.clone())
    }

    /// Who has this name, and the hash of their token.
    pub(crate) fn named(&self, name: &str) -> Option<([u8; 32], Arc<Caller>)> {
        self.0.iter().find(|(_, caller)| caller.name == name).cloned()
    }
}

impl Caller {
    /// The routes whose tasks alone the caller is shown; `None` for all.
    pub(super) fn sees_only(&self) -> Option<&[String]> {
        (self.role == RoleName::Worker).then_some(&self.routes)
    }

    /// Whether the caller is shown the tasks of a route.
    pub(super) fn sees(&self, route: &str) -> bool {
        self.sees_only().is_none_or(|routes| routes.iter().any(|name| name == route))
    }
}

/// The token that a request comes with.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next().filter(|_| values.next().is_none())?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}
