//! The network between a node and its database: passes on what both sides say, holds it up, and loses it.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// What is held up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    Nothing,
    /// What the server says: it has done what it was told, and nobody knows.
    Answers,
    /// Both ways.
    All,
}

/// A network of one node's own; it is up for as long as the test runs.
pub(super) struct Network {
    pub(super) port: u16,
    state: Arc<State>,
}

struct State {
    held: Mutex<(Held, Vec<TcpStream>)>,
    changed: Condvar,
}

impl Network {
    /// To the server at this port.
    pub(super) fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let held = Mutex::new((Held::Nothing, vec![]));
        let state = Arc::new(State { held, changed: Condvar::new() });
        let network = Self { port, state: state.clone() };
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // A server that is away refuses, and so does its network.
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                state.pass(client, server);
            }
        });
        network
    }

    /// Holds this up from now on, in the middle of whatever is being said.
    pub(super) fn hold(&self, what: Held) {
        self.state.held.lock().unwrap().0 = what;
        self.state.changed.notify_all();
    }

    /// Loses what is held up, with all connections.
    pub(super) fn cut(&self) {
        for stream in self.state.held.lock().unwrap().1.drain(..) {
            // It may have ended by itself.
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.hold(Held::Nothing);
    }
}

impl State {
    fn pass(self: &Arc<Self>, client: TcpStream, server: TcpStream) {
        let copy = |stream: &TcpStream| stream.try_clone().unwrap();
        for stream in [&client, &server] {
            // Halves are not kept until the other side has heard of the first.
            stream.set_nodelay(true).unwrap();
        }
        {
            let known = &mut self.held.lock().unwrap().1;
            known.retain(|stream| stream.peer_addr().is_ok());
            known.extend([copy(&client), copy(&server)]);
        }
        for (from, to, is_answer) in [(copy(&client), copy(&server), false), (server, client, true)]
        {
            let state = self.clone();
            thread::spawn(move || state.hand_on(from, to, is_answer));
        }
    }

    fn hand_on(&self, mut from: TcpStream, mut to: TcpStream, is_answer: bool) {
        let mut part = [0; 4096];
        while let Ok(n @ 1..) = from.read(&mut part) {
            // Half of it arrives, if it is held up just now.
            let (first, second) = part[..n].split_at(n / 2);
            if to.write_all(first).is_err() {
                break;
            }
            let is_held = |(held, _): &mut (Held, Vec<TcpStream>)| {
                *held == Held::All || *held == Held::Answers && is_answer
            };
            drop(self.changed.wait_while(self.held.lock().unwrap(), is_held).unwrap());
            if to.write_all(second).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    }
}
