//! ORD: one after another within a conversation.

use futures_util::future::join_all;
use hookonce::store::Arrival;
use hookonce::task::Outcome;

use crate::bed::{Bed, keys, new};

/// SQLite has one writer: while another process holds a transaction open, nothing of a later one is
/// seen, and what was acked first is first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ord_04_what_is_acked_first_is_handled_first_whoever_holds_a_transaction_open() {
    let (bed, _dir) = Bed::sqlite().await;
    bed.sql.run("begin immediate");
    let event = |key: &str| new(key).lane("l").at(bed.clock.now());
    let insert = async |key: &'static str| bed.store.insert(vec![event(key)]).await;
    let overlapping = join_all(["a", "b"].map(insert));
    let release = async {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert!(
            bed.store
                .list(&hookonce::store::Filter::default(), 10)
                .await
                .unwrap()
                .events
                .is_empty()
        );
        bed.sql.run("commit");
    };
    let (arrivals, ()) = tokio::join!(overlapping, release);
    assert!(arrivals.into_iter().all(|arrival| arrival.unwrap() == [Arrival::New]));
    bed.insert([new("c").lane("l")]).await;
    let mut handled = Vec::new();
    loop {
        let claims = bed.claim(10).await;
        let Some(claim) = claims.first() else { break };
        assert_eq!(claims.len(), 1, "never two of a lane: {:?}", keys(&claims));
        handled.push(claim.event.key.clone());
        bed.store.finish(claim, &Outcome::Completed).await.unwrap();
    }
    assert_eq!(handled.len(), 3);
    assert_eq!(handled[2], "c", "{handled:?}");
}
