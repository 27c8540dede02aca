//! The sinks that are elsewhere: whether somebody listens there.

use std::time::Duration;

use tokio::net::TcpStream;
use tokio::task::JoinSet;
use url::Url;

use super::Report;
use crate::config::{Config, SinkConfig};

/// How long a sink may take to take a connection.
const LIMIT: Duration = Duration::from_secs(2);

/// Opens a connection to every HTTP sink and closes it again.
pub(super) async fn examine(config: &Config, report: &mut Report) {
    let mut asked = JoinSet::new();
    for (name, sink) in &config.sinks {
        if let SinkConfig::Http(http) = sink {
            let (name, url) = (name.clone(), http.url.clone());
            asked.spawn(async move { (name, reach(&url).await) });
        }
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
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return Err("its `url` names no host".to_owned());
    };
    let at = format!("{host}:{port}");
    match tokio::time::timeout(LIMIT, TcpStream::connect(&at)).await {
        Ok(Ok(_)) => Ok(at),
        Ok(Err(error)) => Err(format!("{at}: {error}")),
        Err(_) => Err(format!("{at} doesn't answer within {} s", LIMIT.as_secs())),
    }
}
