//! The sections of `hookonce.toml`. Their comments are the reference: what stands here is what
//! `docs/reference/configuration.md` says.

mod admin;
mod postgres;
mod redis;
mod server;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::quantity::Period;
use super::sink::{
    AmqpConfig, BullmqConfig, ExecConfig, HttpConfig, LogConfig, NatsConfig, RedisStreamConfig,
    SqlConfig, SqsConfig,
};
use super::source::{
    EvolutionConfig, GenericConfig, MetaConfig, RuleConfig, SignatureConfig, SourceConfig,
    TwilioConfig, WahaConfig, WasenderConfig,
};

pub(crate) use admin::{AdminConfig, RoleName, TokenConfig};
pub(crate) use postgres::PostgresConfig;
pub(crate) use redis::RedisConfig;
pub(crate) use server::{ServerConfig, TlsConfig};

/// Keys that stand in front of every section.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct RootConfig {
    /// Where events are stored: `sqlite:` and a path, `postgres://USER@HOST:PORT/DATABASE`,
    /// `redis://USER@HOST:PORT/DATABASE` (`rediss://` for TLS, with `?ca=FILE&cert=FILE&key=FILE` where it
    /// needs them) or `redis+cluster://HOST:PORT,HOST:PORT`; any number of servers may share all but a
    /// file. `HOOKONCE_STORE` in the environment overrides it. A file or database may be that of your own
    /// application, so that effects share its transactions.
    pub(crate) store: String,
}

impl Default for RootConfig {
    fn default() -> Self {
        Self { store: "sqlite:hookonce.db".into() }
    }
}

/// How stored events are handled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct WorkerConfig {
    /// How many tasks are handled at the same time. An eighth of them, at least one, is kept for
    /// events that are not urgent.
    pub(crate) slots: usize,
    /// How long a shutdown waits for the tasks that run; what is cut off then is tried again.
    #[schemars(with = "String")]
    pub(crate) grace: Period,
    /// How often the store is asked for due tasks and for lapsed claims when nothing tells that
    /// there are some. At most `60s`.
    #[schemars(with = "String")]
    pub(crate) poll: Period,
}

impl Default for WorkerConfig {
    fn default() -> Self {
        Self { slots: 64, grace: Period::seconds(30), poll: Period::seconds(1) }
    }
}

/// How long things are kept. Age counts from the later of an event's last arrival and its last
/// finish; nothing goes while a task is pending or claimed.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct RetentionConfig {
    /// Payloads of events without dead tasks.
    #[schemars(with = "String")]
    pub(crate) payload: Period,
    /// Keys, and with them the event and its history; never before its payload. Refused below the
    /// time for which the sender may send again (Meta: `7d`), because a copy that comes after its
    /// key is gone would be new.
    #[schemars(with = "String")]
    pub(crate) key: Period,
    /// Payloads of events with dead tasks.
    #[schemars(with = "String")]
    pub(crate) dead: Period,
}

impl Default for RetentionConfig {
    fn default() -> Self {
        Self { payload: Period::days(30), key: Period::days(30), dead: Period::days(90) }
    }
}

/// One rule: events of these sources and kinds go through these steps. An event gets a task for
/// every route that takes it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RouteConfig {
    /// Its name; tasks are known by it.
    pub(crate) name: String,
    /// Names of sinks, in the order in which they run; required unless `worker = "external"`.
    #[serde(default)]
    pub(crate) steps: Vec<String>,
    /// Who handles its tasks. `server`: this server, by the steps. `external`: programs of yours,
    /// which claim them by the API; such a route has no steps.
    #[serde(default)]
    pub(crate) worker: WorkerName,
    /// Names of the sources it takes; all where it is not given.
    pub(crate) sources: Option<Vec<String>>,
    /// Kinds it takes, where a `*` stands for any characters, such as `message.*`; all where it is
    /// not given.
    pub(crate) kinds: Option<Vec<String>>,
    /// `lane`: events of one conversation are handled one after another. `none`: at the same time.
    #[serde(default)]
    pub(crate) order: OrderName,
    /// How long a claim lasts unless it is extended. A running task extends its own, so a step may
    /// take longer; after a crash the task waits this long.
    #[serde(default = "RouteConfig::lease")]
    #[schemars(with = "String")]
    pub(crate) lease: Period,
    /// After how many attempts a task is dead.
    #[serde(default = "RouteConfig::max_attempts")]
    pub(crate) max_attempts: u32,
    /// The delay after the first failed attempt; it doubles with each one.
    #[serde(default = "RouteConfig::retry_min")]
    #[schemars(with = "String")]
    pub(crate) retry_min: Period,
    /// The longest delay between attempts.
    #[serde(default = "RouteConfig::retry_max")]
    #[schemars(with = "String")]
    pub(crate) retry_max: Period,
    /// How long after its event was received a task is still worth trying; then it is dead, however
    /// many attempts it had. Without it there is no such limit.
    #[schemars(with = "Option<String>")]
    pub(crate) max_age: Option<Period>,
    /// What a dead task does to its lane. `pass`: the lane goes on. `hold`: it waits for a person.
    #[serde(default)]
    pub(crate) on_dead: OnDead,
}

impl RouteConfig {
    fn lease() -> Period {
        Period::seconds(60)
    }

    fn max_attempts() -> u32 {
        24
    }

    fn retry_min() -> Period {
        Period::seconds(5)
    }

    fn retry_max() -> Period {
        Period::seconds(2 * 60 * 60)
    }
}

/// Who handles a route's tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WorkerName {
    /// This server, by the route's steps.
    #[default]
    Server,
    /// Programs outside.
    External,
}

/// Whether a route keeps the order of a conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OrderName {
    /// One task of a lane at a time, in order of arrival.
    #[default]
    Lane,
    /// Any number at a time.
    None,
}

/// What a dead task does to its lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OnDead {
    /// The lane goes on with its next task.
    #[default]
    Pass,
    /// The lane waits for a person.
    Hold,
}

/// Sections by their names, as they are read.
pub(crate) type Named<T> = BTreeMap<String, T>;

/// A section as the reference shows it and as an unknown key is compared with.
#[derive(Debug)]
pub(crate) struct Section {
    /// How it is headed in the file; empty for the keys in front.
    pub(crate) heading: &'static str,
    /// What it is for.
    pub(crate) about: String,
    /// Its keys: those that are required, then by name.
    pub(crate) keys: Vec<Key>,
}

/// One key of a section.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) about: String,
    /// As TOML; `None` where the key is required or means nothing when absent.
    pub(crate) default: Option<String>,
    pub(crate) required: bool,
}

/// Every section there is.
pub(crate) fn sections() -> Vec<Section> {
    vec![
        section::<RootConfig>(""),
        section::<ServerConfig>("[server]"),
        section::<TlsConfig>("[server.tls]"),
        section::<AdminConfig>("[admin]"),
        section::<TokenConfig>("[[admin.tokens]]"),
        section::<WorkerConfig>("[worker]"),
        section::<RetentionConfig>("[retention]"),
        section::<PostgresConfig>("[postgres]"),
        section::<RedisConfig>("[redis]"),
        section::<SourceConfig>("[sources.NAME]"),
        section::<MetaConfig>("[sources.NAME] scheme = \"meta\""),
        section::<WasenderConfig>("[sources.NAME] scheme = \"wasender\""),
        section::<TwilioConfig>("[sources.NAME] scheme = \"twilio\""),
        section::<WahaConfig>("[sources.NAME] scheme = \"waha\""),
        section::<EvolutionConfig>("[sources.NAME] scheme = \"evolution\""),
        section::<GenericConfig>("[sources.NAME] scheme = \"generic\""),
        section::<SignatureConfig>("[sources.NAME.signature]"),
        section::<RuleConfig>("[[sources.NAME.rules]]"),
        section::<RouteConfig>("[[routes]]"),
        section::<HttpConfig>("[sinks.NAME] type = \"http\""),
        section::<ExecConfig>("[sinks.NAME] type = \"exec\""),
        section::<SqlConfig>("[sinks.NAME] type = \"sql\""),
        section::<LogConfig>("[sinks.NAME] type = \"log\""),
        section::<AmqpConfig>("[sinks.NAME] type = \"amqp\""),
        section::<NatsConfig>("[sinks.NAME] type = \"nats\""),
        section::<SqsConfig>("[sinks.NAME] type = \"sqs\""),
        section::<RedisStreamConfig>("[sinks.NAME] type = \"redis-stream\""),
        section::<BullmqConfig>("[sinks.NAME] type = \"bullmq\""),
    ]
}

/// Takes a section's keys from its struct.
pub(crate) fn section<T: JsonSchema>(heading: &'static str) -> Section {
    let schema = schemars::schema_for!(T);
    let text = |value: Option<&serde_json::Value>| {
        value.and_then(|value| value.as_str()).unwrap_or_default().replace('\n', " ")
    };
    let required: Vec<&str> = schema
        .get("required")
        .and_then(|names| names.as_array())
        .map(|names| names.iter().filter_map(|name| name.as_str()).collect())
        .unwrap_or_default();
    let keys = schema.get("properties").and_then(|keys| keys.as_object());
    let key = |(name, about): (&String, &serde_json::Value)| Key {
        name: name.clone(),
        about: text(about.get("description")),
        default: about.get("default").filter(|value| !value.is_null()).map(ToString::to_string),
        required: required.contains(&name.as_str()),
    };
    let mut keys: Vec<Key> = keys.into_iter().flatten().map(key).collect();
    keys.sort_by_key(|key| !key.required);
    Section { heading, about: text(schema.get("description")), keys }
}
