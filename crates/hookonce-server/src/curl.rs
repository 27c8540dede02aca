//! The `curl` line that sends a request as a sender would, to be pasted into a shell.

use std::path::Path;

use anyhow::{Context as _, bail};
use hookonce::scheme::{Scheme, Signed, Unsigned};
use hookonce::store::Clock;

use crate::commands::init::random_hex;

use crate::config::Config;

/// What the line sends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Body<'a> {
    /// A file, by its absolute path, byte for byte.
    File(&'a Path),
    /// A text that stands in the line itself.
    Inline(&'a str),
}

/// Signs a body as its sender would: the address to send it to, and its headers.
pub(crate) fn signed(
    scheme: &dyn Scheme,
    url: String,
    body: &[u8],
) -> anyhow::Result<(String, Vec<(String, String)>)> {
    let id = format!("msg_{}", random_hex()?);
    let unsigned = Unsigned { body, url: &url, id: &id, at: Clock::system().now() };
    let Signed { headers, query } = scheme.sign(&unsigned);
    let url = if let Some(query) = query { format!("{url}?{query}") } else { url };
    Ok((url, headers))
}

/// Writes the line.
pub(crate) fn line(
    url: &str,
    headers: &[(String, String)],
    body: Body<'_>,
) -> anyhow::Result<String> {
    let mut words = vec!["curl -sS".to_owned()];
    for (name, value) in headers {
        words.push(format!("-H {}", quoted(&format!("{name}: {value}"))));
    }
    words.push(match body {
        Body::File(path) => {
            let name = path.to_str().context("the file's name is not UTF-8; rename it")?;
            format!("--data-binary {}", quoted(&format!("@{name}")))
        }
        Body::Inline(text) if text.contains('\0') => {
            bail!("a shell can't take this body in a line; write it to a file and name that")
        }
        // `--data-binary` takes what begins with @ for a file's name; `--data-raw` doesn't.
        Body::Inline(text) if text.starts_with('@') => format!("--data-raw {}", quoted(text)),
        Body::Inline(text) => format!("--data-binary {}", quoted(text)),
    });
    words.push(quoted(url));
    Ok(words.join(" "))
}

/// The address of a source at a server of this configuration that listens at `listen`.
pub(crate) fn webhook_url(config: &Config, listen: &str, source: &str) -> String {
    format!("{}://{}/webhooks/{source}", webhook_scheme(config), reached(listen))
}

/// What a server of this configuration speaks where webhooks come in.
pub(crate) fn webhook_scheme(config: &Config) -> &'static str {
    if config.tls.is_some() { "https" } else { "http" }
}

/// Where an admin listener is reached that listens at `listen`.
pub(crate) fn admin_url(listen: &str) -> String {
    format!("http://{}", reached(listen))
}

/// Where something is reached that listens at `listen`.
fn reached(listen: &str) -> String {
    // What listens everywhere is reached on loopback.
    match listen.rsplit_once(':') {
        Some(("0.0.0.0", port)) => format!("127.0.0.1:{port}"),
        Some(("[::]", port)) => format!("[::1]:{port}"),
        _ => listen.to_owned(),
    }
}

/// Puts `text` in single quotes, within which a shell changes nothing.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_line_is_for_the_shell_to_expand() {
        let body = Body::Inline(r#"{"a":"it's $HOME `x` \n"}"#);
        let line =
            line("http://[::1]:1/webhooks/a?b&c", &[("x-sig".into(), "1".into())], body).unwrap();
        let expected = r#"curl -sS -H 'x-sig: 1' --data-binary '{"a":"it'\''s $HOME `x` \n"}' 'http://[::1]:1/webhooks/a?b&c'"#;
        assert_eq!(line, expected);
    }

    #[test]
    fn a_server_that_listens_everywhere_is_reached_on_loopback() {
        assert_eq!(reached("0.0.0.0:80"), "127.0.0.1:80");
        assert_eq!(reached("[::]:80"), "[::1]:80");
        assert_eq!(reached("[::1]:80"), "[::1]:80");
    }
}
