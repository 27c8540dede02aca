//! What is wrong with proxies, addresses and certificates.

use super::{GOOD, assert_said, check, check_with};

/// What is replaced in the good configuration by what, and what is said of it then.
const WRONG: &[(&str, &str, &str)] = &[
    (
        "[sources.",
        "[server]\nproxies = [\n\"::1\",\n\"10.0.0.0/33\"]\n[sources.",
        "5: server.proxies[1]: `10.0.0.0/33` is no range of addresses; write an address, such as \
         \"192.0.2.1\"",
    ),
    (
        "[sources.",
        "[server]\nproxies = [\"10.0.0.1/8\"]\n[sources.",
        "3: server.proxies[0]: `10.0.0.1/8` names one address and a range around it; write \
         \"10.0.0.0/8\" for the range, or \"10.0.0.1\"",
    ),
    (
        "[sources.",
        "[server]\nproxies = \"10.0.0.0/8\"\n[sources.",
        "3: server.proxies: invalid type: string",
    ),
    (
        "verify_token",
        "allow = [\"meta\"]\nverify_token",
        "5: sources.whatsapp.allow[0]: `meta` is no range of addresses; write",
    ),
    (
        "verify_token",
        "allow = []\nverify_token",
        "5: sources.whatsapp.allow: it is empty, so nobody may send; leave it out",
    ),
    (
        "[sources.",
        "[server.tls]\ncertificate = \"a.pem\"\n[sources.",
        "2: server.tls: `key` is missing",
    ),
    (
        "[sources.",
        "[server.tls]\ncertificate = \"a.pem\"\nkey = \"\"\n[sources.",
        "4: server.tls.key: it is empty; write the path of a file",
    ),
    (
        "[sources.",
        "[server.tls]\ncertificate = \"a.pem\"\nkey = \"a.key\"\nclient_name = \"a.b\"\n[sources.",
        "5: server.tls.client_name: no client's certificate is looked at; give `client_ca`",
    ),
    (
        "[sources.",
        "[server.tls]\ncertificate = \"a.pem\"\nkey = \"a.key\"\n[sources.",
        "3: server.tls.certificate: cannot read `a.pem`",
    ),
    (
        "[sources.",
        "[server.tls]\ncert = \"a.pem\"\nkey = \"a.key\"\n[sources.",
        "3: server.tls.cert: there is no key `cert`; there are certificate, key",
    ),
    (
        "[sources.",
        "[server]\ntsl = 1\n[sources.",
        "3: server.tsl: there is no key `tsl`; did you mean `tls`?",
    ),
    ("[sources.", "[server]\ntls = true\n[sources.", "3: server.tls: write it as a table"),
];

#[test]
fn an_address_is_one_and_a_certificate_has_its_key() {
    assert_said(WRONG);
}

#[test]
fn every_key_of_addresses_is_accepted() {
    let text =
        GOOD.replace("verify_token", "allow = [\"192.0.2.0/24\", \"2001:db8::1\"]\nverify_token");
    let said = check(&format!("{text}\n[server]\nproxies = [\"10.0.0.0/8\", \"::1\"]\n"));
    assert_eq!(said.stderr, "");
    said.ok();
}

#[test]
fn to_trust_everybody_as_a_proxy_is_warned_of() {
    let said = check_with("[sources.", "[server]\nproxies = [\"::/0\"]\n[sources.");
    let expected = "warning: hookonce.toml:3: server.proxies[0]: it is everybody";
    assert!(said.stderr.contains(expected), "{}", said.stderr);
    said.ok();
}
