//! What Meta's challenge is answered, worked out from a query string byte by byte.

use hookonce::scheme::Challenge;

/// The right answer to a query for who has this token.
pub fn answer(query: &str, token: &str) -> Challenge {
    let pairs: Vec<_> = query.split('&').map(pair).collect();
    let asked = |(name, _): &&Pair| name.as_deref().is_some_and(|name| name.starts_with("hub."));
    if !pairs.iter().any(|pair| asked(&pair)) {
        return Challenge::NotAsked;
    }
    let all = |name: &str| -> Vec<_> {
        let named = pairs.iter().filter(|pair| pair.0.as_deref() == Some(name));
        named.map(|(_, value)| value.as_deref()).collect()
    };
    if all("hub.mode") != [Some("subscribe")] || all("hub.verify_token") != [Some(token)] {
        return Challenge::Refused;
    }
    match all("hub.challenge")[..] {
        [] | [Some("")] => Challenge::NotAsked,
        [Some(text)] if text.len() <= 1024 => Challenge::Answer(text.to_owned()),
        _ => Challenge::Refused,
    }
}

/// A name and its value; `None` where one is no text.
type Pair = (Option<String>, Option<String>);

fn pair(pair: &str) -> Pair {
    match pair.find('=') {
        Some(at) => (decode(&pair[..at]), decode(&pair[at + 1..])),
        None => (decode(pair), Some(String::new())),
    }
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|pair| pair.iter().all(u8::is_ascii_hexdigit));
        let code = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let code = code.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let (byte, length) = match (first, code) {
            (b'%', Some(code)) => (code, 3),
            (b'+', _) => (b' ', 1),
            _ => (*first, 1),
        };
        bytes.push(byte);
        rest = &rest[length..];
    }
    String::from_utf8(bytes).ok()
}
