//! A store in PostgreSQL, as whoever sets it up and runs it meets it.

use std::net::{TcpListener, TcpStream};
use std::process::Command;

use serde_json::Value;

use crate::cases::client::{Client, request, signed};
use crate::cases::stand::{connect, texts};
use crate::crash::wait_until;
use crate::engine::{is_postgres, on_both, on_postgres};
use crate::program::{Place, Said, Server};

on_both![tables_are_made_once_and_it_is_said_from_which_version_to_which];

const CONFIG: &str = r#"
[server]
listen = "127.0.0.1:0"
[sources.meta]
scheme = "meta"
secrets = ["test-app-secret-0001"]
verify_token = "y"
[sinks.print]
type = "log"
[[routes]]
name = "books"
steps = ["print"]
"#;

/// A place with this before its configuration.
fn place(before: &str) -> Place {
    let place = Place::new();
    place.write("hookonce.toml", &[before, CONFIG].concat());
    place
}

fn with(place: &Place, variables: &[(&str, &str)], arguments: &[&str]) -> Said {
    Said::from(command(place, variables, arguments).output().unwrap())
}

fn command(place: &Place, variables: &[(&str, &str)], arguments: &[&str]) -> Command {
    let mut command = place.command(arguments);
    command.envs(variables.iter().copied());
    command
}

fn tables_are_made_once_and_it_is_said_from_which_version_to_which() {
    let place = place("");
    let migrate =
        || -> Value { serde_json::from_str(&place.run(&["migrate", "--json"]).ok()).unwrap() };
    let first = migrate();
    assert_eq!((&first["from"], &first["grants"]), (&0.into(), &Value::Null));
    assert!(first["to"].as_i64().unwrap() >= 1);
    assert_eq!(migrate()["from"], first["to"]);
    let said = place.run(&["migrate"]).ok();
    assert!(said.contains(" are up to date: version "), "{said}");
    let shown =
        if is_postgres() { "the tables of `postgres://" } else { "the tables of `hookonce.db`" };
    assert!(said.starts_with(shown), "{said}");
}

#[test]
fn an_address_that_is_none_is_told_with_its_line_and_without_its_password() {
    for address in [
        "postgres://u:hunter2@h:port/d",
        "postgres://u:hunter2@h/d?sslmod=require",
        "postgres://u:hun/ter2@h/d",
        "postgres://u:hun@ter2@h/d",
        "postgresql:u:hunter2@h/d",
    ] {
        let place = place(&format!("store = \"{address}\"\n"));
        let said = place.run(&["check"]);
        assert!(
            said.code == 1 && said.stderr.starts_with("hookonce.toml:1: store: "),
            "{}",
            said.stderr
        );
        assert!(!said.stderr.contains("ter2"), "a password is shown: {}", said.stderr);
    }
    let place =
        place("[postgres]\nconnections = 1\nlisten_url = \"sqlite:x\"\npassword = \"env:NONE\"\n");
    let said = place.run(&["check"]).stderr;
    for part in ["2: postgres.connections: ", "3: postgres.listen_url: ", "4: postgres.password: "]
    {
        assert!(said.contains(&format!("hookonce.toml:{part}")), "{said}");
    }
}

#[test]
fn how_a_database_is_reached_is_told_to_be_idle_where_the_store_is_a_file() {
    let said = place("[postgres]\nconnections = 4\n").run(&["check"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let warning =
        "warning: hookonce.toml:1: postgres: it says how a `store` that is `postgres://…`";
    assert!(said.stderr.starts_with(warning), "{}", said.stderr);
}

#[test]
fn what_only_a_person_can_mend_is_not_waited_for() {
    on_postgres(|| {
        let place = place("");
        let missing = [place.store(), "_missing".to_owned()].concat();
        let said = with(&place, &[("HOOKONCE_STORE", &missing)], &["serve"]);
        assert_eq!(said.code, 1);
        assert!(said.stderr.contains("there is no such database: create it"), "{}", said.stderr);
        let said = place.run(&["list"]);
        assert!(
            said.stderr.contains("`hookonce migrate` or `hookonce serve` makes"),
            "{}",
            said.stderr
        );
        let said = place.run(&["backup", "x.dump"]);
        assert!(said.code == 1 && said.stderr.contains("`pg_dump "), "{}", said.stderr);
        place.run(&["migrate"]).ok();
        place.sql().run("insert into hookonce_migrations values (99, now())");
        let said = place.run(&["serve"]);
        assert!(said.code == 1 && said.stderr.contains("version 99"), "{}", said.stderr);
    });
}

#[test]
fn a_database_that_comes_later_is_waited_for() {
    on_postgres(|| {
        let place = place("");
        let door = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = door.local_addr().unwrap();
        drop(door);
        let url = place.store();
        let (before, behind) = url.split_once('@').unwrap();
        let (server_at, name) = behind.split_once('/').unwrap();
        let store = format!("{before}@{at}/{name}");
        let server =
            Server::listening(&mut command(&place, &[("HOOKONCE_STORE", &store)], &["serve"]));
        let why = server.stderr_line("waiting for the store");
        assert!(why.contains("can't be reached"), "{why}");
        let ask = |path: &str| connect(&server).ask(request("GET", path, [("A", "b")], b""));
        assert_eq!((ask("/healthz").status, ask("/readyz").status), (200, 503));
        let posted = |id: &str| connect(&server).ask(signed(texts([("1", id)])));
        let answer = posted("early");
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("5")));
        forward(at.to_string(), server_at.to_owned());
        server.stderr_line("is open");
        wait_until("it is ready", || ask("/readyz").status == 200);
        assert_eq!(posted("early").counts(), (1, 0));
        assert!(server.stdout_line("early").contains("message.text"));
        assert!(server.terminate().success());
    });
}

/// Listens at an address, and hands on to another what comes.
fn forward(from: String, to: String) {
    let listener = TcpListener::bind(from).unwrap();
    let hand_on = |mut from: TcpStream, mut to: TcpStream| {
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(std::net::Shutdown::Write);
        });
    };
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(&to).unwrap();
            hand_on(stream.try_clone().unwrap(), server.try_clone().unwrap());
            hand_on(server, stream);
        }
    });
}

#[test]
fn the_doctor_tells_how_the_server_is() {
    on_postgres(|| {
        let place = place("");
        let found = || -> Vec<Value> {
            serde_json::from_str(&place.run(&["doctor", "--json"]).stdout).unwrap()
        };
        let is = |check: &str, state: &str, part: &str| {
            let found = found();
            let fits = |finding: &Value| {
                finding["check"] == check
                    && finding["state"] == state
                    && finding["message"].as_str().unwrap().contains(part)
            };
            assert!(found.iter().any(fits), "{check} {state} {part}: {found:#?}");
        };
        is("store", "wrong", "`hookonce migrate`");
        place.run(&["migrate"]).ok();
        is("store", "fine", "is PostgreSQL ");
        for check in ["server", "clock", "connections", "transactions", "vacuum", "readiness"] {
            is(check, "fine", "");
        }
        let name = place.store().rsplit('/').next().unwrap().to_owned();
        place.sql().run(&format!("alter database {name} set default_transaction_read_only = on"));
        is("server", "wrong", "`default_transaction_read_only`");
        is("readiness", "wrong", "takes no writes now");
    });
}

/// An answer of a server is one thing, that of two on one database another.
#[test]
fn two_servers_on_one_database_share_what_they_know() {
    on_postgres(|| {
        let place = place("");
        let servers = [place.serve(&[]), place.serve(&[])];
        let post = |server: &Server, id: &str| -> (u64, u64) {
            let mut client: Client = connect(server);
            client.ask(signed(texts([("1", id)]))).counts()
        };
        assert_eq!((post(&servers[0], "a"), post(&servers[1], "a")), ((1, 0), (0, 1)));
        let stats: Value = serde_json::from_str(&place.run(&["stats", "--json"]).ok()).unwrap();
        assert_eq!((&stats["events"], &stats["duplicates"]), (&1.into(), &1.into()));
    });
}
