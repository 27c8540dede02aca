//! Senders that are answered once their events are handled.

use std::thread;
use std::time::{Duration, Instant};

use crate::cases::bot::{Bot, DONE, FAILED, Gate};
use crate::cases::client::signed;
use crate::cases::stand::{Stand, bot_route, message, texts, until};
use crate::engine::on_both;

on_both![
    fifty_copies_at_once_are_handled_once_and_all_answered_after_it,
    all_copies_are_told_of_a_failed_attempt_and_a_later_one_of_the_success_of_ours,
    a_copy_cannot_help_a_dead_task_and_an_event_without_task_is_handled,
    a_sender_waits_no_longer_than_it_is_configured_to,
];

fn stand(server: &str, bot: &Bot, settings: &str) -> Stand {
    let source = "[worker]\npoll = \"100ms\"\n[sources.meta]\nscheme = \"meta\"\nack = \"handled\"\n\
                  secrets = [\"test-app-secret-0001\"]\nverify_token = \"x\"\n";
    let server = ["min_free_disk = \"0B\"\n", server].concat();
    Stand::configured(&server, &[source, &bot_route(bot, settings)].concat())
}

fn fifty_copies_at_once_are_handled_once_and_all_answered_after_it() {
    let bot = Bot::start(|_| {
        thread::sleep(Duration::from_secs(2));
        DONE
    });
    let stand = stand("", &bot, "");
    let began = Instant::now();
    let body = texts([("1", "a")]);
    let answers = stand.ask_at_once((0..50).map(|_| signed(&body)));
    assert!(began.elapsed() >= Duration::from_secs(2), "answered before it was handled");
    assert!(answers.iter().all(|answer| answer.status == 200), "{answers:?}");
    let new: u64 = answers.iter().map(|answer| answer.counts().0).sum();
    assert_eq!((new, bot.calls().len()), (1, 1));
    assert_eq!(stand.show(&message("a"))["copies"], 50);
}

fn all_copies_are_told_of_a_failed_attempt_and_a_later_one_of_the_success_of_ours() {
    let gate = Gate::default();
    let held = gate.clone();
    let bot = Bot::start(move |call| {
        if call.n == 1 {
            held.pass();
            return FAILED;
        }
        DONE
    });
    let stand = stand("", &bot, "");
    let body = texts([("1", "a")]);
    let mut clients: Vec<_> = (0..20).map(|_| stand.connect()).collect();
    for client in &mut clients {
        client.send(signed(&body));
    }
    until("all are stored", || {
        let stored = "select cast(sum(n) as text) from hookonce_minutes \
                      where what in ('new', 'duplicate')";
        stand.texts(stored) == ["20"]
    });
    gate.open();
    let answers: Vec<_> = clients.iter_mut().map(|client| client.answer().unwrap()).collect();
    for answer in &answers {
        assert_eq!(answer.status, 503, "{answer:?}");
        assert!(answer.header("retry-after").is_some());
    }
    // Our own retry went on by itself.
    stand.settle();
    assert_eq!(bot.calls().len(), 2);
    assert_eq!(stand.post(&body).counts(), (0, 1));
    assert_eq!(bot.calls().len(), 2, "the copy started nothing");
}

fn a_copy_cannot_help_a_dead_task_and_an_event_without_task_is_handled() {
    let bot = Bot::start(|_| FAILED);
    let stand = stand("", &bot, "max_attempts = 1\nkinds = [\"message.*\"]");
    assert_eq!(stand.post(texts([("1", "a")])).counts(), (1, 0), "dead at once");
    assert_eq!(stand.post(texts([("1", "a")])).counts(), (0, 1));
    let began = Instant::now();
    assert_eq!(stand.send("STAT-01").status, 200, "nobody wants a status");
    assert!(began.elapsed() < Duration::from_secs(2));
}

fn a_sender_waits_no_longer_than_it_is_configured_to() {
    let gate = Gate::default();
    let held = gate.clone();
    let bot = Bot::start(move |_| {
        held.pass();
        DONE
    });
    let stand = stand("ack_timeout = \"1s\"\nhandled_timeout = \"2s\"", &bot, "");
    let began = Instant::now();
    let answer = stand.post(texts([("1", "a")]));
    assert_eq!(answer.status, 503);
    let took = began.elapsed();
    assert!((1500..4000).contains(&took.as_millis()), "{took:?}");
    gate.open();
    stand.settle();
    assert_eq!(stand.post(texts([("1", "a")])).counts(), (0, 1));
}
