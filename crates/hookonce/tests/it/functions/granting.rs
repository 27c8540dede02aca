//! Who may call the functions, and what they may not do.

use hookonce::store::postgres::{PostgresOptions, PostgresStore};

use super::worker::{Place, writes_of};
use crate::bed::{Connection, Database};

/// A login role of this test alone; roles are of the whole server.
fn login(place: &Place, name: &str, member: bool) -> (String, Connection) {
    let role = format!("{name}_{}", place.text("select current_database()"));
    let grant = if member { "in role hookonce_worker" } else { "" };
    place.worker.run(&format!("create role {role} login {grant}"));
    let url = place.database.url.replace("postgres@", &format!("{role}@"));
    (role, Connection::open(&url))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_may_call_the_functions_and_nothing_else() {
    let place = Place::make().await;
    let (role, worker) = login(&place, "member", true);
    for call in writes_of(|n, lane| {
        worker.run(&format!(
            "select hookonce.receive('whatsapp', '{n}', 'message.text', '{lane}', '{{}}')"
        ));
        super::worker::claim(&worker, "r", 1).remove(0)
    }) {
        worker.run(&call);
    }
    let mut refused = Vec::new();
    for table in ["events", "tasks", "attempts", "steps", "routes", "sources", "wakes", "meta"] {
        refused.push(format!("select * from hookonce.{table}"));
        refused.push(format!("delete from hookonce.{table}"));
    }
    refused.push("select nextval('hookonce.seq')".to_owned());
    refused.push("create table hookonce.mine ()".to_owned());
    for call in
        ["clock()", "drain_wakes(1, 0)", "reap('{r}', 1)", "repair('{r}')", "error_text('x')"]
    {
        refused.push(format!("select hookonce.{call}"));
    }
    for sql in refused {
        let error = worker.try_run(&sql).unwrap_err();
        assert!(error.contains("permission denied"), "{sql}: {error}");
    }
    assert_eq!(callable(&place, &role), 8);
    drop(worker);
    place.worker.run(&format!("drop role {role}"));
}

/// How many functions a role may call.
fn callable(place: &Place, role: &str) -> usize {
    place
        .text(&format!(
            "select count(*) from pg_proc where pronamespace = 'hookonce'::regnamespace \
         and has_function_privilege('{role}', oid, 'execute')"
        ))
        .parse()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_no_worker_may_call_nothing() {
    let place = Place::make().await;
    let (role, stranger) = login(&place, "stranger", false);
    let claim = "select hookonce.claim('w', '{r}', '60s', 1)";
    assert!(stranger.try_run(claim).unwrap_err().contains("permission denied"));
    // Nor where the schema is open to it.
    place.worker.run(&format!("grant usage on schema hookonce to {role}"));
    assert!(stranger.try_run(claim).unwrap_err().contains("permission denied"));
    assert_eq!(callable(&place, &role), 0);
    drop(stranger);
    place.worker.run(&format!("drop owned by {role}; drop role {role}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn functions_and_operators_of_a_worker_are_not_found_by_ours() {
    let place = Place::make().await;
    place.receive("a", "l");
    // In front of everything, they would be run with the rights of our owner.
    place.worker.run(
        "create schema evil; create function evil.fail() returns text language plpgsql as \
         $$ begin raise exception 'evil'; end $$; \
         create function evil.sha256(bytea) returns bytea language sql as 'select evil.fail()::bytea'; \
         create function evil.encode(bytea, text) returns text language sql as 'select evil.fail()'; \
         create function evil.random() returns double precision language sql as \
           'select evil.fail()::double precision'; \
         create function evil.texteq(text, text) returns boolean language sql as \
           'select evil.fail()::boolean'; \
         create operator evil.= (leftarg = text, rightarg = text, function = evil.texteq); \
         create table evil.tasks (); create type evil.interval as (x integer); \
         set search_path = evil, pg_temp, pg_catalog, hookonce; \
         create temporary table tasks (); create temporary table routes (name text); \
         create temporary table pg_roles ()",
    );
    assert!(place.error("select 'a'::text = 'b'::text").contains("evil"));
    for call in writes_of(|n, lane| {
        place.receive(n, lane);
        place.claim(1).remove(0)
    }) {
        place.worker.run(&call);
    }
    let fixed = place.rows(
        "select proname from pg_catalog.pg_proc where pronamespace operator(pg_catalog.=) \
         'hookonce'::regnamespace and prosecdef and not 'search_path=pg_catalog, pg_temp' operator(pg_catalog.=) any (proconfig)",
    );
    assert!(fixed.is_empty(), "{fixed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_may_make_no_role_is_given_the_grants_to_hand_on() {
    let database = Database::make();
    let admin = Connection::open(&database.url);
    let name = admin.texts("select current_database()").remove(0);
    admin.run(&format!(
        "create role plain_{name} login; grant create on database {name} to plain_{name}"
    ));
    let url = database.url.replace("postgres@", &format!("plain_{name}@"));
    let store = PostgresStore::open(PostgresOptions::new(&url)).await.unwrap();
    // Where other tests have made the role already, an owner may grant what is his; so it is taken back.
    admin.run(
        "do $$ begin if to_regrole('hookonce_worker') is not null then \
         revoke all on all functions in schema hookonce from hookonce_worker; end if; end $$",
    );
    let grants = store.worker_grants().await.unwrap().expect("the grants");
    assert!(grants.contains("create role hookonce_worker nologin"));
    admin.run(grants);
    assert_eq!(store.worker_grants().await.unwrap(), None);
    drop(store);
    admin.run(&format!("drop owned by plain_{name} cascade; drop role plain_{name}"));
}

/// Fails without the exceptions of `grant.sql`: roles are of the whole server.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn databases_of_one_server_may_be_migrated_at_once() {
    let databases: Vec<Database> = (0..4).map(|_| Database::make()).collect();
    let opened = databases.iter().map(|database| {
        let options = PostgresOptions::new(&database.url);
        async move { PostgresStore::open(options).await?.worker_grants().await }
    });
    for grants in futures_util::future::join_all(opened).await {
        assert_eq!(grants.unwrap(), None);
    }
}
