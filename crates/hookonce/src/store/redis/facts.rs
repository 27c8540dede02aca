//! What a server must be like, and what a person should know of it.

use std::collections::HashMap;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use super::error::told;
use super::link::Link;
use crate::store::StoreError;

/// The first version that does what is needed of it.
const VERSION: u32 = 7;
/// How often an intake looks whether its server keeps everything.
const LOOK: Duration = Duration::from_secs(1);
/// The setting that it isn't flushed while the file is written anew.
const ON_REWRITE: &str = "no-appendfsync-on-rewrite";
const NO_PRIMARY: &str = "no primary of the Redis cluster answers";

/// What is known of a server, for `doctor`; of a cluster, the worst of what is known of its primaries.
#[derive(Debug, Clone, serde::Serialize)]
pub struct RedisFacts {
    /// Its version.
    pub version: String,
    /// Every write goes to its append-only file.
    pub appends: bool,
    /// When that is flushed to the disk: `always`, `everysec` or `no`; none where one doesn't say.
    pub flushes: Option<String>,
    /// It isn't flushed while the file is written anew.
    pub rewrites_unflushed: bool,
    /// How many primaries there are.
    pub primaries: usize,
    /// Bytes that its data takes.
    pub memory: u64,
    /// Bytes that it may take; 0 is no limit.
    pub memory_limit: u64,
    /// How many replicas it has.
    pub replicas: usize,
}

impl RedisFacts {
    /// What an ack is worth less for than it could be.
    pub fn warnings(&self) -> Vec<&'static str> {
        let warning = match self.flushes.as_deref() {
            _ if !self.appends => {
                "Redis keeps no append-only file: what was acked since its last snapshot is gone when \
                 it stops; set `appendonly yes`"
            }
            Some("always") if self.rewrites_unflushed => {
                "Redis doesn't flush writes to its disk while it rewrites its file: what was acked \
                 meanwhile is gone when its machine stops; set `no-appendfsync-on-rewrite no`"
            }
            Some("always") => return Vec::new(),
            Some("everysec") => {
                "Redis flushes what it wrote to its disk once a second: up to two seconds of what was \
                 acked are gone when its machine stops; set `appendfsync always`"
            }
            Some(_) => {
                "Redis leaves it to the system when writes go to its disk: half a minute of what was \
                 acked may be gone when its machine stops; set `appendfsync always`"
            }
            None => {
                "Redis doesn't say when it flushes writes to its disk, which is when what was acked \
                 outlives the machine: let this user run `CONFIG GET`, or ask who runs the server"
            }
        };
        vec![warning]
    }

    /// Takes in what is known of another primary.
    fn meet(&mut self, other: &Self) {
        self.primaries += other.primaries;
        self.appends &= other.appends;
        self.rewrites_unflushed |= other.rewrites_unflushed;
        self.replicas = self.replicas.min(other.replicas);
        // The fullest stops intake.
        let share = |facts: &Self| match facts.memory_limit {
            0 => 0,
            limit => facts.memory.saturating_mul(1000) / limit,
        };
        if (share(other), other.memory) > (share(self), self.memory) {
            (self.memory, self.memory_limit) = (other.memory, other.memory_limit);
        }
    }
}

/// Looks at a server, or each primary of a cluster; refuses what would lose what it holds.
pub(super) async fn facts(link: &Link) -> Result<RedisFacts, StoreError> {
    let infos: Vec<String> = link.ask_each(&redis::cmd("INFO")).await.map_err(told)?;
    let mut all = infos.iter().map(|info| read(info, link.is_cluster()));
    let mut worst = all.next().unwrap_or_else(|| Err(StoreError::unavailable(NO_PRIMARY)))?;
    for facts in all {
        worst.meet(&facts?);
    }
    let mut setting = redis::cmd("CONFIG");
    setting.arg("GET").arg("appendfsync").arg(ON_REWRITE);
    // Many services don't let anybody ask.
    let said: Vec<HashMap<String, String>> = link.ask_each(&setting).await.unwrap_or_default();
    let by_how_seldom = |flushes: &String| ["always", "everysec"].iter().position(|f| f == flushes);
    let is_unflushed =
        |setting: &HashMap<_, String>| setting.get(ON_REWRITE).is_some_and(|said| said == "yes");
    worst.rewrites_unflushed = said.iter().any(is_unflushed);
    let flushes = said.into_iter().map(|mut setting| setting.remove("appendfsync"));
    worst.flushes = flushes
        .collect::<Option<Vec<_>>>()
        .and_then(|all| all.into_iter().max_by_key(|f| by_how_seldom(f).unwrap_or(usize::MAX)));
    Ok(worst)
}

/// Whether a server still keeps what it is given, looked at once in a while: another may have taken over, or
/// somebody may have changed its settings.
#[derive(Default)]
pub(super) struct Keeping(Mutex<Option<Instant>>);

impl Keeping {
    /// Fails where the server that has this key evicts others when its memory is full.
    pub(super) async fn check(&self, link: &Link, key: &str) -> Result<(), StoreError> {
        let mut looked = self.0.lock().await;
        if looked.is_none_or(|at| at.elapsed() >= LOOK) {
            keeps(link, key).await?;
            *looked = Some(Instant::now());
        }
        Ok(())
    }
}

/// Fails where the server that has this key evicts others when its memory is full.
pub(super) async fn keeps(link: &Link, key: &str) -> Result<(), StoreError> {
    let mut ask = redis::cmd("INFO");
    let info: String = link.keep_asking_at(key, ask.arg("memory")).await.map_err(told)?;
    must_keep(&by_name(&info))
}

/// Whether a line is about one replica: `slave0`, `slave1`, ...
fn is_replica(name: &str) -> bool {
    name.strip_prefix("slave").is_some_and(|n| n.parse::<u32>().is_ok())
}

fn by_name(info: &str) -> HashMap<&str, &str> {
    info.lines().filter_map(|line| line.trim_end().split_once(':')).collect()
}

fn must_keep(info: &HashMap<&str, &str>) -> Result<(), StoreError> {
    match info.get("maxmemory_policy").copied().unwrap_or_default() {
        "noeviction" => Ok(()),
        policy => Err(StoreError::Refused(format!(
            "this Redis evicts keys when its memory is full (`maxmemory-policy {policy}`), which would \
             forget events that were acked: set `maxmemory-policy noeviction`"
        ))),
    }
}

/// What a server says of itself.
fn read(info: &str, is_in_cluster: bool) -> Result<RedisFacts, StoreError> {
    let info = by_name(info);
    let get = |name: &str| info.get(name).copied().unwrap_or_default();
    let version = get("redis_version").to_owned();
    let major = version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0u32);
    if major < VERSION {
        return Err(StoreError::Refused(format!(
            "this Redis is version {version}; {VERSION}.0 or later is needed"
        )));
    }
    if !is_in_cluster && get("redis_mode") == "cluster" {
        return Err(StoreError::Refused(
            "this Redis is one of a cluster: write `redis+cluster://HOST:PORT,HOST:PORT`".into(),
        ));
    }
    must_keep(&info)?;
    Ok(RedisFacts {
        appends: get("aof_enabled") == "1",
        flushes: None,
        rewrites_unflushed: false,
        primaries: 1,
        memory: get("used_memory").parse().unwrap_or_default(),
        memory_limit: get("maxmemory").parse().unwrap_or_default(),
        // One that is still reading everything for the first time has nothing yet.
        replicas: info
            .iter()
            .filter(|(name, said)| {
                is_replica(name) && said.split(',').any(|part| part == "state=online")
            })
            .count(),
        version,
    })
}
