//! A server that lost what it had.

use std::time::Duration;

use hookonce::store::Arrival;
use hookonce::task::Outcome;

use super::ask;
use crate::bed::{Bed, new};

#[tokio::test]
async fn data_that_is_gone_is_noticed_and_what_is_older_is_not_handled() {
    let (bed, server) = Bed::redis().await;
    let sent = bed.clock.now();
    bed.insert([new("a").sent_at(sent)]).await;
    bed.store.finish(&bed.claim_one().await, &Outcome::Completed).await.unwrap();
    ask::<()>(&server, &["FLUSHALL"]);
    bed.clock.advance(Duration::from_secs(60));
    // Nobody can know that it was handled before.
    assert_eq!(bed.insert([new("a").sent_at(sent)]).await, [Arrival::New]);
    let a = bed.get("a").await.summary;
    assert_eq!(a.state, "dead");
    assert!(a.tasks[0].error.as_deref().unwrap().starts_with("too old to be proven new"));
    bed.clock.advance(Duration::from_secs(60));
    bed.insert([new("b").sent_at(bed.clock.now())]).await;
    assert_eq!(bed.claim_one().await.event.key, "b");
}
