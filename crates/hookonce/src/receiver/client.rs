//! Who a request comes from, and under which address it was sent, where proxies stand between.
//!
//! A header counts only if the connection is from a trusted proxy. What such a proxy says, and
//! isn't clear, leaves the client unknown: it is never taken for the proxy itself, whose address
//! may be let in where a stranger's is not. Nothing here is looked up or asked of anybody.

mod forwarded;

use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, Request};
use axum::http::header::{FORWARDED, HeaderName};
use axum::http::{HeaderMap, HeaderValue};

use super::network::{Network, any_contains};

const FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// Who a request comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// Its address, one of IPv4 never written in IPv6; `None` where nobody could tell, or a trusted
    /// proxy says what can't be understood.
    pub address: Option<IpAddr>,
    /// Where it sent the request, `https://host[:port]`; only by the word of a trusted proxy.
    pub base: Option<String>,
}

/// What one kind of headers says.
#[derive(Debug, Default)]
struct Said {
    address: Option<IpAddr>,
    base: Option<String>,
}

/// A header is malformed, there more than once, or contradicted by another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Unclear;

impl Client {
    /// Works out who is behind a connection from `peer`. `X-Forwarded-*` and `Forwarded` may both be
    /// there: where they contradict each other, neither counts. The client is the rightmost address
    /// that is no trusted proxy: what stands left of it, it may have written itself.
    pub fn of(peer: Option<IpAddr>, headers: &HeaderMap, proxies: &[Network]) -> Self {
        let address = peer.map(|peer| peer.to_canonical());
        match address {
            Some(proxy) if any_contains(proxies, proxy) => {
                Self::behind(proxy, headers, proxies).unwrap_or(Self { address: None, base: None })
            }
            _ => Self { address, base: None },
        }
    }

    /// Works out who a request comes from. Our listener and axum's own server say alike whose
    /// connection it is; where neither does, nobody knows.
    pub(super) fn of_request(request: &Request, proxies: &[Network]) -> Self {
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
        Self::of(peer.map(|ConnectInfo(peer)| peer.ip()), request.headers(), proxies)
    }

    fn behind(proxy: IpAddr, headers: &HeaderMap, proxies: &[Network]) -> Result<Self, Unclear> {
        let (x, standard) = (by_x(headers, proxies)?, by_standard(headers, proxies)?);
        // A proxy that says nothing of a client is one: it asks whether we live.
        let address = agreed(x.address, standard.address)?.unwrap_or(proxy);
        let base = agreed(x.base, standard.base).unwrap_or(None);
        Ok(Self { address: Some(address), base })
    }

    /// Whether it is known to be in one of these networks.
    pub(super) fn is_in(&self, networks: &[Network]) -> bool {
        self.address.is_some_and(|address| any_contains(networks, address))
    }
}

fn agreed<T: PartialEq>(one: Option<T>, other: Option<T>) -> Result<Option<T>, Unclear> {
    if one.is_some() && other.is_some() && one != other { Err(Unclear) } else { Ok(one.or(other)) }
}

/// What the headers say that everybody uses and nobody has specified.
fn by_x(headers: &HeaderMap, proxies: &[Network]) -> Result<Said, Unclear> {
    let mut address = None;
    if let Some(list) = only(headers, &FOR)? {
        for node in list.rsplit(',') {
            let node = node_address(node.trim_matches([' ', '\t'])).ok_or(Unclear)?;
            address = Some(node);
            if !any_contains(proxies, node) {
                break;
            }
        }
    }
    let (proto, host) = (only(headers, &PROTO), only(headers, &HOST));
    let base = proto.ok().flatten().zip(host.ok().flatten());
    Ok(Said { address, base: base.and_then(|(proto, host)| base_of(proto, host)) })
}

/// What the header of RFC 7239 says.
fn by_standard(headers: &HeaderMap, proxies: &[Network]) -> Result<Said, Unclear> {
    let mut said = Said::default();
    let Some(text) = only(headers, &FORWARDED)? else { return Ok(said) };
    for element in forwarded::read(text).ok_or(Unclear)?.iter().rev() {
        // Each proxy tells in its own element who came to it, and how.
        let node = element.get("for").map(|node| node_address(node).ok_or(Unclear)).transpose()?;
        said.address = Some(node.ok_or(Unclear)?);
        let base = element.get("proto").zip(element.get("host"));
        said.base = base.and_then(|(proto, host)| base_of(proto, host));
        if node.is_some_and(|node| !any_contains(proxies, node)) {
            break;
        }
    }
    Ok(said)
}

/// The value of a header that is there once, or none.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Unclear> {
    let mut values = headers.get_all(name).iter();
    let text = |value: &'h HeaderValue| value.to_str().map_err(|_| Unclear);
    let first = values.next().map(text).transpose()?;
    if values.next().is_some() { Err(Unclear) } else { Ok(first) }
}

/// The address of a node: alone, or with a port behind it, which is nobody's concern.
fn node_address(node: &str) -> Option<IpAddr> {
    let bare = node.strip_prefix('[').and_then(|node| node.strip_suffix(']'));
    let address = match bare {
        Some(bare) => bare.parse::<std::net::Ipv6Addr>().ok()?.into(),
        None => node
            .parse::<IpAddr>()
            .or_else(|_| node.parse::<SocketAddr>().map(|address| address.ip()))
            .ok()?,
    };
    Some(address.to_canonical())
}

/// Puts together where a request was sent, if both parts are what they should be.
fn base_of(proto: &str, host: &str) -> Option<String> {
    let proto = proto.to_ascii_lowercase();
    let is_fine = matches!(proto.as_str(), "https" | "http") && is_host(host);
    is_fine.then(|| format!("{proto}://{host}"))
}

/// Whether this is a host by name or address, perhaps with a port, and nothing else of a URL.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let is_port =
        |port: &str| port.parse::<u16>().is_ok() && port.bytes().all(|b| b.is_ascii_digit());
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    port.is_none_or(is_port)
        && match bare {
            Some(bare) => bare.parse::<std::net::Ipv6Addr>().is_ok(),
            None => !host.is_empty() && host.bytes().all(is_name),
        }
}

#[cfg(test)]
mod tests;
