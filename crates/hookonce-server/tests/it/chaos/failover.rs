//! The primary is lost for good, and its standby takes over.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::history;
use super::load;
use super::nodes::Nodes;
use crate::crash::chance::Chance;
use crate::crash::sender::{Message, Sender, body};
use crate::crash::wait_until;
use crate::engine::Connection;
use crate::program::Server;

#[test]
fn after_a_failover_nodes_are_back_by_themselves_and_nothing_acked_is_lost_or_doubled() {
    let mut chance = Chance::new();
    // Made without a standby to wait for.
    let mut nodes = Nodes::start(0, "");
    let standby = nodes.postgres.standby();
    let sql = nodes.sql();
    sql.run("alter system set synchronous_standby_names = '*'");
    sql.run("select pg_reload_conf()");
    let (one, two) = (nodes.postgres.port, standby.port);
    let both = format!("postgres://postgres@127.0.0.1:{one},127.0.0.1:{two}/postgres");
    for _ in 0..2 {
        let node = Server::listening(&mut nodes.command(&both));
        nodes.running.push(Some(node).into());
    }
    let state = "select count(*) from pg_stat_replication where sync_state = 'sync'";
    wait_until("the standby is synchronous", || sql.texts(state) == ["1"]);
    drop(sql);
    let is_over = AtomicBool::new(false);
    let sent = thread::scope(|scope| {
        let (nodes, is_over, random) = (&nodes, &is_over, chance.random.fork());
        let sender = scope.spawn(move || load::post(nodes, 0, random, is_over));
        let sql = Connection::open(&standby.url());
        let booked = || sql.texts("select count(*) from ledger")[0].parse::<u64>().unwrap();
        wait_until("there is work", || booked() > 50);
        nodes.postgres.stop("immediate");
        let status = |path: &str| Sender::new(&nodes.url(0).unwrap()).get(path).unwrap().status;
        wait_until("it is not ready", || status("/readyz") == 503);
        assert_eq!(status("/healthz"), 200);
        let url = nodes.url(1).unwrap();
        let refused = Sender::new(&url).post(&body(&[Message::new("wamid.REFUSED", 7)])).unwrap();
        assert_eq!(refused.status, 503, "{refused:?}");
        let before = booked();
        standby.promote();
        // A standby that is waited for would never come.
        sql.run("alter system reset synchronous_standby_names");
        sql.run("select pg_reload_conf()");
        wait_until("it is ready", || status("/readyz") == 200);
        wait_until("it works", || booked() > before + 50);
        is_over.store(true, Ordering::Relaxed);
        sender.join().unwrap()
    });
    nodes.postgres = standby;
    nodes.wait_until_done();
    history::check(&nodes, &sent);
    let lost = nodes.sql().texts("select count(*) from hookonce.events where key like '%REFUSED'");
    assert_eq!(lost, ["0"], "what was answered 503 while no server was there is not stored");
}
