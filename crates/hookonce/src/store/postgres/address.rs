//! Where the database is, read from an address as libpq's: `postgres://user:password@host:port/name?…`.
//!
//! No password and no part of an address that may hold one is ever repeated.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

use super::PostgresOptions;
use super::passfile;
use super::tls::{Mode, TlsOptions};
use crate::store::StoreError;

/// How long all hosts together may take to let us in, unless the address says how long each may.
pub(super) const WAIT: Duration = Duration::from_secs(2);
/// After how long a peer that answers nothing is given up, where the address doesn't say.
pub(super) const SILENCE: Duration = Duration::from_secs(10);
/// How often, and how many times, a peer that is silent is asked whether it is there.
const KEEPALIVES: (Duration, u32) = (Duration::from_secs(5), 3);

/// Parameters that the driver reads by itself.
const PLAIN: [&str; 14] = [
    "application_name",
    "channel_binding",
    "dbname",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "options",
    "password",
    "port",
    "tcp_user_timeout",
    "user",
];
/// Parameters that are read here.
const OURS: [&str; 7] = [
    "connect_timeout",
    "passfile",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "target_session_attrs",
];

/// One database, on one host or several of which one takes writes.
pub(super) struct Address {
    pub(super) hosts: Vec<At>,
    pub(super) tls: TlsOptions,
}

/// A host of it.
pub(super) struct At {
    /// As people know it.
    pub(super) name: String,
    pub(super) config: Config,
    /// How long it may take to let us in.
    pub(super) limit: Duration,
}

impl Address {
    /// Reads an address; its password may be in `options`.
    pub(super) fn read(url: &str, options: &PostgresOptions) -> Result<Self, StoreError> {
        let is_ours = url.starts_with("postgres://") || url.starts_with("postgresql://");
        if !is_ours {
            return Err(wrong("it has to begin with `postgres://`"));
        }
        let (place, query) = url.split_once('?').unwrap_or((url, ""));
        // An `@` or `?` that is part of a password would make the rest of it a host or a parameter.
        if place.matches('@').count() > 1 || query.contains('@') {
            return Err(wrong(
                "it has an `@` too many: in a user, password or parameter write `%40` for `@`, `%3F` \
                 for `?` and `%2F` for `/`",
            ));
        }
        let parameters = Parameters::read(query)?;
        let config: Config = format!("{place}?{}", parameters.plain).parse().map_err(unread)?;
        Self::of(&config, parameters, options)
    }

    fn of(
        config: &Config,
        parameters: Parameters,
        options: &PostgresOptions,
    ) -> Result<Self, StoreError> {
        let Parameters { tls, connect_timeout, passfile, takes_any, has_silence, .. } = parameters;
        let (names, ports) = (config.get_hosts(), config.get_ports());
        let addresses = config.get_hostaddrs();
        let n = names.len().max(addresses.len());
        if n == 0 {
            return Err(wrong(
                "it names no host: name one, or the folder of a socket as `host=/…`",
            ));
        }
        let fits = |m: usize| m <= 1 || m == n;
        if !fits(ports.len())
            || ![0, n].contains(&names.len())
            || ![0, n].contains(&addresses.len())
        {
            return Err(wrong("it has to name as many hosts as ports and `hostaddr`s"));
        }
        let passfile = passfile.as_ref().or(options.passfile.as_ref());
        let mut hosts = Vec::new();
        for at in 0..n {
            let port = ports.get(at).or(ports.first()).copied().unwrap_or(5432);
            let mut one = alike(config);
            one.port(port).ssl_mode(tls.mode.asked());
            if let Some(address) = addresses.get(at) {
                one.hostaddr(*address);
            }
            let name = match names.get(at) {
                Some(Host::Tcp(name)) => {
                    one.host(name);
                    name.clone()
                }
                Some(Host::Unix(folder)) => {
                    // Nobody listens in between; libpq encrypts nothing there either.
                    one.host_path(folder).ssl_mode(SslMode::Disable);
                    folder.display().to_string()
                }
                None => addresses[at].to_string(),
            };
            if n > 1 && !takes_any {
                one.target_session_attrs(TargetSessionAttrs::ReadWrite);
            }
            if !has_silence {
                one.tcp_user_timeout(SILENCE);
            }
            if config.get_password().is_none() {
                if let Some(password) = &options.password {
                    one.password(password);
                } else if let Some(file) = passfile
                    && let Some(password) = passfile::find(file, &name, &one)?
                {
                    one.password(password);
                }
            }
            let most = u32::try_from(n).unwrap_or(u32::MAX);
            let limit = connect_timeout.unwrap_or(WAIT / most);
            one.connect_timeout(limit);
            hosts.push(At { name: format!("{name}:{port}"), config: one, limit });
        }
        Ok(Self { hosts, tls })
    }

    /// How long connecting may take.
    pub(super) fn limit(&self) -> Duration {
        self.hosts.iter().map(|host| host.limit).sum()
    }
}

/// The same but for its hosts.
fn alike(config: &Config) -> Config {
    let mut one = Config::new();
    if let Some(user) = config.get_user() {
        one.user(user);
    }
    if let Some(password) = config.get_password() {
        one.password(password);
    }
    if let Some(name) = config.get_dbname() {
        one.dbname(name);
    }
    if let Some(options) = config.get_options() {
        one.options(options);
    }
    if let Some(timeout) = config.get_tcp_user_timeout() {
        one.tcp_user_timeout(*timeout);
    }
    one.application_name(config.get_application_name().unwrap_or("hookonce"));
    one.channel_binding(config.get_channel_binding());
    one.target_session_attrs(config.get_target_session_attrs());
    // The driver's own default is two hours.
    one.keepalives(config.get_keepalives());
    one.keepalives_idle(config.get_keepalives_idle().min(SILENCE));
    one.keepalives_interval(config.get_keepalives_interval().unwrap_or(KEEPALIVES.0));
    one.keepalives_retries(config.get_keepalives_retries().unwrap_or(KEEPALIVES.1));
    one
}

/// What stands behind the `?`.
#[derive(Default)]
struct Parameters {
    /// Those of the driver, as they were written.
    plain: String,
    tls: TlsOptions,
    /// Where it was given.
    mode: Option<Mode>,
    connect_timeout: Option<Duration>,
    passfile: Option<PathBuf>,
    takes_any: bool,
    has_silence: bool,
}

impl Parameters {
    fn read(query: &str) -> Result<Self, StoreError> {
        let mut read = Self::default();
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            if PLAIN.contains(&name) {
                read.has_silence |= name == "tcp_user_timeout";
                read.plain += part;
                read.plain.push('&');
                continue;
            }
            let value = percent_decode_str(value).decode_utf8();
            let value = value.map_err(|_| wrong(format!("`{name}` in it is not UTF-8")))?;
            read.take(name, &value)?;
        }
        read.plain.pop();
        read.take_roots_of_the_system()?;
        Ok(read)
    }

    /// As for libpq, the word `system` stands for the roots of the system. They vouch for everybody, so
    /// the name has to be checked too.
    fn take_roots_of_the_system(&mut self) -> Result<(), StoreError> {
        if self.tls.root.take_if(|path| path.as_os_str() == "system").is_none() {
            return Ok(());
        }
        if self.mode.is_some_and(|mode| mode != Mode::VerifyFull) {
            return Err(wrong(
                "`sslrootcert=system` in it needs `sslmode=verify-full`: the authorities of the system \
                 vouch for everybody's servers, so the name has to be checked too",
            ));
        }
        self.tls.mode = Mode::VerifyFull;
        Ok(())
    }

    fn take(&mut self, name: &str, value: &str) -> Result<(), StoreError> {
        let file = || (!value.is_empty()).then(|| PathBuf::from(value));
        match name {
            "sslmode" => {
                let mode = Mode::from_word(value).ok_or_else(|| {
                    wrong(
                        "`sslmode` in it has to be disable, prefer, require, verify-ca or verify-full",
                    )
                })?;
                (self.mode, self.tls.mode) = (Some(mode), mode);
            }
            "sslrootcert" => self.tls.root = file(),
            "sslcert" => self.tls.cert = file(),
            "sslkey" => self.tls.key = file(),
            "passfile" => self.passfile = file(),
            "connect_timeout" => {
                let secs = value.parse().ok().filter(|secs| *secs > 0);
                let secs =
                    secs.ok_or_else(|| wrong("`connect_timeout` in it has to be seconds"))?;
                self.connect_timeout = Some(Duration::from_secs(secs));
            }
            "target_session_attrs" => match value {
                "any" => self.takes_any = true,
                "read-write" | "primary" => self.takes_any = false,
                _ => {
                    return Err(wrong(
                        "`target_session_attrs` in it has to be read-write, primary or any: the \
                         store is written to",
                    ));
                }
            },
            _ => {
                let mut known = [&PLAIN[..], &OURS[..]].concat();
                known.sort_unstable();
                // What is no word may be part of a password.
                let is_word = name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
                let name = if is_word { name } else { "…" };
                let known = known.join(", ");
                return Err(wrong(format!("there is no parameter `{name}`; there are {known}")));
            }
        }
        Ok(())
    }
}

fn wrong(why: impl fmt::Display) -> StoreError {
    StoreError::unavailable(format!("the address of the database can't be read: {why}"))
}

/// The driver's errors don't repeat the address, but for the name of a parameter.
fn unread(error: tokio_postgres::Error) -> StoreError {
    wrong(error.into_source().map_or_else(String::new, |cause| cause.to_string()))
}

#[cfg(test)]
mod tests {
    use super::{Address, Mode, PostgresOptions};
    use std::time::Duration;
    use tokio_postgres::config::{SslMode, TargetSessionAttrs};

    fn read(url: &str) -> Result<Address, String> {
        Address::read(url, &PostgresOptions::new(url)).map_err(|error| error.to_string())
    }

    fn names(url: &str) -> Vec<String> {
        read(url).unwrap().hosts.into_iter().map(|host| host.name).collect()
    }

    #[test]
    fn hosts_are_read_as_libpq_reads_them() {
        assert_eq!(names("postgres://u@h/d"), ["h:5432"]);
        assert_eq!(names("postgresql://u:p@a:1,b:2/d"), ["a:1", "b:2"]);
        assert_eq!(names("postgres://[::1]:6432/d"), ["::1:6432"]);
        assert_eq!(names("postgres://u@%2Frun%2Fpg:5433/d"), ["/run/pg:5433"]);
        assert_eq!(names("postgres://u@/d?host=/run/pg&port=5433"), ["/run/pg:5433"]);
        assert_eq!(names("postgres:///d?host=/run/pg"), ["/run/pg:5432"]);
        assert_eq!(names("postgres://u@h/d?hostaddr=127.0.0.1"), ["h:5432"]);
        assert!(read("postgres://u@/d").err().unwrap().contains("names no host"));
    }

    #[test]
    fn a_writable_one_is_looked_for_among_several() {
        let attributes = |url: &str| read(url).unwrap().hosts[0].config.get_target_session_attrs();
        assert_eq!(attributes("postgres://a,b/d"), TargetSessionAttrs::ReadWrite);
        assert_eq!(
            attributes("postgres://a,b/d?target_session_attrs=any"),
            TargetSessionAttrs::Any
        );
        assert_eq!(attributes("postgres://a/d"), TargetSessionAttrs::Any);
        assert!(read("postgres://a/d?target_session_attrs=standby").is_err());
    }

    #[test]
    fn two_seconds_are_shared_unless_each_has_its_own() {
        let limits = |url: &str| read(url).unwrap().limit();
        assert_eq!(limits("postgres://a,b/d"), Duration::from_secs(2));
        assert_eq!(limits("postgres://a,b/d?connect_timeout=3"), Duration::from_secs(6));
    }

    #[test]
    fn a_socket_is_not_encrypted() {
        let mode = |url: &str| read(url).unwrap().hosts[0].config.get_ssl_mode();
        assert_eq!(mode("postgres:///d?host=/run&sslmode=require"), SslMode::Disable);
        assert_eq!(mode("postgres://h/d?sslmode=verify-ca"), SslMode::Require);
        assert_eq!(mode("postgres://h/d"), SslMode::Prefer);
    }

    #[test]
    fn roots_of_the_system_mean_that_all_is_checked() {
        for (query, mode) in [
            ("sslrootcert=system", Some(Mode::VerifyFull)),
            ("sslrootcert=system&sslmode=verify-full", Some(Mode::VerifyFull)),
            ("sslmode=verify-ca&sslrootcert=system", None),
            ("sslrootcert=system&sslmode=require", None),
            ("sslrootcert=system&sslmode=disable", None),
            ("sslrootcert=own.pem", Some(Mode::Prefer)),
        ] {
            let read = read(&format!("postgres://h/d?{query}"));
            assert_eq!(read.as_ref().ok().map(|address| address.tls.mode), mode, "{query}");
            let is_refused_so = |said: &String| said.contains("`sslmode=verify-full`");
            assert!(read.as_ref().err().is_none_or(is_refused_so), "{query}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let said = |url: &str| read(url).err().unwrap();
        assert!(said("postgres://h/d?sslmod=require").contains("no parameter `sslmod`"));
        assert!(said("postgres://h/d?sslmode=allow").contains("`sslmode`"));
        assert!(said("postgres://h:x/d").contains("port"), "{}", said("postgres://h:x/d"));
        assert!(said("mysql://h/d").contains("`postgres://`"));
    }

    #[test]
    fn no_error_shows_a_password() {
        for url in [
            "postgres://u:hun@ter2@h/d",
            "postgres://u:hun?ter2=1@h/d",
            "postgres://u:hun?HUN=ter2/d",
            "postgres://u:hun#ter2@h:x/d",
            "postgres://u:hunter2@h/d?nonsense=hunter2",
            "postgres://u:hunter2@h/d?sslmode=hunter2",
        ] {
            let said = read(url).err().unwrap();
            assert!(!said.contains("hun") && !said.contains("ter2"), "{url}: {said}");
        }
        let options = PostgresOptions {
            password: Some("hunter2".to_owned()),
            ..PostgresOptions::new("postgres://u:hunter2@h/d")
        };
        assert!(!format!("{options:?}").contains("hunter2"));
    }
}
