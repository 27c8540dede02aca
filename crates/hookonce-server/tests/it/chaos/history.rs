//! What is left in the database: each acked event once in the ledger, in order, and its attempts apart.

use std::collections::HashMap;

use super::load::Sent;
use super::nodes::Nodes;

/// Checks all of it and says what there was.
pub(super) fn check(nodes: &Nodes, sent: &Sent) {
    let sql = nodes.sql();
    let none = |what: &str, query: &str| {
        let found = sql.texts(&format!("select q::text from ({query}) q limit 5"));
        assert!(found.is_empty(), "{what}: {found:#?}");
    };
    none(
        "tasks that are not completed",
        "select seq, state, attempt, error from hookonce.tasks where state <> 'completed'",
    );
    none(
        "events that are not in the ledger once, and entries of none",
        "select e.key, l.message, count(*) from hookonce.events e \
         full join ledger l on l.event_id = e.id group by e.id, e.key, l.message \
         having count(l.entry) <> 1 or e.id is null",
    );
    let mut booked: HashMap<u64, Vec<String>> = HashMap::new();
    for entry in sql.texts("select sender || ' ' || message from ledger order by entry") {
        let (lane, message) = entry.split_once(' ').unwrap();
        booked.entry(lane.parse().unwrap()).or_default().push(message.to_owned());
    }
    for (lane, acked) in sent.acked.iter().filter(|(_, acked)| !acked.is_empty()) {
        let mut booked = booked.remove(lane).unwrap_or_default();
        // What was sent last may be stored without an ack.
        booked.retain(|message| acked.contains(message));
        assert_eq!(&booked, acked, "the order of lane {lane}");
    }
    check_attempts(none);
    let counts = "select format('%s events, %s attempts: %s lapsed, %s tried again', \
                  (select count(*) from hookonce.events), count(*), \
                  count(*) filter (where outcome = 'lapsed'), \
                  count(*) filter (where outcome in ('retry', 'released'))) from hookonce.attempts";
    eprintln!(
        "{}; {} messages acked, {} requests not, the longest answer took {:?}",
        sql.texts(counts)[0],
        sent.count(),
        sent.refused,
        sent.longest
    );
}

/// Checks that no claim was beside another of its task or lane, that no lease was ended early, and that
/// each effect happened while its attempt held. All by the server's clock.
fn check_attempts(none: impl Fn(&str, &str)) {
    let order = "select a.*, t.lane_id, \
                 lag(a.ended_at) over (partition by a.seq, a.route order by a.epoch) as ended_before, \
                 max(a.ended_at) over (partition by t.lane_id order by a.started_at, a.epoch \
                   rows between unbounded preceding and 1 preceding) as lane_free_at \
                 from hookonce.attempts a join hookonce.tasks t using (seq, route)";
    none(
        "attempts of a task beside the one before",
        &format!("select * from ({order}) a where started_at < ended_before"),
    );
    none(
        "attempts of a lane beside one another",
        &format!("select * from ({order}) a where started_at < lane_free_at"),
    );
    none(
        "leases that were ended early",
        &format!(
            "select * from hookonce.attempts \
             where outcome = 'lapsed' and ended_at - started_at < interval '{}'",
            super::nodes::LEASE
        ),
    );
    none(
        "effects outside of the attempt that completed",
        "select l.*, a.started_at, a.ended_at, a.attempt as completed_by from ledger l \
         join hookonce.events e on e.id = l.event_id \
         left join hookonce.attempts a on a.seq = e.seq and a.outcome = 'completed' \
         where a.seq is null or a.attempt <> l.attempt or l.at not between a.started_at and a.ended_at",
    );
}
