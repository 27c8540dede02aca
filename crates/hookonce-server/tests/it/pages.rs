//! What the pages of generic senders say is what the program does: each table there is a
//! configuration, and each request becomes the events under it.

use serde_json::Value;

use super::program::{Place, Said, root};

/// Pages, each with the preset that it is about.
const PAGES: [(&str, Option<&str>); 8] = [
    ("generic", None),
    ("more", None),
    ("standard-webhooks", Some("standard-webhooks")),
    ("gupshup", Some("gupshup")),
    ("whapi", Some("whapi")),
    ("github", Some("github")),
    ("stripe", Some("stripe")),
    ("slack", Some("slack")),
];

/// The secrets that the requests on the pages were signed with; of all others, `test_secret`.
const SECRETS: [(&str, &str); 6] = [
    ("WEBHOOK_SECRET", "whsec_AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="),
    ("YCLOUD_SECRET", "whsec_test"),
    ("BIRD_SIGNING_KEY", "test_signing_key"),
    ("BANK_KEY", "00ff10"),
    ("CRM_LOGIN", "crm:test_secret"),
    ("INFOBIP_LOGIN", "infobip:test_secret"),
];

/// A table on a page, with the requests under it.
#[derive(Default)]
struct Source {
    toml: String,
    requests: Vec<Request>,
}

/// A request, and what the page says of it.
#[derive(Default)]
struct Request {
    source: String,
    headers: Vec<String>,
    body: String,
    rows: Vec<Vec<String>>,
    answered: Option<String>,
}

fn sources(page: &str) -> Vec<Source> {
    let mut sources: Vec<Source> = vec![];
    let mut blocks = page.split("```");
    while let Some(text) = blocks.next() {
        // What stands between blocks is about the request before.
        if let Some(request) = sources.last_mut().and_then(|source| source.requests.last_mut()) {
            after(request, text);
        }
        let Some(block) = blocks.next() else { break };
        if let Some(toml) = block.strip_prefix("toml\n") {
            sources.push(Source { toml: toml.to_owned(), requests: vec![] });
        } else if let Some(http) = block.strip_prefix("http\n") {
            let (head, body) = http.split_once("\n\n").unwrap();
            let mut lines = head.lines();
            let path = lines.next().unwrap();
            let source = path.strip_prefix("POST /webhooks/").unwrap().to_owned();
            let headers = lines.map(str::to_owned).collect();
            let body = body.trim_end().to_owned();
            let request = Request { source, headers, body, ..Request::default() };
            sources.last_mut().unwrap().requests.push(request);
        }
    }
    sources
}

fn after(request: &mut Request, text: &str) {
    let lines = text.trim_start().lines();
    for line in lines.take_while(|line| line.starts_with('|')).skip(2) {
        let cells = line.trim_matches('|').split('|');
        request.rows.push(cells.map(|cell| cell.trim().trim_matches('`').to_owned()).collect());
    }
    let answer = text.trim_start().strip_prefix("answered `");
    request.answered = answer.and_then(|rest| rest.split('`').next()).map(str::to_owned);
}

/// The same with a tolerance that the pages' times are within.
fn patient(toml: &str) -> String {
    let long = "tolerance = \"36500d\"\n";
    let needs = ["standard-webhooks", "stripe", "slack"]
        .iter()
        .any(|name| toml.contains(&format!("scheme = \"{name}\"")));
    if toml.contains("tolerance = ") || !needs {
        toml.replace("tolerance = \"5m\"\n", long)
    } else if toml.contains(".signature]\n") {
        toml.replace(".signature]\n", &format!(".signature]\n{long}"))
    } else {
        format!("{toml}[sources.{}.signature]\n{long}", name(toml))
    }
}

/// The name of the first source.
fn name(toml: &str) -> &str {
    toml.split("[sources.").nth(1).unwrap().split(']').next().unwrap()
}

/// A place with this configuration.
fn place(toml: &str) -> Place {
    let place = Place::new();
    let rest = "\n[[routes]]\nname = \"all\"\nsteps = [\"log\"]\n[sinks.log]\ntype = \"log\"\n";
    place.write("hookonce.toml", &[&patient(toml), rest].concat());
    place
}

fn run(place: &Place, arguments: &[&str]) -> String {
    let mut command = place.command(arguments);
    let text = place.read("hookonce.toml");
    for name in text.split("\"env:").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        let secret = SECRETS.iter().find(|(known, _)| *known == name);
        command.env(name, secret.map_or("test_secret", |(_, secret)| *secret));
    }
    Said::from(command.output().unwrap()).ok()
}

/// Checks that the request becomes in the source `name` what the page says.
fn assert_becomes(place: &Place, name: &str, request: &Request) {
    let show = |body: &str| -> Value {
        place.write("body", body);
        let mut arguments = vec!["check", "--json", "--sample", "body", "--source", name];
        arguments.extend(request.headers.iter().flat_map(|header| ["--header", header]));
        serde_json::from_str(&run(place, &arguments)).unwrap()
    };
    let shown = show(&request.body);
    let is_open = place.read("hookonce.toml").contains("unverified = true");
    assert!(is_open || shown["proof"]["proven"] == true, "{name}: {shown}");
    assert_eq!(shown["challenge"].as_str(), request.answered.as_deref());
    let cells = |event: &Value| {
        let key = if event["weak_key"] == true { "hash" } else { event["key"].as_str().unwrap() };
        let (kind, lane) = (event["kind"].as_str().unwrap(), event["lane"].as_str().unwrap_or(""));
        [kind, key, lane, &event["priority"].to_string()].map(str::to_owned).to_vec()
    };
    let found: Vec<_> = shown["events"].as_array().unwrap().iter().map(cells).collect();
    assert_eq!(found, request.rows, "{name}");
    assert!(request.answered.is_some() || !found.is_empty());
    // Where the body is signed, another one isn't proven.
    let signs = ["Authorization: B", "X-Gupshup-Token", "X-Chat-Token"];
    let is_static = |header: &String| signs.iter().any(|sign| header.starts_with(sign));
    let is_jwt = request.headers.iter().any(|header| header.matches('.').count() == 2);
    if !is_open && (is_jwt || !request.headers.iter().any(is_static)) {
        let forged = show(&format!("{} ", request.body));
        assert_eq!(forged["proof"]["reason"], "signature_wrong", "{name}: {forged}");
    }
}

#[test]
fn what_a_page_says_of_its_requests_is_so() {
    let mut requests = 0;
    for (page, _) in PAGES {
        let text = std::fs::read_to_string(root().join(format!("docs/schemes/{page}.md"))).unwrap();
        for source in sources(&text) {
            let place = place(&source.toml);
            run(&place, &["check"]);
            for request in &source.requests {
                assert_becomes(&place, &request.source, request);
                requests += 1;
            }
        }
    }
    assert!(requests > 30, "{requests}");
}

#[test]
fn a_preset_is_what_its_page_shows_and_does_the_same_written_out() {
    for (page, preset) in PAGES {
        let Some(preset) = preset else { continue };
        let text = std::fs::read_to_string(root().join(format!("docs/schemes/{page}.md"))).unwrap();
        let file = format!("crates/hookonce-server/src/config/presets/{preset}.toml");
        let file = std::fs::read_to_string(root().join(file)).unwrap();
        let sources = sources(&text);
        assert_eq!(sources.last().unwrap().toml, file, "the last table of the page is the preset");
        let place = place(&file);
        let by_name = sources.iter().filter(|source| source.toml.lines().count() == 3);
        for request in by_name.flat_map(|source| &source.requests) {
            assert_becomes(&place, name(&file), request);
        }
    }
}

/// What `body` becomes in the first source of that name on a page.
fn events_of(page: &str, name: &str, body: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(root().join(format!("docs/schemes/{page}.md"))).unwrap();
    let head = format!("[sources.{name}]");
    let source = sources(&text).into_iter().find(|source| source.toml.contains(&head)).unwrap();
    let place = place(&source.toml);
    place.write("body", body);
    let shown = run(&place, &["check", "--json", "--sample", "body", "--source", name]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    shown["events"].as_array().unwrap().clone()
}

#[test]
fn all_variants_of_an_event_of_wati_are_one_event() {
    const NAME: &str = "wati-3f9c2b7e51d04a86";
    for (word, owner, key) in [
        ("message", false, "message:wamid.A"),
        ("message", true, "echo:wamid.A"),
        ("templateMessageSent", true, "status:wamid.A:sent"),
        ("sentMessageDELIVERED", true, "status:wamid.A:delivered"),
        ("sentMessageREAD", true, "status:wamid.A:read"),
        ("sentMessageREPLIED", true, "status:wamid.A:replied"),
        ("templateMessageFailed", true, "status:wamid.A:failed"),
    ] {
        for (n, variant) in ["", "_v2", "_bsuid", "_v2_bsuid", "_bsuid_v2"].iter().enumerate() {
            let body = serde_json::json!({
                "id": n, "eventType": format!("{word}{variant}"), "owner": owner, "type": "text",
                "whatsappMessageId": "wamid.A", "localMessageId": format!("l{n}"), "waId": "1",
            });
            let found = events_of("more", NAME, &body.to_string());
            assert_eq!((found.len(), found[0]["key"].as_str()), (1, Some(key)), "{word}{variant}");
        }
    }
}

#[test]
fn one_broken_element_of_twenty_is_dead_and_nineteen_are_handled() {
    for (page, name, list, id) in [
        ("whapi", "whapi", "messages", "id"),
        ("whapi", "whapi", "statuses", "id"),
        ("whapi", "whapi", "calls", "id"),
        ("more", "infobip", "results", "messageId"),
    ] {
        let element = |n: usize| {
            let mut element = serde_json::json!({ "status": "read", "type": "text" });
            element[id] = format!("A{n}").into();
            element
        };
        let mut without = element(7);
        without.as_object_mut().unwrap().remove(id);
        let dead = "element is not an object";
        let broken = [(7.into(), Some(dead)), (Value::Null, Some(dead)), (without, None)];
        for (broken, why) in broken {
            let elements: Vec<_> =
                (0..20).map(|n| if n == 7 { broken.clone() } else { element(n) }).collect();
            let mut body = serde_json::json!({ "channel_id": "CH1", "event": { "event": "post" } });
            body[list] = elements.into();
            let found = events_of(page, name, &body.to_string());
            assert_eq!(found.len(), 20, "{name} {list}");
            for (n, event) in found.iter().enumerate() {
                let right = if n == 7 { (why, true) } else { (None, false) };
                let is = (event["unreadable"].as_str(), event["weak_key"] == true);
                assert_eq!(is, right, "{name} {list} {broken} {n}");
            }
        }
    }
}
