//! Which servers are used, and which are refused.

use hookonce::store::redis::RedisOptions;

use super::{ask, event, open, refusal};
use crate::bed::redis_server::Server;

#[tokio::test]
async fn a_password_is_asked_for_and_never_repeated() {
    let server = Server::start(&[
        "--user", "default", "off", "--user", "hooks", "on", ">s3cret", "~*", "&*", "+@all",
    ]);
    let at = server.url().replace("redis://", "");
    for wrong in [format!("redis://{at}"), format!("redis://hooks:oth3r@{at}")] {
        let said = refusal(RedisOptions::new(wrong)).await;
        assert!(said.contains("the user or the password is wrong or missing"), "{said}");
        assert!(!said.contains("oth3r"), "{said}");
    }
    let store = open(format!("redis://hooks:s3cret@{at}")).await;
    store.insert(vec![event("a")]).await.unwrap();
    let password = Some("s3cret".to_owned());
    let url = format!("redis://hooks@{at}");
    let options = RedisOptions { password, ..RedisOptions::new(url) };
    hookonce::store::redis::RedisStore::open(options).await.unwrap();
}

#[tokio::test]
async fn replicas_that_are_waited_for_have_to_be_there() {
    let server = Server::start(&[]);
    let options = RedisOptions { wait_replicas: 1, ..RedisOptions::new(server.url()) };
    let said = refusal(options.clone()).await;
    assert!(said.contains("0 replicas") && said.contains("asks for 1"), "{said}");

    let (host, port) = ("127.0.0.1", server.port().to_string());
    let replica = Server::start(&["--replicaof", &format!("{host} {port}")]);
    let is_linked = || ask::<String>(&server, &["INFO"]).contains("state=online");
    crate::working::until(async || is_linked()).await;
    let store = hookonce::store::redis::RedisStore::open(options).await.unwrap();
    let store: std::sync::Arc<dyn hookonce::store::Store> = std::sync::Arc::new(store);
    store.insert(vec![event("a")]).await.unwrap();
    assert_eq!(ask::<usize>(&replica, &["ZCARD", "hookonce:{whatsapp}:ids"]), 1);
    drop(replica);
    let said = store.insert(vec![event("b")]).await.unwrap_err().to_string();
    assert!(said.contains("only 0 of the 1 replicas"), "{said}");
}

#[tokio::test]
async fn what_an_address_lacks_is_said_without_it() {
    for (url, part) in [
        ("http://h", "begin with `redis://`"),
        ("redis://", "names no host"),
        ("redis://u:p@ss@h", "`%40` for `@`"),
        ("redis://a,b", "write `redis+cluster://`"),
        ("redis+cluster://a,b/1", "no database but 0"),
        ("redis://h/x", "the database is a number"),
        ("redis://h:p0rt", "a port is a number"),
        ("redis://h?ca=x", "certificates are for `rediss://`"),
        ("rediss://h?cert=x", "`cert` and `key` belong together"),
        ("rediss://h?verify=no", "its parameters are `prefix`"),
    ] {
        let said = RedisOptions::new(url).check().unwrap_err().to_string();
        assert!(said.contains(part) && !said.contains("p@ss") && !said.contains("p0rt"), "{said}");
    }
    for url in ["redis://h", "redis://u:p%40ss@[::1]:7/3", "rediss+cluster://a:1,b:2?ca=x"] {
        RedisOptions::new(url).check().unwrap();
    }
}

/// Fails when a connection that was refused once is refused for good.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_that_was_gone_and_is_back_is_let_in_again() {
    let server = Server::start(&[]);
    let user = ["ACL", "SETUSER", "hooks", "on", ">s3cret", "~*", "&*", "+@all"];
    ask::<()>(&server, &user);
    let store = open(format!("redis://hooks:s3cret@127.0.0.1:{}/0", server.port())).await;
    store.insert(vec![event("a")]).await.unwrap();
    // Deleting a user ends its connections.
    ask::<()>(&server, &["ACL", "DELUSER", "hooks"]);
    crate::working::until(async || {
        let refused = store.insert(vec![event("b")]).await;
        matches!(refused, Err(hookonce::store::StoreError::Refused(_)))
    })
    .await;
    ask::<()>(&server, &user);
    crate::working::until(async || store.ready().await.is_ok()).await;
    store.insert(vec![event("b")]).await.unwrap();
}

/// Fails when the policy is looked at only at the start: what is acked may be evicted then.
#[tokio::test]
async fn a_server_that_begins_to_evict_takes_nothing_more() {
    let server = Server::start(&[]);
    let store = open(server.url()).await;
    store.insert(vec![event("a")]).await.unwrap();
    ask::<()>(&server, &["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    let said = store.ready().await.unwrap_err().to_string();
    assert!(said.contains("`maxmemory-policy allkeys-lru`"), "{said}");
    crate::working::until(async || store.insert(vec![event("b")]).await.is_err()).await;
    ask::<()>(&server, &["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    store.insert(vec![event("b")]).await.unwrap();
    // What a look leaves is in no other's way.
    for _ in 0..3 {
        store.ready().await.unwrap();
    }
}

/// Fails when what a script may not do is told without saying what, or only once something is stored.
#[tokio::test]
async fn rights_that_are_missing_are_named_before_anything_is_stored() {
    let server = Server::start(&["--rename-command", "EVALSHA", ""]);
    let said = open(server.url()).await.ready().await.unwrap_err().to_string();
    assert!(said.contains("EVALSHA"), "{said}");
    let server = Server::start(&[]);
    let hooks = ["ACL", "SETUSER", "hooks", "on", ">s3cret", "~*", "&*", "+@all", "-zadd"];
    ask::<()>(&server, &hooks);
    let store = open(format!("redis://hooks:s3cret@127.0.0.1:{}/0", server.port())).await;
    for said in
        [store.insert(vec![event("a")]).await.unwrap_err(), store.ready().await.unwrap_err()]
    {
        assert!(said.to_string().contains("doesn't let this user do what is needed"), "{said}");
    }
    let said = refusal(RedisOptions::new(format!("redis://127.0.0.1:{}/99", server.port()))).await;
    assert!(said.contains("no database of the number"), "{said}");
}
