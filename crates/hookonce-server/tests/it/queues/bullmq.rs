//! Events through a queue of `BullMQ` to the worker `bullmq.js`, which is a real one.

use super::ask;
use super::office::{Consumer, MESSAGES, Office};
use crate::crash::wait_until;
use crate::engine::{Database, Redis, Sql};

/// Has workers take every completed job once more, as if they had died before they said so.
const AGAIN: &str = "for _, id in ipairs(redis.call('zrange', KEYS[1] .. 'completed', 0, -1)) do \
                     redis.call('zrem', KEYS[1] .. 'completed', id) \
                     redis.call('lpush', KEYS[1] .. 'wait', id) end \
                     return redis.call('zadd', KEYS[1] .. 'marker', 0, '0')";

#[test]
fn each_event_is_booked_once_though_its_job_is_run_twice_and_the_worker_is_killed() {
    let redis = Redis::start(&[]);
    let url = redis.url();
    let office = Office::open(&format!("type = \"bullmq\"\nurl = \"{url}\"\nqueue = \"q\""));
    let database = Database::make();
    let sql = Sql::of(&database);
    let is_there = "select (to_regclass('ledger') is not null)::text";
    let count = || sql.texts("select count(*)::text from ledger")[0].parse().unwrap();
    let booked = || if sql.texts(is_there) == ["true"] { count() } else { 0 };
    let worker = || {
        let mut command = Consumer::node("bullmq.js");
        command.args([&url, "q", &database.url]).env("LEASE", "5");
        Consumer::start(command)
    };
    let first = worker();
    office.receive();
    wait_until("some are booked", || booked() > 0);
    drop(first);
    let _second = worker();
    let completed = || ask(&redis, &["zcard", "bull:q:completed"]) == MESSAGES.to_string();
    wait_until("all are completed", completed);
    assert_eq!(booked(), MESSAGES);
    ask(&redis, &["eval", AGAIN, "1", "bull:q:"]);
    wait_until("all are completed again", completed);
    assert_eq!(booked(), MESSAGES);
}
