//! The address that Twilio signs, in the spellings that it may have.
//!
//! Works on the text: an address that is parsed and printed again may differ in its escapes.

/// The address as it is given and, where that has a port, without it, else with the port of its
/// protocol: Twilio signs the one or the other.
pub(super) fn spellings(url: &str) -> [String; 2] {
    let after = url.find("://").map_or(0, |at| at + "://".len());
    let end = url[after..].find(['/', '?', '#']).map_or(url.len(), |at| after + at);
    let host = url[after..end].rfind('@').map_or(after, |at| after + at + 1);
    // A colon within brackets belongs to the address itself.
    let from = url[host..end].rfind(']').map_or(host, |at| host + at);
    let other = match url[from..end].find(':') {
        Some(colon) => [&url[..from + colon], &url[end..]].concat(),
        None if url.starts_with("http://") => [&url[..end], ":80", &url[end..]].concat(),
        None => [&url[..end], ":443", &url[end..]].concat(),
    };
    [url.to_owned(), other]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_tried_with_and_without_its_port() {
        for (url, other) in [
            ("https://h.test/a?b=:1", "https://h.test:443/a?b=:1"),
            ("http://h.test", "http://h.test:80"),
            ("https://h.test:8443/a%2fb", "https://h.test/a%2fb"),
            ("https://u:p@h.test/a", "https://u:p@h.test:443/a"),
            ("https://u:p@h.test:1?x", "https://u:p@h.test?x"),
            ("https://[::1]/a", "https://[::1]:443/a"),
            ("https://[::1]:9/a", "https://[::1]/a"),
        ] {
            assert_eq!(spellings(url), [url, other]);
        }
    }
}
