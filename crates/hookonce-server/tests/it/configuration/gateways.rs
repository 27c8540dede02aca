//! Sources of Twilio, WAHA and Evolution API: what is wrong with them, and what should be known.

use crate::program::{Place, Said};

const ROUTE: &str =
    "[sinks.print]\ntype = \"log\"\n[[routes]]\nname = \"print\"\nsteps = [\"print\"]\n";

/// What `check` says of a source with these keys.
fn check(keys: &str) -> Said {
    let place = Place::new();
    place.write("hookonce.toml", &format!("[sources.a]\n{keys}\n{ROUTE}"));
    place.run(&["check"])
}

#[test]
fn a_source_of_each_scheme_is_good() {
    for keys in [
        "scheme = \"twilio\"\nsecrets = [\"x\"]\npublic_url = \"https://h.example.com/webhooks/a\"",
        "scheme = \"twilio\"\nsecrets = [\"x\"]\npublic_url = \"http://u:p@h.example.com:8080/\"",
        "scheme = \"twilio\"\nunverified = true",
        "scheme = \"waha\"\nsecrets = [\"x\", \"y\"]",
        "scheme = \"evolution\"\nsecrets = [\"x\"]",
        "scheme = \"evolution\"\nsecrets = [\"x\"]\nsignature = \"header\"\nheader = \"X-Secret\"",
    ] {
        let said = check(keys);
        assert_eq!(said.code, 0, "{keys}: {}", said.stderr);
    }
}

#[test]
fn what_is_wrong_is_named_with_the_way_out() {
    let twilio = "scheme = \"twilio\"\nsecrets = [\"x\"]";
    let evolution = "scheme = \"evolution\"\nsecrets = [\"x\"]";
    for (keys, right) in [
        (twilio.to_owned(), "1: sources.a: without `public_url` nothing can be proven"),
        (
            format!("{twilio}\npublic_url = \"h.example.com/a\""),
            "4: sources.a.public_url: it is no address",
        ),
        (
            format!("{twilio}\npublic_url = \"https://h/a?x=1\""),
            "4: sources.a.public_url: leave out what begins",
        ),
        (
            format!("{twilio}\npublic_url = \"https://h/a#x\""),
            "4: sources.a.public_url: leave out what begins",
        ),
        (format!("{twilio}\nverify_token = \"x\""), "4: sources.a.verify_token: there is no key"),
        ("scheme = \"waha\"".to_owned(), "1: sources.a: without `secrets` nobody can prove"),
        (format!("{evolution}\nheader = \"X\""), "4: sources.a.header: no header is looked at"),
        (format!("{evolution}\nsignature = \"header\""), "1: sources.a: `header` is missing"),
        (
            format!("{evolution}\nsignature = \"header\"\nheader = \"a b\""),
            "5: sources.a.header: `a b` is no name",
        ),
        (
            format!("{evolution}\nsignature = \"hmac\""),
            "4: sources.a.signature: unknown variant `hmac`",
        ),
    ] {
        let said = check(&keys);
        assert_eq!(said.code, 1, "{keys}");
        let line = format!("hookonce.toml:{right}");
        assert!(said.stderr.contains(&line), "{line}\n{}", said.stderr);
    }
}

#[test]
fn that_nothing_signs_the_body_is_said_wherever_it_is_so() {
    let said = |keys: &str| check(keys).stderr.contains("nothing signs the body of its requests");
    let generic = |signature: &str| {
        format!(
            "scheme = \"generic\"\nkey = \"/id\"\nsecrets = [\"x:y\"]\nsignature = {{ {signature} }}"
        )
    };
    for scheme in ["evolution", "wasender", "gupshup", "whapi"] {
        assert!(said(&format!("scheme = \"{scheme}\"\nsecrets = [\"x\"]")), "{scheme}");
        assert!(!said(&format!("scheme = \"{scheme}\"\nunverified = true")), "{scheme}");
    }
    for signature in [
        "type = \"bearer\"",
        "type = \"basic\"",
        "type = \"header\", header = \"x-token\"",
        "type = \"jwt\"",
    ] {
        assert!(said(&generic(signature)), "{signature}");
    }
    for signature in
        ["type = \"hmac\", header = \"x-sig\"", "type = \"jwt\", body_claim = \"payload_hash\""]
    {
        assert!(!said(&generic(signature)), "{signature}");
    }
    assert!(!said("scheme = \"waha\"\nsecrets = [\"x\"]"));
    assert!(!said("scheme = \"stripe\"\nsecrets = [\"whsec_x\"]"));
}
