//! `examples/amqp`, behind an `amqp` sink and a real `RabbitMQ`.

use std::process::Command;

use super::{Consumer, forget, make_examples, post, serve, wait_for};
use crate::crash::wait_until;
use crate::engine::Sql;
use crate::program::{Place, root};

/// Where the `RabbitMQ` is that `scripts/servers.sh` has started.
#[expect(clippy::disallowed_methods, reason = "the servers are started outside")]
fn url() -> String {
    std::env::var("HOOKONCE_TEST_AMQP").expect("run `scripts/servers.sh cargo test …`")
}

#[test]
fn what_is_published_twice_is_booked_once() {
    make_examples();
    let place = Place::new();
    let queue = format!("consumer{}", std::process::id());
    let url = url();
    let (at, password) = (url.replace(":guest@", "@"), "password = \"file:password\"");
    place.write("password", "guest\n");
    let server = serve(
        &place,
        &format!(
            "type = \"amqp\"\nurl = \"{at}\"\n{password}\nqueue = \"{queue}\"\ndeclare = true"
        ),
    );
    post(&server, 0..5);
    wait_for(&place, 5);
    let mut command = Command::new(root().join("target/examples/amqp/bin/python"));
    command.arg(root().join("examples/amqp/consumer.py"));
    let consumer = Consumer::start(command.args([&*url, &queue]).arg(place.path("book.db")));
    let booked = |n| {
        wait_until("the events are booked", || {
            let book = Sql::File(place.path("book.db"));
            book.number("select count(*) from sqlite_master where name = 'ledger'") == 1
                && book.number("select count(*) from ledger") == n
        });
    };
    booked(5);
    forget(&place);
    wait_for(&place, 5);
    // What comes behind the copies is booked behind them.
    post(&server, 5..6);
    booked(6);
    consumer.end();
    let book = Sql::File(place.path("book.db"));
    assert_eq!(book.number("select count(distinct event) from ledger"), 6);
    assert_eq!(book.number("select count(*) from ledger where note like '{\"object\":%'"), 6);
    assert_eq!(book.number("select count(distinct lane) from ledger"), 6);
    let queued = place.run(&["doctor"]).stdout;
    assert!(queued.contains("`queue` takes connections at 127.0.0.1:"), "{queued}");
    assert!(server.terminate().success());
}
