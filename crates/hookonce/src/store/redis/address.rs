//! Where the server is, or the nodes of a cluster: `redis://user:password@host:port/database`.
//!
//! No password and no part of an address that may hold one is ever repeated.

use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use redis::cluster::ClusterClientBuilder;
use redis::io::tcp::TcpSettings;
use redis::{
    Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _,
    RedisConnectionInfo, TlsCertificates,
};

use super::RedisOptions;
use crate::store::StoreError;

/// The port of a server whose address has none.
const PORT: u16 = 6379;
/// For how long what was sent may go without a sign that it arrived.
const SILENCE: Duration = Duration::from_secs(5);

/// What all keys and channels begin with, unless the address says another.
const PREFIX: &str = "hookonce";

/// A server, or some nodes of a cluster, and what all that is ours begins with there.
pub(super) struct Address {
    pub(super) nodes: Vec<ConnectionInfo>,
    pub(super) is_cluster: bool,
    pub(super) prefix: String,
    certificates: Option<Files>,
}

/// Files of certificates in PEM.
struct Files {
    ca: Option<PathBuf>,
    /// Our own, and its key.
    own: Option<(PathBuf, PathBuf)>,
}

impl Address {
    /// Reads an address; its password may be in `options`.
    pub(super) fn read(options: &RedisOptions) -> Result<Self, StoreError> {
        let (scheme, rest) = options.url.split_once("://").ok_or_else(unknown)?;
        let (is_tls, is_cluster) = match scheme {
            "redis" => (false, false),
            "rediss" => (true, false),
            "redis+cluster" => (false, true),
            "rediss+cluster" => (true, true),
            _ => return Err(unknown()),
        };
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (prefix, files) = parameters(query)?;
        if !is_tls && (files.ca.is_some() || files.own.is_some()) {
            return Err(wrong("certificates are for `rediss://`"));
        }
        let (user, hosts) = place.rsplit_once('@').map_or((None, place), |(u, h)| (Some(u), h));
        // An `@` or `?` that is part of a password would make the rest of it a host or a parameter.
        if user.is_some_and(|user| user.contains(['@', '/'])) || query.contains('@') {
            return Err(wrong("in a user or password write `%40` for `@`, `%2F` for `/`"));
        }
        let (hosts, database) = hosts.split_once('/').unwrap_or((hosts, ""));
        let database = match database {
            "" => 0,
            text => text.parse().map_err(|_| wrong("the database is a number, as in `/0`"))?,
        };
        if is_cluster && database != 0 {
            return Err(wrong("a cluster has no database but 0"));
        }
        if !is_cluster && hosts.contains(',') {
            return Err(wrong("several hosts are a cluster's: write `redis+cluster://`"));
        }
        let login = login(user, options)?.set_db(database);
        let nodes = hosts
            .split(',')
            .map(|host| Ok(place_of(host, is_tls)?.set_redis_settings(login.clone())))
            .collect::<Result<_, StoreError>>()?;
        Ok(Self { nodes, is_cluster, prefix, certificates: is_tls.then_some(files) })
    }

    /// A client of each node. Reads the certificates.
    pub(super) fn clients(&self) -> Result<Vec<Client>, StoreError> {
        let certificates = self.certificates.as_ref().map(Files::load).transpose()?;
        let client = |node: &ConnectionInfo| match &certificates {
            Some(certificates) => Client::build_with_tls(node.clone(), certificates.clone()),
            None => Client::open(node.clone()),
        };
        self.nodes.iter().map(client).collect::<Result<_, _>>().map_err(|error| unusable(&error))
    }

    /// The client of a cluster. Reads the certificates.
    pub(super) fn cluster(&self) -> Result<ClusterClientBuilder, StoreError> {
        let builder = ClusterClientBuilder::new(self.nodes.clone()).tcp_settings(tcp());
        Ok(match &self.certificates {
            Some(files) => builder.certs(files.load()?),
            None => builder,
        })
    }
}

impl Files {
    fn load(&self) -> Result<TlsCertificates, StoreError> {
        // The driver looks for the process's provider of cryptography and panics without one. Whoever
        // embeds us and has installed another keeps it: ours is then refused, which is no error.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let read = |path: &Path| {
            std::fs::read(path).map_err(|error| {
                StoreError::Refused(format!("`{}` can't be read: {error}", path.display()))
            })
        };
        let client_tls = match &self.own {
            Some((cert, key)) => {
                Some(ClientTlsConfig { client_cert: read(cert)?, client_key: read(key)? })
            }
            None => None,
        };
        Ok(TlsCertificates { client_tls, root_cert: self.ca.as_deref().map(read).transpose()? })
    }
}

/// The prefix, and the files of certificates.
fn parameters(query: &str) -> Result<(String, Files), StoreError> {
    let (mut prefix, mut ca, mut cert, mut key) = (None, None, None, None);
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let known = match name {
            "prefix" => &mut prefix,
            "ca" => &mut ca,
            "cert" => &mut cert,
            "key" => &mut key,
            _ => {
                return Err(wrong(
                    "its parameters are `prefix` and, each a file, `ca`, `cert` and `key`",
                ));
            }
        };
        *known = Some(percent_decode_str(value).decode_utf8_lossy().into_owned());
    }
    let prefix = prefix.unwrap_or_else(|| PREFIX.to_owned());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    // A brace would decide the slot of every key, and what else there is may mean something in a pattern.
    if prefix.is_empty() || !prefix.chars().all(is_plain) {
        return Err(wrong("`prefix` is letters, digits, `-`, `_`, `.` and `:`"));
    }
    let own = match (cert, key) {
        (Some(cert), Some(key)) => Some((cert.into(), key.into())),
        (None, None) => None,
        _ => return Err(wrong("`cert` and `key` belong together")),
    };
    Ok((prefix, Files { ca: ca.map(PathBuf::from), own }))
}

/// User and password: those of the address, else the password of the options.
fn login(user: Option<&str>, options: &RedisOptions) -> Result<RedisConnectionInfo, StoreError> {
    let (user, password) = match user {
        Some(user) => user.split_once(':').map_or((user, None), |(u, p)| (u, Some(p))),
        None => ("", None),
    };
    let decode = |text: &str| {
        let text = percent_decode_str(text).decode_utf8().map(String::from);
        text.map_err(|_| wrong("its user or password is no UTF-8"))
    };
    let mut login =
        RedisConnectionInfo::default().set_lib_name("hookonce", env!("CARGO_PKG_VERSION"));
    if !user.is_empty() {
        login = login.set_username(decode(user)?);
    }
    let password = password.map(decode).transpose()?.or_else(|| options.password.clone());
    Ok(password.into_iter().fold(login, RedisConnectionInfo::set_password))
}

fn place_of(host: &str, is_tls: bool) -> Result<ConnectionInfo, StoreError> {
    let port_of = |text: &str| text.parse().map_err(|_| wrong("a port is a number below 65536"));
    let (host, port) = match host.rsplit_once(':') {
        // `[::1]` has colons of its own.
        Some((name, port)) if !port.ends_with(']') => (name, port_of(port)?),
        _ => (host, PORT),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    if host.is_empty() {
        return Err(wrong("it names no host"));
    }
    let place = if is_tls {
        ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None }
    } else {
        ConnectionAddr::Tcp(host, port)
    };
    let info = place.into_connection_info().map_err(|error| unusable(&error))?;
    Ok(info.set_tcp_settings(tcp()))
}

/// All calls share a connection: one that is small must not wait for the answer to the one before, and a
/// peer that is gone without a word is to be noticed.
fn tcp() -> TcpSettings {
    TcpSettings::default().set_nodelay(true).set_user_timeout(SILENCE)
}

fn unknown() -> StoreError {
    wrong("it has to begin with `redis://`, `rediss://`, `redis+cluster://` or `rediss+cluster://`")
}

fn wrong(why: &str) -> StoreError {
    StoreError::Refused(format!("the address of the store can't be read: {why}"))
}

/// What the client says of its own options: never of a password.
fn unusable(error: &redis::RedisError) -> StoreError {
    StoreError::Refused(format!("the store can't be reached like that: {}", error.category()))
}
