//! The scripts, each an operation of the store, with what several of them share in front.

use std::sync::LazyLock;

use sha1::{Digest as _, Sha1};

/// A script as the server knows it.
pub(super) struct Script {
    pub(super) text: String,
    /// The server's name for it: SHA-1 of the text, in hex.
    pub(super) name: String,
}

impl Script {
    fn new(text: String) -> Self {
        let name = hex::encode(Sha1::digest(text.as_bytes()));
        Self { text, name }
    }

    /// On the keys of one scope.
    fn of_scope(text: &str) -> Self {
        Self::new([include_str!("scope.lua"), include_str!("task.lua"), text].concat())
    }

    /// Also where the memory that the server may use is full: it ends work, which frees some.
    fn freeing(text: &str) -> Self {
        Self::of_scope(text).always()
    }

    /// On keys of no scope, also where the memory is full: it stands before what frees some.
    fn apart(text: &str) -> Self {
        Self::new(text.to_owned()).always()
    }

    fn always(self) -> Self {
        Self::new(["#!lua flags=allow-oom\n", &self.text].concat())
    }
}

macro_rules! scripts {
    ($($name:ident: $of:ident($file:literal),)*) => {
        $(pub(super) static $name: LazyLock<Script> =
            LazyLock::new(|| Script::$of(include_str!($file)));)*
    };
}

scripts! {
    ASSIGN: of_scope("assign.lua"),
    AUDIT: apart("audit.lua"),
    BURY: freeing("bury.lua"),
    CLAIM: freeing("claim.lua"),
    CLAIMED: of_scope("claimed.lua"),
    COUNTS: of_scope("counts.lua"),
    DUE: of_scope("due.lua"),
    EXTEND: freeing("extend.lua"),
    FINISH: freeing("finish.lua"),
    FOLD: freeing("fold.lua"),
    GET: of_scope("get.lua"),
    KNOCK: apart("knock.lua"),
    MIRROR: apart("mirror.lua"),
    INSERT: of_scope("insert.lua"),
    PAGE: of_scope("page.lua"),
    PROBE: of_scope("probe.lua"),
    PROGRESS: of_scope("progress.lua"),
    PRUNE: freeing("prune.lua"),
    REAP: freeing("reap.lua"),
    RECORD_STEP: freeing("record_step.lua"),
    RELEASE: freeing("release.lua"),
    REPLAY: of_scope("replay.lua"),
    REROUTE: of_scope("reroute.lua"),
    RERUN: of_scope("rerun.lua"),
}

/// Those on keys of no scope.
pub(super) static ENTER: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("enter.lua").to_owned()));
