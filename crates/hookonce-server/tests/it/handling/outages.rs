//! A sink that is down, and an event that its sink can't take.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cases::bot::{Bot, DONE, DOWN};
use crate::cases::stand::{LEDGER, Stand, message, route_to, status_flood, texts, until};
use crate::engine::on_both;

on_both![
    while_a_sink_refuses_connections_no_attempt_is_burnt_and_the_other_route_goes_on,
    while_a_sink_says_that_it_is_out_of_service_no_attempt_is_burnt,
    the_steps_before_a_sink_that_is_down_are_done_once,
    an_event_that_its_sink_cannot_take_dies_alone_and_stops_the_others_for_one_probe_at_most,
    an_event_that_brings_its_sink_down_is_charged_and_the_others_are_not,
    no_more_calls_start_than_the_rate_allows,
    a_sink_that_comes_and_goes_kills_nobody,
    a_host_that_takes_no_connection_is_out_of_service_and_holds_no_task,
    a_rate_on_a_later_step_leaves_the_slots_to_other_routes,
];

/// 502, as a proxy answers in front of a program that crashes.
const BAD_GATEWAY: &str =
    "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// Events of 40 conversations.
fn send(stand: &Stand) -> BTreeSet<String> {
    let ids: Vec<_> = (0..40).map(|n| (format!("1555010{n:04}"), format!("wamid.{n}"))).collect();
    for (from, id) in &ids {
        assert_eq!(stand.post(texts([(from.as_str(), id.as_str())])).counts(), (1, 0));
    }
    ids.iter().map(|(_, id)| message(id)).collect()
}

/// What every attempt of the route to the bot came to.
fn attempts(stand: &Stand, outcome: &str) -> i64 {
    stand.count(&format!("hookonce_attempts where route = 'bot' and outcome = '{outcome}'"))
}

fn outage(stand: &Stand, during: impl Fn(), recover: impl FnOnce() -> Bot) {
    let keys = send(stand);
    // The other route goes on as if nothing were.
    until("the ledger is written", || stand.count("ledger") == 40);
    during();
    assert_eq!(attempts(stand, "retry") + attempts(stand, "dead"), 0, "an attempt was burnt");
    let waiting = "hookonce_tasks where route = 'bot' and state <> 'completed'";
    assert_eq!(stand.count(waiting), 40);
    assert_eq!(stand.count(&format!("{waiting} and attempt > 0 and state <> 'claimed'")), 0);
    let bot = recover();
    stand.settle();
    let came: BTreeSet<_> = bot.calls().iter().map(|call| call.key().to_owned()).collect();
    assert_eq!(came, keys);
    assert_eq!(stand.count("hookonce_tasks where state = 'completed' and attempt = 1"), 80);
    assert_eq!(attempts(stand, "completed"), 40);
    assert_eq!(attempts(stand, "retry") + attempts(stand, "dead"), 0);
    assert_eq!(stand.count("ledger"), 40);
}

fn while_a_sink_refuses_connections_no_attempt_is_burnt_and_the_other_route_goes_on() {
    let address = Bot::nowhere();
    let stand = Stand::with(&[LEDGER, &route_to(address, "max_attempts = 1")].concat());
    let probed = || {
        until("some probes failed", || attempts(&stand, "released") >= 2);
        stand.server().stderr_line("a sink is down");
    };
    outage(&stand, probed, || Bot::at(address, |_| DONE));
    stand.server().stderr_line("a sink is up again");
}

fn while_a_sink_says_that_it_is_out_of_service_no_attempt_is_burnt() {
    let is_up = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let mood = is_up.clone();
    let bot = Bot::start(
        move |_| {
            if mood.load(std::sync::atomic::Ordering::SeqCst) { DONE } else { DOWN }
        },
    );
    let stand = Stand::with(&[LEDGER, &route_to(bot.address, "max_attempts = 1")].concat());
    let probed = || until("some probes failed", || attempts(&stand, "released") >= 4);
    outage(&stand, probed, || {
        is_up.store(true, std::sync::atomic::Ordering::SeqCst);
        bot
    });
}

/// A task that comes to a sink that is down has done the steps before it, once.
fn the_steps_before_a_sink_that_is_down_are_done_once() {
    let address = Bot::nowhere();
    let route = "[[routes]]\nname = \"both\"\nsteps = [\"ledger\", \"bot\"]\nmax_attempts = 1\n";
    let sink = format!("[sinks.bot]\ntype = \"http\"\nurl = \"http://{address}/\"\n");
    let stand = Stand::with(&[&sink, route].concat());
    send(&stand);
    until("the first steps are done", || stand.count("ledger") == 40);
    let bot = Bot::at(address, |_| DONE);
    stand.settle();
    assert_eq!((stand.count("ledger"), bot.calls().len()), (40, 40));
    assert_eq!(stand.count("hookonce_tasks where state = 'completed' and attempt = 1"), 40);
}

fn an_event_that_its_sink_cannot_take_dies_alone_and_stops_the_others_for_one_probe_at_most() {
    let bot = Bot::start(|call| if call.key().ends_with("poison") { BAD_GATEWAY } else { DONE });
    let route = route_to(bot.address, "max_attempts = 3\nretry_max = \"20ms\"");
    let stand = Stand::with(&route);
    let key = message("poison");
    assert_eq!(stand.post(texts([("15550109999", "poison")])).counts(), (1, 0));
    let task = || stand.show(&key)["tasks"][0].clone();
    let mut longest = Duration::ZERO;
    let mut n = 0;
    let began = Instant::now();
    while task()["state"] != "dead" {
        assert!(began.elapsed() < Duration::from_secs(20), "{}", task());
        let (from, id) = (format!("1555011{n:04}"), format!("wamid.ok{n}"));
        let sent = Instant::now();
        assert_eq!(stand.post(texts([(&*from, &*id)])).counts(), (1, 0));
        let done = format!(
            "hookonce_tasks join hookonce_events using (seq) where state = 'completed' \
             and key = '{}'",
            message(&id)
        );
        until("a healthy event is handled", || stand.count(&done) == 1);
        longest = longest.max(sent.elapsed());
        n += 1;
    }
    assert!(longest < Duration::from_millis(2500), "one waited {longest:?}");
    let shown = stand.show(&key);
    let outcomes: Vec<_> = shown["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| a["outcome"].as_str().unwrap())
        .collect();
    // Its first failure could have been the sink's.
    assert_eq!(outcomes, ["released", "retry", "retry", "dead"]);
    assert_eq!(stand.count("hookonce_attempts where outcome not in ('completed')"), 4);
}

/// An event that brings its sink down each time: the sink is away for a while afterwards.
fn an_event_that_brings_its_sink_down_is_charged_and_the_others_are_not() {
    let bot = Bot::start(|call| if call.key().ends_with("killer") { "" } else { DONE });
    let stand = Stand::with(&route_to(bot.address, "max_attempts = 2\nretry_max = \"20ms\""));
    let bodies = [texts([("15550109999", "killer")]), texts([("15550109998", "fine")])];
    for body in bodies {
        assert_eq!(stand.post(body).counts(), (1, 0));
    }
    stand.settle();
    let states: Vec<Value> =
        ["killer", "fine"].map(|id| stand.show(&message(id))["state"].clone()).into();
    assert_eq!(states, ["dead", "completed"]);
    assert_eq!(bot.keys().iter().filter(|key| key.ends_with("killer")).count(), 2);
}

fn no_more_calls_start_than_the_rate_allows() {
    let bot = Bot::start(|_| DONE);
    let sink = format!(
        "[sinks.bot]\ntype = \"http\"\nurl = \"http://{}/\"\nrate = \"20/s\"\n\
         [[routes]]\nname = \"bot\"\nsteps = [\"bot\"]\n",
        bot.address
    );
    let stand = Stand::with(&sink);
    let began = Instant::now();
    send(&stand);
    stand.settle();
    let took = began.elapsed();
    assert!(took > Duration::from_millis(1800), "40 calls at 20 a second took {took:?}");
    // What had to wait was not claimed meanwhile.
    assert_eq!(stand.count("hookonce_tasks where epoch > 1"), 0);
}

/// A second outage finds events that were excused in the first, and of which none succeeded since: at
/// most one of them is charged, the one that shows it.
fn a_sink_that_comes_and_goes_kills_nobody() {
    let answers = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let n = answers.clone();
    // Down, but for one call in a while, and at last up.
    let bot = Bot::start(move |_| match n.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
        n if n < 16 && n % 5 != 4 => DOWN,
        _ => DONE,
    });
    let stand = Stand::with(&route_to(bot.address, "max_attempts = 4"));
    for n in 0..12 {
        let (from, id) = (format!("1555015{n:04}"), format!("w{n}"));
        assert_eq!(stand.post(texts([(&*from, &*id)])).counts(), (1, 0));
    }
    stand.settle();
    assert_eq!(stand.count("hookonce_tasks where state = 'completed'"), 12);
    let charged = attempts(&stand, "retry");
    assert!(charged <= 4, "{charged} attempts were charged in four outages");
}

/// A host that answers nobody: the listener's queue is full. Nothing was sent, so that nothing can have
/// happened, however short the sink's time limit.
fn a_host_that_takes_no_connection_is_out_of_service_and_holds_no_task() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut filling = Vec::new();
    while let Ok(stream) =
        std::net::TcpStream::connect_timeout(&address, Duration::from_millis(200))
    {
        filling.push(stream);
    }
    let sink = format!(
        "[sinks.bot]\ntype = \"http\"\nurl = \"http://{address}/\"\ntimeout = \"1s\"\n\
         on_unknown = \"hold\"\n[[routes]]\nname = \"bot\"\nsteps = [\"bot\"]\n"
    );
    let stand = Stand::with(&sink);
    let bodies = [texts([("1", "a")]), texts([("2", "b")])];
    for body in bodies {
        assert_eq!(stand.post(body).counts(), (1, 0));
    }
    stand.server().stderr_line("a sink is down");
    assert_eq!(stand.count("hookonce_tasks where state = 'dead' or attempt > 1"), 0);
    assert_eq!(attempts(&stand, "retry"), 0);
}

/// Fails when `Openings::add` asks the first gate of a route alone for its starts.
fn a_rate_on_a_later_step_leaves_the_slots_to_other_routes() {
    let bot = Bot::start(|_| DONE);
    let rest = format!(
        "[sinks.slow]\ntype = \"http\"\nurl = \"http://{}/\"\nrate = \"1/s\"\n\
         [[routes]]\nname = \"a\"\nkinds = [\"status.*\"]\nsteps = [\"ledger\", \"slow\"]\n\
         [[routes]]\nname = \"b\"\nkinds = [\"message.*\"]\nsteps = [\"ledger\"]\n",
        bot.address
    );
    let mut stand = Stand::with(&rest);
    for body in status_flood(500) {
        assert_eq!(stand.post(body).counts(), (100, 0));
    }
    bot.called(1);
    assert_eq!(stand.post(texts([("1", "a"), ("2", "b"), ("3", "c")])).counts(), (3, 0));
    until("the other route goes on", || {
        stand.count("hookonce_tasks where route = 'b' and state = 'completed'") == 3
    });
    assert!(stand.count("hookonce_tasks where state = 'claimed'") <= 2);
    // Nobody who waits for a start holds a shutdown up.
    let told = Instant::now();
    assert_eq!(stand.take().terminate().code(), Some(0));
    assert!(told.elapsed() < Duration::from_secs(5), "{:?}", told.elapsed());
}
