//! The program with sinks that publish to brokers, and the examples' consumers behind them.

mod amqp;

use std::process::{Command, Stdio};
use std::sync::Once;

use super::crash::sender::{Message, SECRET, Sender, body};
use super::crash::wait_until;
use super::program::{Place, Said, Server, root, send};

/// A server whose messages go to a sink with these keys.
fn serve(place: &Place, sink: &str) -> Server {
    let config = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n[worker]\npoll = \"100ms\"\n\
         [sources.whatsapp]\nscheme = \"meta\"\nsecrets = [\"{SECRET}\"]\n\
         [[routes]]\nname = \"shop\"\nsteps = [\"queue\"]\n[sinks.queue]\n{sink}\n"
    );
    place.write("hookonce.toml", &config);
    place.run(&["check"]).ok();
    place.serve(&[])
}

/// Sends messages of as many people.
fn post(server: &Server, ids: impl Iterator<Item = u64>) {
    let messages: Vec<_> = ids.map(|n| Message::new(format!("wamid.{n}"), n)).collect();
    assert_eq!(Sender::new(&server.url).post(&body(&messages)).unwrap().status, 200);
}

/// Waits until as many tasks are completed.
fn wait_for(place: &Place, completed: u64) {
    wait_until("the tasks are completed", || {
        let stats = place.run(&["stats", "--json"]).ok();
        serde_json::from_str::<serde_json::Value>(&stats).unwrap()["completed"] == completed
    });
}

/// Makes every task be done again as if the server had died before it knew that it was.
fn forget(place: &Place) {
    place.sql().run(
        "update hookonce_tasks set state = 'pending', finished_at = null, due_at = 0 \
         where state = 'completed'",
    );
}

/// An example's consumer that runs; told to end when it is dropped.
struct Consumer(std::process::Child);

impl Consumer {
    /// Starts it as this command says, once the examples are made.
    fn start(command: &mut Command) -> Self {
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
        Self(quiet.env("PYTHONDONTWRITEBYTECODE", "1").spawn().unwrap())
    }

    /// Sends SIGTERM and waits for the end.
    fn end(mut self) {
        assert!(send("TERM", self.0.id()));
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Makes the examples ready to run, once.
fn make_examples() {
    static MADE: Once = Once::new();
    MADE.call_once(|| {
        let made = Command::new(root().join("scripts/examples.sh")).output().unwrap();
        assert!(made.status.success(), "{}", Said::from(made).stderr);
    });
}
