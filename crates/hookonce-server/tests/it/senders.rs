//! Requests that the senders' own libraries signed, posted to the running server.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Once;

use hookonce::store::Clock;
use serde_json::{Map, Value, json};

use crate::cases::client::{Answer, request};
use crate::cases::stand::Stand;
use crate::program::{Said, root};

const SECRET: &str = "whsec_AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";
const TWILIO: &str = "https://hooks.example.test/webhooks/twilio";

/// Each source with an older secret in front of the one that is used.
fn sources() -> String {
    let source = |name: &str, rest: &str| {
        let older = "whsec_ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=";
        let secrets = format!("secrets = [\"{older}\", \"{SECRET}\"]");
        format!("[sources.{name}]\nscheme = \"{name}\"\n{secrets}\n{rest}\n")
    };
    [
        source("github", ""),
        source("stripe", ""),
        source("standard-webhooks", ""),
        source("twilio", &format!("public_url = \"{TWILIO}\"")),
        source("evolution", ""),
    ]
    .concat()
}

/// A request that is to be signed: by which library, for which source, and what it says.
struct Unsigned {
    by: &'static str,
    source: &'static str,
    body: String,
    form: Value,
    id: String,
}

impl Unsigned {
    fn json(by: &'static str, source: &'static str, body: &Value, n: usize) -> Self {
        Self { by, source, body: body.to_string(), form: Value::Null, id: format!("msg_{by}{n}") }
    }

    fn form(by: &'static str, form: &[(&str, &str)]) -> Self {
        let body = form.iter().map(|(name, value)| format!("{}={}", escaped(name), escaped(value)));
        let body = body.collect::<Vec<_>>().join("&");
        let form: Map<_, _> =
            form.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        Self { by, source: "twilio", body, form: form.into(), id: String::new() }
    }

    fn shown(&self, at: i64) -> Value {
        let Self { by, body, form, id, .. } = self;
        json!({
            "by": by, "secret": SECRET, "body": body, "url": TWILIO, "form": form, "id": id, "at": at
        })
    }
}

/// Texts that a library and we might read differently.
const TEXTS: [&str; 4] = ["hi", "größer & <ÿ> 100% + \"1\"\r\n", "\u{1f44d}\u{200d}'`$(x)", ""];

fn requests() -> Vec<Unsigned> {
    let mut requests = vec![];
    for (n, text) in TEXTS.into_iter().enumerate() {
        let event =
            json!({ "id": format!("evt_{n}"), "type": "invoice.paid", "created": 1, "t": text });
        requests.push(Unsigned::json("stripe", "stripe", &event, n));
        requests.push(Unsigned::json(
            "github",
            "github",
            &json!({ "action": "opened", "t": text }),
            n,
        ));
        let event = json!({ "type": "message.received", "data": { "t": text } });
        requests.push(Unsigned::json("standardwebhooks", "standard-webhooks", &event, n));
        requests.push(Unsigned::json("svix", "standard-webhooks", &event, n));
        let message = json!({
            "event": "messages.upsert", "instance": "i1",
            "data": { "key": { "id": format!("3EB0{n}"), "remoteJid": "1@s.whatsapp.net", "fromMe": false },
                      "message": { "conversation": text } }
        });
        requests.push(Unsigned::json("jwt", "evolution", &message, n));
        let sid = format!("SM{n}");
        let form =
            [("To", "whatsapp:+1"), ("Body", text), ("MessageSid", &sid), ("From", "whatsapp:+2")];
        requests.push(Unsigned::form("twilio", &form));
        let sid = format!("SM256{n}");
        let form = [("MessageSid", sid.as_str()), ("MessageStatus", "sent"), ("Body", text)];
        requests.push(Unsigned::form("twilio-sha256", &form));
        let events =
            json!([{ "id": format!("EZ{n}"), "type": "com.twilio.x", "data": { "t": text } }]);
        requests.push(Unsigned::json("twilio-json", "twilio", &events, n));
    }
    requests
}

/// Percent-encodes everything but letters and digits; a space becomes a plus, as in a form.
fn escaped(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b' ' => "+".to_owned(),
        b if b.is_ascii_alphanumeric() => char::from(b).to_string(),
        b => format!("%{b:02X}"),
    };
    text.bytes().map(byte).collect()
}

/// The headers that the libraries put on each of these.
fn sign(requests: &[Unsigned], at: i64) -> Vec<Map<String, Value>> {
    static MADE: Once = Once::new();
    MADE.call_once(|| {
        let made = Command::new(root().join("scripts/examples.sh")).output().unwrap();
        assert!(made.status.success(), "{}", Said::from(made).stderr);
    });
    let mut node = Command::new("node")
        .arg(root().join("target/examples/senders/sign.js"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let input: Vec<_> = requests.iter().map(|request| request.shown(at)).collect();
    let mut stdin = node.stdin.take().unwrap();
    stdin.write_all(Value::from(input).to_string().as_bytes()).unwrap();
    drop(stdin);
    let said = Said::from(node.wait_with_output().unwrap());
    serde_json::from_str(&said.ok()).unwrap()
}

fn post(stand: &Stand, unsigned: &Unsigned, headers: &Map<String, Value>, body: &str) -> Answer {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let query = headers.get("query").map(text).unwrap_or_default();
    // GitHub's own headers are not in its signature.
    let delivery =
        [("X-GitHub-Delivery", unsigned.id.clone()), ("X-GitHub-Event", "issues".into())];
    let mut all = vec![("Content-Type".to_owned(), "application/json".to_owned())];
    all.retain(|_| !headers.contains_key("content-type"));
    all.extend(delivery.map(|(name, value)| (name.to_owned(), value)));
    let signed = headers.iter().filter(|(name, _)| *name != "query");
    all.extend(signed.map(|(name, value)| (name.clone(), text(value))));
    let path = format!("/webhooks/{}{query}", unsigned.source);
    stand.ask(request("POST", &path, all, body.as_bytes()))
}

fn now() -> i64 {
    Clock::system().now().as_second()
}

#[test]
fn what_the_senders_own_libraries_signed_is_taken_once_and_nothing_else() {
    let stand = Stand::with(&sources());
    let requests = requests();
    for (unsigned, headers) in requests.iter().zip(sign(&requests, now())) {
        let by = unsigned.by;
        let forged = unsigned.body.replacen('e', "3", 1);
        assert_ne!(forged, unsigned.body, "{by}");
        // Only the JWT leaves the body unsigned.
        if by != "jwt" {
            assert_eq!(post(&stand, unsigned, &headers, &forged).status, 401, "{by}: {forged}");
        }
        let before = stand.count("hookonce_events");
        for _ in 0..3 {
            let answer = post(&stand, unsigned, &headers, &unsigned.body);
            assert_eq!(answer.status, 200, "{by}: {}", unsigned.body);
        }
        assert_eq!(stand.count("hookonce_events"), before + 1, "{by}: {}", unsigned.body);
    }
    let keys = stand.each("key");
    assert_eq!(keys.len(), requests.len());
    assert!(keys.iter().all(|key| !key.starts_with("hash:")), "{keys:#?}");
}

#[test]
fn a_signature_of_an_hour_ago_is_refused_where_its_time_is_signed() {
    let stand = Stand::with(&sources());
    let mut requests = requests();
    requests
        .retain(|unsigned| matches!(unsigned.by, "stripe" | "standardwebhooks" | "svix" | "jwt"));
    for (unsigned, headers) in requests.iter().zip(sign(&requests, now() - 3600)) {
        let answer = post(&stand, unsigned, &headers, &unsigned.body);
        assert_eq!(answer.status, 401, "{}", unsigned.by);
    }
    assert_eq!(stand.count("hookonce_events"), 0);
}
