//! What people write by hand: receivers in Node, in `bench/peers`.

use std::path::Path;
use std::process::Command;

use crate::server::SECRET;

/// A receiver that stands beside a store.
pub(crate) struct Peer {
    pub(crate) beside: &'static str,
    pub(crate) name: &'static str,
    folder: &'static str,
    /// The variable that tells it where the server of its data is.
    pub(crate) url: &'static str,
}

pub(crate) const PEERS: [Peer; 3] = [
    Peer {
        beside: "postgres",
        name: "Express and pg, insert and catch",
        folder: "express-pg",
        url: "DATABASE_URL",
    },
    Peer { beside: "redis everysec", ..ON_REDIS },
    Peer { beside: "redis always", ..ON_REDIS },
];

const ON_REDIS: Peer = Peer {
    beside: "",
    name: "Express, ioredis and BullMQ, set NX and add",
    folder: "express-redis",
    url: "REDIS_URL",
};

impl Peer {
    /// What starts it; `None` where its packages were not installed, as `scripts/bench.sh` does.
    pub(crate) fn command(&self, url: &str) -> Option<Command> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/peers");
        let folder = folder.join(self.folder);
        if !folder.join("node_modules").exists() {
            println!("{}: not measured, `scripts/bench.sh` installs its packages", self.name);
            return None;
        }
        let mut command = Command::new("node");
        command.arg(folder.join("server.js")).env(self.url, url).env("APP_SECRET", SECRET);
        Some(command)
    }
}
