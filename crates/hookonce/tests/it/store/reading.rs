//! What people see.

use hookonce::store::{Filter, MirrorSource, Page, StateFilter};
use hookonce::task::{DeadLane, Outcome, State};

use crate::bed::{Bed, new, store_test};

fn shown(page: &Page) -> Vec<&str> {
    page.events.iter().map(|event| event.event.key.as_str()).collect()
}

store_test!(pages_run_newest_first_and_miss_nothing, |bed: Bed| async move {
    for n in 0..25 {
        bed.insert([new(&format!("k{n}"))]).await;
    }
    let (mut filter, mut seen) = (Filter::default(), Vec::new());
    loop {
        let page = bed.store.list(&filter, 10).await.unwrap();
        seen.extend(shown(&page).into_iter().map(str::to_owned));
        filter.after = page.next;
        // Whatever arrives meanwhile is newer than the pages to come.
        bed.insert([new(&format!("new{}", seen.len()))]).await;
        if filter.after.is_none() {
            break;
        }
    }
    let expected: Vec<_> = (0..25).rev().map(|n| format!("k{n}")).collect();
    assert_eq!(seen, expected);
});

store_test!(a_filter_shows_what_it_says, |bed: Bed| async move {
    bed.store
        .mirror(&[MirrorSource { name: "whatsapp".into(), scope: "whatsapp".into() }], &[])
        .await
        .unwrap();
    bed.insert([new("dead"), new("completed"), new("claimed")]).await;
    let claims = bed.claim(3).await;
    let dead = Outcome::Dead { error: "e".to_owned(), lane: DeadLane::Pass };
    bed.store.finish(&claims[0], &dead).await.unwrap();
    bed.store.finish(&claims[1], &Outcome::Completed).await.unwrap();
    bed.insert([
        new("pending").lane("l").source("other").routes(&["s"]),
        new("recorded").routes(&[]),
    ])
    .await;
    let list = async |filter: Filter| {
        let page = bed.store.list(&filter, 10).await.unwrap();
        shown(&page).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let any = Filter::default;
    let text = |text: &str| Some(text.to_owned());
    for state in State::ALL {
        let filter = Filter { state: Some(StateFilter::Task(state)), ..any() };
        assert_eq!(list(filter).await, [state.as_str()]);
    }
    assert_eq!(list(Filter { state: Some(StateFilter::Recorded), ..any() }).await, ["recorded"]);
    assert_eq!(list(Filter { source: text("other"), ..any() }).await, ["pending"]);
    assert_eq!(list(Filter { route: text("s"), ..any() }).await, ["pending"]);
    assert_eq!(list(Filter { lane: text("l"), ..any() }).await, ["pending"]);
    assert_eq!(list(Filter { kind: text("message.*"), ..any() }).await.len(), 5);
    assert_eq!(list(Filter { kind: text("status.*"), ..any() }).await.len(), 0);
    assert_eq!(list(Filter { key: text("claimed"), ..any() }).await, ["claimed"]);
    let none = Filter { key: text("claimed"), source: text("other"), ..any() };
    assert_eq!(list(none).await.len(), 0);
});

store_test!(counts_are_exact_at_once, |bed: Bed| async move {
    bed.insert([new("a"), new("b"), new("c").lane("l"), new("d").lane("l"), new("a")]).await;
    let claims = bed.claim(2).await;
    bed.store.finish(&claims[0], &Outcome::Completed).await.unwrap();
    let dead = Outcome::Dead { error: "e".to_owned(), lane: DeadLane::Pass };
    bed.store.finish(&claims[1], &dead).await.unwrap();
    let counts = bed.store.counts().await.unwrap();
    assert_eq!((counts.events, counts.duplicates), (4, 1));
    assert_eq!((counts.pending, counts.claimed, counts.completed, counts.dead), (2, 0, 1, 1));
    assert_eq!(counts.oldest_due_at, Some(bed.clock.now()));
});
