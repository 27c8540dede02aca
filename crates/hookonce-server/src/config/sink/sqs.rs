//! The section of an `sqs` sink.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::OnUnknownName;
use crate::config::quantity::{Period, Rate};

/// Sends each event to a queue of Amazon SQS: the payload as the body, the event's attributes as `CloudEvents`
/// attributes, an `idempotency-key`. To a FIFO queue under that key, by which the queue drops copies for five
/// minutes, in its lane's group. Done once the queue has answered.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SqsConfig {
    /// The queue's URL: `https://sqs.REGION.amazonaws.com/ACCOUNT/NAME`. One whose name ends with `.fifo` is a
    /// FIFO queue.
    pub(crate) url: String,
    /// The region, where the URL's host is none of Amazon's own.
    pub(crate) region: Option<String>,
    /// Where requests go in place of the host of `url`, such as a VPC endpoint.
    pub(crate) endpoint: Option<String>,
    /// The id of an access key, written like a source's secret. Without it whoever the environment, the
    /// profile or the machine's role says.
    pub(crate) access_key: Option<String>,
    /// The secret of the access key, written like a source's secret.
    pub(crate) secret_key: Option<String>,
    /// How long sending may take, from connecting to the queue's answer; then the attempt failed and is made
    /// again.
    #[serde(default = "SqsConfig::timeout")]
    #[schemars(with = "String")]
    pub(crate) timeout: Period,
    /// How many events are sent at the same time, in each process.
    #[serde(default = "SqsConfig::concurrency")]
    pub(crate) concurrency: usize,
    /// How many start in a time, such as `50/s`, `30/m` or `100/h`, in each process; no limit where it
    /// is not given.
    #[schemars(with = "Option<String>")]
    pub(crate) rate: Option<Rate>,
    /// What is done when nobody knows whether an event was sent: no answer came, or the server died
    /// meanwhile. `retry`: it is sent again, under the same key. `hold`: the task is dead (*outcome
    /// unknown*) until a person looks.
    #[serde(default)]
    pub(crate) on_unknown: OnUnknownName,
}

impl SqsConfig {
    fn timeout() -> Period {
        Period::seconds(30)
    }

    fn concurrency() -> usize {
        16
    }
}
