//! Serves: receives webhooks and handles their events until it is told to stop.

mod signals;
mod waiting;

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

use crate::admin::{Access, Admin, Metrics};
use crate::cli::{LogFormat, ServeOptions};
use crate::config::{self, Config, DEVELOPMENT_FILE, Place};
use crate::curl;
use crate::development;
use crate::out::{self, Format};
use crate::reload::Parts;
use crate::wiring::{self, Certificates, Gates};
use signals::{Signal, Signals};

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
    let metrics = Arc::new(Metrics::install()?);
    for warning in &config.warnings {
        let text = warning.display(place.file());
        // Not by the log, whose filter could hide it.
        out::remark(&match format {
            Format::Text => format!("warning: {text}"),
            Format::Json => warning_line(&text),
        });
    }
    if config.tokens.is_empty() {
        let text = "there is no `[[admin.tokens]]`: the admin API answers 401 to every call";
        out::remark(&match format {
            Format::Text => format!("warning: {text}"),
            Format::Json => warning_line(text),
        });
    }
    let listen = options.listen.as_ref().unwrap_or(&config.server.listen).clone();
    let admin_listen = options.admin_listen.as_ref().unwrap_or(&config.server.admin_listen).clone();
    let grace = config.worker.grace.get();
    let say = |config: &Config, doors: &Doors| say_where(place, config, doors, format);
    let certificates = Certificates::open(&config)
        .map_err(|problem| anyhow!("{}", problem.display(place.file())))?;
    let start = async {
        let doors = Doors::open(listen, admin_listen, certificates).await?;
        Server::start(config, doors, metrics, say).await
    };
    let mut server = tokio::select! {
        started = start => started?,
        () = signals.stop() => return Ok(()),
    };
    loop {
        tokio::select! {
            signal = signals.next() => match signal {
                Signal::Stop => break,
                Signal::Reload => tokio::select! {
                    () = server.parts.reload(place) => {}
                    // Whatever it waits for, being told to stop comes first.
                    () = signals.stop() => break,
                },
            },
            ended = server.running.join_next() => return Err(early_end(ended)),
            ended = server.admin.ended() => return Err(early_end(ended)),
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

/// Where it is reached.
#[derive(Debug)]
struct Doors {
    webhooks: TcpListener,
    /// What `webhooks` encrypts with, if it does.
    certificates: Option<Arc<Certificates>>,
    admin: TcpListener,
    /// As it was told to listen for the admin API.
    admin_listen: String,
}

impl Doors {
    async fn open(
        listen: String,
        admin_listen: String,
        certificates: Option<Arc<Certificates>>,
    ) -> anyhow::Result<Self> {
        let webhooks = bind(&listen, "listen").await?;
        let admin = bind(&admin_listen, "admin-listen").await?;
        Ok(Self { webhooks, certificates, admin, admin_listen })
    }
}

/// The parts that run, none of which ends before it is told to.
#[derive(Debug)]
struct Server {
    parts: Parts,
    /// Answers until everything else has stopped.
    admin: Admin,
    /// Tells every part to stop.
    stop: watch::Sender<bool>,
    running: JoinSet<()>,
}

impl Server {
    /// Opens the store, which may have to be waited for, and starts everything; `say` tells people
    /// where, once there is something to be reached.
    async fn start(
        config: Config,
        doors: Doors,
        metrics: Arc<Metrics>,
        say: impl Fn(&Config, &Doors) -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        let sources = wiring::sources(&config)?;
        let opened = waiting::open(&config, &doors, || say(&config, &doors)).await?;
        let store = opened.store;
        let (routes, gates) = wiring::routes(&config, &store, &Gates::new())?;
        wiring::mirror(&*store, &config, &routes).await?;
        let options = receiver_options(&config)?;
        let access = Arc::new(Access::new(&doors.admin_listen, &config, routes.clone())?);
        let receiver = Receiver::new(store.clone(), sources, routes.clone(), options);
        let worker = Arc::new(worker(&config, &store, &routes));
        let janitor = Arc::new(janitor(&config, &store, routes));
        if !opened.has_waited {
            say(&config, &doors)?;
        }
        let parts = Parts { store, receiver, worker, janitor, access, gates, config };
        let (stop, stopped) = watch::channel(false);
        let admin_listener = (doors.admin, admin_connections());
        let health = parts.receiver.clone().health_router();
        let admin = Admin::start(admin_listener, &parts.access, &parts.store, metrics, health);
        let running = parts.run(doors.webhooks, doors.certificates, &stopped);
        Ok(Self { parts, admin, stop, running })
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
        let ended = tokio::time::timeout(grace + LAST_MOMENTS, all).await;
        self.admin.stop().await;
        let Ok(ended) = ended else {
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
    fn run(
        &self,
        listener: TcpListener,
        certificates: Option<Arc<Certificates>>,
        stopped: &watch::Receiver<bool>,
    ) -> JoinSet<()> {
        let mut running = JoinSet::new();
        let grace = self.config.worker.grace.get();
        let limits = ListenerOptions {
            grace,
            connections: connections(),
            tls: certificates.as_ref().map(|certificates| certificates.tls()),
            ..ListenerOptions::default()
        };
        if let Some(certificates) = certificates {
            running.spawn(certificates.follow(stopped.clone()));
        }
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

/// Listens at an address that `flag`, or the key of that name, has chosen.
async fn bind(listen: &str, flag: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(listen).await.map_err(|error| {
        let choose = format!("with --{flag} HOST:PORT or `server.{}`", flag.replace('-', "_"));
        let advice = match error.kind() {
            ErrorKind::AddrInUse => {
                format!("another program listens there; stop it, or choose another port {choose}")
            }
            ErrorKind::PermissionDenied => {
                "choose a port from 1024, or give the right to this one".to_owned()
            }
            _ => format!("choose another address {choose}"),
        };
        anyhow!("cannot listen on {listen}: {error}; {advice}")
    })
}

fn receiver_options(config: &Config) -> anyhow::Result<ReceiverOptions> {
    Ok(ReceiverOptions {
        body_limit: usize::try_from(config.server.body_limit.get()).unwrap_or(usize::MAX),
        ack_timeout: config.server.ack_timeout.get(),
        handled_timeout: config.server.handled_timeout.get(),
        proxies: wiring::networks(&config.server.proxies)?,
        ..ReceiverOptions::default()
    })
}

/// Says where webhooks are received and where the admin API is. Goes to standard error: standard
/// output is the log sink's.
fn say_where(place: &Place, config: &Config, doors: &Doors, format: Format) -> anyhow::Result<()> {
    let at = &doors.webhooks.local_addr()?.to_string();
    let admin = curl::admin_url(&doors.admin.local_addr()?.to_string());
    let url = |name: &String| (name.clone(), curl::webhook_url(config, at, name));
    let urls: Vec<_> = config.sources.keys().map(url).collect();
    if format == Format::Json {
        let urls: serde_json::Map<_, _> =
            urls.into_iter().map(|(name, url)| (name, url.into())).collect();
        let mut said = json!({ "listening": at, "webhooks": urls, "admin": admin });
        if *place == Place::Development {
            said["curl"] = development::sample(config, at)?.into();
            said["admin_token"] = development::admin_token(config).into();
        }
        out::remark(&said.to_string());
        return Ok(());
    }
    let scheme = curl::webhook_scheme(config);
    out::remark(&format!("hookonce {} listens on {scheme}://{at}", env!("CARGO_PKG_VERSION")));
    let mut lines: Vec<_> =
        urls.into_iter().map(|(name, url)| (format!("source {name}"), url)).collect();
    lines.push(("dashboard".to_owned(), format!("{admin}/")));
    lines.push(("admin API".to_owned(), format!("{admin}/api")));
    if *place == Place::Development {
        let token = development::admin_token(config);
        lines.extend(token.map(|token| ("admin token".to_owned(), token)));
    }
    let width = lines.iter().map(|(what, _)| what.len()).max().unwrap_or_default();
    for (what, value) in lines {
        out::remark(&format!("  {what:<width$}  {value}"));
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
    // The client of `amqp` would log messages that come back whole; what it meets is told by the sink.
    let filter = filter.add_directive("lapin=off".parse()?);
    let filter = filter.add_directive("async_nats=off".parse()?);
    let filter = filter.add_directive("aws_config=off".parse()?);
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

/// How many connections to the admin listener may be open beside them: few callers are many.
fn admin_connections() -> usize {
    (connections() / 16).max(4)
}
