//! Waits until replicas have what was written.
//!
//! `WAIT` waits for what its own connection has written, so that each slot has one, and writes a little
//! there behind the scripts' replies: it makes what the script's call left behind stay longer, which also
//! proves that this primary is the one that ran it, and not one that took over since.

use std::collections::BTreeMap;
use std::time::Duration;

use redis::RedisResult;
use tokio::sync::Mutex;

use super::address::Address;
use super::error::told;
use super::insert::millis;
use super::link::Link;
use crate::store::StoreError;
use crate::task::Token;

/// How long replicas may take.
const LIMIT: Duration = Duration::from_millis(1500);
/// For how long the answer to a call is kept, as in the scripts.
const KEPT: Duration = Duration::from_secs(60);

/// The replicas that have to have a write before it is acked.
pub(super) struct Replicas {
    address: Address,
    n: usize,
    links: Mutex<BTreeMap<String, Link>>,
}

impl Replicas {
    pub(super) fn new(address: Address, n: usize) -> Self {
        Self { address, n, links: Mutex::default() }
    }

    /// The connection of a scope.
    async fn link(&self, scope: &str) -> Result<Link, StoreError> {
        let mut links = self.links.lock().await;
        if !links.contains_key(scope) {
            links.insert(scope.to_owned(), Link::open(&self.address).await?);
        }
        Ok(links[scope].clone())
    }

    /// Returns once so many replicas have what a call wrote in a scope, which is named by its key.
    pub(super) async fn wait(&self, scope: &str, call: &Token) -> Result<(), StoreError> {
        let link = self.link(scope).await?;
        let call = format!("{scope}:call:{}", hex::encode(call.as_bytes()));
        let mut pipe = redis::pipe();
        pipe.cmd("GETEX").arg(&call).arg("PX").arg(millis(KEPT));
        pipe.cmd("WAIT").arg(self.n).arg(millis(LIMIT));
        let answer: RedisResult<(Option<String>, usize)> = link.ask_together(&pipe).await;
        let (said, reached) = match answer {
            Ok(answer) => answer,
            Err(error) => {
                // Another server may have taken over, which the next connection finds.
                self.links.lock().await.remove(scope);
                return Err(told(error));
            }
        };
        if said.is_none() {
            return Err(StoreError::unavailable(
                "another Redis took over before it had what was written: it has to come again",
            ));
        }
        if reached >= self.n {
            return Ok(());
        }
        Err(StoreError::unavailable(format!(
            "only {reached} of the {} replicas that `redis.wait_replicas` asks for have it after \
             {LIMIT:?}: start them, or ask for fewer",
            self.n
        )))
    }
}
