//! A range of addresses, as people write it: `10.0.0.0/8`, or one address alone.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net};

/// A range of addresses of IPv4 or IPv6. Those of IPv4 that are written in IPv6 (`::ffff:10.0.0.1`)
/// are of IPv4; so `::/0` is everybody by IPv6, and nobody by IPv4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network(IpNet);

impl Network {
    /// Whether an address is in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

/// Whether an address is in any of them.
pub(super) fn any_contains(networks: &[Network], address: IpAddr) -> bool {
    networks.iter().any(|network| network.contains(address))
}

/// Why a text is no [`Network`], and what to write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// It is no range of addresses.
    #[error(
        "`{0}` is no range of addresses; write an address, such as \"192.0.2.1\", or one with the \
         number of its leading bits that count, such as \"192.0.2.0/24\" or \"2001:db8::/32\""
    )]
    Form(String),
    /// Its address has bits that its prefix leaves out.
    #[error(
        "`{written}` names one address and a range around it; write \"{range}\" for the range, or \
         \"{address}\" for the address alone"
    )]
    Between {
        /// As it was written.
        written: String,
        /// The range.
        range: String,
        /// The address.
        address: IpAddr,
    },
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self(address.to_canonical().into()));
        }
        let form = || NetworkError::Form(text.to_owned());
        let network: IpNet = text.parse().map_err(|_| form())?;
        if network.trunc() != network {
            return Err(NetworkError::Between {
                written: text.to_owned(),
                range: network.trunc().to_string(),
                address: network.addr(),
            });
        }
        // Of the addresses that it is asked about none is of IPv4 written in IPv6.
        let IpAddr::V4(mapped) = network.addr().to_canonical() else { return Ok(Self(network)) };
        let prefix = (network.prefix_len() + 32).checked_sub(network.max_prefix_len());
        let mapped = prefix.and_then(|prefix| Ipv4Net::new(mapped, prefix).ok());
        Ok(Self(mapped.ok_or_else(form)?.into()))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_in(address: &str, network: &str) -> bool {
        network.parse::<Network>().unwrap().contains(address.parse().unwrap())
    }

    #[test]
    fn a_network_has_its_addresses_and_no_others() {
        assert!(is_in("10.255.0.1", "10.0.0.0/8") && !is_in("11.0.0.1", "10.0.0.0/8"));
        assert!(is_in("192.0.2.1", "192.0.2.1") && !is_in("192.0.2.2", "192.0.2.1"));
        assert!(is_in("2001:db8::7", "2001:db8::/32") && !is_in("2001:db9::7", "2001:db8::/32"));
        assert!(is_in("::1", "::1") && !is_in("::2", "::1/128"));
        assert!(is_in("192.0.2.1", "0.0.0.0/0") && is_in("2001:db8::7", "::/0"));
    }

    #[test]
    fn an_address_of_ipv4_is_one_however_it_is_written() {
        assert!(is_in("::ffff:10.0.0.1", "10.0.0.0/8") && is_in("10.0.0.1", "::ffff:10.0.0.1"));
        assert!(is_in("10.0.0.1", "::ffff:10.0.0.0/104"));
        assert!(!is_in("11.0.0.1", "::ffff:10.0.0.0/104"));
        assert!(!is_in("10.0.0.1", "::/0") && !is_in("::1", "0.0.0.0/0"));
    }

    #[test]
    fn what_is_no_network_is_told_what_to_write() {
        for text in
            ["", "all", "10.0.0", "10.0.0.0/33", "10.0.0.0/-1", "::/129", "10.0.0.0/8 ", "a/8"]
        {
            assert!(matches!(text.parse::<Network>(), Err(NetworkError::Form(_))), "{text}");
        }
        let between = "192.0.2.7/24".parse::<Network>().unwrap_err().to_string();
        assert!(between.contains("\"192.0.2.0/24\"") && between.contains("\"192.0.2.7\""));
    }
}
