//! What is wrong with a generic source is said with its line, and before anything is received.

use crate::program::{Place, Said};

/// A generic source with nothing wrong in it.
const GOOD: &str = r#"[sources.shop]
scheme = "generic"
secrets = ["hunter2"]
events = ["/messages", ""]
key = ["literal:m", "/id"]
kind = "/type"
require_signed_key = true
[sources.shop.signature]
type = "hmac"
header = "X-Sig"
template = "{timestamp}.{body}"
timestamp_header = "X-Time"
tolerance = "5m"
[[sources.shop.rules]]
events = "/messages"
when = { "/type" = ["a", 1, true] }
key = "/id"
"#;

/// What is replaced in it by what, and what is said of it then.
const WRONG: &[(&str, &str, &str)] = &[
    // Keys.
    ("kind =", "knd =", "6: sources.shop.knd: there is no key `knd`; did you mean `kind`?"),
    (
        "header =",
        "hader =",
        "10: sources.shop.signature.hader: there is no key `hader`; did you mean",
    ),
    (
        "\nkey = \"/id\"",
        "\nkeys = \"/id\"",
        "17: sources.shop.rules[0].keys: there is no key `keys`",
    ),
    (
        "[[sources.shop.rules]]",
        "[sources.shop.rules]",
        "14: sources.shop.rules: write a table for each",
    ),
    (
        "[sources.shop.signature]",
        "[sources.shop.signatur]",
        "8: sources.shop.signatur: there is no key",
    ),
    // Places.
    (
        "\"/messages\", \"\"",
        "\"messages\"",
        "4: sources.shop.events: `messages` is no JSON pointer",
    ),
    (
        "\"/messages\", \"\"",
        "\"/a~b\"",
        "4: sources.shop.events: `/a~b` is no JSON pointer: write `~0`",
    ),
    ("\"/messages\", \"\"", "", "4: sources.shop.events: it is empty"),
    (
        "\"/messages\", \"\"",
        "\"/messages\", \"/messages/text\"",
        "4: sources.shop.events: `/messages/text` is within `/messages`",
    ),
    ("\"/id\"]", "\"id\"]", "5: sources.shop.key: `id` is no place in a request; write `/id`"),
    ("\"/id\"]", "\"/id or\"]", "5: sources.shop.key: `/id or` has nothing behind its last ` or`"),
    ("\"/id\"]", "\"header:a b\"]", "5: sources.shop.key: `header:a b` names no header"),
    ("\"/id\"]", "\"literal:\"]", "5: sources.shop.key: `literal:` has no text behind it"),
    ("\"/id\"]", "\"literal:x\"]", "5: sources.shop.key: it is the same for every event"),
    ("\"/id\"]", "1]", "5: sources.shop.key: invalid type: integer `1`, expected a text in quotes"),
    (
        "\"/type\" =",
        "\"type\" =",
        "16: sources.shop.rules[0].when: `type` is no place in a request",
    ),
    ("[\"a\", 1, true]", "[]", "16: sources.shop.rules[0].when: a list of no texts never holds"),
    (
        "[\"a\", 1, true]",
        "1.5",
        "16: sources.shop.rules[0].when: invalid type: floating point `1.5`",
    ),
    ("kind =", "priority = 3\nkind =", "6: sources.shop.priority: write 0, 1 or 2"),
    ("kind =", "retries = \"0s\"\nkind =", "6: sources.shop.retries: it can't be 0"),
    ("kind =", "retries = \"31d\"\nkind =", "retention.key: 30d is shorter than the 31d"),
    (
        "kind =",
        "challenge = \"/c\"\nkind =",
        "6: sources.shop.challenge: every request that has such",
    ),
    (
        "kind =",
        "challenge_when = { \"/a\" = \"b\" }\nkind =",
        "6: sources.shop.challenge_when: there is no",
    ),
    // Signatures.
    (
        "type = \"hmac\"",
        "type = \"hmca\"",
        "9: sources.shop.signature.type: unknown variant `hmca`",
    ),
    (
        "header = \"X-Sig\"\n",
        "",
        "8: sources.shop.signature: `header` is missing: say in which one the hmac",
    ),
    ("X-Sig", "X Sig", "8: sources.shop.signature: `header`: `X Sig` is no name of a header"),
    (
        "tolerance =",
        "algorithm = \"md5\"\ntolerance =",
        "13: sources.shop.signature.algorithm: unknown",
    ),
    (
        "tolerance =",
        "encoding = \"hexa\"\ntolerance =",
        "13: sources.shop.signature.encoding: unknown",
    ),
    (
        "{body}",
        "{bdy}",
        "11: sources.shop.signature.template: there is no `{bdy}`; there are {body}",
    ),
    (".{body}", "", "11: sources.shop.signature.template: `{timestamp}` has no body in it"),
    ("{body}", "{body", "11: sources.shop.signature.template: a `{` of"),
    ("{body}", "{body}{url}", "1: sources.shop: without `public_url` nothing can be proven"),
    (
        "timestamp_header = \"X-Time\"\n",
        "",
        "11: sources.shop.signature.template: nothing says where",
    ),
    (
        "{timestamp}.",
        "",
        "12: sources.shop.signature.timestamp_header: the template has no `{timestamp}`",
    ),
    (
        "template = \"{timestamp}.{body}\"\ntimestamp_header = \"X-Time\"\n",
        "",
        "11: sources.shop.signature.tolerance: there is no signed time",
    ),
    (
        "tolerance =",
        "separator = \"\"\ntolerance =",
        "13: sources.shop.signature.separator: it is empty",
    ),
    (
        "X-Time",
        "X-Sig",
        "12: sources.shop.signature.timestamp_header: the signature is in this header",
    ),
    ("\"5m\"", "\"0s\"", "13: sources.shop.signature.tolerance: it can't be 0"),
    (
        "tolerance =",
        "body_claim = \"h\"\ntolerance =",
        "13: sources.shop.signature.body_claim: it means",
    ),
    (
        "tolerance =",
        "secret_encoding = \"hex\"\ntolerance =",
        "3: sources.shop.secrets[0]: it is not hex",
    ),
    (
        "type = \"hmac\"",
        "type = \"bearer\"",
        "10: sources.shop.signature.header: it means nothing where `type` is `bearer`; remove it",
    ),
    // What isn't signed.
    (
        "\"/id\"]",
        "\"header:X-Id\"]",
        "5: sources.shop.key: `header:X-Id` is not covered by the signature",
    ),
    ("\"/type\" =", "\"header:x\" =", "16: sources.shop.rules[0].when: `header:x` is not covered"),
    (
        "secrets = [\"hunter2\"]",
        "unverified = true",
        "7: sources.shop.require_signed_key: nothing is signed",
    ),
];

fn check(text: &str) -> Said {
    let place = Place::new();
    let rest = "[[routes]]\nname = \"all\"\nsteps = [\"log\"]\n[sinks.log]\ntype = \"log\"\n";
    place.write("hookonce.toml", &[text, rest].concat());
    place.run(&["check"])
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_what_to_do() {
    let mut wrong = vec![];
    for (from, to, message) in WRONG {
        assert!(GOOD.contains(from), "{from}");
        let said = check(&GOOD.replacen(from, to, 1));
        if !said.stderr.contains(message) || said.code != 1 {
            wrong.push(format!("expected {message}\n     got {}", said.stderr));
        }
        assert!(!said.stderr.contains("hunter2"), "a secret is shown: {}", said.stderr);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nothing_is_wrong_with_what_is_right() {
    assert_eq!(check(GOOD).stderr, "");
    // A header that is signed may be in a key.
    let signed =
        GOOD.replace("{body}", "{header:x-id}{body}").replace("\"/id\"]", "\"header:X-Id\"]");
    check(&signed).ok();
    let without =
        GOOD.replace("key = [\"literal:m\", \"/id\"]\n", "").replace("key = \"/id\"\n", "");
    assert!(
        check(&without)
            .stderr
            .contains("warning: hookonce.toml:1: sources.shop: there is no `key`")
    );
}

#[test]
fn nobody_is_trusted_by_oversight() {
    let lines: Vec<_> = GOOD.lines().take(6).collect();
    let unsigned = lines.join("\n") + "\n";
    let said = check(&unsigned);
    assert!(
        said.stderr.contains("1: sources.shop: nothing says how the sender signs"),
        "{}",
        said.stderr
    );
    let said = check(&unsigned.replace("secrets = [\"hunter2\"]", "unverified = true"));
    assert!(said.stderr.contains("UNVERIFIED"), "{}", said.stderr);
    said.ok();
    let basic = format!("{unsigned}[sources.shop.signature]\ntype = \"basic\"\n");
    let said = check(&basic);
    assert!(said.stderr.contains("3: sources.shop.secrets[0]: it has no `:`"), "{}", said.stderr);
    assert!(!said.stderr.contains("hunter2"));
}

#[test]
fn what_is_written_over_a_preset_is_held_to_the_same() {
    let source = |more: &str| {
        check(&format!("[sources.gh]\nscheme = \"github\"\nsecrets = [\"x\"]\n{more}"))
    };
    source("").ok();
    let said = source("require_signed_key = true\n");
    assert!(said.stderr.contains("`header:X-GitHub-Delivery` is not covered"), "{}", said.stderr);
    source("require_signed_key = true\nkey = \"digest\"\n").ok();
    let said = source("kind = \"type\"\n");
    assert!(said.stderr.contains("4: sources.gh.kind: `type` is no place"), "{}", said.stderr);
    let said = source("[sources.gh.signature]\nalgorithm = \"md5\"\n");
    assert!(said.stderr.contains("5: sources.gh.signature.algorithm: unknown"), "{}", said.stderr);
    source("[sources.gh.signature]\nalgorithm = \"sha1\"\nheader = \"X-Hub-Signature\"\nprefix = \"sha1=\"\n").ok();
    // Another type has nothing of the preset's.
    source("[sources.gh.signature]\ntype = \"bearer\"\n").ok();
    let short = "[retention]\nkey = \"1d\"\npayload = \"1d\"\ndead = \"1d\"\n";
    let said = check(&format!("[sources.a]\nscheme = \"stripe\"\nsecrets = [\"x\"]\n{short}"));
    assert!(
        said.stderr.contains("24h is shorter than the 3d for which the sender"),
        "{}",
        said.stderr
    );
}
