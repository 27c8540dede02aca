//! From where requests may come: of the program, by its configuration.

use crate::cases::client::{request, signed};
use crate::cases::stand::{LEDGER, Stand, texts};

/// A source that takes requests from one network, and a proxy on this machine.
fn stand(allow: &str) -> Stand {
    let source = format!(
        "[sources.meta]\nscheme = \"meta\"\nsecrets = [\"test-app-secret-0001\"]\n\
         verify_token = \"test-verify-0001\"\nallow = [\"{allow}\"]\n\
         [sinks.ledger]\ntype = \"sql\"\n\
         statement = \"insert into ledger (key, element) values (:key, :element)\"\n"
    );
    let server = "min_free_disk = \"0B\"\nproxies = [\"127.0.0.1\", \"10.0.0.0/8\"]";
    Stand::configured(server, &[&source, LEDGER].concat())
}

/// A signed request with one more header.
fn with(header: &str, id: &str) -> String {
    let request = String::from_utf8(signed(texts([("1", id)]))).unwrap();
    request.replacen("\r\n", &format!("\r\n{header}\r\n"), 1)
}

#[test]
fn only_who_is_allowed_may_send_and_a_reload_changes_who_is() {
    let stand = stand("192.0.2.0/24");
    assert_eq!(stand.post(texts([("1", "a")])).status, 403);
    let challenge = "/webhooks/meta?hub.mode=subscribe&hub.verify_token=test-verify-0001\
                     &hub.challenge=42";
    assert_eq!(stand.get(challenge).status, 403);
    assert_eq!(stand.ask(with("X-Forwarded-For: 198.51.100.1, 10.1.1.1", "b")).status, 403);
    assert_eq!(stand.ask(with("X-Forwarded-For: 192.0.2.7, 10.1.1.1", "c")).counts(), (1, 0));
    let header = ("Forwarded", "for=192.0.2.7;proto=https");
    assert_eq!(stand.ask(request("GET", challenge, [header], b"")).body, "42");
    assert_eq!(stand.effects(), ["message:200000000000001:c"]);
    let config = stand.place.read("hookonce.toml").replace("192.0.2.0/24", "127.0.0.1");
    stand.place.write("hookonce.toml", &config);
    stand.server().send("HUP");
    stand.server().stderr_line("the configuration was reloaded");
    assert_eq!(stand.post(texts([("1", "a")])).counts(), (1, 0));
    assert_eq!(stand.ask(with("X-Forwarded-For: 192.0.2.7", "d")).status, 403);
}

#[test]
fn refusals_are_counted_by_their_reason() {
    let stand = stand("192.0.2.0/24");
    let line = stand.server().stderr_line("admin API");
    let admin = line.split_whitespace().last().unwrap().trim_end_matches("/api").to_owned();
    assert_eq!(stand.post(texts([("1", "a")])).status, 403);
    let page = stand.place.shell(&format!("curl -s {admin}/metrics")).ok();
    assert!(page.contains("hookonce_rejections_total{reason=\"address\"} 1"), "{page}");
}
