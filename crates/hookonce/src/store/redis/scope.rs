//! The scopes that the server has data of, each in a slot of its own, and scripts run on one of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redis::{FromRedisValue, RedisError};
use serde::Serialize;
use tokio::time::{Instant, timeout};

use super::SCOPES;
use super::error::{EMPTIED, told};
use super::link::{Call, Link};
use super::script::{ENTER, Script};
use crate::event::{Event, EventId};
use crate::store::{Clock, StoreError};
use crate::task::Token;

/// How the data is laid out in keys; another number means that an earlier version can't read it.
const LAYOUT: u32 = 1;
/// How long a list of scopes is good for: another node may have made one.
const FRESH: Duration = Duration::from_secs(1);
/// How long to wait for it where one is at hand.
const NEWS: Duration = Duration::from_millis(100);

/// Runs scripts on scopes.
pub(super) struct Scopes {
    pub(super) link: Link,
    prefix: String,
    /// Tells the time in place of the server, in tests.
    clock: Option<Clock>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// What tells each scope's data from any other, once this node has asked.
    born: BTreeMap<Arc<str>, Option<String>>,
    /// When the list was read.
    read: Option<Instant>,
}

/// What a script is asked, and whether it writes.
pub(super) struct Ask<'a, A> {
    pub(super) script: &'a Script,
    /// Proves the call where it is made again; none where nothing is written.
    pub(super) call: Option<Token>,
    pub(super) asked: &'a A,
    /// What stands behind it, too long or too strange for JSON.
    pub(super) texts: &'a [&'a str],
}

/// What went wrong in some of the scopes, each of which may be on a server of its own: what is done in one
/// is done whatever is the matter with another.
#[derive(Default)]
pub(super) struct Apart {
    error: Option<StoreError>,
}

impl Apart {
    /// Gives what a scope answered, and keeps why it didn't.
    pub(super) fn note<T>(&mut self, answer: Result<T, StoreError>) -> Option<T> {
        answer.map_err(|error| self.error = Some(error)).ok()
    }

    /// Fails if a scope did, unless something came of the others all the same.
    pub(super) fn unless(self, has_done: bool) -> Result<(), StoreError> {
        match self.error {
            Some(error) if has_done => {
                tracing::warn!(%error, "a part of what is stored on Redis could not be reached");
                Ok(())
            }
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

impl<'a, A: Serialize> Ask<'a, A> {
    /// A script that only reads, or proves its call by itself.
    pub(super) fn reading(script: &'a Script, asked: &'a A) -> Self {
        Self { script, call: None, asked, texts: &[] }
    }

    /// A script that writes.
    pub(super) fn writing(script: &'a Script, asked: &'a A) -> Self {
        Self { script, call: Some(Token::draw()), asked, texts: &[] }
    }
}

impl Scopes {
    pub(super) fn new(link: Link, prefix: String, clock: Option<Clock>) -> Self {
        Self { link, prefix, clock, known: Mutex::default() }
    }

    /// The name of a key that belongs to no scope.
    pub(super) fn global(&self, name: &str) -> String {
        format!("{}:all{{hookonce}}:{name}", self.prefix)
    }

    /// A scope's own key; what is between braces decides its slot.
    pub(super) fn key_of(&self, scope: &str) -> String {
        let escaped = scope.replace('%', "%25").replace('{', "%7B").replace('}', "%7D");
        format!("{}:{{{}}}", self.prefix, if escaped.is_empty() { "%" } else { &escaped })
    }

    /// Fails where a later version of this program has written what this one can't read.
    pub(super) async fn check_layout(&self) -> Result<(), StoreError> {
        let key = self.global("layout");
        let mut get = redis::cmd("GET");
        get.arg(&key);
        match self.link.keep_asking::<Option<u32>>(&get).await.map_err(told)? {
            Some(layout) if layout > LAYOUT => Err(StoreError::Refused(format!(
                "what is on this Redis was written by a later version of hookonce (layout {layout}; \
                 this one knows {LAYOUT}): use that version, or another `prefix`"
            ))),
            Some(_) => Ok(()),
            // Only now is anything written: a server whose memory is full takes nothing.
            None => {
                let mut begin = redis::cmd("SET");
                begin.arg(&key).arg(LAYOUT).arg("NX");
                self.link.keep_asking(&begin).await.map_err(told)
            }
        }
    }

    /// Every scope, as far as is known.
    pub(super) async fn all(&self) -> Result<Vec<Arc<str>>, StoreError> {
        if self.lock().read.is_none_or(|read| read.elapsed() > FRESH) {
            let mut members = redis::cmd("SMEMBERS");
            members.arg(self.global(SCOPES));
            let ask = self.link.keep_asking::<Vec<String>>(&members);
            let is_first = self.lock().born.is_empty();
            let names = if is_first {
                ask.await.map_err(told)?
            } else {
                // The list may be on a server that is away, and what it names on others.
                timeout(NEWS, ask).await.ok().and_then(Result::ok).unwrap_or_default()
            };
            let mut known = self.lock();
            for name in names {
                known.born.entry(name.into()).or_default();
            }
            known.read = Some(Instant::now());
        }
        Ok(self.lock().born.keys().cloned().collect())
    }

    /// Has a scope be known to every node, and whether its data is there.
    pub(super) async fn begin(&self, scope: &Arc<str>) -> Result<(), StoreError> {
        match self.born(scope) {
            Some(_) => Ok(()),
            None => self.enter(scope, &self.key_of(scope), false).await.map(drop),
        }
    }

    /// The scope that an event is in, which its id was made of; every scope, should somebody have made it
    /// otherwise.
    pub(super) async fn of_event(&self, event: &Event) -> Result<Vec<Arc<str>>, StoreError> {
        let all = self.all().await?;
        let own = all.iter().find(|scope| EventId::of(scope, &event.key) == event.id).cloned();
        Ok(own.map_or(all, |own| vec![own]))
    }

    /// Runs a script on one scope until it is answered.
    pub(super) async fn run<T: FromRedisValue, A: Serialize>(
        &self,
        scope: &Arc<str>,
        ask: &Ask<'_, A>,
    ) -> Result<T, StoreError> {
        let key = self.key_of(scope);
        let asked = serde_json::to_string(ask.asked).map_err(|error| {
            StoreError::unavailable(format!("what is asked of Redis can't be written: {error}"))
        })?;
        let call = ask.call.map(|token| hex::encode(token.as_bytes())).unwrap_or_default();
        let now = self.clock.as_ref().map(|clock| clock.now().as_millisecond().to_string());
        let mut has_entered = false;
        loop {
            let born = match self.born(scope) {
                Some(born) => born,
                None => self.enter(scope, &key, has_entered).await?,
            };
            let mut arguments = vec![&*call, &*born, now.as_deref().unwrap_or_default(), &*asked];
            arguments.extend(ask.texts);
            let call =
                Call { script: ask.script, keys: &[&key, &nothing(&key)], arguments: &arguments };
            match self.link.run(&call).await {
                Err(error) if is_emptied(&error) && !has_entered => {
                    self.lock().born.insert(scope.clone(), None);
                    has_entered = true;
                }
                answer => return answer.map_err(told),
            }
        }
    }

    fn born(&self, scope: &Arc<str>) -> Option<String> {
        self.lock().born.get(scope).cloned().flatten()
    }

    /// Learns what tells a scope's data from any other; begins it where there is none.
    async fn enter(
        &self,
        scope: &Arc<str>,
        key: &str,
        was_there: bool,
    ) -> Result<String, StoreError> {
        let mut is_member = redis::cmd("SISMEMBER");
        is_member.arg(self.global(SCOPES)).arg(&**scope);
        let is_known: bool = self.link.keep_asking(&is_member).await.map_err(told)?;
        let is_lost = was_there || is_known;
        let now = self.clock.as_ref().map(|clock| clock.now().as_millisecond().to_string());
        let birth = hex::encode(Token::draw().as_bytes());
        let arguments =
            [&*birth, if is_lost { "1" } else { "0" }, now.as_deref().unwrap_or_default()];
        let call = Call { script: &ENTER, keys: &[key, &nothing(key)], arguments: &arguments };
        let born: String = self.link.run(&call).await.map_err(told)?;
        // Before anything is stored, so that others look for it there; and after the scope's key, since
        // a scope of the list without one is a scope whose data was lost.
        if !is_known {
            let mut add = redis::cmd("SADD");
            add.arg(self.global(SCOPES)).arg(&**scope);
            self.link.keep_asking::<()>(&add).await.map_err(told)?;
        }
        if born == birth && is_lost {
            tracing::error!(
                scope = &**scope,
                "Redis has lost the data of this scope: what was stored is gone, and what senders \
                 date before now is not handled, since it can't be proven new; look at its persistence"
            );
        }
        self.lock().born.insert(scope.clone(), Some(born.clone()));
        Ok(born)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A key beside a scope's own that is never there: while a cluster moves the slot to another server neither
/// runs a script then, and neither takes for missing what the other has.
fn nothing(scope: &str) -> String {
    format!("{scope}:nothing")
}

fn is_emptied(error: &RedisError) -> bool {
    error.code() == Some(EMPTIED)
}
