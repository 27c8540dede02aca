//! What a case stands on: the program in a directory of its own, with the source that the corpus is
//! signed for, and a ledger or a handler at the other end.

use std::time::{Duration, Instant};

use hookonce::event::EventId;
use serde_json::Value;

use super::bot::Bot;
use super::case::Case;
use super::client::{Answer, Client, request, signed};
use crate::engine::{Sql, either};
use crate::program::{Place, Server};

/// How long anything that is waited for may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

const SOURCES: &str = r#"
[worker]
poll = "100ms"
grace = "1s"

[sources.meta]
scheme = "meta"
secrets = ["test-app-secret-0001"]
verify_token = "test-verify-0001"

[sinks.ledger]
type = "sql"
statement = "insert into ledger (key, element) values (:key, :element)"
"#;

/// A source of scheme `waha`, under the secret of the corpus.
pub(crate) const WAHA: &str =
    "[sources.waha]\nscheme = \"waha\"\nsecrets = [\"test-app-secret-0001\"]\n";

/// A route of everything to the ledger.
pub(crate) const LEDGER: &str = "[[routes]]\nname = \"ledger\"\nsteps = [\"ledger\"]\n";

/// The program, running.
pub(crate) struct Stand {
    /// The application's own connection to the database.
    pub(crate) sql: Sql,
    server: Option<Server>,
    /// Last, since its database goes with it.
    pub(crate) place: Place,
}

impl Stand {
    /// Every event has one row of the ledger as its effect.
    pub(crate) fn ledger() -> Self {
        Self::with(LEDGER)
    }

    /// Every event is posted to `bot`, by a route with these settings.
    pub(crate) fn bot(bot: &Bot, settings: &str) -> Self {
        Self::with(&bot_route(bot, settings))
    }

    /// With this after the common part of the configuration.
    pub(crate) fn with(rest: &str) -> Self {
        Self::configured("min_free_disk = \"0B\"", &[SOURCES, rest].concat())
    }

    /// With these settings of the server, and with this after them.
    pub(crate) fn configured(server: &str, rest: &str) -> Self {
        let place = Place::new();
        let config = format!("[server]\nlisten = \"127.0.0.1:0\"\n{server}\n{rest}");
        place.write("hookonce.toml", &config);
        // The application's own table, in the application's own database.
        let n = either("integer primary key", "bigint generated always as identity primary key");
        let sql = place.asks();
        sql.run(&format!("create table ledger (n {n}, key text not null, element text not null)"));
        let mut stand = Self { place, sql, server: None };
        stand.start();
        stand
    }

    /// With these settings of the server, a ledger, and the common part.
    pub(crate) fn limited(server: &str) -> Self {
        Self::configured(server, &[SOURCES, LEDGER].concat())
    }

    pub(crate) fn start(&mut self) {
        self.server = Some(self.another());
    }

    /// Another process on the same file.
    pub(crate) fn another(&self) -> Server {
        self.place.serve(&[])
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        drop(self.server.take());
    }

    pub(crate) fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    /// The server itself, to see its end.
    pub(crate) fn take(&mut self) -> Server {
        self.server.take().unwrap()
    }

    pub(crate) fn connect(&self) -> Client {
        connect(self.server())
    }

    /// The answer to one request on a connection of its own.
    pub(crate) fn ask(&self, bytes: impl AsRef<[u8]>) -> Answer {
        self.connect().ask(bytes)
    }

    /// The answers to requests that are sent at the same time, each on its connection.
    pub(crate) fn ask_at_once(&self, requests: impl IntoIterator<Item = Vec<u8>>) -> Vec<Answer> {
        ask_at_once(requests.into_iter().map(|request| (self.server(), request)))
    }

    /// Sends the request of a case as it is.
    pub(crate) fn send(&self, id: &str) -> Answer {
        self.ask(bytes_of(id))
    }

    /// Sends a body with its signature.
    pub(crate) fn post(&self, body: impl AsRef<[u8]>) -> Answer {
        self.ask(signed(body))
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask(request("GET", path, [("A", "b")], b""))
    }

    /// Waits until nothing is to be done any more.
    pub(crate) fn settle(&self) {
        let open = "from hookonce_tasks t join hookonce_events e using (seq) \
                    where t.state in ('pending', 'claimed')";
        let began = Instant::now();
        while self.texts(&format!("select t.route {open} limit 1")) != [""; 0] {
            if began.elapsed() > LIMIT {
                let said = "select e.key || ' is ' || t.state || ' in attempt ' || t.attempt \
                            || ' in epoch ' || t.epoch || ', due ' \
                            || coalesce(cast(t.due_at as text), '-') \
                            || ', lease ' || coalesce(cast(t.lease_until as text), '-') \
                            || ': ' \
                            || coalesce(t.error, '')";
                panic!("not all is done: {:#?}", self.texts(&format!("{said} {open}")));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// The keys of the effects, in the order in which they happened.
    pub(crate) fn effects(&self) -> Vec<String> {
        self.settle();
        self.texts("select key from ledger order by n")
    }

    /// The elements that the ledger was given, in order.
    pub(crate) fn elements(&self) -> Vec<String> {
        self.settle();
        self.texts("select element from ledger order by n")
    }

    /// Every event, oldest first, as `hookonce list` gives it.
    pub(crate) fn events(&self) -> Vec<Value> {
        let page = self.place.run(&["list", "--json", "--limit", "1000"]).ok();
        let mut page: Value = serde_json::from_str(&page).unwrap();
        let mut events = std::mem::take(page["events"].as_array_mut().unwrap());
        events.reverse();
        events
    }

    /// A field of every event, oldest first.
    pub(crate) fn each(&self, field: &str) -> Vec<String> {
        let text = |event: &Value| event[field].as_str().unwrap_or("-").to_owned();
        self.events().iter().map(text).collect()
    }

    /// One event with all that is known of it, as `hookonce show` gives it.
    pub(crate) fn show(&self, key: &str) -> Value {
        let id = EventId::of("meta", key).to_string();
        serde_json::from_str(&self.place.run(&["show", "--json", &id]).ok()).unwrap()
    }

    pub(crate) fn count(&self, what: &str) -> i64 {
        self.sql.number(&format!("select count(*) from {what}"))
    }

    pub(crate) fn texts(&self, sql: &str) -> Vec<String> {
        self.sql.texts(sql)
    }

    /// The application's own connection to a file.
    pub(crate) fn database(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.place.path("hookonce.db")).unwrap()
    }
}

/// A sink that posts to `bot`, and a route of everything to it with these settings.
pub(crate) fn bot_route(bot: &Bot, settings: &str) -> String {
    route_to(bot.address, settings)
}

/// A sink that posts to an address, and a route of everything to it with these settings.
pub(crate) fn route_to(address: std::net::SocketAddr, settings: &str) -> String {
    format!(
        "[sinks.bot]\ntype = \"http\"\nurl = \"http://{address}/\"\nconcurrency = 64\n\
         [[routes]]\nname = \"bot\"\nsteps = [\"bot\"]\nretry_min = \"10ms\"\n{settings}\n"
    )
}

pub(crate) fn connect(server: &Server) -> Client {
    Client::connect(server.url.strip_prefix("http://").unwrap())
}

/// The answers to requests that are sent at the same time, each to its server.
pub(crate) fn ask_at_once<'s>(
    requests: impl IntoIterator<Item = (&'s Server, Vec<u8>)>,
) -> Vec<Answer> {
    let requests: Vec<_> =
        requests.into_iter().map(|(server, bytes)| (connect(server), bytes)).collect();
    std::thread::scope(|scope| {
        let ask = |(mut client, bytes): (Client, Vec<u8>)| scope.spawn(move || client.ask(bytes));
        let asked: Vec<_> = requests.into_iter().map(ask).collect();
        asked.into_iter().map(|answer| answer.join().unwrap()).collect()
    })
}

/// The bytes of a case's request.
pub(crate) fn bytes_of(id: &str) -> Vec<u8> {
    let case = Case::of(id);
    request(&case.http.method, &case.http.path, &case.http.headers, &case.body())
}

/// Waits for a condition, and fails when it takes too long.
pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < LIMIT, "not within {LIMIT:?}: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The key of a message to the first of our numbers.
pub(crate) fn message(id: &str) -> String {
    format!("message:200000000000001:{id}")
}

/// The key of a status of one of its messages.
pub(crate) fn status(id: &str, word: &str) -> String {
    format!("status:200000000000001:{id}:{word}")
}

/// A request of text messages, each from a sender under an id.
pub(crate) fn texts<'a>(messages: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let message = |(from, id): (&str, &str)| {
        format!(
            r#"{{"from":"{from}","id":"{id}","timestamp":"1760000000","type":"text","text":{{"body":"hola"}}}}"#
        )
    };
    let list: Vec<_> = messages.into_iter().map(message).collect();
    envelope(&format!(r#""messages":[{}]"#, list.join(",")))
}

/// A request of so many messages, each of a conversation of its own.
pub(crate) fn message_flood(n: usize) -> String {
    let many: Vec<_> = (0..n).map(|n| (format!("1555014{n:04}"), format!("m{n}"))).collect();
    texts(many.iter().map(|(from, id)| (from.as_str(), id.as_str())))
}

/// So many statuses, in requests of a hundred.
pub(crate) fn status_flood(n: usize) -> impl Iterator<Item = String> {
    let one = |n: usize| {
        format!(
            r#"{{"id":"wamid.{n}","status":"delivered","timestamp":"1760000000","recipient_id":"15550100011"}}"#
        )
    };
    (0..n / 100).map(move |request| {
        let list: Vec<_> = (0..100).map(|n| one(100 * request + n)).collect();
        envelope(&format!(r#""statuses":[{}]"#, list.join(",")))
    })
}

/// A request of one change, with these members beside its metadata.
pub(crate) fn envelope(members: &str) -> String {
    format!(
        r#"{{"object":"whatsapp_business_account","entry":[{{"id":"100000000000001","changes":[{{"field":"messages","value":{{"messaging_product":"whatsapp","metadata":{{"display_phone_number":"15550100001","phone_number_id":"200000000000001"}},{members}}}}}]}}]}}"#
    )
}

/// The most memory that the process ever had, in KiB.
pub(crate) fn memory(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().split(' ').next().unwrap().parse().unwrap()
}
