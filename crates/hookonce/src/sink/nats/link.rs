//! A connection to the server. It is not mended: one that is lost is left, and the next event opens another.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream::{self, stream};
use async_nats::{Client, ConnectOptions, Event};
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::watch;

use super::options::Target;
use crate::sink::quote;

/// How often each side says that it is there; twice without a word, and the connection is given up.
const PING: Duration = Duration::from_secs(10);

/// How many subjects are remembered that we may not publish under.
const REFUSED: usize = 100;

/// One connection.
pub(super) struct Link {
    client: Client,
    stream: jetstream::Context,
    /// How often it broke.
    breaks: watch::Receiver<u64>,
    said: Arc<Mutex<Said>>,
}

/// What the server said that answered nothing.
#[derive(Default)]
struct Said {
    last: Option<String>,
    /// Subjects that we may not publish under, which a publisher is not told in any other way.
    refused: BTreeSet<String>,
}

impl Said {
    fn take_in(&mut self, text: &str) {
        if let Some(subject) = refused_subject(text) {
            // Subjects may be as many as lanes.
            if self.refused.len() >= REFUSED {
                self.refused.clear();
            }
            self.refused.insert(subject.to_owned());
        }
        self.last = Some(quote::first(text.as_bytes()));
    }
}

/// Of `Permissions Violation for Publish to "SUBJECT"`.
fn refused_subject(text: &str) -> Option<&str> {
    let (before, rest) = text.split_once('"')?;
    let is_of_publishing = before.to_ascii_lowercase().contains("for publish to");
    rest.split('"').next().filter(|_| is_of_publishing)
}

impl Link {
    /// Connects, and makes the stream where that is asked for. Says why it can't.
    pub(super) async fn open(target: &Target) -> Result<Self, String> {
        let (told, breaks) = watch::channel(0);
        let said = Arc::<Mutex<Said>>::default();
        let (told, heard) = (Arc::new(told), said.clone());
        let options = ConnectOptions::new()
            .name(concat!("hookonce ", env!("CARGO_PKG_VERSION")))
            .ping_interval(PING)
            .request_timeout(Some(target.timeout))
            // The client tries once, at once, and ends when the connection does.
            .max_reconnects(1)
            .reconnect_delay_callback(|_| Duration::ZERO)
            .event_callback(move |event| {
                match event {
                    Event::Disconnected | Event::Closed => told.send_modify(|n| *n += 1),
                    Event::ServerError(error) => {
                        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
                        heard.take_in(&error.to_string());
                    }
                    _ => {}
                }
                async {}
            });
        let options = match (&target.user, &target.token, &target.credentials) {
            (_, _, Some(credentials)) => options
                .credentials(credentials.expose())
                .map_err(|_| "`credentials` is no file of credentials".to_owned())?,
            (Some((user, password)), ..) => {
                options.user_and_password(user.clone(), password.clone())
            }
            (None, Some(token), _) => options.token(token.clone()),
            (None, None, None) => options,
        };
        let options = match &target.authorities {
            Some(authorities) => {
                let mut roots = RootCertStore::empty();
                roots.add_parsable_certificates(authorities.iter().cloned());
                let tls =
                    ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
                options.require_tls(true).tls_client_config(tls)
            }
            None => options,
        };
        let connected = options.connect(target.address.clone()).await;
        let client = connected.map_err(|error| {
            format!("can't connect to the server: {}", quote::first(error.to_string().as_bytes()))
        })?;
        let mut stream = jetstream::new(client.clone());
        stream.set_timeout(target.timeout);
        let link = Self { client, stream, breaks, said };
        link.declare(target).await?;
        Ok(link)
    }

    async fn declare(&self, target: &Target) -> Result<(), String> {
        let Some(named) = target.stream.as_ref().filter(|stream| stream.declare) else {
            return Ok(());
        };
        let config = stream::Config {
            name: named.name.clone(),
            subjects: vec![target.subject.every()],
            ..stream::Config::default()
        };
        let made = self.stream.get_or_create_stream(config).await;
        made.map(drop).map_err(|error| {
            let said = quote::first(error.to_string().as_bytes());
            format!("can't declare the stream `{}`: {said}", named.name)
        })
    }

    pub(super) fn is_up(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    pub(super) fn stream(&self) -> &jetstream::Context {
        &self.stream
    }

    /// Returns when the connection breaks from now on.
    pub(super) fn broken(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut breaks = self.breaks.clone();
        breaks.mark_unchanged();
        async move {
            // Whoever tells of it lives as long as the client.
            if breaks.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// What the server said last that answered nothing.
    pub(super) fn said(&self) -> Option<String> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).last.take()
    }

    /// Whether the server has refused what was published under a subject.
    pub(super) fn has_refused(&self, subject: &str) -> bool {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).refused.contains(subject)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_not_be_published_is_known_by_its_subject() {
        let mut said = Said::default();
        said.take_in("nats: Permissions Violation for Publish to \"whatsapp.a.message.text\"");
        said.take_in("nats: Permissions Violation for Subscription to \"whatsapp.b\"");
        said.take_in("nats: maximum connections exceeded");
        assert_eq!(said.refused.into_iter().collect::<Vec<_>>(), ["whatsapp.a.message.text"]);
    }
}
