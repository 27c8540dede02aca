//! Serves: receives webhooks and handles their events until it is told to stop.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use hookonce::janitor::{Janitor, JanitorOptions};
use hookonce::listener::{self, ListenerOptions};
use hookonce::receiver::{Receiver, ReceiverOptions};
use hookonce::route::Route;
use hookonce::store::{Clock, Store};
use hookonce::worker::{Worker, WorkerOptions};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing_subscriber::EnvFilter;

use crate::cli::{LogFormat, ServeOptions};
use crate::config::{self, Config, DEVELOPMENT_FILE, Place};
use crate::curl::webhook_url;
use crate::development;
use crate::out::{self, Format};
use crate::reload::Parts;
use crate::wiring::{self, Gates};

/// What requests and the janitor may still take once the worker's grace time is over.
const LAST_MOMENTS: Duration = Duration::from_secs(5);

pub(crate) async fn run(
    place: &Place,
    options: &ServeOptions,
    format: Format,
) -> anyhow::Result<()> {
    // Watched from the start, so that a signal during start-up is not lost.
    let mut signals = Signals::watch()?;
    // Either way of asking for JSON makes all of standard error JSON.
    let is_json = format == Format::Json || options.log_format == LogFormat::Json;
    let format = if is_json { Format::Json } else { Format::Text };
    start_logging(format)?;
    if *place == Place::Development {
        development::prepare()?;
    }
    let config = Config::load(place)?;
    for warning in &config.warnings {
        let text = warning.display(place.file());
        // Not by the log, whose filter could hide it.
        out::remark(&match format {
            Format::Text => format!("warning: {text}"),
            Format::Json => warning_line(&text),
        });
    }
    let listen = options.listen.as_deref().unwrap_or(&config.server.listen);
    let listen = listen.to_owned();
    let grace = config.worker.grace.get();
    let mut server = tokio::select! {
        started = Server::start(config, &listen) => started?,
        () = signals.stop() => return Ok(()),
    };
    say_where(place, &server.parts.config, &server.at, format)?;
    loop {
        tokio::select! {
            signal = signals.next() => match signal {
                Signal::Stop => break,
                Signal::Reload => server.parts.reload(place).await,
            },
            ended = server.running.join_next() => return Err(early_end(ended)),
        }
    }
    tracing::info!("stopping: finishing what runs");
    tokio::select! {
        stopped = server.stop(grace) => stopped?,
        () = signals.stop() => return Err(anyhow!("told twice to stop: stopped at once")),
    }
    tracing::info!("stopped");
    Ok(())
}

/// The parts that run, none of which ends before it is told to.
#[derive(Debug)]
struct Server {
    /// Where it listens.
    at: String,
    parts: Parts,
    /// Tells every part to stop.
    stop: watch::Sender<bool>,
    running: JoinSet<()>,
}

impl Server {
    async fn start(config: Config, listen: &str) -> anyhow::Result<Self> {
        let sources = wiring::sources(&config)?;
        let listener = bind(listen).await?;
        let store: Arc<dyn Store> = Arc::new(wiring::open(&config).await?);
        let (routes, gates) = wiring::routes(&config, &store, &Gates::new())?;
        wiring::mirror(&*store, &config, &routes).await?;
        let options = receiver_options(&config);
        let receiver = Receiver::new(store.clone(), sources, routes.clone(), options);
        let worker = Arc::new(worker(&config, &store, &routes));
        let janitor = Arc::new(janitor(&config, &store, routes));
        let at = listener.local_addr()?.to_string();
        let parts = Parts { store, receiver, worker, janitor, gates, config };
        let (stop, stopped) = watch::channel(false);
        let running = parts.run(listener, &stopped);
        Ok(Self { at, parts, stop, running })
    }

    /// Turns readiness red, claims and accepts nothing more, and waits for what runs, up to the
    /// grace time and a moment; what runs still is cut off then, and its claims lapse.
    async fn stop(mut self, grace: Duration) -> anyhow::Result<()> {
        self.parts.receiver.set_draining();
        self.stop.send_replace(true);
        let all = async {
            while let Some(ended) = self.running.join_next().await {
                ended.context("a part of the server broke down while stopping")?;
            }
            anyhow::Ok(())
        };
        let Ok(ended) = tokio::time::timeout(grace + LAST_MOMENTS, all).await else {
            tracing::warn!(
                "the grace time is over: what still runs is cut off and will be retried"
            );
            return Ok(());
        };
        ended
    }
}

impl Parts {
    /// Starts everything that runs until it is told to stop.
    fn run(&self, listener: TcpListener, stopped: &watch::Receiver<bool>) -> JoinSet<()> {
        let mut running = JoinSet::new();
        let grace = self.config.worker.grace.get();
        let limits =
            ListenerOptions { grace, connections: connections(), ..ListenerOptions::default() };
        let (webhooks, until) = (self.receiver.clone().router(), until_told(stopped.clone()));
        running.spawn(async move {
            listener::serve(listener, webhooks, limits, until).await;
        });
        let (worker, stop) = (self.worker.clone(), stopped.clone());
        running.spawn(async move { worker.run(stop, grace).await });
        let (janitor, stop) = (self.janitor.clone(), stopped.clone());
        running.spawn(async move { janitor.run(stop).await });
        running
    }
}

fn worker(config: &Config, store: &Arc<dyn Store>, routes: &Arc<[Route]>) -> Worker {
    let options = WorkerOptions {
        name: worker_name().into(),
        slots: config.worker.slots,
        poll: config.worker.poll.get(),
    };
    Worker::new(store.clone(), routes.clone(), options)
}

fn janitor(config: &Config, store: &Arc<dyn Store>, routes: Arc<[Route]>) -> Janitor {
    let (poll, retention) = (config.worker.poll.get(), wiring::retention(config));
    Janitor::new(store.clone(), routes, JanitorOptions { poll, retention })
}

fn early_end(ended: Option<Result<(), tokio::task::JoinError>>) -> anyhow::Error {
    match ended {
        Some(Err(error)) => anyhow!(error).context("a part of the server broke down"),
        Some(Ok(())) | None => anyhow!("a part of the server ended without being told to"),
    }
}

async fn until_told(mut stopped: watch::Receiver<bool>) {
    // An error means that nobody is left to tell: stop as well.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

async fn bind(listen: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(listen).await.map_err(|error| {
        let advice = match error.kind() {
            ErrorKind::AddrInUse => {
                "another program listens there; stop it, or choose another port with --listen \
                 HOST:PORT or `server.listen`"
            }
            ErrorKind::PermissionDenied => "choose a port from 1024, or give the right to this one",
            _ => "choose another address with --listen HOST:PORT or `server.listen`",
        };
        anyhow!("cannot listen on {listen}: {error}; {advice}")
    })
}

fn receiver_options(config: &Config) -> ReceiverOptions {
    ReceiverOptions {
        body_limit: usize::try_from(config.server.body_limit.get()).unwrap_or(usize::MAX),
        ack_timeout: config.server.ack_timeout.get(),
        handled_timeout: config.server.handled_timeout.get(),
        ..ReceiverOptions::default()
    }
}

/// Says where webhooks are received. Goes to standard error: standard output is the log sink's.
fn say_where(place: &Place, config: &Config, at: &str, format: Format) -> anyhow::Result<()> {
    let urls: Vec<_> = config.sources.keys().map(|name| (name, webhook_url(at, name))).collect();
    if format == Format::Json {
        let urls: serde_json::Map<_, _> =
            urls.into_iter().map(|(name, url)| (name.clone(), url.into())).collect();
        let mut said = json!({ "listening": at, "webhooks": urls });
        if *place == Place::Development {
            said["curl"] = development::sample(config, at)?.into();
        }
        out::remark(&said.to_string());
        return Ok(());
    }
    out::remark(&format!("hookonce {} listens on http://{at}", env!("CARGO_PKG_VERSION")));
    let width = urls.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    for (name, url) in urls {
        out::remark(&format!("  source {name:<width$}  {url}"));
    }
    if *place == Place::Development {
        out::remark(&format!(
            "development mode: there is no `hookonce.toml`, so settings and secrets are kept in \
             `{DEVELOPMENT_FILE}`\nPaste this line into another terminal; its event is printed \
             here:\n\n{}\n",
            development::sample(config, at)?
        ));
    }
    Ok(())
}

/// A warning as a line of the log in JSON, for whoever reads all of them alike.
fn warning_line(message: &str) -> String {
    let at = Clock::system().now();
    let fields = json!({ "message": message });
    json!({ "timestamp": at, "level": "WARN", "fields": fields, "target": module_path!() })
        .to_string()
}

/// Tells this process apart from others in the history of attempts.
fn worker_name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = if host.trim().is_empty() { "hookonce" } else { host.trim() };
    format!("{host}:{}", std::process::id())
}

fn start_logging(format: Format) -> anyhow::Result<()> {
    let filter = config::log_filter();
    let filter = EnvFilter::try_new(&filter).with_context(|| {
        format!("`HOOKONCE_LOG` is no filter: `{filter}`; write such as `info`")
    })?;
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        Format::Text => logs.with_ansi(out::has_colours()).init(),
        Format::Json => logs.json().init(),
    }
    Ok(())
}

/// How many connections may be open: at most half of the file descriptors that the process may have,
/// so that one more can always be accepted and shed, and sinks and the store have theirs.
fn connections() -> usize {
    let most = ListenerOptions::default().connections;
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let half = files.and_then(|files| usize::try_from(files / 2).ok());
    half.map_or(most, |half| most.min(half.max(1)))
}

/// What a signal tells the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signal {
    /// To finish what runs and end.
    Stop,
    /// To read its configuration anew.
    Reload,
}

/// The signals that the server listens to.
#[derive(Debug)]
struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    hangup: tokio::signal::unix::Signal,
    /// A write beyond a limit of file size: unwatched it ends the process, watched the write fails
    /// and is answered as on a full disk.
    #[cfg(unix)]
    _file_size: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn watch() -> anyhow::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
            _file_size: signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?,
        })
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.terminate.recv() => Signal::Stop,
            _ = self.interrupt.recv() => Signal::Stop,
            _ = self.hangup.recv() => Signal::Reload,
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    fn watch() -> anyhow::Result<Self> {
        Ok(Self {})
    }

    async fn next(&mut self) -> Signal {
        // Where Ctrl-C can't be watched nothing can be waited for.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Signal::Stop
    }
}

impl Signals {
    /// Waits to be told to stop.
    async fn stop(&mut self) {
        while self.next().await != Signal::Stop {}
    }
}
