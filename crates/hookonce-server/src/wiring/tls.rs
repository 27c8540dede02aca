//! Keeps the listener's TLS in step with the files that it is made of.
//!
//! It watches by looking: a file may be written, renamed over or reached by other links, on any file
//! system, and looking finds out alike.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hookonce::listener::{Tls, TlsError, TlsOptions};
use tokio::sync::watch;

use crate::config::{Config, Problem, TlsConfig};

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// The listener's TLS, and the files.
#[derive(Debug)]
pub(crate) struct Certificates {
    tls: Arc<Tls>,
    files: Arc<Files>,
}

/// What is configured, with whole paths.
#[derive(Debug)]
struct Files {
    certificate: PathBuf,
    key: PathBuf,
    client_ca: Option<PathBuf>,
    client_name: Option<String>,
}

/// Why the files can't be used: the key of the configuration that a person would look at, and what is
/// wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Trouble {
    key: &'static str,
    message: String,
}

impl Certificates {
    /// Reads the files, if the configuration names any.
    pub(crate) fn open(config: &Config) -> Result<Option<Arc<Self>>, Problem> {
        let Some(tls) = &config.tls else { return Ok(None) };
        let files = Files::of(tls, &config.dir);
        let made = files
            .read()
            .and_then(|options| Tls::new(&options).map_err(|error| files.trouble(&error)))
            .map_err(|Trouble { key, message }| config.problem(key, message))?;
        Ok(Some(Arc::new(Self { tls: made, files: Arc::new(files) })))
    }

    /// What the listener encrypts with.
    pub(crate) fn tls(&self) -> Arc<Tls> {
        self.tls.clone()
    }

    /// Uses what is in the files whenever it has changed, until it is told to stop.
    pub(crate) async fn follow(self: Arc<Self>, mut stopped: watch::Receiver<bool>) {
        let mut noticed = Noticed::default();
        loop {
            // An error means that nobody is left to tell: stop as well.
            let told = stopped.wait_for(|stopped| *stopped);
            if tokio::time::timeout(LOOK, told).await.is_ok() {
                return;
            }
            noticed.note(self.look().await);
        }
    }

    /// Looks once; gives whether there is something new.
    async fn look(&self) -> Result<bool, Trouble> {
        let files = self.files.clone();
        // A file may be on a disk that hangs.
        let read = tokio::task::spawn_blocking(move || files.read()).await;
        let options = read.map_err(|error| Trouble {
            key: "server.tls",
            message: format!("its files can't be read: {error}"),
        })??;
        self.tls.replace(&options).map_err(|error| self.files.trouble(&error))
    }
}

/// What was found lately.
#[derive(Debug, Default)]
struct Noticed {
    trouble: Option<Trouble>,
    said: bool,
}

impl Noticed {
    /// Tells the log what has changed. A certificate and its key are two files, of which one comes
    /// first: only what is still wrong at the next look is worth a line, and it gets one.
    fn note(&mut self, looked: Result<bool, Trouble>) {
        match looked {
            Ok(is_new) => {
                if is_new {
                    tracing::info!(
                        "the certificate was renewed: who connects is shown the new one"
                    );
                } else if self.said {
                    tracing::info!("the certificate's files are again those that are used");
                }
                *self = Self::default();
            }
            Err(trouble) if self.trouble.as_ref() != Some(&trouble) => {
                *self = Self { trouble: Some(trouble), said: false };
            }
            Err(trouble) if !self.said => {
                tracing::error!("the certificate was not renewed, the old one stays: {trouble}");
                self.said = true;
            }
            Err(_) => {}
        }
    }
}

impl Files {
    fn of(tls: &TlsConfig, dir: &Path) -> Self {
        Self {
            certificate: dir.join(&tls.certificate),
            key: dir.join(&tls.key),
            client_ca: tls.client_ca.as_ref().map(|file| dir.join(file)),
            client_name: tls.client_name.clone(),
        }
    }

    fn read(&self) -> Result<TlsOptions, Trouble> {
        let client_ca = self.client_ca.as_deref().map(|file| read("server.tls.client_ca", file));
        Ok(TlsOptions {
            certificate: read("server.tls.certificate", &self.certificate)?,
            key: read("server.tls.key", &self.key)?,
            client_ca: client_ca.transpose()?,
            client_name: self.client_name.clone(),
        })
    }

    fn trouble(&self, error: &TlsError) -> Trouble {
        let (key, file) = match error {
            TlsError::Certificate(_) => ("server.tls.certificate", Some(&self.certificate)),
            TlsError::ClientCa(_) => ("server.tls.client_ca", self.client_ca.as_ref()),
            TlsError::ClientName(_) => ("server.tls.client_name", None),
            _ => ("server.tls.key", Some(&self.key)),
        };
        let file = file.map(|file| format!("`{}`: ", file.display())).unwrap_or_default();
        Trouble { key, message: format!("{file}{error}") }
    }
}

fn read(key: &'static str, file: &Path) -> Result<Vec<u8>, Trouble> {
    std::fs::read(file).map_err(|error| Trouble {
        key,
        message: format!("cannot read `{}`: {error}", file.display()),
    })
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.message)
    }
}
