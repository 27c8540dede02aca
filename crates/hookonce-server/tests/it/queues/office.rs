//! A server whose messages go to a queue, and a consumer behind it with its books.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Once;

use crate::crash::wait_until;
use crate::program::{Place, Said, Server, root};

/// How many messages are sent at once.
pub(super) const MESSAGES: usize = 30;

/// The server, sending to the sink `queue`.
pub(super) struct Office {
    pub(super) place: Place,
    server: Server,
}

impl Office {
    /// Starts the program with these keys of the sink.
    pub(super) fn open(sink: &str) -> Self {
        let place = Place::new();
        place.write(
            "hookonce.toml",
            &format!(
                "[server]\nlisten = \"127.0.0.1:0\"\n[worker]\npoll = \"100ms\"\n\
                 [sources.whatsapp]\nscheme = \"meta\"\nsecrets = [\"s3cret\"]\nverify_token = \"t\"\n\
                 [[routes]]\nname = \"books\"\nsteps = [\"queue\"]\n[sinks.queue]\n{sink}\n"
            ),
        );
        place.run(&["check"]).ok();
        let server = place.serve(&[]);
        Self { place, server }
    }

    /// Has the program receive the messages in one request, and waits until all are in the queue.
    pub(super) fn receive(&self) {
        let mut messages = String::new();
        for n in 0..MESSAGES {
            let comma = if n == 0 { "" } else { "," };
            write!(
                messages,
                r#"{comma}{{"from":"{}","id":"wamid.{n}","timestamp":"1749416383","type":"text","text":{{"body":"é {n}"}}}}"#,
                n % 3
            )
            .unwrap();
        }
        let body = format!(
            r#"{{"object":"whatsapp_business_account","entry":[{{"id":"1","changes":[{{"field":"messages","value":{{"messaging_product":"whatsapp","metadata":{{"phone_number_id":"2"}},"messages":[{messages}]}}}}]}}]}}"#
        );
        self.place.write("messages.json", &body);
        let mut sign = self.place.command(&["sign", "--source", "whatsapp"]);
        sign.args(["--url", &self.server.url, "messages.json"]);
        let line = String::from_utf8(sign.output().unwrap().stdout).unwrap();
        let answer = self.place.shell(&line).ok();
        assert_eq!(answer, format!(r#"{{"new":{MESSAGES},"duplicates":0}}"#));
        wait_until("all are in the queue", || {
            let stats: serde_json::Value =
                serde_json::from_str(&self.place.run(&["stats", "--json"]).ok()).unwrap();
            stats["completed"] == MESSAGES
        });
    }
}

/// A consumer; killed when it is dropped.
pub(super) struct Consumer(Child);

impl Consumer {
    pub(super) fn start(mut command: Command) -> Self {
        Self(command.stdin(Stdio::null()).spawn().unwrap())
    }

    /// What runs a script for Node with the packages of `examples/queues`.
    pub(super) fn node(script: &str) -> Command {
        let mut command = Command::new("node");
        command.arg(made().join("queues").join(script));
        command
    }

    /// What runs a script of Python with the packages of `examples/queues`.
    pub(super) fn python(script: &str) -> Command {
        let mut command = Command::new(made().join("queues-python/bin/python"));
        command.arg(root().join("examples/queues").join(script));
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The folder of the examples' packages, which are installed if they are not there yet.
pub(super) fn made() -> PathBuf {
    static MADE: Once = Once::new();
    MADE.call_once(|| {
        let made = Command::new(root().join("scripts/examples.sh")).output().unwrap();
        assert!(made.status.success(), "{}", Said::from(made).stderr);
    });
    root().join("target/examples")
}
