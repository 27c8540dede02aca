//! Encryption, and who is who: what `sslmode` says, against a real server with real certificates.

use hookonce::store::Store;
use hookonce::store::postgres::{PostgresOptions, PostgresStore};
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, KeyPair};

use super::message;
use crate::bed::authority::Authority;
use crate::bed::postgres::Connection;
use crate::bed::server::Server;

/// A server with a certificate for `localhost`.
struct Encrypted {
    server: Server,
    authority: Authority,
    root: String,
}

impl Encrypted {
    fn start() -> Self {
        let server = Server::start("");
        let authority = Authority::make("ours");
        let (cert, key) = authority.vouch("localhost", ExtendedKeyUsagePurpose::ServerAuth);
        let root = server.write("root.crt", &authority.pem());
        let (cert, key) = (server.write("server.crt", &cert), server.write("server.key", &key));
        let sql = Connection::open(&server.url());
        for (name, value) in [
            ("ssl", "on"),
            ("ssl_ca_file", &root),
            ("ssl_cert_file", &cert),
            ("ssl_key_file", &key),
        ] {
            sql.run(&format!("alter system set {name} = '{value}'"));
        }
        sql.run("select pg_reload_conf()");
        server.let_in("local all all trust\nhostssl all all all trust\n");
        Self { server, authority, root }
    }

    async fn open(&self, host: &str, parameters: &str) -> Result<PostgresStore, String> {
        let port = self.server.port;
        let url =
            format!("postgres://postgres@{host}:{port}/postgres?hostaddr=127.0.0.1&{parameters}");
        match PostgresStore::open(PostgresOptions::new(url)).await {
            Ok(store) => Ok(store),
            Err(error) => Err(message::<()>(Err(error))),
        }
    }

    /// A connection by the socket, which lets everybody in.
    fn sql(&self) -> Connection {
        let folder = self.root.rsplit_once('/').unwrap().0;
        let port = self.server.port;
        Connection::open(&format!("postgres://postgres@/postgres?host={folder}&port={port}"))
    }

    /// Whether every connection of ours is encrypted.
    async fn is_encrypted(&self, store: &PostgresStore) -> bool {
        store.ready().await.unwrap();
        let sql = self.sql();
        let all = "select bool_and(ssl) from pg_stat_ssl join pg_stat_activity using (pid) \
                   where application_name = 'hookonce'";
        sql.texts(all) == ["t"]
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_sslmode_asks_for_is_checked() {
    let encrypted = Encrypted::start();
    let root = &encrypted.root;
    let other = encrypted.server.write("other.crt", &Authority::make("another").pem());
    for (host, parameters) in [
        ("localhost", format!("sslmode=verify-full&sslrootcert={root}")),
        ("other.host", format!("sslmode=verify-ca&sslrootcert={root}")),
        ("other.host", format!("sslmode=require&sslrootcert={root}")),
        ("other.host", "sslmode=require".to_owned()),
        ("other.host", "sslmode=prefer".to_owned()),
        ("127.0.0.1", String::new()),
    ] {
        let store = encrypted.open(host, &parameters).await.unwrap();
        assert!(encrypted.is_encrypted(&store).await, "{host} {parameters}");
    }
    for (host, parameters, says) in [
        ("localhost", format!("sslmode=verify-full&sslrootcert={other}"), "isn't trusted"),
        ("localhost", format!("sslmode=verify-ca&sslrootcert={other}"), "isn't trusted"),
        ("localhost", format!("sslmode=require&sslrootcert={other}"), "isn't trusted"),
        ("localhost", "sslmode=verify-full".to_owned(), "isn't trusted"),
        ("other.host", format!("sslmode=verify-full&sslrootcert={root}"), "for another host"),
        ("localhost", "sslmode=disable".to_owned(), "refused the user"),
        ("localhost", "sslmode=verify-full&sslrootcert=/no/file".to_owned(), "`/no/file`"),
        ("localhost", format!("sslmode=require&sslcert={root}"), "both or neither"),
    ] {
        let said = encrypted.open(host, &parameters).await.err().unwrap();
        assert!(said.contains(says), "{host} {parameters}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_shows_its_certificate_and_is_told_where_it_has_none() {
    use ExtendedKeyUsagePurpose::ClientAuth;
    let encrypted = Encrypted::start();
    let server = &encrypted.server;
    server.let_in("local all all trust\nhostssl all all all cert\n");
    let pair = |name: &str, (cert, key): (String, String)| {
        let cert = server.write(&format!("{name}.crt"), &cert);
        let key = server.write(&format!("{name}.key"), &key);
        format!("sslmode=verify-full&sslrootcert={}&sslcert={cert}&sslkey={key}", encrypted.root)
    };
    let ours = pair("ours", encrypted.authority.vouch("postgres", ClientAuth));
    let store = encrypted.open("localhost", &ours).await.unwrap();
    assert!(encrypted.is_encrypted(&store).await);
    let none = encrypted.open("localhost", "sslmode=require").await.err().unwrap();
    assert!(none.contains("valid client certificate"), "{none}");
    let another = pair("another", encrypted.authority.vouch("somebody", ClientAuth));
    let another = encrypted.open("localhost", &another).await.err().unwrap();
    assert!(another.contains("certificate authentication failed"), "{another}");
    let strange = pair("strange", Authority::make("strange").vouch("postgres", ClientAuth));
    let strange = encrypted.open("localhost", &strange).await.err().unwrap();
    assert!(strange.contains("UnknownCA") || strange.contains("certificate"), "{strange}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_encryption_is_refused_where_it_is_asked_for() {
    let server = Server::start("");
    let url = |mode: &str| format!("{}?sslmode={mode}", server.url());
    PostgresStore::open(PostgresOptions::new(url("prefer"))).await.unwrap();
    let said = message(PostgresStore::open(PostgresOptions::new(url("require"))).await);
    assert!(said.contains("does not support TLS"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_that_vouches_for_itself_is_trusted_by_its_file() {
    let encrypted = Encrypted::start();
    let mut about = CertificateParams::new(["localhost".to_owned()]).unwrap();
    about.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let own = encrypted.server.write("server.crt", &about.self_signed(&key).unwrap().pem());
    encrypted.server.write("server.key", &key.serialize_pem());
    encrypted.server.let_in("local all all trust\nhostssl all all all trust\n");
    let full = format!("sslmode=verify-full&sslrootcert={own}");
    let store = encrypted.open("localhost", &full).await.unwrap();
    assert!(encrypted.is_encrypted(&store).await);
    let said = encrypted.open("other.host", &full).await.err().unwrap();
    assert!(said.contains("for another host"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_is_taken_from_where_it_is_and_a_wrong_one_is_told() {
    let encrypted = Encrypted::start();
    let server = &encrypted.server;
    encrypted.sql().run("alter user postgres password 'hunter2'");
    server.let_in("local all all trust\nhostssl all all all scram-sha-256\n");
    let port = server.port;
    let url = |user: &str, rest: &str| {
        format!("postgres://{user}@localhost:{port}/postgres?hostaddr=127.0.0.1&{rest}")
    };
    let wrong = server.write("wrong", "*:*:*:*:hunter3");
    let right = server.write("right", &format!("localhost:{port}:postgres:postgres:hunter2\n"));
    let with = |url: String, password: Option<&str>, passfile: Option<&String>| PostgresOptions {
        password: password.map(str::to_owned),
        passfile: passfile.map(Into::into),
        ..PostgresOptions::new(url)
    };
    let passfile = format!("passfile={right}&sslmode=require&channel_binding=require");
    for options in [
        with(url("postgres:hunter2", ""), Some("hunter3"), Some(&wrong)),
        with(url("postgres", ""), Some("hunter2"), Some(&wrong)),
        with(url("postgres", ""), None, Some(&right)),
        with(url("postgres", &passfile), None, Some(&wrong)),
    ] {
        PostgresStore::open(options).await.unwrap();
    }
    let refused =
        message(PostgresStore::open(with(url("postgres", ""), Some("hunter3"), None)).await);
    assert!(refused.contains("refused the user"), "{refused}");
    let missing = message(PostgresStore::open(with(url("postgres", ""), None, None)).await);
    assert!(missing.contains("password missing"), "{missing}");
    assert!(!refused.contains("hunter") && !missing.contains("hunter"));
}
