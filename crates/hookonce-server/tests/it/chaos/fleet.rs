//! Nodes of the real program on one store, each behind a network of its own.

use std::process::Command;
use std::sync::Mutex;

use super::network::Network;
use crate::program::{Place, Server};

/// The nodes and their configuration.
pub(super) struct Fleet {
    place: Place,
    pub(super) networks: Vec<Network>,
    /// Those that run.
    pub(super) running: Vec<Mutex<Option<Server>>>,
    /// What each process is started with, such as a clock that is wrong.
    variables: Vec<Vec<(String, String)>>,
    /// The address of the store, `PORT` standing for that of the network before it.
    store: &'static str,
}

impl Fleet {
    /// As many nodes as there are variables for, none up yet, whose store is at this port.
    pub(super) fn new(
        config: &str,
        variables: Vec<Vec<(String, String)>>,
        port: u16,
        store: &'static str,
    ) -> Self {
        let place = Place::new();
        place.write("hookonce.toml", config);
        let networks = variables.iter().map(|_| Network::to(port)).collect();
        let running = variables.iter().map(|_| Mutex::default()).collect();
        Self { place, networks, running, variables, store }
    }

    pub(super) fn all_up(&self) {
        for node in 0..self.running.len() {
            self.up(node);
        }
    }

    /// Starts a node and waits until it listens; whether it can store is another thing.
    pub(super) fn up(&self, node: usize) {
        let port = self.networks[node].port.to_string();
        let mut command = self.command(&self.store.replace("PORT", &port));
        command.envs(self.variables[node].iter().map(|(name, value)| (name, value)));
        *self.running[node].lock().unwrap() = Some(Server::listening(&mut command));
    }

    /// Another node that reaches the store so.
    pub(super) fn command(&self, url: &str) -> Command {
        let mut command = self.place.command(&["serve"]);
        command.env("HOOKONCE_STORE", url);
        command
    }

    /// `kill -9`.
    pub(super) fn kill(&self, node: usize) {
        drop(self.running[node].lock().unwrap().take());
    }

    /// Where a node listens, if it runs.
    pub(super) fn url(&self, node: usize) -> Option<String> {
        self.running[node].lock().unwrap().as_ref().map(|server| server.url.clone())
    }
}
