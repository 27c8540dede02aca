//! DUP: processed twice.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use hookonce::store::Clock;
use sha2::Sha256;

use super::bot::{Bot, DONE, Gate};
use super::case::Case;
use super::client::{request, signed_by_waha};
use super::stand::{LEDGER, Stand, WAHA, envelope, message};
use crate::engine::on_both;

on_both![
    dup_03_a_slow_handler_makes_the_sender_retry_while_the_first_run_goes_on,
    dup_04_memory_of_what_was_seen_outlives_a_restart_and_other_traffic,
    dup_09_the_same_id_three_times_in_one_request,
    dup_10_one_message_announced_under_two_names_is_handled_once,
    dup_15_a_message_sent_again_for_hours_and_across_restarts_is_handled_once,
];

fn dup_03_a_slow_handler_makes_the_sender_retry_while_the_first_run_goes_on() {
    let gate = Gate::default();
    let held = gate.clone();
    let bot = Bot::start(move |_| {
        held.pass();
        DONE
    });
    let stand = Stand::bot(&bot, "");
    let began = Instant::now();
    assert_eq!(stand.send("DUP-03").counts(), (1, 0));
    bot.called(1);
    for _ in 0..3 {
        assert_eq!(stand.send("DUP-03").counts(), (0, 1));
    }
    // The handler has not answered yet, and never would.
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(stand.count("hookonce_tasks"), 1);
    gate.open();
    stand.settle();
    assert_eq!(bot.keys(), [message("wamid.TESTDUP03")]);
    assert_eq!(stand.show(&message("wamid.TESTDUP03"))["copies"], 4);
}

fn dup_04_memory_of_what_was_seen_outlives_a_restart_and_other_traffic() {
    // The other events are statuses, which no route takes, so that they take no time.
    let mut stand = Stand::with(&format!("{LEDGER}kinds = [\"message.*\"]\n"));
    assert_eq!(stand.send("DUP-04").counts(), (1, 0));
    assert_eq!(stand.effects(), [message("wamid.TESTDUP04")]);
    stand.kill();
    stand.start();
    for n in 0..10 {
        let status =
            |m| format!(r#"{{"id":"wamid.{n}.{m}","status":"sent","timestamp":"1760000000"}}"#);
        let list: Vec<_> = (0..1000).map(status).collect();
        let body = envelope(&format!(r#""statuses":[{}]"#, list.join(",")));
        assert_eq!(stand.post(body).counts(), (1000, 0));
    }
    assert_eq!(stand.send("DUP-04").counts(), (0, 1));
    assert_eq!(stand.effects(), [message("wamid.TESTDUP04")]);
}

fn dup_09_the_same_id_three_times_in_one_request() {
    let stand = Stand::ledger();
    assert_eq!(stand.send("DUP-09").counts(), (1, 2));
    assert_eq!(stand.effects(), [message("wamid.TESTDUP09")]);
    assert_eq!(stand.show(&message("wamid.TESTDUP09"))["copies"], 3);
}

fn dup_10_one_message_announced_under_two_names_is_handled_once() {
    let stand = Stand::with(&[WAHA, LEDGER].concat());
    let any = Case::of("DUP-10").text();
    let plain = any.replace("message.any", "message");
    assert_eq!(stand.ask(signed_by_waha(&plain)).counts(), (1, 0));
    assert_eq!(stand.ask(signed_by_waha(&any)).counts(), (0, 1));
    let next = |text: &str, end| text.replace("DUP10", end);
    assert_eq!(stand.ask(signed_by_waha(&next(&any, "DUP10B"))).counts(), (1, 0));
    assert_eq!(stand.ask(signed_by_waha(&next(&plain, "DUP10B"))).counts(), (0, 1));
    let both = [&plain, &any].repeat(8);
    let answers = stand.ask_at_once(both.iter().map(|text| signed_by_waha(&next(text, "DUP10C"))));
    assert_eq!(answers.iter().map(|answer| answer.counts().0).sum::<u64>(), 1);
    let key = |end| format!("message:default:3EB0TEST{end}");
    let mut effects = stand.effects();
    effects.sort_unstable();
    assert_eq!(effects, ["DUP10", "DUP10B", "DUP10C"].map(key));
    for event in stand.events() {
        assert_eq!((&event["kind"], &event["mismatches"]), (&"message.text".into(), &0.into()));
    }
}

/// The copies need no hours between them: what was seen is remembered as long as keys are kept, which
/// is tested with the library's clock.
fn dup_15_a_message_sent_again_for_hours_and_across_restarts_is_handled_once() {
    // A process may die with the event in its hands: the lease is what the next one waits for.
    let mut stand = Stand::with(&[WAHA, LEDGER, "lease = \"1s\"\n"].concat());
    let body = Case::of("DUP-15").text();
    for n in 0..20 {
        if n % 7 == 6 {
            stand.kill();
            stand.start();
        }
        // Each copy is announced anew, under an id of its own.
        let copy = body.replacen(
            '{',
            &format!(r#"{{"id":"evt_{n}","timestamp":{},"#, 1_760_000_000_000_i64 + n),
            1,
        );
        let right = if n == 0 { (1, 0) } else { (0, 1) };
        assert_eq!(stand.ask(signed_by_waha(&copy)).counts(), right);
    }
    assert_eq!(stand.effects(), ["message:default:3EB0TESTDUP15"]);
    let event = &stand.events()[0];
    assert_eq!((&event["copies"], &event["mismatches"]), (&20.into(), &0.into()));
}

#[test]
fn dup_06_a_header_that_is_new_in_each_attempt_makes_no_new_event() {
    let source = "[sources.generic]\nscheme = \"generic\"\nunverified = true\nscope = \"meta\"\n\
                  key = [\"/event\", \"/messageId\"]\nkind = \"/event\"\nlane = \"/from\"\n";
    let stand = Stand::with(&format!("{source}{LEDGER}"));
    assert_eq!(stand.send("DUP-06").counts(), (1, 0));
    let body = Case::of("DUP-06").body();
    for headers in [&[("X-Request-ID", "req-0002")][..], &[], &[("X-Request-ID", "req-0001")]] {
        let again = request("POST", "/webhooks/generic", headers.to_vec(), &body);
        assert_eq!(stand.ask(again).counts(), (0, 1));
    }
    assert_eq!(stand.effects(), ["message:3EB0TESTDUP06"]);
    assert_eq!(stand.show("message:3EB0TESTDUP06")["copies"], 4);
}

#[test]
fn dup_07_the_bodys_own_id_outlives_a_delivery_id_that_is_new_in_each_attempt() {
    let key = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";
    let source = |keyed: &str| {
        format!(
            "[sources.generic]\nscheme = \"standard-webhooks\"\nsecrets = [\"whsec_{key}\"]\n\
             scope = \"meta\"\n{keyed}\n{LEDGER}"
        )
    };
    let stand = Stand::with(&source("key = [\"/type\", \"/data/id\"]"));
    // As it stands in the corpus it is unsigned.
    assert_eq!(stand.send("DUP-07").status, 401);
    let (body, now) = (Case::of("DUP-07").text(), Clock::system().now().as_second());
    let attempt = |id: &str, at: i64| {
        let mut mac = Hmac::<Sha256>::new_from_slice(&STANDARD.decode(key).unwrap()).unwrap();
        mac.update(format!("{id}.{at}.{body}").as_bytes());
        let tag = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
        let at = at.to_string();
        let headers = [("webhook-id", id), ("webhook-timestamp", &at), ("webhook-signature", &tag)];
        request("POST", "/webhooks/generic", headers, body.as_bytes())
    };
    assert_eq!(stand.ask(attempt("dlv_0001", now)).counts(), (1, 0));
    assert_eq!(stand.ask(attempt("dlv_0002", now + 5)).counts(), (0, 1));
    assert_eq!(stand.effects(), ["message.received:msg_TESTDUP07"]);
    assert_eq!(stand.ask(attempt("dlv_0003", now - 600)).status, 401);
    // Where nobody names it, the delivery's id is the key.
    let stand = Stand::with(&source(""));
    assert_eq!(stand.ask(attempt("dlv_0001", now)).counts(), (1, 0));
    assert_eq!(stand.ask(attempt("dlv_0001", now + 5)).counts(), (0, 1));
    assert_eq!(stand.effects(), ["dlv_0001"]);
}
