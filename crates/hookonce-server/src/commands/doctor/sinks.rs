//! The sinks that are elsewhere: whether somebody listens there.

use std::time::Duration;

use tokio::net::TcpStream;
use tokio::task::JoinSet;
use url::Url;

use super::Report;
use crate::config::{Config, SinkConfig};

/// How long a sink may take to take a connection.
const LIMIT: Duration = Duration::from_secs(2);

/// Opens a connection to every sink that has an address and closes it again.
pub(super) async fn examine(config: &Config, report: &mut Report) {
    let mut asked = JoinSet::new();
    for (name, sink) in &config.sinks {
        let url = match sink {
            SinkConfig::Http(http) => &http.url,
            SinkConfig::Amqp(amqp) => &amqp.url,
            SinkConfig::Nats(nats) => &nats.url,
            SinkConfig::Sqs(sqs) => sqs.endpoint.as_ref().unwrap_or(&sqs.url),
            SinkConfig::RedisStream(stream) => &stream.url,
            SinkConfig::Bullmq(bullmq) => &bullmq.url,
            SinkConfig::Exec(_) | SinkConfig::Sql(_) | SinkConfig::Log(_) => continue,
        };
        let (name, url) = (name.clone(), url.clone());
        asked.spawn(async move { (name, reach(&url).await) });
    }
    let mut answers = asked.join_all().await;
    answers.sort();
    for (name, answer) in answers {
        match answer {
            Ok(at) => report.fine("sinks", format!("`{name}` takes connections at {at}")),
            Err(why) => report.wrong(
                "sinks",
                format!("`{name}` can't be reached: {why}; start it, or correct its `url`"),
            ),
        }
    }
}

/// Resolves the host of a URL and connects to it; gives host and port.
async fn reach(url: &str) -> Result<String, String> {
    let url = Url::parse(url).map_err(|error| format!("its `url` is none ({error})"))?;
    let (Some(host), Some(port)) = (url.host_str(), port(&url)) else {
        return Err("its `url` names no host".to_owned());
    };
    let at = format!("{host}:{port}");
    match tokio::time::timeout(LIMIT, TcpStream::connect(&at)).await {
        Ok(Ok(_)) => Ok(at),
        Ok(Err(error)) => Err(format!("{at}: {error}")),
        Err(_) => Err(format!("{at} doesn't answer within {} s", LIMIT.as_secs())),
    }
}

/// The port of a URL, or the one that is meant where it has none.
fn port(url: &Url) -> Option<u16> {
    url.port_or_known_default().or(match url.scheme() {
        "amqp" => Some(5672),
        "amqps" => Some(5671),
        "nats" | "tls" => Some(4222),
        "redis" | "rediss" => Some(6379),
        _ => None,
    })
}
