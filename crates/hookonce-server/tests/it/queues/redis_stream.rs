//! Events through a stream of Redis to the consumer `redis_stream.py`.

use std::path::Path;

use super::ask;
use super::office::{Consumer, MESSAGES, Office};
use crate::crash::wait_until;
use crate::engine::Redis;

/// Appends each entry of the stream once more.
const COPY: &str = "for _, entry in ipairs(redis.call('xrange', KEYS[1], '-', '+')) do \
                    redis.call('xadd', KEYS[1], '*', unpack(entry[2])) end";

#[test]
fn each_event_is_booked_once_though_entries_come_twice_and_the_consumer_is_killed() {
    let redis = Redis::start(&[]);
    let url = redis.url();
    let office = Office::open(&format!("type = \"redis-stream\"\nurl = \"{url}\"\nstream = \"q\""));
    let books = office.place.path("books.db");
    let consumer = || {
        let mut command = Consumer::python("redis_stream.py");
        command.args([&url, "q"]).arg(&books).arg("one");
        Consumer::start(command)
    };
    let first = consumer();
    office.receive();
    wait_until("some are booked", || booked(&books) > 0);
    drop(first);
    ask(&redis, &["eval", COPY, "1", "q"]);
    let _second = consumer();
    wait_until("nothing is left in the queue", || {
        let group = ask(&redis, &["xinfo", "groups", "q"]);
        group.contains("lag\n0") && group.contains("pending\n0")
    });
    assert_eq!(ask(&redis, &["xlen", "q"]), (2 * MESSAGES).to_string());
    assert_eq!(booked(&books), MESSAGES);
}

fn booked(books: &Path) -> usize {
    let open = rusqlite::Connection::open(books).unwrap();
    open.query_row("select count(*) from ledger", (), |row| row.get(0)).unwrap_or(0)
}
