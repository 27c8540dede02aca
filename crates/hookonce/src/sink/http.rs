//! Posts each event to a URL, as a `CloudEvent` in binary mode: the body is the payload untouched.
//!
//! It follows no redirect, uses no proxy, keeps no cookie, and remembers nothing of the answer but
//! whether it was a success.

mod answer;
mod attributes;
mod signer;

use std::error::Error;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue};
use reqwest::redirect;

use crate::scheme::Secret;
use crate::step::{Done, Failure, Step, StepContext};
use crate::store::Clock;

use signer::Signer;

/// The longest that reaching the other side may take, and half of the time limit of the whole: who
/// could not be reached was sent nothing, which is not to be told from no answer where both limits
/// end at once.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a connection is kept for the next event: less than the five seconds after which Node
/// and others close theirs, so that no event is sent into a connection that is being closed.
const KEEP_TIMEOUT: Duration = Duration::from_secs(4);

/// Where events are posted, and how.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// Where to; `http` or `https`.
    pub url: String,
    /// How long one request may take, from connecting to the end of the answer.
    pub timeout: Duration,
    /// Statuses that can't get better by sending again.
    pub permanent: Vec<u16>,
    /// Signs each request after Standard Webhooks; `whsec_` and base64, or the secret itself.
    pub secret: Option<Secret>,
    /// Signs each request with the same secret as a sender would, too.
    pub sign_as: Option<SignAs>,
    /// Stamps the signatures, and reads a date that an answer names.
    pub clock: Clock,
}

impl HttpOptions {
    /// Posts to `url` with everything else as it is by default.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            timeout: Duration::from_secs(30),
            permanent: vec![400, 410, 413, 422],
            secret: None,
            sign_as: None,
            clock: Clock::system(),
        }
    }
}

/// Whose signature is added, so that code that knows that sender needs no change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignAs {
    /// `X-Hub-Signature-256`.
    Meta,
}

/// Why a sink can't be made of its options. Each says what to change.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpSinkError {
    /// The URL can't be posted to. It isn't shown, for it may have a password in it.
    #[error("`url` is not an `http://` or `https://` URL with a host")]
    Url,
    /// The secret can't be used.
    #[error("`secret` begins with `whsec_`, but no base64 follows")]
    Secret,
    /// There is nothing to sign with.
    #[error("`sign_as` needs a `secret` to sign with")]
    NoSecret,
    /// The machine offers no way to check certificates.
    #[error("can't set up TLS: are CA certificates installed on this machine?")]
    Tls(#[source] reqwest::Error),
}

/// Posts events to a URL.
pub struct HttpSink {
    client: reqwest::Client,
    url: reqwest::Url,
    permanent: Vec<u16>,
    signer: Option<Signer>,
    timeout: Duration,
    clock: Clock,
}

impl HttpSink {
    /// Makes a sink of its options.
    pub fn new(options: HttpOptions) -> Result<Self, HttpSinkError> {
        let url = reqwest::Url::parse(&options.url)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or(HttpSinkError::Url)?;
        let signer = match options.secret {
            Some(secret) => Some(Signer::new(secret, options.sign_as)?),
            None if options.sign_as.is_some() => return Err(HttpSinkError::NoSecret),
            None => None,
        };
        Ok(Self {
            client: client(&url, options.timeout).map_err(HttpSinkError::Tls)?,
            url,
            permanent: options.permanent,
            signer,
            timeout: options.timeout,
            clock: options.clock,
        })
    }

    fn headers(&self, context: &StepContext<'_>, payload: &str) -> HeaderMap {
        let mut headers = attributes::headers(context);
        if let Some(signer) = &self.signer {
            let id = attributes::idempotency_key(context);
            signer.sign(&mut headers, &id, self.clock.now(), payload.as_bytes());
        }
        // A content type comes from a scheme, which takes it from a fixed list.
        let own = HeaderValue::from_str(&context.claim.event.content_type);
        headers.insert(
            CONTENT_TYPE,
            own.unwrap_or(HeaderValue::from_static("application/octet-stream")),
        );
        headers
    }

    /// Tells what a request that got no answer means. Before it was sent nothing has happened, and
    /// nobody else would get through either; afterwards the outcome is unknown.
    fn no_answer(&self, error: &reqwest::Error) -> Failure {
        let mut text = match (error.is_connect(), error.is_timeout()) {
            (true, true) => {
                let error = "no connection in time".to_owned();
                let (retry_after, may_have_happened) = (None, false);
                return Failure::Unavailable { error, retry_after, may_have_happened };
            }
            (false, true) => {
                return Failure::Unknown(format!(
                    "no answer within {:?}; whether it was handled is unknown",
                    self.timeout
                ));
            }
            (true, false) => "can't connect".to_owned(),
            (false, false) => "the connection broke before an answer came".to_owned(),
        };
        // The outermost error repeats the URL, which may contain a token.
        let mut next = error.source();
        while let Some(cause) = next {
            text = format!("{text}: {cause}");
            next = cause.source();
        }
        if error.is_connect() { Failure::SinkDown(text) } else { Failure::Unknown(text) }
    }
}

#[async_trait]
impl Step for HttpSink {
    async fn run(&self, context: &StepContext<'_>) -> Result<Done, Failure> {
        let Some(payload) = context.claim.event.payload.clone() else {
            return Err(Failure::permanent("the payload was pruned; nothing is left to send"));
        };
        let headers = self.headers(context, &payload);
        let request = self.client.post(self.url.clone()).headers(headers).body(payload);
        match request.send().await {
            Ok(answer) => {
                answer::judge(answer, &self.permanent, self.clock.now()).await.map(|()| Done::PLAIN)
            }
            Err(error) => Err(self.no_answer(&error)),
        }
    }
}

impl fmt::Debug for HttpSink {
    /// Shows the host alone: the rest of a URL may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSink").field("host", &self.url.host_str()).finish_non_exhaustive()
    }
}

fn client(url: &reqwest::Url, timeout: Duration) -> Result<reqwest::Client, reqwest::Error> {
    // The client looks for the process's provider of cryptography and panics without one. Whoever
    // embeds us and has installed another keeps it: ours is then refused, which is no error.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .redirect(redirect::Policy::none())
        // Proxies would be read from the environment, which only the server's configuration reads.
        .no_proxy()
        .user_agent(concat!("hookonce/", env!("CARGO_PKG_VERSION")))
        .connect_timeout((timeout / 2).min(CONNECT_TIMEOUT))
        .pool_idle_timeout(KEEP_TIMEOUT)
        .timeout(timeout);
    // Without redirects a plain URL never comes to TLS, so it needs no certificates: a small
    // container has none.
    let builder = if url.scheme() == "http" { builder.tls_certs_only([]) } else { builder };
    builder.build()
}
