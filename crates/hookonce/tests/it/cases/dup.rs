//! DUP: processed twice.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::intake::{Intake, message, took};
use crate::bed::{Bed, store_test};
use crate::working::{route, told, worker};

store_test!(dup_01_a_plain_redelivery_minutes_and_hours_later, |bed: Bed| async move {
    let log = Arc::<Mutex<Vec<String>>>::default();
    let worker = worker(&bed, route(vec![("s", told(&log, |_| Ok(())))]));
    let intake = Intake::of(&bed);
    assert_eq!(intake.send("DUP-01").await, took(1, 0));
    while worker.turn().await > 0 {}
    for later in [150, 23 * 3600] {
        bed.clock.advance(Duration::from_secs(later));
        assert_eq!(intake.send("DUP-01").await, took(0, 1));
        assert_eq!(worker.turn().await, 0);
    }
    let key = message("wamid.TESTDUP01");
    assert_eq!(*log.lock().unwrap(), [format!("{key}/s")]);
    assert_eq!(bed.task(&key).await, ("completed", 1, 1));
    assert_eq!(bed.get(&key).await.summary.copies, 3);
    let counts = bed.store.counts().await.unwrap();
    assert_eq!((counts.events, counts.duplicates, counts.dead), (1, 2, 0));
});
