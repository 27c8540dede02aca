use axum::http::HeaderMap;

use super::*;

/// The client behind a connection from `peer`, whose proxies are these.
fn client(peer: &str, headers: &[(&'static str, &str)]) -> Client {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    let proxies = ["10.0.0.0/8", "::1", "2001:db8:1::/48"].map(|text| text.parse().unwrap());
    Client::of(Some(peer.parse().unwrap()), &map, &proxies)
}

fn at(address: &str) -> Client {
    Client { address: Some(address.parse().unwrap()), base: None }
}

const UNKNOWN: Client = Client { address: None, base: None };

#[test]
fn what_a_stranger_says_counts_for_nothing() {
    let said = [
        ("x-forwarded-for", "192.0.2.1"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "a.example"),
        ("forwarded", "for=192.0.2.1;proto=https;host=a.example"),
    ];
    for peer in ["198.51.100.7", "2001:db8:2::1", "::2", "11.0.0.1"] {
        assert_eq!(client(peer, &said), at(peer));
    }
    assert_eq!(Client::of(None, &HeaderMap::new(), &["10.0.0.0/8".parse().unwrap()]), UNKNOWN);
}

#[test]
fn the_client_is_the_rightmost_address_that_is_no_proxy() {
    for (list, address) in [
        ("192.0.2.1", "192.0.2.1"),
        ("6.6.6.6, 192.0.2.1", "192.0.2.1"),
        ("6.6.6.6,192.0.2.1 , 10.1.1.1,\t10.2.2.2", "192.0.2.1"),
        ("not an address, 192.0.2.1", "192.0.2.1"),
        ("10.0.0.9, 10.0.0.8", "10.0.0.9"),
        ("192.0.2.1:4711", "192.0.2.1"),
        ("2001:db8:2::7", "2001:db8:2::7"),
        ("[2001:db8:2::7]", "2001:db8:2::7"),
        ("[2001:db8:2::7]:4711, ::1, 2001:db8:1::5", "2001:db8:2::7"),
        ("::ffff:192.0.2.1, ::ffff:10.0.0.1", "192.0.2.1"),
    ] {
        for peer in ["10.0.0.1", "::1", "::ffff:10.0.0.1", "2001:db8:1::1"] {
            assert_eq!(client(peer, &[("x-forwarded-for", list)]), at(address), "{list}");
        }
    }
}

#[test]
fn the_standard_header_says_the_same() {
    for (text, address) in [
        ("for=192.0.2.1", "192.0.2.1"),
        ("for=6.6.6.6, for=192.0.2.1;by=_x;proto=http, for=10.0.0.3", "192.0.2.1"),
        ("for=\"192.0.2.1:80\"", "192.0.2.1"),
        ("For=\"[2001:db8:2::7]:4711\"", "2001:db8:2::7"),
        ("for=unknown, for=192.0.2.1", "192.0.2.1"),
    ] {
        assert_eq!(client("10.0.0.1", &[("forwarded", text)]), at(address), "{text}");
    }
}

#[test]
fn a_proxy_that_says_nothing_is_the_client() {
    assert_eq!(client("10.0.0.1", &[]), at("10.0.0.1"));
    assert_eq!(client("::ffff:10.0.0.1", &[("x-forwarded-proto", "https")]), at("10.0.0.1"));
}

/// Fails when `Client::of` takes the proxy's own address where its headers can't be understood:
/// a stranger could write such a header, and come in as the proxy.
#[test]
fn a_client_that_is_not_told_clearly_is_unknown_and_never_the_proxy() {
    for said in [
        &[("x-forwarded-for", "")][..],
        &[("x-forwarded-for", "192.0.2.1,")],
        &[("x-forwarded-for", "192.0.2.1, unknown")],
        &[("x-forwarded-for", "192.0.2.1, 10.0.0.300")],
        &[("x-forwarded-for", "192.0.2.1 10.0.0.3")],
        &[("x-forwarded-for", "[192.0.2.1]")],
        &[("x-forwarded-for", "fe80::1%eth0")],
        &[("x-forwarded-for", "192.0.2.\u{e9}")],
        &[("x-forwarded-for", "192.0.2.1"), ("x-forwarded-for", "192.0.2.1")],
        &[("forwarded", "")],
        &[("forwarded", "for=192.0.2.1;;")],
        &[("forwarded", "for=unknown")],
        &[("forwarded", "for=_hidden, for=10.0.0.3")],
        &[("forwarded", "proto=https;host=a.example")],
        &[("forwarded", "for=2001:db8:2::7")],
        &[("forwarded", "for=192.0.2.1"), ("forwarded", "for=192.0.2.1")],
        &[("forwarded", "for=192.0.2.2"), ("x-forwarded-for", "192.0.2.1")],
        &[("forwarded", "x"), ("x-forwarded-for", "192.0.2.1")],
    ] {
        assert_eq!(client("10.0.0.1", said), UNKNOWN, "{said:?}");
    }
}

#[test]
fn where_it_was_sent_is_told_by_protocol_and_host_together() {
    for (proto, host, base) in [
        ("https", "hooks.example.com", Some("https://hooks.example.com")),
        ("HTTPS", "hooks.example.com:8443", Some("https://hooks.example.com:8443")),
        ("http", "[2001:db8::1]:80", Some("http://[2001:db8::1]:80")),
        ("https", "[2001:db8::1]", Some("https://[2001:db8::1]")),
        ("wss", "hooks.example.com", None),
        ("https", "", None),
        ("https", "user@hooks.example.com", None),
        ("https", "a.example, b.example", None),
        ("https", "a.example:port", None),
        ("https", "a.example:+80", None),
        ("https", "a.example:", None),
        ("https", "2001:db8::1", None),
    ] {
        let x = [("x-forwarded-proto", proto), ("x-forwarded-host", host)];
        assert_eq!(client("10.0.0.1", &x).base.as_deref(), base, "{proto} {host}");
        let standard = format!("for=192.0.2.1;proto={proto};host=\"{host}\"");
        let standard = client("10.0.0.1", &[("forwarded", &standard)]);
        assert_eq!(standard.base.as_deref(), base, "{proto} {host}");
    }
    let (proto, host) = (("x-forwarded-proto", "https"), ("x-forwarded-host", "a.example"));
    for said in [&[proto][..], &[host], &[proto, proto, host], &[proto, host, host]] {
        assert_eq!(client("10.0.0.1", said), at("10.0.0.1"), "{said:?}");
    }
}

#[test]
fn where_it_was_sent_is_told_by_the_proxy_that_the_client_came_to() {
    let chain = "for=6.6.6.6;proto=https;host=evil.example, \
                 for=192.0.2.1;proto=https;host=hooks.example.com, \
                 for=10.0.0.2;proto=http;host=inner";
    let told = client("10.0.0.1", &[("forwarded", chain)]);
    assert_eq!(told.base.as_deref(), Some("https://hooks.example.com"));
    assert_eq!(told.address, at("192.0.2.1").address);
}

#[test]
fn both_kinds_of_headers_count_where_they_say_the_same_or_complete_each_other() {
    let x = ("x-forwarded-for", "192.0.2.1");
    assert_eq!(client("10.0.0.1", &[x, ("forwarded", "for=192.0.2.1")]), at("192.0.2.1"));
    let with_base = ("forwarded", "for=192.0.2.1;proto=https;host=a.example");
    let both = client("10.0.0.1", &[x, with_base]);
    assert_eq!(both.base.as_deref(), Some("https://a.example"));
    let other = [x, with_base, ("x-forwarded-proto", "http"), ("x-forwarded-host", "a.example")];
    assert_eq!(client("10.0.0.1", &other), at("192.0.2.1"));
}
