//! Finds the parameters of a statement: `:name`, outside quotes, comments and casts.

/// The statement with numbers for its parameters, and their names in the order of the numbers.
pub(super) fn numbered(sql: &str) -> (String, Vec<String>) {
    let mut names: Vec<String> = Vec::new();
    let mut out = String::with_capacity(sql.len());
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let plain = skipped(rest);
        if plain > 0 {
            out.push_str(&rest[..plain]);
            rest = &rest[plain..];
            continue;
        }
        let name = rest.strip_prefix(':').map_or("", word);
        if name.is_empty() {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let known = names.iter().position(|known| known == name);
        let n = known.unwrap_or_else(|| {
            names.push(name.to_owned());
            names.len() - 1
        });
        out.push('$');
        out.push_str(&(n + 1).to_string());
        rest = &rest[1 + name.len()..];
    }
    (out, names)
}

/// The first word of a statement, behind comments.
pub(super) fn first_word(sql: &str) -> &str {
    let mut rest = sql.trim_start();
    while rest.starts_with("--") || rest.starts_with("/*") {
        rest = rest[skipped(rest)..].trim_start();
    }
    word(rest)
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len());
    let word = &text[..end];
    if word.starts_with(|c: char| c.is_ascii_digit()) { "" } else { word }
}

/// How many bytes in front are something in which a colon means nothing.
fn skipped(rest: &str) -> usize {
    let after =
        |n: usize, end: Option<usize>, length: usize| end.map_or(rest.len(), |at| n + at + length);
    if rest.starts_with("::") || rest.starts_with(":=") {
        return 2;
    }
    if let Some(comment) = rest.strip_prefix("--") {
        return after(2, comment.find('\n'), 1);
    }
    if rest.starts_with("/*") {
        return comment(rest);
    }
    if rest.starts_with("e'") || rest.starts_with("E'") {
        return 1 + quoted(&rest[1..], '\'', true);
    }
    if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '\'' | '"')) {
        return quoted(rest, quote, false);
    }
    if let Some(tag) = rest.strip_prefix('$').map(word)
        && rest[1 + tag.len()..].starts_with('$')
    {
        let tag = &rest[..tag.len() + 2];
        return after(tag.len(), rest[tag.len()..].find(tag), tag.len());
    }
    // A word is passed over whole: the `e` of a name opens no quote.
    let name = word(rest);
    if name.len() > 1 { name.len() } else { 0 }
}

/// Comments may stand within comments.
fn comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// A doubled quote is a quote within, and so may one behind a backslash be.
fn quoted(rest: &str, quote: char, has_escapes: bool) -> usize {
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if has_escapes && c == '\\' {
            chars.next();
        } else if c == quote {
            if chars.peek().is_some_and(|(_, next)| *next == quote) {
                chars.next();
            } else {
                return at + c.len_utf8();
            }
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::{first_word, numbered};

    #[test]
    fn a_parameter_is_found_only_where_it_can_be_one() {
        let cases = [
            ("select :id, :key, :id", "select $1, $2, $1"),
            ("select (:element)::jsonb ->> 'a:b'", "select ($1)::jsonb ->> 'a:b'"),
            ("select ':id', \":id\", 'it''s :id'", "select ':id', \":id\", 'it''s :id'"),
            ("select e'\\':id', :id", "select e'\\':id', $1"),
            ("select 1 -- :id\n, :id", "select 1 -- :id\n, $1"),
            ("select /* :id /* :id */ :id */ :id", "select /* :id /* :id */ :id */ $1"),
            ("do $$ :id $$; $x$ :id $x$ :id", "do $$ :id $$; $x$ :id $x$ $1"),
            ("select f(a := :id), name':id'", "select f(a := $1), name':id'"),
            ("select '{\"a\":1}'::json, :é, :1", "select '{\"a\":1}'::json, :é, :1"),
        ];
        for (sql, expected) in cases {
            assert_eq!(numbered(sql).0, expected, "{sql}");
        }
        assert_eq!(numbered("select :id, :key").1, ["id", "key"]);
    }

    #[test]
    fn the_first_word_is_found_behind_comments() {
        assert_eq!(first_word("-- x\n /* y */ Commit;"), "Commit");
    }
}
