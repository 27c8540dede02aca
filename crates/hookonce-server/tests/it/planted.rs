//! Nothing that is secret or personal leaves by a way that is open to others: logs, metrics, answers
//! to whoever isn't proven. Values are planted in requests of every scheme, good, forged and broken,
//! whose handling fails with all of them in the error.

use std::fmt::Write as _;

use crate::cases::client::{Client, request};
use crate::crash::wait_until;
use crate::program::{Place, Server};

/// What a person could be known by. A message id of WhatsApp contains a phone number as well.
const PERSONAL: [&str; 5] =
    ["15559871234", "Planted Person", "wamid.PLANTED", "planted text", "900777@lid"];
/// What opens something.
const SECRET: [&str; 7] = [
    "planted-secret",
    "planted-verify-token",
    "planted-older-secret",
    "planted-session-key",
    "planted-qr-code",
    "planted-api-key",
    "planted-admin-token",
];

const CONFIGURATION: &str = r#"
[server]
listen = "127.0.0.1:0"
min_free_disk = "1MiB"
[worker]
poll = "50ms"
[admin]
hosts = ["hooks.example.test"]
[[admin.tokens]]
name = "ops"
role = "operate"
token = "planted-admin-token"
[sinks.fails]
type = "exec"
command = ["sh", "-c", "cat >&2; env >&2; exit 1"]
[sinks.refuses]
type = "exec"
command = ["sh", "-c", "cat >&2; env >&2; exit 65"]
[[routes]]
name = "fails"
steps = ["fails"]
max_attempts = 2
retry_min = "1ms"
retry_max = "1ms"
[[routes]]
name = "refuses"
steps = ["refuses"]
"#;

type Source = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// A source of each scheme: its name, what its configuration adds, and headers that prove it if any
/// simple one does.
const SOURCES: [Source; 9] = [
    ("meta", "verify_token = \"planted-verify-token\"", &[]),
    ("wasender", "", &[("X-Webhook-Signature", "planted-secret")]),
    ("twilio", "public_url = \"https://hooks.example.test/webhooks/twilio\"", &[]),
    ("waha", "", &[]),
    (
        "evolution",
        "signature = \"header\"\nheader = \"X-Evolution\"",
        &[("X-Evolution", "planted-secret")],
    ),
    ("standard-webhooks", "", &[]),
    ("github", "", &[("X-GitHub-Event", "issues"), ("X-GitHub-Delivery", "d1")]),
    ("stripe", "", &[]),
    ("slack", "", &[]),
];

/// A message of each shape, with everything planted in it.
const BODIES: [&str; 9] = [
    r#"{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":{"metadata":{"phone_number_id":"2","display_phone_number":"15559871234"},"contacts":[{"profile":{"name":"Planted Person"},"wa_id":"15559871234"}],"messages":[{"from":"15559871234","id":"wamid.PLANTED1","timestamp":"1760000000","type":"text","text":{"body":"planted text"}},7],"statuses":[{"id":"wamid.PLANTED2","status":"read","recipient_id":"15559871234"}]}}]}]}"#,
    r#"{"event":"messages.received","sessionId":"planted-session-key","timestamp":1760000000,"data":{"messages":{"key":{"id":"wamid.PLANTED3","fromMe":false,"remoteJid":"900777@lid","cleanedSenderPn":"15559871234"},"pushName":"Planted Person","message":{"conversation":"planted text"}}}}"#,
    r#"{"event":"qrcode.updated","session\u0049d":"planted-session-key","data":{"qr":"planted-qr-code","qrcode":{"code":"planted-qr-code","base64":"planted-qr-code"}},"instance":"i1","apikey":"planted-api-key"}"#,
    r#"{"event":"messages.upsert","instance":"i1","apikey":"planted-api-key","sessionId":"planted-session-key","data":[{"key":{"remoteJid":"15559871234@s.whatsapp.net","fromMe":false,"id":"wamid.PLANTED4"},"pushName":"Planted Person","message":{"conversation":"planted text"}},null]}"#,
    r#"{"id":"evt_1","event":"message","session":"default","me":{"id":"15559871234@c.us"},"payload":{"id":"false_15559871234@c.us_wamid.PLANTED5","from":"15559871234@c.us","fromMe":false,"body":"planted text"}}"#,
    "MessageSid=wamid.PLANTED6&From=whatsapp%3A%2B15559871234&To=whatsapp%3A%2B15559871234&Body=planted+text&ProfileName=Planted+Person",
    // Broken off, and no text at all.
    r#"{"event":"messages.received","sessionId":"planted-session-key","apikey":"planted-api-key","data":{"qr":"planted-qr-code","from":"15559871234","text":"planted te"#,
    "\u{0}{\"sessionId\":\"planted-session-key\",\"qr\":\"planted-qr-code\",\"from\":\"15559871234\"}",
    "",
];

fn configuration() -> String {
    let mut text = CONFIGURATION.to_owned();
    for (scheme, own, _) in SOURCES {
        // The secrets of Standard Webhooks are base64.
        let secrets = match scheme {
            "standard-webhooks" => {
                ["whsec_cGxhbnRlZC1vbGRlci1zZWNyZXQ=", "whsec_cGxhbnRlZC1zZWNyZXQ="]
            }
            _ => ["planted-older-secret", "planted-secret"],
        };
        let proven = format!("secrets = {secrets:?}");
        for (name, proof) in [("", &*proven), ("open-", "unverified = true")] {
            write!(text, "[sources.{name}{scheme}]\nscheme = \"{scheme}\"\n{proof}\n{own}\n")
                .unwrap();
        }
    }
    text
}

/// Posts every body to every source, as it is, and with headers that forge a signature; gives what
/// was answered.
fn post_all(server: &Server) -> String {
    let mut answers = String::new();
    let address = server.url.strip_prefix("http://").unwrap();
    let mut ask = |method: &str, path: &str, headers: Vec<(&str, &str)>, body: &str| {
        let answer = Client::connect(address).ask(request(method, path, headers, body.as_bytes()));
        writeln!(answers, "{answer:?}").unwrap();
        answer.status
    };
    for (scheme, _, proof) in SOURCES {
        for body in BODIES {
            let path = format!("/webhooks/open-{scheme}");
            assert_eq!(ask("POST", &path, proof.to_vec(), body), 200, "{scheme}: {body}");
            let path = format!("/webhooks/{scheme}");
            ask("POST", &path, proof.to_vec(), body);
            for forged in ["planted-api-key", "planted-secret", "sha256=15559871234"] {
                let signature = [
                    ("X-Hub-Signature-256", forged),
                    ("X-Webhook-Signature", forged),
                    ("X-Twilio-Signature", forged),
                    ("X-Webhook-Hmac", forged),
                    ("Authorization", forged),
                    ("Stripe-Signature", forged),
                    ("X-Slack-Signature", forged),
                    ("webhook-signature", forged),
                ];
                ask("POST", &path, signature.to_vec(), body);
            }
        }
        let path = format!(
            "/webhooks/{scheme}?hub.mode=subscribe&hub.verify_token=planted-session-key&hub.challenge=15559871234"
        );
        ask("GET", &path, vec![], "");
    }
    ask("POST", "/webhooks/planted-api-key", vec![], "15559871234");
    answers
}

fn assert_clean(what: &str, text: &str) {
    assert!(!text.is_empty(), "{what}");
    for planted in PERSONAL.iter().chain(&SECRET) {
        let at = text.find(planted);
        assert!(at.is_none(), "{planted} is in {what}: {:?}", at.map(|at| around(text, at)));
    }
}

fn around(text: &str, at: usize) -> String {
    text.chars().skip(text[..at].chars().count().saturating_sub(300)).take(400).collect()
}

#[test]
fn nothing_secret_or_personal_is_in_logs_metrics_or_open_answers() {
    let place = Place::new();
    place.write("hookonce.toml", &configuration());
    let server = place.serve(&[]);
    let line = server.stderr_line("admin API");
    let admin = line.split("http://").nth(1).unwrap().trim_end_matches("/api").to_owned();
    let answers = post_all(&server);
    assert_clean("the answers", &answers);
    let ask = |path: &str, token: &str| {
        let headers = [("Authorization", format!("Bearer {token}"))];
        let mut client = Client::connect(&admin);
        let answer = client.ask(request("GET", path, headers, b""));
        (answer.status, format!("{answer:?}"))
    };
    wait_until("every event is handled", || {
        let (_, counts) = ask("/api/counts", "planted-admin-token");
        counts.contains("\\\"pending\\\":0") && counts.contains("\\\"claimed\\\":0")
    });
    let (_, metrics) = ask("/metrics", "none");
    assert!(metrics.contains("hookonce_attempts_total"), "{metrics}");
    assert_clean("the metrics", &metrics);
    for path in ["/healthz", "/readyz", "/api/events", "/api/counts", "/api/planted-api-key"] {
        assert_clean(path, &ask(path, "planted-session-key").1);
    }
    let log = server.into_stderr();
    // It was there to be logged.
    let dead = place.run(&["list", "--state", "dead", "--limit", "1000", "--json"]).ok();
    assert!(dead.contains("15559871234"), "{dead}");
    assert!(log.contains("the task is dead"), "{log}");
    assert_clean("the log", &log);
    // Session keys, QR codes and API keys are not even stored.
    for unstored in ["planted-session-key", "planted-qr-code", "planted-api-key"] {
        let stored = place.sql().texts(
            "select source || ' ' || coalesce(payload, '') from hookonce_events \
             where source in ('wasender', 'open-wasender', 'evolution', 'open-evolution')",
        );
        assert!(stored.len() > 10);
        // The API key is Evolution's, the session key WASenderApi's.
        let own = if unstored == "planted-api-key" { "evolution" } else { "wasender" };
        let shows = |payload: &&String| {
            let name = payload.split(' ').next().unwrap();
            name.ends_with(own) && payload.contains(unstored)
        };
        assert_eq!(stored.iter().find(shows), None, "{unstored}");
    }
}
