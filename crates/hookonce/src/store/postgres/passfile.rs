//! A file of passwords as libpq's: a line each, `host:port:database:user:password`.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use tokio_postgres::Config;

use crate::store::StoreError;

/// Who else may not read a file of secrets: its group, and everybody.
pub(super) const OTHERS: u32 = 0o077;

/// Finds the password for a host, if there is one.
pub(super) fn find(file: &Path, host: &str, of: &Config) -> Result<Option<String>, StoreError> {
    let wrong = |why: String| {
        let file = file.display();
        StoreError::unavailable(format!("the password file `{file}` can't be used: {why}"))
    };
    let about = fs::metadata(file).map_err(|error| wrong(error.to_string()))?;
    if !about.is_file() {
        return Err(wrong("it is no file".to_owned()));
    }
    if about.mode() & OTHERS != 0 {
        return Err(wrong("others may read it: `chmod 600` it".to_owned()));
    }
    let text = fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let user = of.get_user().unwrap_or_default();
    let port = of.get_ports().first().copied().unwrap_or(5432).to_string();
    // A socket's lines may say `localhost`.
    let hosts = if host.starts_with('/') { vec![host, "localhost"] } else { vec![host] };
    let name = of.get_dbname().unwrap_or(user);
    Ok(hosts.into_iter().find_map(|host| password(&text, [host, &port, name, user])))
}

/// The password of the first line that fits.
fn password(text: &str, wanted: [&str; 4]) -> Option<String> {
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let mut rest = line;
        for value in wanted {
            let (field, after) = field(rest);
            if field != value && rest.get(..2) != Some("*:") {
                return None;
            }
            rest = after?;
        }
        // A backslash is one before any character of the password, too; a colon needs none.
        Some(unescaped(rest))
    })
}

/// The first field of a line, and what stands behind its colon.
fn field(line: &str) -> (String, Option<&str>) {
    let mut is_escaped = false;
    let end = line.find(|c| {
        let ends = c == ':' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    let end_or_all = end.unwrap_or(line.len());
    (unescaped(&line[..end_or_all]), end.map(|end| &line[end + 1..]))
}

fn unescaped(text: &str) -> String {
    let mut chars = text.chars();
    let mut out = String::new();
    while let Some(c) = chars.next() {
        out.push(if c == '\\' { chars.next().unwrap_or(c) } else { c });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::password;

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        let text = "# h:5432:d:u:comment\n\
                    h:5433:d:u:other port\n\
                    h:5432:*:u\\:x:with colon in the user\n\
                    \\:\\:1:5432:d:u:six\n\
                    h:*:d:u:p:w\\\\d\\:\n\
                    *:*:*:*:any\n";
        assert_eq!(password(text, ["h", "5432", "d", "u"]).as_deref(), Some("p:w\\d:"));
        assert_eq!(password(text, ["h", "5433", "d", "u"]).as_deref(), Some("other port"));
        let with_colon = Some("with colon in the user");
        assert_eq!(password(text, ["h", "5432", "e", "u:x"]).as_deref(), with_colon);
        assert_eq!(password(text, ["::1", "5432", "d", "u"]).as_deref(), Some("six"));
        assert_eq!(password(text, ["x", "1", "y", "z"]).as_deref(), Some("any"));
        assert_eq!(password("h:5432:d:u", ["h", "5432", "d", "u"]), None);
        assert_eq!(password("*x:1:d:u:p", ["h", "1", "d", "u"]), None);
    }
}
