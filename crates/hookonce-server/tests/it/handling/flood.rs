//! Many statuses, and a message among them.

use std::time::{Duration, Instant};

use crate::cases::bot::{Bot, DONE, Gate};
use crate::cases::stand::{Stand, envelope, message, texts, until};

/// Requests of statuses, a thousand each.
fn statuses(n: usize) -> impl Iterator<Item = String> {
    (0..n / 1000).map(|request| {
        let one = |m: usize| {
            format!(
                r#"{{"id":"wamid.{request}.{m}","status":"delivered","timestamp":"1760000000","recipient_id":"15550100011"}}"#
            )
        };
        let list: Vec<_> = (0..1000).map(one).collect();
        envelope(&format!(r#""statuses":[{}]"#, list.join(",")))
    })
}

/// 50 000 statuses wait for a handler that takes 5 ms, with 8 slots.
#[test]
fn a_message_does_not_wait_behind_a_flood_of_statuses_nor_they_behind_messages() {
    // Nothing is handled until all are stored.
    let gate = Gate::default();
    let held = gate.clone();
    let bot = Bot::start(move |_| {
        held.pass();
        std::thread::sleep(Duration::from_millis(5));
        DONE
    });
    let rest = format!(
        "[worker]\nslots = 8\n\
         [sources.meta]\nscheme = \"meta\"\nsecrets = [\"test-app-secret-0001\"]\n\
         verify_token = \"x\"\n\
         [sinks.bot]\ntype = \"http\"\nurl = \"http://{}/\"\n\
         [[routes]]\nname = \"bot\"\nsteps = [\"bot\"]\n",
        bot.address
    );
    let stand = Stand::configured("min_free_disk = \"0B\"", &rest);
    for body in statuses(50_000) {
        assert_eq!(stand.post(body).counts(), (1000, 0));
    }
    assert!(stand.count("hookonce_tasks where state = 'pending'") > 49_000);
    gate.open();
    let sent = Instant::now();
    assert_eq!(stand.post(texts([("1", "urgent")])).counts(), (1, 0));
    until("the message is started", || bot.keys().iter().any(|key| *key == message("urgent")));
    assert!(sent.elapsed() < Duration::from_secs(1), "{:?}", sent.elapsed());

    // A steady flow of messages, more than can be handled.
    let done = || stand.count("hookonce_tasks where state = 'completed' and priority = 1");
    let many: Vec<_> = (0..3000).map(|n| (format!("1555014{n:04}"), format!("m{n}"))).collect();
    let many = texts(many.iter().map(|(from, id)| (from.as_str(), id.as_str())));
    let before = done();
    assert_eq!(stand.post(many).counts(), (3000, 0));
    let waiting = "hookonce_tasks where state = 'pending' and priority = 0";
    until("some messages are handled", || stand.count(waiting) < 2000);
    assert!(stand.count(waiting) > 0, "messages still wait");
    let more = done() - before;
    assert!(more > 20, "{more} statuses were handled beside a thousand messages");
}

/// Each call is done at once, so that none of the statuses is ever being handled when a message comes.
#[test]
fn behind_a_sink_with_a_rate_messages_overtake_statuses_too() {
    let bot = Bot::start(|_| DONE);
    let sink = format!(
        "[sinks.bot]\ntype = \"http\"\nurl = \"http://{}/\"\nrate = \"40/s\"\n\
         [[routes]]\nname = \"bot\"\nsteps = [\"bot\"]\n",
        bot.address
    );
    let stand = Stand::with(&sink);
    let body = statuses(1000).next().unwrap();
    assert_eq!(stand.post(body).counts(), (1000, 0));
    bot.called(20);
    let before = bot.calls().len();
    let many: Vec<_> = (0..40).map(|n| (format!("1555014{n:04}"), format!("m{n}"))).collect();
    let many = texts(many.iter().map(|(from, id)| (from.as_str(), id.as_str())));
    assert_eq!(stand.post(many).counts(), (40, 0));
    bot.called(before + 50);
    let keys = bot.keys();
    let messages =
        keys[before..before + 50].iter().filter(|key| key.starts_with("message")).count();
    assert!((30..=45).contains(&messages), "{messages} of 50 calls were for messages");
    assert!(keys[before..before + 50].iter().any(|key| key.starts_with("status")));
}
