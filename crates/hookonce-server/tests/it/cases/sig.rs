//! SIG: the sender's proof.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha1::Sha1;

use super::case::Case;
use super::client::{request, signature};
use super::stand::{LEDGER, Stand, message};

#[test]
fn sig_01_escapes_and_emoji_are_signed_as_they_are_on_the_wire() {
    let stand = Stand::ledger();
    let escaped = Case::of("SIG-01").text();
    assert_eq!(stand.send("SIG-01").counts(), (1, 0));
    let raw: serde_json::Value = serde_json::from_str(&escaped).unwrap();
    let raw = raw.to_string().replace("TESTSIG01", "TESTSIG01B");
    assert!(!raw.is_ascii());
    let upper = escaped.replace("\\u00e9", "\\u00E9").replace("TESTSIG01", "TESTSIG01C");
    for body in [raw, upper] {
        assert_eq!(stand.post(body).counts(), (1, 0));
    }
    for element in stand.elements() {
        let element: serde_json::Value = serde_json::from_str(&element).unwrap();
        let text = element["text"]["body"].as_str().unwrap();
        assert_eq!(text, "J'ai mang\u{e9} des p\u{e2}tes \u{1f35d}\u{270b}\u{1f3fd} \u{202e}abc");
    }
    assert_eq!(stand.effects().len(), 3);
}

#[test]
fn sig_03_a_pretty_printed_body_is_good_and_one_byte_more_is_not() {
    let stand = Stand::ledger();
    let case = Case::of("SIG-03");
    let body = case.body();
    assert!(body.ends_with(b"\r\n"), "the end of the line is signed as well");
    let with = |body: &[u8]| request("POST", &case.http.path, &case.http.headers, body);
    for changed in [[&body[..], b" "].concat(), body[..body.len() - 1].to_vec(), {
        let mut body = body.clone();
        let at = body.iter().position(|byte| *byte == b' ').unwrap();
        body[at] = b'\t';
        body
    }] {
        assert_eq!(stand.ask(with(&changed)).status, 401);
    }
    assert_eq!(stand.ask(with(&body)).counts(), (1, 0));
    assert_eq!(stand.effects(), [message("wamid.TESTSIG03")]);
}

/// The counter of rejections is tested with the library; the program shows none yet.
#[test]
fn sig_04_a_request_without_signature_is_refused_and_its_body_kept_out_of_the_log() {
    let mut stand = Stand::ledger();
    assert_eq!(stand.send("SIG-04").status, 401);
    assert_eq!(stand.count("hookonce_events"), 0);
    let said = stand.take().into_stderr();
    assert!(said.contains("refused requests"), "{said}");
    assert!(!said.contains("TESTSIG04") && !said.contains("15550100011"), "{said}");
}

#[test]
fn sig_06_a_malformed_signature_is_refused_and_hurts_nobody() {
    let stand = Stand::ledger();
    let body = Case::of("SIG-06").body();
    let good = signature(&body);
    let hex = &good["sha256=".len()..];
    let values = [
        String::new(),
        "sha256=".into(),
        "sha256=abc".into(),
        good[..good.len() - 1].into(),
        format!("{good}0"),
        format!("sha256={}", "z".repeat(64)),
        format!("sha256={}\u{e9}", &hex[..63]),
        format!("sha256={}\u{e9}", &hex[..62]),
        format!("sha1={}", &hex[..40]),
        hex.into(),
        format!("sha256={}", "a".repeat(10_000)),
        format!("{good},{good}"),
        format!("sha256={}", "0".repeat(64)),
    ];
    let mut client = stand.connect();
    let mut refused = |headers: &[(&str, &str)]| {
        let answer = client.ask(request("POST", "/webhooks/meta", headers.to_vec(), &body));
        assert_eq!(answer.status, 401, "{headers:?}");
    };
    for value in &values {
        refused(&[("X-Hub-Signature-256", value)]);
    }
    refused(&[("X-Hub-Signature-256", &good), ("X-Hub-Signature-256", &good)]);
    refused(&[("X-Hub-Signature", &good)]);
    let head = b"POST /webhooks/meta HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: sha256=\x80\xff";
    let rest = format!("\r\nContent-Length: {}\r\n\r\n", body.len());
    assert_eq!(stand.ask([head, rest.as_bytes(), &body].concat()).status, 401);
    assert_eq!(stand.count("hookonce_events"), 0);
    assert_eq!(stand.post(&body).counts(), (1, 0));
}

#[test]
fn sig_07_sixty_four_characters_that_are_no_hex_are_refused() {
    let stand = Stand::ledger();
    assert_eq!(stand.send("SIG-07").status, 401);
    assert_eq!(stand.count("hookonce_events"), 0);
    assert_eq!(stand.post(Case::of("SIG-07").body()).counts(), (1, 0));
}

/// Any compressed body is refused, whatever its sender signed.
#[test]
fn sig_09_a_compressed_body_is_refused_by_name() {
    let source = "[sources.generic]\nscheme = \"generic\"\nsecrets = [\"test-app-secret-0001\"]\n\
                  key = \"/id\"\n[sources.generic.signature]\ntype = \"hmac\"\n\
                  header = \"X-Hub-Signature-256\"\nprefix = \"sha256=\"\n";
    let stand = Stand::with(&format!("{source}{LEDGER}"));
    let answer = stand.send("SIG-09");
    assert_eq!((answer.status, answer.header("accept-encoding")), (415, Some("identity")));
    assert_eq!(stand.count("hookonce_events"), 0);
}

#[test]
fn sig_10_a_body_that_is_not_utf8_is_kept_as_it_is_and_dead() {
    let stand = Stand::ledger();
    assert_eq!(stand.send("SIG-10").counts(), (1, 0));
    assert_eq!(stand.send("SIG-10").counts(), (0, 1));
    assert!(stand.effects().is_empty());
    let event = &stand.events()[0];
    assert_eq!((&event["kind"], &event["state"]), (&"unreadable".into(), &"dead".into()));
    let shown = stand.show(event["key"].as_str().unwrap());
    assert_eq!(shown["content_type"], "application/octet-stream;base64");
    let kept = STANDARD.decode(shown["payload"].as_str().unwrap());
    assert_eq!(kept.unwrap(), Case::of("SIG-10").body());
}

/// 401, as for any other signature that proves nothing.
#[test]
fn sig_12_what_anybody_says_of_the_address_proves_nothing() {
    let source = "[sources.twilio]\nscheme = \"twilio\"\nsecrets = [\"test-twilio-token-0001\"]\n\
                  public_url = \"https://hooks.example.test/webhooks/twilio\"\n";
    let stand = Stand::with(&format!("{source}{LEDGER}"));
    assert_eq!(stand.send("SIG-12").status, 401);
    let case = Case::of("SIG-12");
    let post = |address: &str| {
        let text = format!("{address}Fromwhatsapp:+15550100011MessageSidSM2");
        let mut mac = Hmac::<Sha1>::new_from_slice(b"test-twilio-token-0001").unwrap();
        mac.update(text.as_bytes());
        let tag = STANDARD.encode(mac.finalize().into_bytes());
        let mut headers = case.http.headers.clone();
        headers.insert("X-Forwarded-Proto".into(), "https".into());
        headers.insert("X-Twilio-Signature".into(), tag);
        stand.ask(request("POST", &case.http.path, &headers, &case.body()))
    };
    // Signed rightly, but for where the sender says that we are.
    assert_eq!(post("https://evil.example.test/webhooks/twilio").status, 401);
    assert_eq!(stand.count("hookonce_events"), 0);
    let taken = post("https://hooks.example.test/webhooks/twilio");
    assert_eq!((taken.status, taken.header("content-type")), (200, Some("text/xml")));
    assert!(taken.body.ends_with("<Response/>"), "{}", taken.body);
    assert_eq!(stand.effects(), ["message:SM2"]);
}

/// That the answer takes as long whether an id is known is by construction: nothing is looked up
/// before the sender is proven.
#[test]
fn sig_15_a_forged_request_suppresses_nothing_and_learns_nothing() {
    let stand = Stand::ledger();
    let forged = stand.send("SIG-15");
    assert_eq!((forged.status, stand.count("hookonce_events")), (401, 0));
    assert_eq!(stand.post(Case::of("SIG-15").body()).counts(), (1, 0));
    assert_eq!(stand.effects(), [message("wamid.TESTSIG15")]);
    let again = stand.send("SIG-15");
    assert_eq!((again.status, again.body), (401, forged.body));
    assert_eq!(stand.show(&message("wamid.TESTSIG15"))["copies"], 1);
}
