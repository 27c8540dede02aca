//! What is Redis's alone: how a store reaches its server, and what it does when that loses something.

mod cluster;
mod full;
mod kept;
mod lost;
mod reached;
mod tls;

use std::sync::Arc;

use hookonce::event::NewEvent;
use hookonce::store::redis::{RedisOptions, RedisStore};
use hookonce::store::{Store, StoreError};

use crate::bed::proxy::Proxy;
use crate::bed::redis_server::Server;
use crate::bed::{TestClock, new};

pub(crate) async fn open(url: String) -> Arc<dyn Store> {
    Arc::new(RedisStore::open(RedisOptions::new(url)).await.unwrap())
}

pub(crate) async fn refusal(options: RedisOptions) -> String {
    match RedisStore::open(options).await {
        Err(StoreError::Refused(message)) => message,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn event(key: &str) -> NewEvent {
    new(key).at(TestClock::new().now())
}

/// Asks a server something itself.
pub(crate) fn ask<T: redis::FromRedisValue>(server: &Server, command: &[&str]) -> T {
    let mut connection = server.client().get_connection().unwrap();
    redis::cmd(command[0]).arg(&command[1..]).query(&mut connection).unwrap()
}

/// A proxy before a server.
pub(crate) async fn proxied(server: &Server) -> Proxy {
    Proxy::before_redis(format!("127.0.0.1:{}", server.port())).await
}
