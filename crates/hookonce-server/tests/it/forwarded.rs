//! A sender that signs the address, behind a proxy of ours that tells it.

use crate::cases::client::request;
use crate::cases::stand::Stand;
use crate::program::Place;

const TWILIO: &str = "[sources.twilio]\nscheme = \"twilio\"\nsecrets = [\"test-token\"]\n";
const BODY: &str = "MessageSid=SM1&From=%2B1&To=%2B2&Body=hi";

/// The signature over this body at `https://hooks.example.test/webhooks/twilio`.
fn signature(stand: &Stand) -> String {
    stand.place.write("body", BODY);
    let arguments = ["sign", "--url", "https://hooks.example.test", "--source", "twilio", "body"];
    let line = stand.place.run(&arguments).ok();
    let value = line.split("X-Twilio-Signature: ").nth(1).unwrap();
    value.split('\'').next().unwrap().to_owned()
}

#[test]
fn the_address_that_a_trusted_proxy_tells_is_the_one_that_is_signed() {
    let stand = Stand::configured("proxies = [\"127.0.0.1\"]\nmin_free_disk = \"0B\"", TWILIO);
    let signature = signature(&stand);
    let status = |protocol: &str, host: &str| {
        let headers = [
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("X-Twilio-Signature", &signature),
            ("X-Forwarded-For", "203.0.113.7"),
            ("X-Forwarded-Proto", protocol),
            ("X-Forwarded-Host", host),
        ];
        stand.ask(request("POST", "/webhooks/twilio", headers, BODY.as_bytes())).status
    };
    assert_eq!(status("https", "evil.example.test"), 401);
    assert_eq!(status("http", "hooks.example.test"), 401);
    assert_eq!(status("https", "hooks.example.test"), 200);
    assert_eq!(stand.each("key"), ["message:SM1"]);
}

#[test]
fn without_a_trusted_proxy_the_address_has_to_be_written_down() {
    let check = |server: &str| {
        let place = Place::new();
        place.write("hookonce.toml", &format!("{server}{TWILIO}"));
        place.run(&["check"])
    };
    let said = check("");
    assert_eq!(said.code, 1);
    let expected = "sources.twilio: without `public_url` nothing can be proven";
    assert!(said.stderr.contains(expected), "{}", said.stderr);
    assert_eq!(check("[server]\nproxies = [\"127.0.0.1\"]\n").code, 0);
}
