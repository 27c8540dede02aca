//! What a store has on a Redis server, or in the cluster that all tests use.

use std::collections::BTreeSet;

use hookonce::event::EventId;
use redis::ConnectionLike;

use super::redis_server::Server;

/// What a store has on a server or in a cluster.
pub(crate) struct Keys {
    place: Place,
    prefix: String,
}

enum Place {
    Server(Box<redis::Client>),
    Cluster(Box<redis::cluster::ClusterClient>),
}

impl Keys {
    /// Those on a server of a test's own.
    pub(crate) fn on(server: &Server) -> Self {
        Self { place: Place::Server(Box::new(server.client())), prefix: "hookonce".to_owned() }
    }

    /// Those of a prefix that nobody else has in the cluster of the tests, and the address of it.
    pub(crate) fn in_cluster() -> (Self, String) {
        let cluster = super::postgres::address("HOOKONCE_TEST_REDIS_CLUSTER");
        let addresses = cluster.trim_start_matches("redis+cluster://").split(',');
        let nodes: Vec<String> = addresses.map(|node| format!("redis://{node}")).collect();
        let client = redis::cluster::ClusterClient::new(nodes).unwrap();
        let prefix = format!("test-{:x}", fastrand::u64(..));
        let url = format!("{cluster}?prefix={prefix}");
        (Self { place: Place::Cluster(Box::new(client)), prefix }, url)
    }

    pub(crate) fn delete_payload(&self, id: EventId) {
        let key = format!("{}:{{whatsapp}}:payload:{}", self.prefix, hex::encode(id.as_bytes()));
        assert!(self.ask::<bool>(redis::cmd("DEL").arg(key)), "it had one");
    }

    /// How many keys there are that a pattern fits.
    pub(crate) fn count(&self, pattern: &str) -> i64 {
        i64::try_from(self.like(pattern).len()).unwrap()
    }

    /// The slots in which they are.
    pub(crate) fn slots(&self, pattern: &str) -> BTreeSet<u16> {
        let slot = |key| self.ask(redis::cmd("CLUSTER").arg("KEYSLOT").arg(key));
        self.like(pattern).into_iter().map(slot).collect()
    }

    fn like(&self, pattern: &str) -> Vec<String> {
        self.ask(redis::cmd("KEYS").arg(format!("{}:{pattern}", self.prefix)))
    }

    fn ask<T: redis::FromRedisValue>(&self, command: &redis::Cmd) -> T {
        let mut connection: Box<dyn ConnectionLike> = match &self.place {
            Place::Server(client) => Box::new(client.get_connection().unwrap()),
            Place::Cluster(client) => Box::new(client.get_connection().unwrap()),
        };
        redis::from_redis_value(connection.req_command(command).unwrap()).unwrap()
    }
}
