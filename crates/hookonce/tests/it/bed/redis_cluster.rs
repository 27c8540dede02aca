//! A Redis Cluster of a test's own, whose nodes it may kill.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Three primaries with a replica each; they end when it is dropped.
pub(crate) struct Cluster {
    addresses: Vec<String>,
    dir: tempfile::TempDir,
}

impl Cluster {
    /// Starts a cluster whose nodes have these settings.
    pub(crate) fn start(settings: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let made = Command::new(script())
            .arg(dir.path())
            .args(settings)
            .stderr(Stdio::inherit())
            .output()
            .expect("the script can be run");
        assert!(made.status.success(), "{}", made.status);
        let addresses = String::from_utf8(made.stdout).unwrap();
        let addresses = addresses.trim().split(',').map(str::to_owned).collect();
        Self { addresses, dir }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis+cluster://{}", self.addresses.join(","))
    }

    /// Kills the primary of the slot that a key is in.
    pub(crate) fn kill_primary_of(&self, key: &str) {
        let address = self.primary_of(key);
        let node = self.addresses.iter().position(|at| *at == address).unwrap();
        kill(&self.pids()[node]);
    }

    /// The address of the primary of the slot that a key is in.
    pub(crate) fn primary_of(&self, key: &str) -> String {
        let said =
            |word: &[&str]| -> String { ask(&self.addresses[0], &[&["CLUSTER"], word].concat()) };
        let slot: u16 = said(&["KEYSLOT", key]).parse().unwrap();
        let has = |range: &str| {
            let (from, to) = range.split_once('-').unwrap();
            (from.parse::<u16>().unwrap()..=to.parse().unwrap()).contains(&slot)
        };
        // A line a node: its name, its address with the port of the bus, and at the end its slots.
        let nodes = said(&["NODES"]);
        let mut nodes = nodes.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let primary = nodes.find(|node| node.get(8).is_some_and(|range| has(range))).unwrap();
        primary[1].split('@').next().unwrap().to_owned()
    }

    fn pids(&self) -> Vec<String> {
        let pids = std::fs::read_to_string(self.dir.path().join("pids")).unwrap_or_default();
        pids.lines().map(str::to_owned).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.pids().iter().for_each(|pid| kill(pid));
    }
}

/// What a node answers.
pub(crate) fn ask<T: redis::FromRedisValue>(address: &str, words: &[&str]) -> T {
    let client = redis::Client::open(format!("redis://{address}")).unwrap();
    let mut connection = client.get_connection().unwrap();
    redis::cmd(words[0]).arg(&words[1..]).query(&mut connection).unwrap()
}

fn kill(pid: &str) {
    // One that has ended already says so.
    let _ = Command::new("kill").args(["-KILL", pid]).stderr(Stdio::null()).status();
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/redis-cluster.sh")
}
