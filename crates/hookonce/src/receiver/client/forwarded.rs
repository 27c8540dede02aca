//! Reads the header `Forwarded` as RFC 7239 writes it, and nothing that is only like it.

/// What one proxy says: its parameters, by their names in lower case.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Element(Vec<(String, String)>);

impl Element {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// Reads the elements, in their order; `None` if there is anything in it that doesn't belong there.
pub(super) fn read(text: &str) -> Option<Vec<Element>> {
    let mut elements = vec![];
    let mut pairs: Vec<(String, String)> = vec![];
    let mut rest = text.trim_start_matches(is_space);
    loop {
        let (name, after) = rest.split_once('=')?;
        let name = name.to_ascii_lowercase();
        let (value, after) = read_value(after)?;
        if !is_token(&name) || pairs.iter().any(|(own, _)| *own == name) {
            return None;
        }
        pairs.push((name, value));
        let after = after.trim_start_matches(is_space);
        let Some(separator) = after.chars().next() else { break };
        match separator {
            ';' => {}
            ',' => elements.push(Element(std::mem::take(&mut pairs))),
            _ => return None,
        }
        rest = after[1..].trim_start_matches(is_space);
    }
    elements.push(Element(pairs));
    Some(elements)
}

/// Reads a token or a quoted text, and gives what comes behind it.
fn read_value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(|c| !is_token_char(c)).unwrap_or(text.len());
        let (value, after) = text.split_at(end);
        return (!value.is_empty()).then(|| (value.to_owned(), after));
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => value.push(chars.next()?.1),
            c => value.push(c),
        }
    }
    None
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_token_char)
}

fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Option<Vec<Vec<(String, String)>>> {
        Some(read(text)?.into_iter().map(|element| element.0).collect())
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn elements_are_read_with_their_parameters() {
        let text = r#"For="[2001:db8:cafe::17]:4711";proto=https , for=192.0.2.60; host="a\"b""#;
        let first = vec![pair("for", "[2001:db8:cafe::17]:4711"), pair("proto", "https")];
        let second = vec![pair("for", "192.0.2.60"), pair("host", "a\"b")];
        assert_eq!(pairs(text), Some(vec![first, second]));
    }

    #[test]
    fn a_comma_within_quotes_begins_no_element() {
        let text = r#"for="x, for=10.0.0.1";by=_me"#;
        assert_eq!(
            pairs(text),
            Some(vec![vec![pair("for", "x, for=10.0.0.1"), pair("by", "_me")]])
        );
    }

    #[test]
    fn what_is_not_well_formed_is_not_read() {
        for text in [
            "",
            " ",
            ",",
            ";",
            "for",
            "for=",
            "=a",
            "for=a,",
            "for=a;",
            ",for=a",
            "for=a;;by=b",
            "for=a b",
            "for =a",
            "for= a",
            "for=\"a",
            "for=\"a\"b",
            "for=\"a\\",
            "for=[::1]",
            "for=192.0.2.1:80",
            "for=a;for=b",
            "for=a;FOR=b",
            "fo r=a",
            "for=é",
            "for=a,,for=b",
        ] {
            assert_eq!(pairs(text), None, "{text}");
        }
    }
}
