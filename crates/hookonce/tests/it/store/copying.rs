//! Moving from a file to a database: all of it, as it was.

use std::path::Path;
use std::time::Duration;

use hookonce::event::{NewEvent, Priority};
use hookonce::store::copy::{Copied, Copying, copy};
use hookonce::store::postgres::PostgresOptions;
use hookonce::store::{
    Arrival, AuditEntry, Filter, MirrorRoute, MirrorSource, Release, Retention, Store, StoreError,
};
use hookonce::task::{Claim, DeadLane, NewTask, Outcome, StepState, Token};

use crate::bed::{Bed, Database, LEASE, for_route, id, keys, new, order, task_id};

const DAY: Duration = Duration::from_secs(24 * 3600);

async fn copy_to(path: &Path, database: &Database) -> Result<Copied, StoreError> {
    copy(path, &PostgresOptions::new(&database.url), &mut |_| ()).await
}

/// The claim of the event with this key; the others are given back.
async fn claim(bed: &Bed, key: &str) -> Claim {
    let mut wanted = None;
    for claim in bed.claim(100).await {
        if claim.event.key == key {
            wanted = Some(claim);
        } else {
            bed.store.release(&claim, Release::at_once()).await.unwrap();
        }
    }
    wanted.unwrap_or_else(|| panic!("`{key}` is due"))
}

async fn finish(bed: &Bed, key: &str, outcome: Outcome) {
    let claim = claim(bed, key).await;
    bed.store.finish(&claim, &outcome).await.unwrap();
}

fn dead(lane: DeadLane) -> Outcome {
    Outcome::Dead { error: "of course".to_owned(), lane }
}

/// Something of every sort.
async fn fill(bed: &Bed) {
    prune_something(bed).await;
    for lane in ["retrying", "held", "claimed", "waiting"] {
        for n in 1..=3 {
            bed.insert([new(&format!("{lane}{n}")).lane(lane)]).await;
        }
    }
    let retry = Outcome::Retry { after: DAY, error: "not now".to_owned() };
    finish(bed, "retrying1", retry).await;
    finish(bed, "held1", dead(DeadLane::Hold)).await;

    bed.insert([new("done"), new("dead"), new("steps"), new("rerun"), new("replayed")]).await;
    finish(bed, "done", Outcome::Completed).await;
    finish(bed, "dead", dead(DeadLane::Pass)).await;
    finish(bed, "rerun", Outcome::Completed).await;
    finish(bed, "replayed", dead(DeadLane::Pass)).await;
    bed.store.rerun(&[task_id("rerun")]).await.unwrap();
    bed.store.replay(&[task_id("replayed")]).await.unwrap();
    let steps = claim(bed, "steps").await;
    bed.store.record_step(&steps, "one", StepState::Done, Some("{\"a\":\"ñ\"}")).await.unwrap();
    bed.store.record_step(&steps, "two", StepState::Begun, None).await.unwrap();

    bed.insert([new("unrouted").routes(&[]), new("unreadable").unreadable()]).await;
    bed.insert([new("two").routes(&["r", "s"]), new("other").source("shop")]).await;
    bed.insert([new("later").priority(Priority::History).sent_at(bed.clock.now())]).await;
    bed.insert([new("odd").payload(r#"{"text":"\u0000 \ud800 😀 \\"}"#)]).await;
    bed.insert([new("done"), new("done"), new("dead")]).await;
    for n in 0..5 {
        bed.insert([new("done").payload(&format!(r#"{{"other":{n}}}"#))]).await;
    }
    let to = NewTask { route: "moved".into(), max_attempts: 2_147_483_647, ordered: true };
    bed.store.reroute(&[task_id("other")], &to).await.unwrap();
    claim(bed, "claimed1").await;
    bed.store.audit(&entry()).await.unwrap();
    mirror(bed).await;
}

/// A payload that is gone, and a key before it.
async fn prune_something(bed: &Bed) {
    bed.insert([new("gone").sent_at(bed.clock.now())]).await;
    finish(bed, "gone", Outcome::Completed).await;
    bed.clock.advance(DAY * 35);
    bed.insert([new("pruned")]).await;
    finish(bed, "pruned", Outcome::Completed).await;
    bed.clock.advance(DAY * 2);
    let retention = Retention { payload: DAY, key: DAY * 30, dead: DAY };
    while bed.store.prune(&retention, 100).await.unwrap().more {}
    assert!(bed.store.get(id("gone")).await.unwrap().is_none());
    assert_eq!(bed.get("pruned").await.payload, None);
}

fn entry() -> AuditEntry {
    let details = r#"{"route":"r"}"#.to_owned();
    AuditEntry { who: "cli:ops".to_owned(), action: "replay".to_owned(), details }
}

async fn mirror(bed: &Bed) {
    let route = |name: &str, kinds| MirrorRoute {
        name: name.into(),
        sources: Some(vec![]),
        kinds,
        max_attempts: 24,
        retry_min: Duration::from_millis(1500),
        retry_max: DAY,
        holds: true,
        ordered: false,
        external: true,
    };
    let kinds = Some(vec!["message.*".to_owned(), "call.*".to_owned()]);
    let sources = [MirrorSource { name: "whatsapp".into(), scope: "old".into() }];
    bed.store.mirror(&sources, &[route("r", kinds), route("s", None)]).await.unwrap();
}

/// All that people are shown of a store: every event in the order of a walk, and the counts.
async fn shown(store: &dyn Store) -> Vec<String> {
    let mut shown = Vec::new();
    let mut filter = Filter::default();
    loop {
        let page = store.walk(&filter, 7).await.unwrap();
        for event in page.events {
            let details = store.get(event.event.id).await.unwrap().unwrap();
            shown.push(serde_json::to_string(&details).unwrap());
        }
        match page.next {
            Some(next) => filter.after = Some(next),
            None => break,
        }
    }
    shown.push(serde_json::to_string(&store.counts().await.unwrap()).unwrap());
    shown.push(format!("{:?}", store.routes().await.unwrap()));
    shown
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_is_there_as_it_was_and_goes_on() {
    let (file, store, dir) = Bed::sqlite_itself();
    fill(&file).await;
    let before = shown(&*file.store).await;
    let clock = file.clock.clone();
    drop((file, store));

    let database = Database::make();
    let copied = copy_to(&dir.path().join("test.db"), &database).await.unwrap();
    let rows = |table| copied.tables.iter().find(|t| t.table == table).unwrap().rows;
    assert_eq!((rows("events"), rows("audit"), rows("meta"), rows("routes")), (24, 1, 1, 2));
    assert_eq!((copied.refused, rows("arrivals") >= 5, rows("attempts") >= 7), (0, true, true));

    let bed = Bed::postgres_in(&database, clock).await;
    assert_eq!(shown(&*bed.store).await, before);
    let mirrored = "select sources::text || kinds::text || retry_min::text || on_dead || \"order\" \
                    || worker from hookonce_routes where name = 'r'";
    let said = "{}{message.*,call.*}00:00:01.5holdnoneexternal";
    assert_eq!(bed.sql.text(mirrored), said);
    go_on(&bed).await;
    drop((bed, database));
}

/// The copy is a store like any other.
async fn go_on(bed: &Bed) {
    // What was seen is known, also what differs from it; what may have been is not proven new.
    assert_eq!(bed.insert([new("done"), new("pruned")]).await, [Arrival::Duplicate; 2]);
    assert_eq!(bed.insert([new("dead").payload("{}")]).await, [Arrival::Mismatch]);
    let old = new("old").sent_at(bed.clock.now() - DAY * 37);
    assert_eq!(bed.insert([old, new("fresh").lane("waiting")]).await, [Arrival::New; 2]);
    assert_eq!(bed.task("old").await.0, "dead");
    assert!(bed.get("fresh").await.summary.event.seq > bed.get("odd").await.summary.event.seq);

    // A claim of the old node's lapses, and its steps are remembered.
    bed.clock.advance(LEASE * 2);
    let reaped = bed.store.reap(Token::draw(), LEASE, 100).await.unwrap();
    let mut lapsed = keys(&reaped);
    lapsed.sort_unstable();
    assert_eq!(lapsed, ["claimed1", "steps"]);
    for claim in &reaped {
        let outcome = Outcome::Retry { after: Duration::ZERO, error: "lapsed".to_owned() };
        bed.store.finish(claim, &outcome).await.unwrap();
    }

    // Lanes go on in their order, held ones once a person lets them.
    bed.store.bury(&[task_id("held1")]).await.unwrap();
    bed.clock.advance(DAY);
    let mut handled = Vec::new();
    for _ in 0..20 {
        for claim in bed.claim(100).await {
            if claim.event.key == "steps" {
                assert_eq!(claim.steps["one"].1.as_deref(), Some("{\"a\":\"ñ\"}"));
            }
            handled.push(claim.event.key.clone());
            bed.store.finish(&claim, &Outcome::Completed).await.unwrap();
        }
    }
    let of = |lane: &str| {
        let of_lane = handled.iter().filter(|key| key.starts_with(lane));
        of_lane.map(|key| key[lane.len()..].to_owned()).collect::<Vec<_>>()
    };
    let all = ["1", "2", "3"];
    for (lane, order) in
        [("retrying", &all[..]), ("held", &all[1..]), ("claimed", &all), ("waiting", &all)]
    {
        assert_eq!(of(lane), order, "{lane}");
    }
    assert!(handled.contains(&"steps".to_owned()));
    let moved = order(10);
    let moved = hookonce::store::ClaimOrder { routes: vec![for_route("moved", LEASE)], ..moved };
    let moved = bed.store.claim(moved).await.unwrap();
    assert_eq!((keys(&moved), moved[0].first_route.as_deref()), (vec!["other"], Some("r")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_database_cannot_hold_is_kept_as_base64_and_its_lane_goes_on() {
    let (file, store, dir) = Bed::sqlite_itself();
    file.insert([new("nul").payload("a\0b").lane("l"), new("next").lane("l")]).await;
    file.insert([new("done").payload("a\0b")]).await;
    finish(&file, "done", Outcome::Completed).await;
    drop((file, store));
    let database = Database::make();
    let copied = copy_to(&dir.path().join("test.db"), &database).await.unwrap();
    assert_eq!(copied.refused, 2);
    let bed = Bed::postgres_in(&database, crate::bed::TestClock::new()).await;
    let nul = bed.get("nul").await;
    assert_eq!((nul.payload.as_deref(), &*nul.summary.event.kind), (Some("YQBi"), "unreadable"));
    assert_eq!((bed.task("nul").await.0, bed.task("done").await.0), ("dead", "completed"));
    assert_eq!(keys(&bed.claim(10).await), ["next"]);
    assert_eq!(bed.insert([new("nul").payload("a\0b")]).await, [Arrival::Duplicate]);
    drop((bed, database));
}

/// So many events that they are several ranges.
async fn many(bed: &Bed, n: usize) {
    for some in (0..n).collect::<Vec<_>>().chunks(100) {
        let event = |n: &usize| new(&format!("k{n}")).lane(&format!("l{}", n % 7));
        let events: Vec<NewEvent> = some.iter().map(|n| event(n).at(bed.clock.now())).collect();
        bed.store.insert(events).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_is_broken_off_anywhere_goes_on_and_nobody_opens_half_of_it() {
    let (file, store, dir) = Bed::sqlite_itself();
    many(&file, 2200).await;
    let clock = file.clock.clone();
    let before = shown(&*file.store).await;
    drop((file, store));
    let database = Database::make();
    let (path, options) = (dir.path().join("test.db"), PostgresOptions::new(&database.url));
    let mut began_with = Vec::new();
    // Broken off at its first sign of life, then at its second, and so on.
    for n in 0.. {
        let mut signs = Vec::new();
        let (stop, mut stopped) = tokio::sync::mpsc::unbounded_channel();
        let mut note = |copying| {
            signs.push(copying);
            if signs.len() == n + 1 {
                let _ = stop.send(());
            }
        };
        let done = tokio::select! {
            biased;
            _ = stopped.recv() => None,
            done = copy(&path, &options, &mut note) => Some(done.unwrap()),
        };
        began_with.extend(signs.first().copied());
        if let Some(copied) = done {
            assert_eq!(copied.tables[0].rows, 2200);
            break;
        }
        assert!(n < 40, "it comes to its end: {began_with:?}");
        let refused = hookonce::store::postgres::PostgresStore::open(options.clone()).await;
        let why = refused.unwrap_err().to_string();
        assert!(why.contains("run `hookonce copy` again"), "{why}");
    }
    let went_on = began_with
        .iter()
        .any(|sign| matches!(sign, Copying::Writing { done, of: 2200 } if *done > 500));
    assert!(went_on, "{began_with:?}");
    let bed = Bed::postgres_in(&database, clock).await;
    assert_eq!(shown(&*bed.store).await, before);
    drop((bed, database));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_in_use_and_a_database_with_other_events_are_refused() {
    let refused = |copied: Result<Copied, StoreError>| match copied {
        Err(StoreError::Refused(why)) => why,
        other => panic!("{other:?}"),
    };
    let (file, store, dir) = Bed::sqlite_itself();
    file.insert([new("a")]).await;
    let path = dir.path().join("test.db");
    let database = Database::make();
    assert!(refused(copy_to(&path, &database).await).contains("is in use: stop the server"));
    drop((file, store));

    let (bed, other) = Bed::postgres().await;
    assert!(refused(copy_to(&path, &other).await).contains("has the database open: stop it"));
    bed.insert([new("a")]).await;
    drop(bed);
    assert!(refused(copy_to(&path, &other).await).contains("has events already"));
    drop(other);

    copy_to(&path, &database).await.unwrap();
    assert!(refused(copy_to(&path, &database).await).contains("has events already"));
    drop(database);
}

/// The sum over a table finds a row that is another one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_was_written_to_meanwhile_is_told_by_its_table() {
    let (file, store, dir) = Bed::sqlite_itself();
    many(&file, 10).await;
    drop((file, store));
    let path = dir.path().join("test.db");
    let database = Database::make();
    let options = PostgresOptions::new(&database.url);
    let (stop, mut stopped) = tokio::sync::mpsc::unbounded_channel();
    let mut note = |_| {
        let _ = stop.send(());
    };
    tokio::select! {
        biased;
        _ = stopped.recv() => {}
        _ = copy(&path, &options, &mut note) => panic!("it was broken off"),
    }
    let change = "update hookonce_tasks set worker = 'x' where seq = 5";
    rusqlite::Connection::open(&path).unwrap().execute_batch(change).unwrap();
    let why = copy_to(&path, &database).await.unwrap_err().to_string();
    assert!(why.contains("differ in `tasks`"), "{why}");
    drop(database);
}
