//! What the user wants: `hookonce.toml`, read, checked and explained.
//!
//! The only place that reads the environment. Builds nothing and opens nothing; that is for
//! `serve` and the commands.

mod check;
mod document;
mod later;
mod lone;
mod problem;
mod program;
mod quantity;
mod section;
mod sink;
mod source;
mod store;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use hookonce::scheme::Secret;

use document::{Document, Lines, Table, join};

pub(crate) use document::nearest;
pub(crate) use problem::{Problem, Problems};
pub(crate) use quantity::{Period, Rate};
pub(crate) use section::{
    AdminConfig, Named, OnDead, OrderName, PostgresConfig, RedisConfig, RetentionConfig, RoleName,
    RootConfig, RouteConfig, Section, ServerConfig, TlsConfig, TokenConfig, WorkerConfig,
    WorkerName, sections,
};
pub(crate) use sink::{
    AmqpConfig, BullmqConfig, ExecConfig, HttpConfig, NatsConfig, OnUnknownName, RedisStreamConfig,
    SignAsName, SinkConfig, SqsConfig,
};
#[cfg(feature = "amqp")]
pub(crate) use sink::{ExchangeName, QueueName};
pub(crate) use source::{
    AckName, EvolutionConfig, EvolutionSignatureName, GenericConfig, MetaConfig, MetaSignatureName,
    RuleConfig, SchemeConfig, Several, SignatureConfig, SourceConfig, Written,
};
pub(crate) use store::StoreConfig;

/// The name of the configuration file that is looked for in the current directory.
pub(crate) const FILE: &str = "hookonce.toml";
/// The name of the configuration file that development mode keeps in the current directory.
pub(crate) const DEVELOPMENT_FILE: &str = "hookonce.dev.toml";

/// A configuration that can be served.
#[derive(Debug)]
pub(crate) struct Config {
    /// The directory that relative paths start from.
    pub(crate) dir: PathBuf,
    /// Where events are stored.
    pub(crate) store: StoreConfig,
    /// How that is reached where it is `PostgreSQL`.
    pub(crate) postgres: PostgresConfig,
    /// And where it is Redis.
    pub(crate) redis: RedisConfig,
    pub(crate) server: ServerConfig,
    /// How its listener is encrypted, if it is.
    pub(crate) tls: Option<TlsConfig>,
    pub(crate) admin: AdminConfig,
    /// Who may call the admin API.
    pub(crate) tokens: Vec<TokenConfig>,
    pub(crate) worker: WorkerConfig,
    pub(crate) retention: RetentionConfig,
    pub(crate) sources: Named<SourceConfig>,
    pub(crate) routes: Vec<RouteConfig>,
    pub(crate) sinks: Named<SinkConfig>,
    /// What works, but should be known.
    pub(crate) warnings: Vec<Problem>,
    lines: Lines,
}

/// Where a configuration is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// A file of the user's.
    File(PathBuf),
    /// None of the user's: development mode keeps one of its own.
    Development,
}

impl Place {
    /// Finds the configuration: the file that was asked for, else the one that `HOOKONCE_CONFIG`
    /// names, else `hookonce.toml` in the current directory, else development mode.
    pub(crate) fn find(asked: Option<&Path>) -> Self {
        let named = asked.map(Path::to_owned);
        let named = named.or_else(|| environment("HOOKONCE_CONFIG").map(PathBuf::from));
        match named {
            Some(file) => Self::File(file),
            None if Path::new(FILE).exists() => Self::File(FILE.into()),
            None => Self::Development,
        }
    }

    /// The file itself.
    pub(crate) fn file(&self) -> &Path {
        match self {
            Self::File(file) => file,
            Self::Development => Path::new(DEVELOPMENT_FILE),
        }
    }
}

impl Config {
    /// Reads the whole configuration, secrets included.
    pub(crate) fn load(place: &Place) -> Result<Self, Problems> {
        let text = read(place)?;
        Self::parse(&text, place.file(), check::secrets)
    }

    /// Reads the configuration to look at its store: secrets need not be at hand.
    pub(crate) fn load_for_store(place: &Place) -> Result<Self, Problems> {
        let text = read(place)?;
        Self::parse(&text, place.file(), |_, _| ())
    }

    /// Gives a secret as the configuration writes it: `env:NAME`, `file:PATH` or the secret itself.
    /// The error says what to do, and never what the value is.
    pub(crate) fn secret(&self, written: &str) -> Result<Secret, String> {
        let (value, empty) = if let Some(name) = written.trim().strip_prefix("env:") {
            let value = environment(name).ok_or_else(|| {
                format!("the environment variable `{name}` is not set; set it before starting")
            })?;
            (value, format!("the environment variable `{name}` is empty"))
        } else if let Some(path) = written.trim().strip_prefix("file:") {
            let path = self.dir.join(path);
            let value = std::fs::read_to_string(&path)
                .map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
            (value, format!("the file `{}` is empty", path.display()))
        } else {
            (written.to_owned(), "it is empty".to_owned())
        };
        let advice = "an empty secret would let anybody in, so give it a value";
        Secret::new(&value).ok_or_else(|| format!("{empty}; {advice}"))
    }

    /// Gives what is in a file that the configuration names.
    pub(crate) fn file(&self, path: &str) -> Result<Vec<u8>, String> {
        let path = self.dir.join(path);
        std::fs::read(&path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))
    }

    /// The password of a store in `PostgreSQL` whose address has none, if there is one but in a
    /// password file.
    pub(crate) fn postgres_password(&self) -> Result<Option<Secret>, String> {
        match &self.postgres.password {
            Some(written) => self.secret(written).map(Some),
            None => Ok(environment("PGPASSWORD").as_deref().and_then(Secret::new)),
        }
    }

    /// The password of a store on Redis whose address has none, if there is one.
    pub(crate) fn redis_password(&self) -> Result<Option<Secret>, String> {
        self.redis.password.as_deref().map(|written| self.secret(written)).transpose()
    }

    /// The source of this name. The error names those that there are.
    pub(crate) fn source(&self, name: &str) -> Result<&SourceConfig, String> {
        self.sources.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.sources.keys().map(String::as_str).collect();
            format!("there is no source `{name}`; there are: {}", names.join(", "))
        })
    }

    /// A problem with the key of this path that only showed when it was used.
    pub(crate) fn problem(&self, key: &str, message: impl Into<String>) -> Problem {
        Problem { line: self.lines.find(key), key: key.to_owned(), message: message.into() }
    }

    fn parse(
        text: &str,
        file: &Path,
        check_secrets: impl Fn(&Self, &mut Document),
    ) -> Result<Self, Problems> {
        let (mut document, mut root) = Document::parse(text);
        let dir = file.parent().map(Path::to_owned).unwrap_or_default();
        let config = read_sections(&mut document, &mut root, dir);
        if let Some(config) = &config {
            check::all(config, &mut document);
            check_secrets(config, &mut document);
        }
        document.problems.sort();
        document.problems.dedup();
        match config {
            Some(config) if document.problems.is_empty() => {
                let Document { warnings, lines, .. } = document;
                Ok(Self { warnings, lines, ..config })
            }
            _ => Err(Problems { file: file.to_owned(), list: document.problems }),
        }
    }
}

/// What `HOOKONCE_LOG` asks to be logged, as `tracing` writes filters.
pub(crate) fn log_filter() -> String {
    environment("HOOKONCE_LOG").unwrap_or_else(|| "info".to_owned())
}

/// The `PATH` that commands get, and are looked for in.
pub(crate) fn search_path() -> Option<OsString> {
    variable("PATH")
}

/// The `HOME` that commands get.
pub(crate) fn home() -> Option<OsString> {
    variable("HOME")
}

/// The folder for what is kept a while.
pub(crate) fn temporary() -> PathBuf {
    std::env::temp_dir()
}

/// This very program.
pub(crate) fn program() -> std::io::Result<PathBuf> {
    std::env::current_exe()
}

/// The file in which passwords of `PostgreSQL` databases are looked up: the one that was named, else
/// the usual one if it is there.
pub(crate) fn postgres_passwords() -> Option<PathBuf> {
    let named = variable("PGPASSFILE").filter(|path| !path.is_empty()).map(PathBuf::from);
    let usual = || home().map(|home| Path::new(&home).join(".pgpass")).filter(|path| path.exists());
    named.or_else(usual)
}

/// Who runs the program, for the record of what was done: the user's name, else its number.
pub(crate) fn user() -> String {
    let name = ["USER", "LOGNAME"].into_iter().filter_map(environment);
    let name = name.map(|name| name.trim().to_owned()).find(|name| !name.is_empty());
    name.unwrap_or_else(|| rustix::process::getuid().as_raw().to_string())
}

/// A variable as text. A blank one counts as none, but for secrets, which say so.
fn environment(name: &str) -> Option<String> {
    let value = variable(name)?.into_string().ok()?;
    let is_ours = name.starts_with("HOOKONCE_");
    (!is_ours || !value.trim().is_empty()).then_some(value)
}

/// The one door to the environment.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

fn read(place: &Place) -> Result<String, Problems> {
    std::fs::read_to_string(place.file()).map_err(|error| {
        let missing = error.kind() == std::io::ErrorKind::NotFound;
        let message = match place {
            Place::Development if missing => format!(
                "there is no configuration here: neither `{FILE}` nor `{DEVELOPMENT_FILE}`; name \
                 one with --config, write one with `hookonce init`, or start development mode with \
                 `hookonce serve`"
            ),
            Place::File(file) if missing => format!(
                "there is no such file; write one with `hookonce init --config {}`",
                file.display()
            ),
            _ => format!("cannot be read: {error}"),
        };
        let problem = Problem { line: None, key: String::new(), message };
        Problems { file: place.file().to_owned(), list: vec![problem] }
    })
}

/// Reads every section, so that each says what is wrong with it; `None` if one can't be used.
fn read_sections(document: &mut Document, root: &mut Table<'_>, dir: PathBuf) -> Option<Config> {
    let (server, tls) = read_server(document, root);
    let (admin, tokens) = read_admin(document, root);
    let worker = document.single("worker", root);
    let worker = document.read("worker", worker);
    let retention = document.single("retention", root);
    let retention = document.read("retention", retention);
    let postgres = document.single("postgres", root);
    let postgres = document.read("postgres", postgres);
    let redis = document.single("redis", root);
    let redis = document.read("redis", redis);
    let sources = read_sources(document, root);
    let routes = read_routes(document, root);
    let sinks = read_sinks(document, root);
    let store = document.read("", std::mem::take(root)).and_then(|root: RootConfig| {
        let (key, store) = match environment("HOOKONCE_STORE") {
            Some(store) => ("HOOKONCE_STORE", store),
            None => ("store", root.store),
        };
        StoreConfig::parse(&store, &dir).map_err(|message| document.problem(key, message)).ok()
    });
    Some(Config {
        store: store?,
        postgres: postgres?,
        redis: redis?,
        dir,
        server: server?,
        tls,
        admin: admin?,
        tokens: tokens?,
        worker: worker?,
        retention: retention?,
        sources: sources?,
        routes: routes?,
        sinks: sinks?,
        warnings: vec![],
        lines: Lines::default(),
    })
}

/// Where TLS can't be used there is a problem, so that nobody goes on as if none had been asked for.
fn read_server(
    document: &mut Document,
    root: &mut Table<'_>,
) -> (Option<ServerConfig>, Option<TlsConfig>) {
    let mut server = document.single("server", root);
    let tls = server.contains_key("tls").then(|| document.single("server.tls", &mut server));
    let tls = tls.and_then(|table| document.read("server.tls", table));
    (document.read("server", server), tls)
}

fn read_admin(
    document: &mut Document,
    root: &mut Table<'_>,
) -> (Option<AdminConfig>, Option<Vec<TokenConfig>>) {
    let mut admin = document.single("admin", root);
    let tables = document.listed("admin.tokens", &mut admin).into_iter().enumerate();
    let tokens: Vec<_> =
        tables.map(|(n, table)| document.read(&format!("admin.tokens[{n}]"), table)).collect();
    (document.read("admin", admin), tokens.into_iter().collect())
}

fn read_sources(document: &mut Document, root: &mut Table<'_>) -> Option<Named<SourceConfig>> {
    let mut sources = Some(Named::new());
    for (name, table) in document.named("sources", root) {
        let path = join("sources", &name);
        check::name(document, &path, &name);
        let source = read_source(document, &path, table);
        sources = sources.zip(source).map(|(mut sources, source)| {
            sources.insert(name, source);
            sources
        });
    }
    sources
}

/// Reads a source: the keys that each has, and those of its scheme.
fn read_source(document: &mut Document, path: &str, mut table: Table<'_>) -> Option<SourceConfig> {
    let scheme = document.word(path, "scheme", &table, &SchemeConfig::NAMES)?;
    let common = document::keys::<SourceConfig>();
    let taken = document::take(&mut table, &common);
    let source = document.read(path, taken);
    let own = SchemeConfig::read(document, (path, scheme), table, &common);
    source.zip(own).map(|(source, own)| SourceConfig { own, ..source })
}

fn read_routes(document: &mut Document, root: &mut Table<'_>) -> Option<Vec<RouteConfig>> {
    let tables = document.listed("routes", root).into_iter().enumerate();
    let routes: Vec<_> =
        tables.map(|(n, table)| document.read(&format!("routes[{n}]"), table)).collect();
    routes.into_iter().collect()
}

fn read_sinks(document: &mut Document, root: &mut Table<'_>) -> Option<Named<SinkConfig>> {
    let mut sinks = Some(Named::new());
    for (name, mut table) in document.named("sinks", root) {
        let path = join("sinks", &name);
        check::name(document, &path, &name);
        let word = document.word(&path, "type", &table, &sink::TYPES);
        if let Some(word) = word.filter(|word| !sink::is_built(word)) {
            let message = format!(
                "this program was built without `{word}`; build it with `--features {word}`, or use \
                 one that is released, which has them all"
            );
            document.problem(&join(&path, "type"), message);
        }
        table.remove("type");
        let sink = match word {
            Some("http") => document.read(&path, table).map(SinkConfig::Http),
            Some("exec") => document.read(&path, table).map(SinkConfig::Exec),
            Some("sql") => document.read(&path, table).map(SinkConfig::Sql),
            Some("log") => document.read(&path, table).map(SinkConfig::Log),
            Some("nats") => document.read(&path, table).map(SinkConfig::Nats),
            Some("amqp") => document.read(&path, table).map(SinkConfig::Amqp),
            Some("redis-stream") => document.read(&path, table).map(SinkConfig::RedisStream),
            Some("bullmq") => document.read(&path, table).map(SinkConfig::Bullmq),
            Some("sqs") => document.read(&path, table).map(SinkConfig::Sqs),
            _ => None,
        };
        sinks = sinks.zip(sink).map(|(mut sinks, sink)| {
            sinks.insert(name, sink);
            sinks
        });
    }
    sinks
}
