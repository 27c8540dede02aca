//! SIGTERM while steps run and others wait.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use crate::cases::bot::{Bot, DONE};
use crate::cases::stand::{Stand, texts};
use crate::engine::on_both;

on_both![what_runs_is_finished_and_what_has_not_started_is_started_by_the_next_process_at_once,];

/// 100 steps of 2 s run, 50 tasks wait for a place. Fails when the worker claims what it can't start.
fn what_runs_is_finished_and_what_has_not_started_is_started_by_the_next_process_at_once() {
    let bot = Bot::start(|_| {
        thread::sleep(Duration::from_secs(2));
        DONE
    });
    let rest = format!(
        "[worker]\nslots = 100\ngrace = \"10s\"\n\
         [sources.meta]\nscheme = \"meta\"\nsecrets = [\"test-app-secret-0001\"]\n\
         verify_token = \"x\"\n\
         [sinks.bot]\ntype = \"http\"\nurl = \"http://{}/\"\nconcurrency = 128\n\
         [[routes]]\nname = \"bot\"\nsteps = [\"bot\"]\n",
        bot.address
    );
    let mut stand = Stand::configured("min_free_disk = \"0B\"", &rest);
    let all: Vec<_> = (0..150).map(|n| (format!("1555013{n:04}"), format!("w{n}"))).collect();
    let body = texts(all.iter().map(|(from, id)| (from.as_str(), id.as_str())));
    assert_eq!(stand.post(body).counts(), (150, 0));
    bot.called(100);
    let told = Instant::now();
    assert_eq!(stand.take().terminate().code(), Some(0));
    assert!(told.elapsed() < Duration::from_secs(10), "{:?}", told.elapsed());
    let done = "hookonce_tasks where state = 'completed' and attempt = 1";
    assert_eq!(stand.count(done), 100);
    assert_eq!(stand.count("hookonce_tasks where state = 'pending' and attempt = 0"), 50);
    let began = Instant::now();
    stand.start();
    bot.called(150);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    stand.settle();
    assert_eq!(stand.count(done), 150);
    let mut calls = BTreeMap::<String, u32>::new();
    for key in bot.keys() {
        *calls.entry(key).or_default() += 1;
    }
    assert_eq!((calls.len(), calls.values().max()), (150, Some(&1)));
}
