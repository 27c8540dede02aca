//! A server with routes of its own and of workers outside, and somebody for each role.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::client::{Answer, Ask, TOKENS};
use crate::crash::wait_until;
use crate::engine::member;
use crate::program::{Place, Server};

/// Text messages go to a ledger that refuses the text `no`; all messages go to two workers outside.
pub(super) const CONFIGURATION: &str = r#"
[server]
listen = "127.0.0.1:0"
min_free_disk = "1MiB"
[admin]
hosts = ["ops.example.com"]
[worker]
poll = "50ms"
[sources.a]
scheme = "meta"
unverified = true
verify_token = "y"
[sinks.ledger]
type = "sql"
statement = "insert into ledger values (NOTE)"
[[routes]]
name = "books"
kinds = ["message.text"]
steps = ["ledger"]
[[routes]]
name = "crm"
kinds = ["message.*"]
worker = "external"
order = "none"
max_attempts = 2
[[routes]]
name = "bot"
kinds = ["message.*"]
worker = "external"
order = "none"
lease = "5m"
"#;

/// A server to be called.
pub(super) struct Stand {
    pub(super) place: Place,
    pub(super) server: Server,
    /// Where the admin listener is.
    pub(super) admin: String,
}

impl Stand {
    pub(super) fn new() -> Self {
        Self::with(CONFIGURATION)
    }

    /// A stand of this configuration, to which the tokens are added.
    pub(super) fn with(configuration: &str) -> Self {
        let place = Place::new();
        let configuration = configuration.replace("NOTE", &member(":element", &["text", "body"]));
        place.write("hookonce.toml", &(configuration + &tokens()));
        place.sql().run("create table ledger (note text, constraint picky check (note <> 'no'))");
        let server = place.serve(&[]);
        let line = server.stderr_line("admin API");
        let admin = line.split("http://").nth(1).unwrap().trim_end_matches("/api").to_owned();
        Self { place, server, admin }
    }

    pub(super) fn send(&self, ask: &Ask) -> Answer {
        ask.send(&self.admin)
    }

    pub(super) fn get(&self, who: &str, path: &str) -> Answer {
        self.send(&Ask::new("GET", path).by(who))
    }

    pub(super) fn post(&self, who: &str, path: &str, body: &Value) -> Answer {
        self.send(&Ask::new("POST", path).by(who).json(body))
    }

    /// Brings a message in for each text, all in one request.
    pub(super) fn say(&self, texts: &[&str]) {
        let mut messages = String::new();
        for (n, text) in texts.iter().enumerate() {
            let comma = if n > 0 { "," } else { "" };
            let id = format!("wamid.{n}.{text}");
            write!(
                messages,
                r#"{comma}{{"from":"1555000{n}","id":"{id}","type":"text","text":{{"body":"{text}"}}}}"#
            )
            .unwrap();
        }
        self.receive(&format!(
            r#"{{"metadata":{{"phone_number_id":"2"}},"messages":[{messages}]}}"#
        ));
    }

    /// Brings in what Meta calls a value of the field `messages`.
    pub(super) fn receive(&self, value: &str) {
        let body = format!(
            r#"{{"object":"whatsapp_business_account","entry":[{{"id":"1","changes":[{{"field":"messages","value":{value}}}]}}]}}"#
        );
        let address = self.server.url.strip_prefix("http://").unwrap();
        Ask::new("POST", "/webhooks/a").json(&body).send(address).expect(200);
    }

    /// Waits until events are listed under this query, and gives them.
    pub(super) fn wait_for(&self, query: &str, n: usize) -> Vec<Value> {
        let path = format!("/api/events?{query}");
        let list =
            || self.get("viewer", &path).expect(200).json()["events"].as_array().unwrap().clone();
        wait_until(&path, || list().len() == n);
        list()
    }

    /// An event with everything that is known of it.
    pub(super) fn show(&self, id: &str) -> Value {
        self.get("viewer", &format!("/api/events/{id}")).expect(200).json()
    }

    /// The one task that is claimed of a route, by whoever has both.
    pub(super) fn claim(&self, route: &str) -> Value {
        let body = json!({ "routes": [route], "limit": 1, "worker": "w" });
        let claims = self.post("both", "/api/claims", &body).expect(200).json();
        claims["claims"][0].clone()
    }
}

fn tokens() -> String {
    let mut text = String::new();
    for ((name, token), role) in TOKENS.iter().zip(["view", "operate", "worker", "worker"]) {
        let routes = match *name {
            "crm" => "routes = [\"crm\"]\n",
            "both" => "routes = [\"crm\", \"bot\"]\n",
            _ => "",
        };
        writeln!(
            text,
            "[[admin.tokens]]\nname = \"{name}\"\nrole = \"{role}\"\ntoken = \"{token}\"\n{routes}"
        )
        .unwrap();
    }
    text
}

/// The path of a call about a claim.
pub(super) fn path(claim: &Value, call: &str) -> String {
    let text = |name: &str| claim[name].as_str().unwrap();
    format!("/api/claims/{}/{}/{call}", text("id"), text("route"))
}
