//! TLS: a server that is proven, and a client that proves itself.

use hookonce::store::redis::{RedisOptions, RedisStore};
use hookonce::store::{Store as _, StoreError};
use rcgen::ExtendedKeyUsagePurpose::{ClientAuth, ServerAuth};

use super::event;
use crate::bed::authority::Authority;
use crate::bed::redis_server::Server;

#[tokio::test]
async fn a_server_is_proven_by_its_authority_and_asks_who_comes() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| -> String {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let ours = Authority::make("ours");
    let (cert, key) = ours.vouch("localhost", ServerAuth);
    let (ca, cert, key) =
        (write("ca.crt", &ours.pem()), write("server.crt", &cert), write("server.key", &key));
    let port = crate::bed::port::free();
    let port_text = port.to_string();
    let _server = Server::start(&[
        "--tls-port",
        &port_text,
        "--tls-ca-cert-file",
        &ca,
        "--tls-cert-file",
        &cert,
        "--tls-key-file",
        &key,
        "--tls-auth-clients",
        "yes",
    ]);
    let (own, own_key) = ours.vouch("hookonce", ClientAuth);
    let (own, own_key) = (write("own.crt", &own), write("own.key", &own_key));
    let at = format!("rediss://localhost:{port}");

    let url = format!("{at}?ca={ca}&cert={own}&key={own_key}");
    let store = RedisStore::open(RedisOptions::new(&url)).await.unwrap();
    store.insert(vec![event("a")]).await.unwrap();

    let other = write("other.crt", &Authority::make("other").pem());
    for url in [
        at.clone(),
        format!("{at}?ca={ca}"),
        format!("{at}?ca={other}&cert={own}&key={own_key}"),
        url.replace("localhost", "127.0.0.1"),
    ] {
        let refused = RedisStore::open(RedisOptions::new(&url)).await.unwrap_err();
        assert!(
            matches!(refused, StoreError::Refused(_) | StoreError::Unavailable { .. }),
            "{url}: {refused:?}"
        );
    }
    let missing = RedisStore::open(RedisOptions::new(format!("{at}?ca=/missing.pem"))).await;
    let said = missing.unwrap_err().to_string();
    assert!(said.contains("`/missing.pem` can't be read"), "{said}");
}
