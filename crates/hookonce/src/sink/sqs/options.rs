//! Which queue events are sent to, and as whom.

use std::fmt;
use std::time::Duration;

use url::Url;

use crate::scheme::Secret;

/// Which queue events are sent to, and as whom.
#[derive(Clone)]
pub struct SqsOptions {
    /// The queue's URL, as `https://sqs.REGION.amazonaws.com/ACCOUNT/NAME`. One whose name ends with `.fifo`
    /// is a FIFO queue.
    pub url: String,
    /// The region; the one in the URL's host, where it is none of Amazon's own.
    pub region: Option<String>,
    /// Where requests go, such as a VPC endpoint; to the host of `url`, unless it is said.
    pub endpoint: Option<String>,
    /// Who sends; else whoever the environment, the profile or the machine's role says.
    pub key: Option<AccessKey>,
    /// How long one event may take, from reaching the queue to its answer.
    pub timeout: Duration,
}

impl SqsOptions {
    /// Sends to the queue at `url` with everything else as it is by default.
    pub fn new(url: impl Into<String>) -> Self {
        let (region, endpoint, key) = (None, None, None);
        Self { url: url.into(), region, endpoint, key, timeout: Duration::from_secs(30) }
    }

    /// Says what is wrong with where the queue is, without connecting.
    pub fn check(&self) -> Result<(), SqsSinkError> {
        Target::read(self.clone()).map(drop)
    }
}

impl fmt::Debug for SqsOptions {
    /// Shows nothing of the URL, in which somebody may have written a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqsOptions").field("region", &self.region).finish_non_exhaustive()
    }
}

/// A pair of keys of AWS.
#[derive(Debug, Clone)]
pub struct AccessKey {
    /// The one that is no secret.
    pub id: String,
    /// The one that is.
    pub secret: Secret,
}

/// Why a sink can't be made of its options. Each says what to change.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SqsSinkError {
    /// The URL is none of a queue.
    #[error(
        "this is no URL of a queue; write it as AWS shows it, \
         `https://sqs.REGION.amazonaws.com/ACCOUNT/NAME`"
    )]
    Url,
    /// The URL does not say.
    #[error("`url` names no region; write `region`")]
    Region,
    /// It is no URL.
    #[error("this is no address of a server; write `https://HOST`")]
    Endpoint,
}

/// Options that were found to work.
pub(super) struct Target {
    pub(super) url: String,
    pub(super) is_fifo: bool,
    pub(super) region: String,
    pub(super) endpoint: String,
    pub(super) key: Option<AccessKey>,
    pub(super) timeout: Duration,
}

impl Target {
    pub(super) fn read(options: SqsOptions) -> Result<Self, SqsSinkError> {
        let SqsOptions { url, region, endpoint, key, timeout } = options;
        let queue = origin(&url).filter(|url| url.path().len() > 1).ok_or(SqsSinkError::Url)?;
        let region = region.or_else(|| region_of(&queue)).ok_or(SqsSinkError::Region)?;
        let is_bare = |url: &Url| url.path() == "/" && url.query().is_none();
        let endpoint = match endpoint {
            Some(endpoint) => origin(&endpoint).filter(is_bare).ok_or(SqsSinkError::Endpoint)?,
            None => queue.clone(),
        };
        let endpoint = endpoint.origin().ascii_serialization();
        let is_fifo = queue.path().rsplit_once('.').is_some_and(|(_, end)| end == "fifo");
        Ok(Self { url, is_fifo, region, endpoint, key, timeout })
    }
}

fn origin(url: &str) -> Option<Url> {
    let is_fine = |url: &Url| {
        let is_anonymous = url.username().is_empty() && url.password().is_none();
        matches!(url.scheme(), "http" | "https") && url.has_host() && is_anonymous
    };
    Url::parse(url).ok().filter(is_fine)
}

/// The region in the name of one of Amazon's hosts.
fn region_of(queue: &Url) -> Option<String> {
    let (region, domain) = queue.host_str()?.strip_prefix("sqs.")?.split_once('.')?;
    matches!(domain, "amazonaws.com" | "amazonaws.com.cn").then(|| region.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queues_url_says_where_it_is_and_of_what_kind() {
        let of = |url: &str| Target::read(SqsOptions::new(url));
        let target = of("https://sqs.eu-central-1.amazonaws.com/123456789012/hooks.fifo").unwrap();
        assert_eq!(target.region, "eu-central-1");
        assert_eq!(target.endpoint, "https://sqs.eu-central-1.amazonaws.com");
        assert!(target.is_fifo);
        assert!(!of("https://sqs.cn-north-1.amazonaws.com.cn/1/hooks").unwrap().is_fifo);
        assert!(matches!(of("http://127.0.0.1:4566/1/hooks"), Err(SqsSinkError::Region)));
        for wrong in [
            "hooks",
            "arn:aws:sqs:eu-central-1:1:hooks",
            "https://sqs.a.amazonaws.com/",
            "https://u:p@h/1/q",
        ] {
            assert!(matches!(of(wrong), Err(SqsSinkError::Url)), "{wrong}");
        }
        let near = SqsOptions {
            endpoint: Some("https://vpce-1.sqs.eu-central-1.vpce.amazonaws.com/".to_owned()),
            ..SqsOptions::new("https://sqs.eu-central-1.amazonaws.com/1/hooks")
        };
        let endpoint = Target::read(near).unwrap().endpoint;
        assert_eq!(endpoint, "https://vpce-1.sqs.eu-central-1.vpce.amazonaws.com");
    }
}
