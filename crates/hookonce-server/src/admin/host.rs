//! Which names the admin listener answers to.
//!
//! A page in a browser can reach what listens on loopback by a name of its own that it makes point
//! there (DNS rebinding). The browser then says that name: so a name that isn't ours is refused.

use std::net::{IpAddr, Ipv6Addr};

use axum::extract::Request;
use axum::http::header;

/// The names of the listener.
#[derive(Debug)]
pub(super) struct Hosts {
    /// Names and addresses, in lower case.
    names: Vec<String>,
    /// It listens on every address of the machine, whichever these are.
    is_everywhere: bool,
}

impl Hosts {
    /// The host of the address that is listened at, and further names.
    pub(super) fn new(listen: &str, hosts: &[String]) -> Self {
        let own = split(listen).map(|(host, _)| host.to_ascii_lowercase());
        let is_everywhere =
            own.as_deref().and_then(address).is_some_and(|address| address.is_unspecified());
        let names = hosts.iter().map(|host| host.to_ascii_lowercase());
        let names = names.chain(own.filter(|_| !is_everywhere)).chain(["localhost".to_owned()]);
        Self { names: names.collect(), is_everywhere }
    }

    /// Whether a request is for one of them.
    pub(super) fn admit(&self, request: &Request) -> bool {
        let mut hosts = request.headers().get_all(header::HOST).iter();
        let named = hosts.next().and_then(|host| host.to_str().ok());
        let is_only = hosts.next().is_none();
        // In absolute form it is the authority that counts.
        let named = request.uri().authority().map(axum::http::uri::Authority::as_str).or(named);
        is_only && named.is_some_and(|named| self.has(named))
    }

    fn has(&self, named: &str) -> bool {
        let Some((host, port)) = split(named) else { return false };
        if port.is_some_and(|port| port.parse::<u16>().is_err()) {
            return false;
        }
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        let by_address = address(&host).is_some_and(|address| {
            self.is_everywhere
                || address.to_canonical().is_loopback()
                || self.names.iter().any(|name| self::address(name) == Some(address))
        });
        by_address || self.names.contains(&host)
    }
}

/// Splits a host, in brackets if it has some, from the port behind it.
fn split(named: &str) -> Option<(&str, Option<&str>)> {
    let end = if named.starts_with('[') {
        named.find(']')? + 1
    } else {
        named.find(':').unwrap_or(named.len())
    };
    let (host, rest) = named.split_at(end);
    if host.is_empty() {
        return None;
    }
    if rest.is_empty() {
        Some((host, None))
    } else {
        rest.strip_prefix(':').map(|port| (host, Some(port)))
    }
}

/// The address that a host is, if it is one.
fn address(host: &str) -> Option<IpAddr> {
    let within = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    match within {
        Some(host) => host.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => host.parse().ok().filter(IpAddr::is_ipv4),
    }
}

#[cfg(test)]
mod tests {
    use super::Hosts;

    fn has(listen: &str, named: &str) -> bool {
        Hosts::new(listen, &["Ops.example.com".to_owned()]).has(named)
    }

    #[test]
    fn loopback_and_names_that_were_given_are_ours_with_any_port() {
        for named in [
            "127.0.0.1",
            "127.0.0.1:1",
            "127.9.9.9",
            "[::1]",
            "[::1]:8081",
            "[::ffff:127.0.0.1]",
            "localhost",
            "LOCALHOST:80",
            "localhost.",
            "ops.example.com",
            "ops.EXAMPLE.com:443",
        ] {
            assert!(has("127.0.0.1:8081", named), "{named}");
        }
        assert!(has("admin.internal:8081", "admin.internal:9"));
        assert!(has("[fd00::1]:8081", "[fd00:0::1]:1"));
        assert!(has("10.0.0.1:8081", "10.0.0.1"));
    }

    #[test]
    fn what_names_another_host_or_none_is_not_ours() {
        for named in [
            "",
            ":80",
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "0.0.0.0",
            "10.0.0.1",
            "::1",
            "[::1",
            "[::1]x",
            "[::2]",
            "127.0.0.1:80:80",
            "127.0.0.1:x",
            "127.0.0.1@evil.example",
            "sub.localhost",
            "[localhost]",
            "ops.example.com..",
        ] {
            assert!(!has("127.0.0.1:8081", named), "{named}");
        }
    }

    #[test]
    fn who_listens_everywhere_is_reached_by_any_address_but_only_by_its_names() {
        for listen in ["0.0.0.0:8081", "[::]:8081"] {
            for named in
                ["10.0.0.1", "192.0.2.7:8081", "[2001:db8::1]", "localhost", "ops.example.com"]
            {
                assert!(has(listen, named), "{listen} {named}");
            }
            assert!(!has(listen, "evil.example"));
        }
    }
}
