//! What is wrong with who may connect: proxies, addresses, certificates.

use hookonce::receiver::Network;

use super::super::Config;
use super::super::document::{Document, join};
use super::super::section::TlsConfig;

/// Checks everything but the files of TLS, which change while they are used.
pub(super) fn check(config: &Config, document: &mut Document) {
    let proxies = &config.server.proxies;
    networks(document, "server.proxies", proxies);
    if let Some(n) = proxies.iter().position(|network| network.ends_with("/0")) {
        let message = "it is everybody: whoever connects can claim any address";
        document.warn(&format!("server.proxies[{n}]"), message);
    }
    for (name, source) in &config.sources {
        let Some(allow) = &source.allow else { continue };
        let path = format!("sources.{name}.allow");
        if allow.is_empty() {
            let message = "it is empty, so nobody may send; leave it out to take requests from \
                           anywhere";
            document.problem(&path, message);
        }
        networks(document, &path, allow);
    }
    if let Some(tls) = &config.tls {
        check_tls(document, tls);
    }
}

fn networks(document: &mut Document, path: &str, written: &[String]) {
    for (n, network) in written.iter().enumerate() {
        if let Err(error) = network.parse::<Network>() {
            document.problem(&format!("{path}[{n}]"), error.to_string());
        }
    }
}

fn check_tls(document: &mut Document, tls: &TlsConfig) {
    let files = [
        ("certificate", Some(&tls.certificate)),
        ("key", Some(&tls.key)),
        ("client_ca", tls.client_ca.as_ref()),
    ];
    for (key, file) in files {
        if file.is_some_and(|file| file.trim().is_empty()) {
            document.problem(&join("server.tls", key), "it is empty; write the path of a file");
        }
    }
    if tls.client_name.is_some() && tls.client_ca.is_none() {
        let message = "no client's certificate is looked at; give `client_ca`, or remove it";
        document.problem("server.tls.client_name", message);
    }
}
