//! A copy of a store that is in use.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use rusqlite::Connection;

use super::sender::{Message, Sender, body};
use super::shop::{Settings, Shop};
use super::wait_until;

#[test]
fn a_backup_under_load_holds_all_that_was_acked_before_it() {
    let shop = Shop::new(&Settings::default());
    let server = shop.serve();
    let (is_over, acked) = (AtomicBool::new(false), AtomicU64::new(0));
    let before = thread::scope(|scope| {
        for n in 0..8 {
            let (url, is_over, acked) = (&server.url, &is_over, &acked);
            scope.spawn(move || {
                let mut sender = Sender::new(url);
                for m in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    let request = body(&[Message::new(format!("wamid.{n}.{m}"), n)]);
                    assert_eq!(sender.post(&request).unwrap().status, 200);
                    acked.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        wait_until("load", || acked.load(Ordering::SeqCst) > 200);
        let before = acked.load(Ordering::SeqCst);
        let said = shop.place.run(&["backup", "copy.db"]);
        is_over.store(true, Ordering::Relaxed);
        said.ok();
        before
    });
    let copy = Connection::open(shop.place.path("copy.db")).unwrap();
    let whole: String = copy.query_row("pragma integrity_check", (), |row| row.get(0)).unwrap();
    assert_eq!(whole, "ok");
    let ask = |arguments: &[&str]| -> serde_json::Value {
        let mut command = shop.place.command(arguments);
        let output = command.arg("--json").env("HOOKONCE_STORE", "sqlite:copy.db").output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let events = ask(&["stats"])["events"].as_u64().unwrap();
    let all = acked.load(Ordering::SeqCst) + 8;
    assert!((before..=all).contains(&events), "{before}, {events}, {all}");
    assert_eq!(ask(&["list", "--limit", "100"])["events"].as_array().unwrap().len(), 100);
}
