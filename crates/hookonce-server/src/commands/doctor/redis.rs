//! A store on Redis: whether it is reached and takes writes, and what an ack means there.

use hookonce::store::redis::{RedisFacts, RedisStore};

use super::Report;
use crate::config::Config;
use crate::out::counted;
use crate::wiring;

/// Connects to the store and looks at its server; `None` where it can't be used.
pub(super) async fn examine(config: &Config, url: &str, report: &mut Report) -> Option<RedisStore> {
    let store = match wiring::open_redis(config, url).await {
        Ok(store) => store,
        Err(error) => {
            report.wrong("store", format!("{error:#}"));
            return None;
        }
    };
    match store.facts().await {
        Ok(facts) => {
            report.fine("store", format!("`{}` is Redis {}", config.store, facts.version));
            report.fine("server", "it evicts nothing (`maxmemory-policy noeviction`)");
            for warning in facts.warnings() {
                report.warning("server", warning);
            }
            replicas(config, &facts, report);
            memory(&facts, report);
        }
        Err(error) => report.wrong("store", format!("`{}` can't be read: {error}", config.store)),
    }
    Some(store)
}

fn replicas(config: &Config, facts: &RedisFacts, report: &mut Report) {
    let (online, asked) = (facts.replicas, config.redis.wait_replicas);
    let there = counted(u64::try_from(online).unwrap_or(u64::MAX), "replica");
    match asked {
        0 => report.fine("replicas", format!("it has {there}; an ack waits for none of them")),
        asked if online < asked => report.wrong(
            "replicas",
            format!(
                "it has {there}, and an ack waits for {asked} (`redis.wait_replicas`): nothing is \
                 taken until they are there"
            ),
        ),
        asked => report.fine("replicas", format!("it has {there}; an ack waits for {asked}")),
    }
}

fn memory(facts: &RedisFacts, report: &mut Report) {
    let used = facts.memory >> 20;
    match facts.memory_limit {
        0 => report.fine("memory", format!("its data takes {used} MiB, of no limit of its own")),
        limit if facts.memory > limit / 10 * 9 => report.warning(
            "memory",
            format!(
                "its data takes {used} MiB of the {} that it may: once they are full nothing is \
                 taken; shorten [retention] or raise `maxmemory`",
                limit >> 20
            ),
        ),
        limit => report.fine(
            "memory",
            format!("its data takes {used} MiB of the {} that it may", limit >> 20),
        ),
    }
}
