//! Who looks: signed in by a token of the configuration, which is kept nowhere.
//!
//! A session is a cookie that holds a name, an end and a proof of both by the token's hash, so that every
//! node of one configuration knows it, and it ends with the token. A form carries another proof, which no
//! other site can know.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, header};
use hmac::{Hmac, KeyInit as _, Mac as _};
use hookonce::store::Clock;
use serde::Deserialize;
use sha2::Sha256;

use super::Failure;
use crate::admin::{Caller, Shared};
use crate::config::RoleName;

const NAME: &str = "hookonce";
/// How long one stays signed in.
const LASTS: Duration = Duration::from_secs(12 * 60 * 60);
/// Ends the session in the browser.
pub(super) const END: &str = "hookonce=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict";

/// What is proven by a token.
#[derive(Clone, Copy)]
enum Proof {
    Session,
    Form,
}

/// Who is signed in.
pub(super) struct Session {
    pub(super) caller: Arc<Caller>,
    /// What a form of this session carries.
    pub(super) proof: String,
}

/// What the form asks for by which one signs in.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Login {
    pub(super) token: Option<String>,
    pub(super) to: Option<String>,
}

/// What every other form carries.
#[derive(Debug, Deserialize)]
pub(super) struct Form {
    pub(super) proof: String,
}

impl Session {
    /// The cookie of whoever has this token, if it may look.
    pub(super) fn begin(shared: &Shared, token: &str) -> Option<String> {
        let settings = shared.settings();
        let caller = settings.tokens.find(token).filter(|caller| may_look(caller))?;
        let (key, _) = settings.tokens.named(&caller.name)?;
        let end = Clock::system().now().as_second().saturating_add_unsigned(LASTS.as_secs());
        let proof = prove(&key, Proof::Session, &caller.name, end);
        Some(format!(
            "{NAME}={}.{end}.{proof}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict",
            caller.name,
            LASTS.as_secs()
        ))
    }

    /// Who is signed in by these headers; else where to come back to.
    pub(super) fn of(shared: &Shared, headers: &HeaderMap, here: &str) -> Result<Self, Failure> {
        Self::read(shared, headers).ok_or_else(|| Failure::SignedOut(here.to_owned()))
    }

    fn read(shared: &Shared, headers: &HeaderMap) -> Option<Self> {
        let cookies =
            headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies
            .flat_map(|cookies| cookies.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        let (_, value) = pairs.find(|(name, _)| *name == NAME)?;
        let mut parts = value.split('.');
        let (name, end, proof) = (parts.next()?, parts.next()?.parse::<i64>().ok()?, parts.next()?);
        let settings = shared.settings();
        let (key, caller) = settings.tokens.named(name)?;
        let is_proven =
            mac(&key, Proof::Session, name, end).verify_slice(&hex::decode(proof).ok()?).is_ok();
        let is_over = Clock::system().now().as_second() >= end;
        if !is_proven || is_over || !may_look(&caller) {
            return None;
        }
        Some(Self { proof: prove(&key, Proof::Form, name, end), caller })
    }

    /// Whether they may change anything.
    pub(super) fn may_steer(&self) -> bool {
        self.caller.role == RoleName::Operate
    }

    /// Fails unless a form is one of this session, sent from a page of ours.
    pub(super) fn prove(&self, headers: &HeaderMap, given: &str) -> Result<(), Failure> {
        use subtle::ConstantTimeEq as _;
        same_site(headers)?;
        let is_ours: bool = self.proof.as_bytes().ct_eq(given.as_bytes()).into();
        if is_ours {
            return Ok(());
        }
        Err(Failure::Forbidden("the form is not of this session: load the page again"))
    }

    /// Fails unless they may change something, by such a form.
    pub(super) fn steers(&self, headers: &HeaderMap, given: &str) -> Result<(), Failure> {
        self.prove(headers, given)?;
        if self.may_steer() {
            return Ok(());
        }
        Err(Failure::Forbidden("your token may look and not act: its role is `view`"))
    }
}

/// Fails where a browser says that another site sent the request.
pub(super) fn same_site(headers: &HeaderMap) -> Result<(), Failure> {
    let text = |name: header::HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(header::HOST).unwrap_or_default();
    let is_other = match headers.get("sec-fetch-site").and_then(|site| site.to_str().ok()) {
        Some(site) => site != "same-origin",
        // An older browser says from where; what is no browser says nothing.
        None => text(header::ORIGIN)
            .is_some_and(|origin| origin.split_once("://").is_none_or(|(_, from)| from != host)),
    };
    if is_other { Err(Failure::Forbidden("the request came from another site")) } else { Ok(()) }
}

fn may_look(caller: &Caller) -> bool {
    matches!(caller.role, RoleName::View | RoleName::Operate)
}

fn prove(key: &[u8; 32], proof: Proof, name: &str, end: i64) -> String {
    hex::encode(mac(key, proof, name, end).finalize().into_bytes())
}

fn mac(key: &[u8; 32], proof: Proof, name: &str, end: i64) -> Hmac<Sha256> {
    let what = match proof {
        Proof::Session => "session",
        Proof::Form => "form",
    };
    // As long as a block: shorter keys are filled up with zeros all the same.
    let mut block = [0; 64];
    block[..key.len()].copy_from_slice(key);
    let mut mac = Hmac::<Sha256>::new((&block).into());
    mac.update(format!("hookonce dashboard {what}\n{name}\n{end}").as_bytes());
    mac
}
