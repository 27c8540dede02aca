//! The sink that adds jobs to a queue of `BullMQ`, by what it writes. That a real worker takes them is
//! tested with the program (`queues` of the server).

use std::collections::BTreeMap;
use std::sync::Arc;

use hookonce::redis_link::RedisOptions;
use hookonce::sink::bullmq::{BullmqOptions, BullmqSink};
use hookonce::step::{Done, Failure, Step as _};
use hookonce::task::Claim;
use serde_json::{Value, json};

use super::claim::{changed, claim, context};
use super::outage;
use super::redis_server::Redis;

const ID: &str = "c0fa7022-8b40-85d9-86c1-3f71bb80f8c7";

fn sink(redis: &Redis) -> BullmqSink {
    BullmqSink::new(BullmqOptions::new(RedisOptions::new(redis.url()), "q")).unwrap()
}

async fn add(sink: &BullmqSink, claim: &Claim) -> Result<Done, Failure> {
    sink.run(&context(claim)).await
}

/// The ids of the jobs that wait, in the order in which they will be taken.
fn waiting(redis: &Redis) -> Vec<String> {
    let mut ids: Vec<String> = redis.ask("LRANGE bull:q:wait 0 -1");
    ids.reverse();
    ids
}

fn job(redis: &Redis, id: &str) -> BTreeMap<String, String> {
    redis.ask_with(&["HGETALL", &format!("bull:q:{id}")])
}

fn data(redis: &Redis, id: &str) -> Value {
    serde_json::from_str(&job(redis, id)["data"]).unwrap()
}

#[tokio::test]
async fn an_event_is_a_job_whose_data_is_a_cloud_event_around_the_untouched_payload() {
    let redis = Redis::start();
    assert!(matches!(add(&sink(&redis), &claim()).await, Ok(Done::PLAIN)));
    assert_eq!(waiting(&redis), [ID]);
    let job = job(&redis, ID);
    assert_eq!((&*job["name"], &*job["delay"], &*job["priority"]), ("message.text", "0", "0"));
    assert!(job["timestamp"].len() == 13, "{}", job["timestamp"]);
    let options: Value = serde_json::from_str(&job["opts"]).unwrap();
    let backoff = json!({ "type": "exponential", "delay": 1000 });
    let keep = json!({ "age": 604_800 });
    let expected =
        json!({ "attempts": 10, "backoff": backoff, "removeOnComplete": keep, "jobId": ID });
    assert_eq!(options, expected);
    let payload = claim().event.payload.clone().unwrap();
    assert!(job["data"].ends_with(&format!(r#","data":{payload}}}"#)), "{}", job["data"]);
    let mut data = data(&redis, ID);
    data.as_object_mut().unwrap().remove("data");
    let expected = json!({
        "specversion": "1.0",
        "id": ID,
        "source": "/webhooks/whatsapp",
        "type": "message.text",
        "time": "2026-01-02T03:04:05.678Z",
        "subject": "200000000000001:José 100%",
        "key": "message:200000000000001:wamid.TEST0001",
        "route": "crm",
        "epoch": "3",
        "run": "1",
        "idempotencykey": format!("{ID}/crm/reply"),
        "datacontenttype": "application/json",
    });
    assert_eq!(data, expected);
}

#[tokio::test]
async fn a_copy_is_ignored_and_a_run_after_the_first_is_a_job_of_its_own() {
    let redis = Redis::start();
    let sink = sink(&redis);
    for _ in 0..3 {
        add(&sink, &claim()).await.unwrap();
    }
    add(&sink, &Claim { run: 2, ..claim() }).await.unwrap();
    let of_another_route = Claim { route: "other".into(), ..claim() };
    add(&sink, &of_another_route).await.unwrap();
    assert_eq!(waiting(&redis), [ID, &format!("{ID}/2")]);
    // Taken and completed, it is still known.
    let _: () = redis.ask("DEL bull:q:wait");
    add(&sink, &claim()).await.unwrap();
    assert!(waiting(&redis).is_empty());
}

#[tokio::test]
async fn who_listens_is_told_and_idle_workers_are_woken_unless_the_queue_is_paused_or_full() {
    let redis = Redis::start();
    let sink = sink(&redis);
    let woken = |run: u32| {
        let (sink, redis) = (&sink, &redis);
        async move {
            let _: () = redis.ask("DEL bull:q:marker");
            add(sink, &Claim { run, ..claim() }).await.unwrap();
            redis.ask::<i32>("ZCARD bull:q:marker") == 1
        }
    };
    assert!(woken(1).await);
    let _: () = redis.ask("HSET bull:q:meta paused 1");
    assert!(!woken(2).await);
    let _: () = redis.ask("HDEL bull:q:meta paused");
    let _: () = redis.ask("HSET bull:q:meta concurrency 1");
    assert!(woken(3).await);
    let _: () = redis.ask("LMOVE bull:q:wait bull:q:active RIGHT LEFT");
    assert!(!woken(4).await);
    assert!(!woken(4).await);

    let events: Vec<(String, BTreeMap<String, String>)> = redis.ask("XRANGE bull:q:events - +");
    let names: Vec<&str> = events.iter().map(|(_, fields)| &*fields["event"]).collect();
    let added = ["added", "waiting"].repeat(4);
    assert_eq!(names, [&added[..], &["duplicated"]].concat());
    assert_eq!(redis.ask::<i32>("GET bull:q:id"), 4);
}

#[tokio::test]
async fn what_is_no_json_is_text() {
    let redis = Redis::start();
    let form = changed(|event| {
        "application/x-www-form-urlencoded".clone_into(&mut event.content_type);
        event.payload = Some("Body=\"é\"".to_owned());
        event.lane = None;
    });
    add(&sink(&redis), &form).await.unwrap();
    let data = data(&redis, ID);
    assert_eq!((&data["data"], data.get("subject")), (&json!("Body=\"é\""), None));
}

#[tokio::test]
async fn a_large_payload_arrives_whole_and_a_pruned_one_is_not_added() {
    let redis = Redis::start();
    let sink = sink(&redis);
    let large = format!("[\"{}\"]", "é".repeat(8 << 20));
    let claim = changed(|event| event.payload = Some(large.clone()));
    add(&sink, &claim).await.unwrap();
    assert_eq!(data(&redis, ID)["data"].to_string(), large);
    let failure = add(&sink, &changed(|event| event.payload = None)).await.unwrap_err();
    assert!(matches!(failure, Failure::Permanent(_)), "{failure:?}");
}

#[tokio::test]
async fn a_redis_that_is_away_or_refuses_is_down_and_one_that_forgot_the_script_is_told_it() {
    let mut redis = Redis::start();
    let sink = sink(&redis);
    redis.broker.stop();
    let failure = add(&sink, &claim()).await.unwrap_err();
    assert!(matches!(failure, Failure::SinkDown(_)), "{failure:?}");
    redis.up();
    for run in 1..=3 {
        let _: () = redis.ask("SCRIPT FLUSH");
        add(&sink, &Claim { run, ..claim() }).await.unwrap();
    }
    assert_eq!(waiting(&redis).len(), 3);
    let _: () = redis.ask("CONFIG SET maxmemory 1");
    let failure = add(&sink, &Claim { run: 4, ..claim() }).await.unwrap_err();
    assert!(matches!(&failure, Failure::SinkDown(error) if error.contains("OOM")), "{failure:?}");
    let known: i32 = redis.ask_with(&["EXISTS", &format!("bull:q:{ID}/4")]);
    assert_eq!(known, 0, "nothing is half added");
}

/// Fails when a job that is in no list stays: it would be taken for added.
#[tokio::test]
async fn a_queue_that_may_not_be_written_to_has_the_event_once_it_may() {
    for refused in ["-lpush", "-xadd", "-incr"] {
        let redis = Redis::start();
        let sink = sink(&redis);
        let _: () = redis.ask(&format!("ACL SETUSER default {refused}"));
        let first = add(&sink, &claim()).await;
        if refused == "-lpush" {
            let failure = first.unwrap_err();
            assert!(matches!(failure, Failure::SinkDown(_)), "{failure:?}");
        }
        let _: () = redis.ask("ACL SETUSER default +@all");
        add(&sink, &claim()).await.unwrap();
        assert_eq!(waiting(&redis), [ID], "{refused}");
    }
}

#[test]
fn what_is_secret_of_a_sink_is_not_shown() {
    let redis = RedisOptions::new("redis://user:hush@a.example/1");
    let shown = format!("{:?}", BullmqSink::new(BullmqOptions::new(redis, "q")).unwrap());
    assert!(shown.contains("a.example") && !shown.contains("hush"), "{shown}");
}

/// `HOOKONCE_EVENTS=10000` for the whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_event_is_a_job_once_and_in_order_while_redis_goes_away_twice() {
    let mut redis = Redis::start();
    let events = outage::events();
    let sink = Arc::new(sink(&redis));
    let end = |redis: &mut Redis, outage| match outage {
        1 => redis.broker.kill(),
        _ => redis.broker.stop(),
    };
    outage::see_through(sink, events, &mut redis, end, Redis::up).await;
    let mut connection = redis.connect();
    let mut given = Vec::new();
    for id in waiting(&redis) {
        let key = format!("bull:q:{id}");
        let data: String = redis::cmd("HGET").arg(key).arg("data").query(&mut connection).unwrap();
        let data: Value = serde_json::from_str(&data).unwrap();
        assert_eq!(data["id"], id);
        given.push((data["idempotencykey"].as_str().unwrap().into(), data["data"].to_string()));
    }
    assert_eq!(given.len(), events);
    outage::check(events, &given);
}
