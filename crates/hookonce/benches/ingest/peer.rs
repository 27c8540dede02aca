//! What people write by hand: a receiver in Node that inserts and catches the unique violation, in
//! `bench/peers/express-pg`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::load::{Load, Measured};
use crate::on_a_database;
use crate::server::SECRET;

/// Puts the load on it; `None` where its packages were not installed, as `scripts/bench.sh` does.
pub(crate) fn run(load: &Load) -> Option<Measured> {
    let folder = folder();
    if !folder.join("node_modules").exists() {
        println!("Express and pg: not measured, `scripts/bench.sh` installs its packages");
        return None;
    }
    Some(on_a_database(load, |url| {
        let mut command = Command::new("node");
        command.arg(folder.join("server.js")).env("DATABASE_URL", url).env("APP_SECRET", SECRET);
        command
    }))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/peers/express-pg")
}
