//! The way to the server or the cluster, and scripts run on it until there is an answer.
//!
//! A reply may be lost on its way. Every script that writes gives the same answer when it is called again
//! under the same token, so that a call is simply made again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{
    MultipleNodeRoutingInfo, Route, RoutingInfo, SingleNodeRoutingInfo, SlotAddr,
};
use redis::{
    Client, Cmd, ErrorKind, FromRedisValue, Pipeline, RedisError, RedisResult, ServerErrorKind,
};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout_at};

use super::address::Address;
use super::error::{may_pass, told};
use super::script::Script;
use crate::store::StoreError;

/// How long a server may take to let us in, and to answer.
const CONNECT: Duration = Duration::from_secs(1);
const ANSWER: Duration = Duration::from_secs(2);
/// For how long a call is made again that got no answer: well within what a sender is kept waiting.
const PATIENCE: Duration = Duration::from_millis(2500);
/// The first pause between two tries, and the longest.
const PAUSE: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(200)];

/// An open way to the server. Clones share it.
#[derive(Clone)]
pub(super) enum Link {
    /// To one server.
    One(Arc<One>),
    /// To the nodes of a cluster.
    Cluster(ClusterConnection),
}

/// A way to one server, which is taken anew once it is no good.
pub(super) struct One {
    client: Client,
    /// With its number, so that only the one that failed is replaced.
    current: Mutex<(u64, ConnectionManager)>,
}

impl One {
    async fn open(client: Client) -> RedisResult<Self> {
        let opened = ConnectionManager::new_with_config(client.clone(), config()).await?;
        Ok(Self { client, current: Mutex::new((0, opened)) })
    }

    fn current(&self) -> (u64, ConnectionManager) {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Has the next call connect anew where the server did not let us in: the manager keeps for good what it
    /// was told then.
    fn look<T>(&self, number: u64, answer: RedisResult<T>) -> RedisResult<T> {
        let is_at_the_door = |error: &RedisError| {
            error.kind() == ErrorKind::AuthenticationFailed
                || matches!(error.code(), None | Some("ERR" | "NOAUTH" | "NOPERM" | "WRONGPASS"))
        };
        if let Err(error) = &answer
            && !error.is_io_error()
            && is_at_the_door(error)
            && let Ok(another) =
                ConnectionManager::new_lazy_with_config(self.client.clone(), config())
        {
            let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            if current.0 == number {
                *current = (number + 1, another);
            }
        }
        answer
    }
}

fn config() -> ConnectionManagerConfig {
    ConnectionManagerConfig::new()
        .set_connection_timeout(Some(CONNECT))
        .set_response_timeout(Some(ANSWER))
        // A call is tried again by whoever makes it.
        .set_number_of_retries(0)
}

impl Link {
    /// Connects; fails where nothing is there now, or does not let us in.
    pub(super) async fn open(address: &Address) -> Result<Self, StoreError> {
        if address.is_cluster {
            let client = address
                .cluster()?
                .connection_timeout(CONNECT)
                .response_timeout(ANSWER)
                .overall_response_timeout(Some(PATIENCE))
                .max_retry_wait(200)
                .build()
                .map_err(told)?;
            return Ok(Self::Cluster(client.get_async_connection().await.map_err(told)?));
        }
        let client = address.clients()?.swap_remove(0);
        Ok(Self::One(Arc::new(One::open(client).await.map_err(told)?)))
    }

    pub(super) fn is_cluster(&self) -> bool {
        matches!(self, Self::Cluster(_))
    }

    /// Asks once.
    pub(super) async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> RedisResult<T> {
        match self {
            Self::One(one) => {
                let (number, mut connection) = one.current();
                one.look(number, command.query_async(&mut connection).await)
            }
            Self::Cluster(cluster) => command.query_async(&mut cluster.clone()).await,
        }
    }

    /// Asks several things at once, once.
    pub(super) async fn ask_together<T: FromRedisValue>(&self, all: &Pipeline) -> RedisResult<T> {
        match self {
            Self::One(one) => all.query_async(&mut one.current().1).await,
            Self::Cluster(cluster) => all.query_async(&mut cluster.clone()).await,
        }
    }

    /// Asks the server that has a key until there is an answer, where the command names none.
    pub(super) async fn keep_asking_at<T: FromRedisValue>(
        &self,
        key: &str,
        command: &Cmd,
    ) -> RedisResult<T> {
        let mut patience = Patience::new();
        loop {
            let answer = timeout_at(patience.end, self.ask_at(key, command)).await;
            if let Some(answer) = patience.takes(answer).await {
                return answer;
            }
        }
    }

    async fn ask_at<T: FromRedisValue>(&self, key: &str, command: &Cmd) -> RedisResult<T> {
        let Self::Cluster(cluster) = self else { return self.ask(command).await };
        let primary = SingleNodeRoutingInfo::SpecificNode(Route::with_key(key, SlotAddr::Master));
        let answer = cluster
            .clone()
            .route_command(command.clone(), RoutingInfo::SingleNode(primary))
            .await?;
        Ok(redis::from_redis_value(answer)?)
    }

    /// Asks each primary once, and gives what they answer.
    pub(super) async fn ask_each<T: FromRedisValue>(&self, command: &Cmd) -> RedisResult<Vec<T>> {
        let Self::Cluster(cluster) = self else { return Ok(vec![self.ask(command).await?]) };
        let primaries = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
        let answers = cluster.clone().route_command(command.clone(), primaries).await?;
        let by_address: HashMap<String, T> = redis::from_redis_value(answers)?;
        Ok(by_address.into_values().collect())
    }

    /// Runs a script until it is answered.
    pub(super) async fn run<T: FromRedisValue>(&self, call: &Call<'_>) -> RedisResult<T> {
        let mut patience = Patience::new();
        loop {
            let answer = timeout_at(patience.end, self.run_once(call)).await;
            if let Some(answer) = patience.takes(answer).await {
                return self.leave_replica(answer).await;
            }
        }
    }

    /// Asks until there is an answer; for what may be asked twice.
    pub(super) async fn keep_asking<T: FromRedisValue>(&self, command: &Cmd) -> RedisResult<T> {
        let mut patience = Patience::new();
        loop {
            let answer = timeout_at(patience.end, self.ask(command)).await;
            if let Some(answer) = patience.takes(answer).await {
                return self.leave_replica(answer).await;
            }
        }
    }

    /// Has the next call connect anew where another server has become the primary: the address may lead
    /// there by now.
    async fn leave_replica<T>(&self, answer: RedisResult<T>) -> RedisResult<T> {
        if let (Self::One(one), Err(error)) = (self, &answer)
            && error.kind() == ServerErrorKind::ReadOnly.into()
        {
            // It may be closed already.
            let _ = redis::cmd("QUIT").exec_async(&mut one.current().1).await;
        }
        answer
    }

    async fn run_once<T: FromRedisValue>(&self, call: &Call<'_>) -> RedisResult<T> {
        let is_known = self.ask(&call.command("EVALSHA", &call.script.name)).await;
        match is_known {
            Err(error) if error.kind() == ServerErrorKind::NoScript.into() => {
                self.ask(&call.command("EVAL", &call.script.text)).await
            }
            answer => answer,
        }
    }
}

/// For how long and how often a call is made again.
struct Patience {
    end: Instant,
    pause: Duration,
}

impl Patience {
    fn new() -> Self {
        Self { end: Instant::now() + PATIENCE, pause: PAUSE[0] }
    }

    /// Gives back an answer that is one; else waits a while, after which the call is to be made again.
    async fn takes<T>(
        &mut self,
        answer: Result<RedisResult<T>, Elapsed>,
    ) -> Option<RedisResult<T>> {
        match answer {
            Err(_) => return Some(Err(silent())),
            Ok(Err(error)) if may_pass(&error) && Instant::now() + self.pause < self.end => {}
            Ok(answer) => return Some(answer),
        }
        tokio::time::sleep(self.pause.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
        self.pause = PAUSE[1].min(self.pause * 2);
        None
    }
}

/// A script with what it is called with.
pub(super) struct Call<'a> {
    pub(super) script: &'a Script,
    /// All in one slot.
    pub(super) keys: &'a [&'a str],
    pub(super) arguments: &'a [&'a str],
}

impl Call<'_> {
    fn command(&self, word: &str, script: &str) -> Cmd {
        let mut command = redis::cmd(word);
        command.arg(script).arg(self.keys.len()).arg(self.keys).arg(self.arguments);
        command
    }
}

fn silent() -> RedisError {
    std::io::Error::from(std::io::ErrorKind::TimedOut).into()
}
