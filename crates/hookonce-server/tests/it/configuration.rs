//! What is wrong with a configuration is said all at once, with its line and what to do next.

mod admin;
mod amqp;
mod gateways;
mod generic;
mod hidden;
mod network;
mod queues;

use super::program::{Place, Said};

/// A configuration with nothing wrong in it.
const GOOD: &str = r#"
[sources.whatsapp]
scheme = "meta"
secrets = ["env:APP_SECRET", "file:second"]
verify_token = "token"
[[routes]]
name = "books"
sources = ["whatsapp"]
kinds = ["message.*"]
steps = ["ledger", "bot"]
[sinks.ledger]
type = "log"
[sinks.bot]
type = "http"
url = "http://127.0.0.1:3000/webhook"
"#;

/// What is replaced in it by what, and what is said of it then.
const WRONG: &[(&str, &str, &str)] = &[
    // Keys.
    ("[sinks.ledger]", "[sinks.ledger]\ncolour = 1", "12: sinks.ledger.colour: there is no key"),
    ("kinds =", "kind =", "9: routes[0].kind: there is no key `kind`; did you mean `kinds`?"),
    ("[sources.", "[source.", "2: source: there is no key `source`; did you mean `sources`?"),
    (
        "steps =",
        "timeout = \"1s\"\nsteps =",
        "10: routes[0].timeout: there is no key `timeout` here; it belongs in",
    ),
    (
        "[sources.",
        "listen = \"x:1\"\n[sources.",
        "2: listen: there is no key `listen` here; it belongs in `[server]`",
    ),
    (
        "type = \"http\"",
        "typ = \"http\"",
        "13: sinks.bot: `type` is missing; say which: \"http\", \"exec\", \"sql\", \"log\", ",
    ),
    ("url =", "uri =", "15: sinks.bot.uri: there is no key `uri`; did you mean `url`?"),
    ("name = \"books\"\n", "", "6: routes[0]: `name` is missing"),
    // Keys and words of later versions.
    (
        "scheme =",
        "verify = \"x\"\nscheme =",
        "3: sources.whatsapp.verify: there is no key `verify`; there are",
    ),
    ("\"meta\"", "\"twilo\"", "3: sources.whatsapp.scheme: there is no `twilo`; there is"),
    (
        "[sources.",
        "store = \"redis://u:hunter2@h/x\"\n[sources.",
        "2: store: the address of the store can't be read: the database is a number",
    ),
    // Values.
    (
        "\"meta\"",
        "\"metta\"",
        "3: sources.whatsapp.scheme: there is no `metta`; there is \"meta\", ",
    ),
    (
        "steps =",
        "lease = \"1 minute\"\nsteps =",
        "10: routes[0].lease: `1 minute` is no duration; write",
    ),
    (
        "steps =",
        "lease = 60\nsteps =",
        "10: routes[0].lease: invalid type: integer `60`, expected a duration in quotes",
    ),
    (
        "steps =",
        "worker = \"external\"\nsteps =",
        "11: routes[0].steps: a route with `worker = \"external\"` has no steps",
    ),
    ("steps =", "max_age = \"0s\"\nsteps =", "10: routes[0].max_age: it can't be 0"),
    ("url =", "rate = \"5\"\nurl =", "15: sinks.bot.rate: `5` is no rate; write a whole number"),
    ("url =", "on_unknown = \"stop\"\nurl =", "15: sinks.bot.on_unknown: unknown variant `stop`"),
    ("scheme =", "ack = \"done\"\nscheme =", "3: sources.whatsapp.ack: unknown variant `done`"),
    ("steps =", "order = \"lanes\"\nsteps =", "10: routes[0].order: unknown variant `lanes`"),
    ("steps =", "max_attempts = 0\nsteps =", "10: routes[0].max_attempts: write at least 1"),
    (
        "steps =",
        "retry_min = \"3h\"\nsteps =",
        "10: routes[0].retry_min: 3h is more than `retry_max`, 2h",
    ),
    (
        "[sources.",
        "[server]\nbody_limit = \"4MB\"\n[sources.",
        "3: server.body_limit: `4MB` is no size; write",
    ),
    (
        "[sources.",
        "[server]\nlisten = \":8080\"\n[sources.",
        "3: server.listen: `:8080` is no address; write",
    ),
    (
        "[sources.",
        "[server]\nbody_limit = \"0B\"\n[sources.",
        "3: server.body_limit: nothing could be received",
    ),
    (
        "[sources.",
        "[server]\nbody_limit = \"129MiB\"\n[sources.",
        "3: server.body_limit: 129MiB is more than the 128MiB that all requests",
    ),
    (
        "[sources.",
        "[server]\nack_timeout = \"499ms\"\n[sources.",
        "3: server.ack_timeout: 100 ms of it are kept for the answer, so 499ms leaves too little",
    ),
    ("[sources.", "[worker]\nslots = 0\n[sources.", "3: worker.slots: write a number from 1"),
    ("[sources.", "[worker]\npoll = \"0s\"\n[sources.", "3: worker.poll: it can't be 0"),
    (
        "[sources.",
        "[worker]\npoll = \"61s\"\n[sources.",
        "3: worker.poll: retries and the tasks of a worker that died are looked for this often, so \
         61s would",
    ),
    (
        "[sources.",
        "[retention]\nkey = \"6d\"\n[sources.",
        "3: retention.key: 6d is shorter than the 7d for which Meta",
    ),
    (
        "[sources.",
        "store = \"hookonce.db\"\n[sources.",
        "2: store: this is no store; write `sqlite:`",
    ),
    (
        "[sources.",
        "store = \"sqlite::memory:\"\n[sources.",
        "2: store: events must outlive the server",
    ),
    ("http://", "ftp://", "15: sinks.bot.url: this is no URL; write one"),
    ("url =", "permanent = [429]\nurl =", "15: sinks.bot.permanent[0]: 429 can't be permanent"),
    ("url =", "sign_as = \"meta\"\nurl =", "15: sinks.bot.sign_as: there is nothing to sign with"),
    // Names.
    ("[sources.whatsapp]", "[sources.WhatsApp]", "2: sources.WhatsApp: a name is 1 to 64 of"),
    ("\"books\"", "\"my books\"", "7: routes[0].name: a name is 1 to 64 of"),
    (
        "[\"whatsapp\"]",
        "[\"whatsap\"]",
        "8: routes[0].sources[0]: there is no source `whatsap`; did you mean `whatsapp`?",
    ),
    (
        "[\"ledger\", \"bot\"]",
        "[\"ledger\", \"x\"]",
        "10: routes[0].steps[1]: there is no sink `x`; there are bot, ledger",
    ),
    (
        "[\"ledger\", \"bot\"]",
        "[\"bot\", \"bot\"]",
        "10: routes[0].steps[1]: `bot` is a step of this route already",
    ),
    ("[\"ledger\", \"bot\"]", "[]", "10: routes[0].steps: it is empty; name at least one sink"),
    ("[\"message.*\"]", "[]", "9: routes[0].kinds: it is empty, so the route takes nothing"),
    ("message.*", "Message.*", "9: routes[0].kinds[0]: `Message.*` never matches"),
    (
        "[[routes]]",
        "[[routes]]\nname = \"books\"\nsteps = [\"bot\"]\n[[routes]]",
        "10: routes[1].name: there is a route `books` already",
    ),
    // Secrets.
    (
        "env:APP_SECRET",
        "env:UNSET",
        "4: sources.whatsapp.secrets[0]: the environment variable `UNSET` is not set",
    ),
    ("env:APP_SECRET", " ", "4: sources.whatsapp.secrets[0]: it is empty; an empty secret"),
    ("file:second", "file:third", "4: sources.whatsapp.secrets[1]: cannot read `third`"),
    ("\"token\"", "\"\"", "5: sources.whatsapp.verify_token: it is empty"),
    (
        "scheme =",
        "signature = \"dialog360\"\nscheme =",
        "6: sources.whatsapp.verify_token: 360dialog asks no challenge; remove it",
    ),
    (
        "[\"env:APP_SECRET\", \"file:second\"]",
        "[]",
        "2: sources.whatsapp: without `secrets` nobody",
    ),
    (
        "scheme =",
        "unverified = true\nscheme =",
        "3: sources.whatsapp.unverified: `unverified` would leave",
    ),
    // Text.
    ("\"books\"", "\"books", "7: this is not TOML: "),
    ("[sinks.bot]", "[sinks.ledger]", "13: this is not TOML: duplicate key"),
    ("[[routes]]", "[routes]", "6: routes: write a table for each of them: `[[routes]]`"),
];

fn check(text: &str) -> Said {
    let place = Place::new();
    place.write("hookonce.toml", text);
    place.write("second", "another\n");
    let mut command = place.command(&["check"]);
    Said::from(command.env("APP_SECRET", " s3cret ").output().unwrap())
}

/// Checks the good configuration with `from` replaced by `to`.
fn check_with(from: &str, to: &str) -> Said {
    assert!(GOOD.contains(from), "{from}");
    check(&GOOD.replacen(from, to, 1))
}

#[test]
fn a_good_configuration_is_accepted_without_a_warning() {
    let said = check(GOOD);
    assert_eq!(said.stderr, "");
    said.ok();
}

#[test]
fn every_key_is_accepted() {
    let said = check(
        r#"
        store = "sqlite:a.db"
        [server]
        listen = "[::]:0"
        body_limit = "128MiB"
        ack_timeout = "500ms"
        min_free_disk = "0B"
        [worker]
        slots = 8
        grace = "0s"
        poll = "250ms"
        [retention]
        payload = "1h"
        key = "7d"
        dead = "1d"
        [sources.a-b_1]
        scheme = "meta"
        secrets = ["x"]
        verify_token = "y"
        scope = "whatsapp"
        [sources.open]
        scheme = "meta"
        unverified = true
        [[routes]]
        name = "r"
        sources = ["a-b_1", "open"]
        kinds = ["*", "status.*"]
        steps = ["http", "sql", "log"]
        lease = "1s"
        max_attempts = 1
        order = "none"
        retry_min = "1s"
        retry_max = "1s"
        on_dead = "hold"
        worker = "server"
        [[routes]]
        name = "outside"
        worker = "external"
        [sinks.http]
        type = "http"
        url = "https://example.com"
        timeout = "1s"
        concurrency = 1
        permanent = [400]
        secret = "z"
        sign_as = "meta"
        [sinks.sql]
        type = "sql"
        statement = "select :id"
        [sinks.log]
        type = "log"
        "#,
    );
    assert!(said.stderr.contains("UNVERIFIED"), "{}", said.stderr);
    said.ok();
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_what_to_do() {
    assert_said(WRONG);
}

/// Checks that each replacement is complained of as it should be.
fn assert_said(cases: &[(&str, &str, &str)]) {
    let mut wrong = vec![];
    for (from, to, message) in cases {
        let said = check_with(from, to);
        let expected = format!("hookonce.toml:{message}");
        if !said.stderr.contains(&expected) || said.code != 1 {
            wrong.push(format!("expected {expected}\n     got {}", said.stderr));
        }
        assert!(!said.stderr.contains("hunter2"), "a password is shown: {}", said.stderr);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn everything_that_is_wrong_is_said_at_once_in_order_of_lines() {
    let text = GOOD
        .replace("env:APP_SECRET", "env:UNSET")
        .replace("kinds =", "kind =")
        .replace("\"bot\"]", "\"bott\"]")
        .replace("url =", "ratte = \"1/s\"\nurl =");
    let said = check(&text);
    let lines: Vec<_> = said.stderr.lines().map(|line| line.split(": ").next().unwrap()).collect();
    let expected = ["hookonce.toml:4", "hookonce.toml:9", "hookonce.toml:10", "hookonce.toml:15"];
    assert_eq!(lines, expected, "{}", said.stderr);
}

#[test]
fn what_works_but_should_be_known_is_a_warning() {
    let cases = [
        ("verify_token = \"token\"\n", "", "2: sources.whatsapp: there is no `verify_token`"),
        (
            "message.*",
            "messages.*",
            "9: routes[0].kinds[0]: is `messages.*` meant to be `message.*`?",
        ),
        ("[\"ledger\", \"bot\"]", "[\"bot\"]", "11: sinks.ledger: no route has this sink"),
        (
            "[[routes]]",
            "[sources.b]\nscheme = \"meta\"\nsecrets = [\"x\"]\n[[routes]]",
            "6: sources.b: no route takes",
        ),
        (
            "[sources.",
            "[server]\nbody_limit = \"2MiB\"\n[sources.",
            "3: server.body_limit: Meta's requests are up to 3 MB long",
        ),
    ];
    for (from, to, message) in cases {
        let said = check_with(from, to);
        let expected = format!("warning: hookonce.toml:{message}");
        assert!(said.stderr.contains(&expected), "{expected}\n{}", said.stderr);
        said.ok();
    }
}

#[test]
fn problems_can_be_read_by_a_program() {
    let place = Place::new();
    place.write("hookonce.toml", "colour = 1\n");
    let said = place.run(&["check", "--json"]);
    assert_eq!((said.code, said.stderr.as_str()), (1, ""));
    let said: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(said["ok"], false);
    assert_eq!(
        (&said["problems"][0]["line"], &said["problems"][0]["key"]),
        (&1.into(), &"colour".into())
    );
}

#[test]
fn the_configuration_is_found_by_flag_then_environment_then_name() {
    let place = Place::new();
    for file in ["flag.toml", "environment.toml", "hookonce.toml"] {
        place.write(file, "colour = 1\n");
    }
    let named = |arguments: &[&str], environment: &str| {
        let mut command = place.command(arguments);
        let said = Said::from(command.env("HOOKONCE_CONFIG", environment).output().unwrap());
        said.stderr.split(':').next().unwrap().to_owned()
    };
    let flag = ["check", "--config", "flag.toml"];
    assert_eq!(named(&flag, "environment.toml"), "flag.toml");
    assert_eq!(named(&["check"], "environment.toml"), "environment.toml");
    assert_eq!(named(&["check"], ""), "hookonce.toml");
}

#[test]
fn without_any_configuration_the_ways_to_one_are_named() {
    let said = Place::new().run(&["check"]);
    assert_eq!(said.code, 1);
    assert!(said.stderr.contains("hookonce init") && said.stderr.contains("hookonce serve"));
    let said = Place::new().run(&["serve", "--config", "x/y.toml"]);
    assert!(said.stderr.contains("x/y.toml: there is no such file; write one with `hookonce init"));
}

#[test]
fn paths_start_from_the_directory_of_the_configuration() {
    let place = Place::new();
    std::fs::create_dir(place.path("etc")).unwrap();
    place.write("etc/secret", "s");
    let text = GOOD.replace("env:APP_SECRET", "file:secret").replace(", \"file:second\"", "");
    place.write("etc/h.toml", &text);
    place.run(&["check", "--config", "etc/h.toml"]).ok();
    assert!(place.path("etc/hookonce.db").exists());
    let mut command = place.command(&["check", "--config", "etc/h.toml"]);
    let said = command.env("HOOKONCE_STORE", "sqlite:none/other.db").output().unwrap();
    let error = String::from_utf8(said.stderr).unwrap();
    assert!(error.contains("there is no directory `etc/none`; create it"), "{error}");
}
