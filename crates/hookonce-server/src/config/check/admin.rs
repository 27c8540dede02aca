//! What is wrong with who may reach the admin listener and call its API.

use std::collections::BTreeMap;

use super::super::Config;
use super::super::document::{Document, join, nearest};
use super::super::section::{RoleName, TokenConfig, WorkerName};

/// The shortest token, in characters.
const TOKEN_LEAST: usize = 16;

/// Checks everything but the tokens themselves.
pub(super) fn check(config: &Config, document: &mut Document) {
    let server = &config.server;
    super::address(document, "server.admin_listen", &server.admin_listen, "127.0.0.1:8081");
    if server.admin_listen == server.listen && !server.listen.ends_with(":0") {
        let message = "webhooks come in there; choose another port";
        document.problem("server.admin_listen", message);
    }
    for (n, host) in config.admin.hosts.iter().enumerate() {
        if host.is_empty() || host.contains(['/', ':', '@', ' ']) {
            let message = format!(
                "`{host}` is no name of a host; write the name alone, without scheme and port, such \
                 as \"ops.example.com\""
            );
            document.problem(&format!("admin.hosts[{n}]"), message);
        }
    }
    for (n, token) in config.tokens.iter().enumerate() {
        let path = format!("admin.tokens[{n}]");
        super::name(document, &join(&path, "name"), &token.name);
        if config.tokens[..n].iter().any(|other| other.name == token.name) {
            let message = format!(
                "there is a token `{}` already, and the audit tells them apart by name; rename one",
                token.name
            );
            document.problem(&join(&path, "name"), message);
        }
        check_routes(config, document, &path, token);
    }
}

/// Checks that every token is at hand, hard to guess and not another's.
pub(super) fn secrets(config: &Config, document: &mut Document) {
    let mut names = BTreeMap::new();
    for (n, token) in config.tokens.iter().enumerate() {
        let path = format!("admin.tokens[{n}].token");
        let secret = match config.secret(&token.token) {
            Ok(secret) => secret,
            Err(message) => {
                document.problem(&path, message);
                continue;
            }
        };
        let text = secret.expose().to_owned();
        if text.len() < TOKEN_LEAST {
            let message = format!(
                "it is shorter than {TOKEN_LEAST} characters, so it could be guessed; make one with \
                 `openssl rand -hex 16`"
            );
            document.problem(&path, message);
        }
        if !text.chars().all(|c| c.is_ascii_graphic()) {
            let message = "a header can't carry it; write printable ASCII without spaces";
            document.problem(&path, message);
        }
        if let Some(other) = names.insert(text, &token.name) {
            let message = format!(
                "it is the same as that of `{other}`, so nobody could say whose call it was; give \
                 each its own"
            );
            document.problem(&path, message);
        }
    }
}

fn check_routes(config: &Config, document: &mut Document, path: &str, token: &TokenConfig) {
    let path = join(path, "routes");
    if token.role != RoleName::Worker {
        if !token.routes.is_empty() {
            let message = format!(
                "the role `{}` is for every route; remove it, or write role = \"worker\"",
                token.role.as_str()
            );
            document.problem(&path, message);
        }
        return;
    }
    if token.routes.is_empty() {
        document.problem(&path, "a worker claims the tasks of its routes only; name at least one");
    }
    let names: Vec<&str> = config.routes.iter().map(|route| route.name.as_str()).collect();
    for (n, name) in token.routes.iter().enumerate() {
        let path = format!("{path}[{n}]");
        match config.routes.iter().find(|route| route.name == *name) {
            Some(route) if route.worker == WorkerName::External => {}
            Some(_) => {
                let message = format!(
                    "the route `{name}` is handled by the server; write `worker = \"external\"` \
                     there to leave it to workers outside"
                );
                document.problem(&path, message);
            }
            None => {
                let hint = nearest(name, &names)
                    .map_or_else(String::new, |word| format!("; did you mean `{word}`?"));
                document.problem(&path, format!("there is no route `{name}`{hint}"));
            }
        }
    }
}
