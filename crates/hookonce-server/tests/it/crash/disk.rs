//! A disk that fills up, and is given room again.

use std::path::PathBuf;
use std::process::Command;

use super::sender::{Answer, Message, Sender, body};
use super::shop::{Settings, Shop};
use crate::program::Server;

#[test]
fn below_the_low_water_mark_nothing_is_taken_and_readiness_is_red() {
    let shop = Shop::new(&Settings { min_free_disk: "1000000GiB", ..Settings::default() });
    let server = shop.serve();
    let mut sender = Sender::new(&server.url);
    assert_eq!(sender.get("/readyz").unwrap().status, 503);
    assert_eq!(sender.get("/healthz").unwrap().status, 200);
    assert_refused(&sender.post(&body(&[Message::new("wamid.A", 1)])).unwrap());
    let line = server.stderr_line("could not store events");
    assert!(line.contains("`min_free_disk`") && line.contains("free some space"), "{line}");
    assert_eq!(shop.number("select count(*) from hookonce_events"), 0);
}

/// The kernel refuses to let files grow, which needs no rights and no disk of our own.
#[test]
fn when_its_files_can_not_grow_it_answers_503_and_goes_on_when_they_can() {
    let shop = Shop::new(&Settings { min_free_disk: "0B", ..Settings::default() });
    let mut command = Command::new("sh");
    // A file that would grow beyond the limit is a signal first, and an error where it is ignored.
    let script = format!(
        "trap '' XFSZ; exec {} serve --admin-listen 127.0.0.1:0",
        env!("CARGO_BIN_EXE_hookonce")
    );
    command.args(["-c", &script]).current_dir(shop.place.path("")).env_clear();
    let server = Server::listening(&mut command);
    let limit = |bytes: &str| {
        let pid = server.pid().to_string();
        let limit = format!("--fsize={bytes}:unlimited");
        assert!(Command::new("prlimit").args(["--pid", &pid, &limit]).status().unwrap().success());
    };
    limit("600000");
    let acked = fill(&server);
    limit("unlimited");
    goes_on(&server, &acked);
    shop.wait_until_done();
    let booked = shop.booked();
    assert!(acked.iter().all(|id| booked.get(id) == Some(&1)), "{booked:?}");
}

/// A real file system, where this machine lets us mount one; the test above is for all others.
#[test]
fn on_a_full_disk_it_answers_503_and_goes_on_when_there_is_room() {
    let own = [&["-m"][..], &["-Urm"]];
    let mount = "mount -t tmpfs -o size=2m none disk";
    let shop = Shop::new(&Settings { min_free_disk: "0B", ..Settings::default() });
    std::fs::create_dir(shop.place.path("disk")).unwrap();
    let unshare = |how: &[&str], script: &str| {
        let mut command = Command::new("unshare");
        command.args(how).args(["sh", "-c", script]).current_dir(shop.place.path("")).env_clear();
        command
    };
    let can = |how: &&&[&str]| unshare(how, mount).output().is_ok_and(|out| out.status.success());
    let Some(how) = own.iter().find(can) else {
        eprintln!("this machine lets nobody mount a file system; see the test above");
        return;
    };
    let script = format!(
        "{mount} && cp hookonce.toml hookonce.db disk && cd disk &&
         head -c 1000000 /dev/zero > ballast && exec {} serve --admin-listen 127.0.0.1:0",
        env!("CARGO_BIN_EXE_hookonce")
    );
    let server = Server::listening(&mut unshare(how, &script));
    let disk = PathBuf::from(format!("/proc/{}/root", server.pid()))
        .join(shop.place.path("disk").strip_prefix("/").unwrap());
    let acked = fill(&server);
    let line = server.stderr_line("could not store events");
    assert!(line.contains("the disk is full: free some space"), "{line}");
    std::fs::remove_file(disk.join("ballast")).unwrap();
    goes_on(&server, &acked);
    let pid = server.pid().to_string();
    let all = acked.len() + 1;
    super::wait_until("all that was acked is booked once", || {
        let enter = ["-t", &pid, "-m", env!("CARGO_BIN_EXE_hookonce"), "stats", "--json"];
        let as_user = how.contains(&"-Urm").then_some(["-U", "--preserve-credentials"]);
        let mut command = Command::new("nsenter");
        command.args(as_user.iter().flatten()).args(enter);
        let output = command.arg("--config").arg(shop.place.path("disk/hookonce.toml")).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let counts: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        counts["completed"].as_u64() >= u64::try_from(all).ok() && counts["pending"] == 0
    });
}

/// Posts until a request is refused; gives the messages that were acked.
fn fill(server: &Server) -> Vec<String> {
    let mut sender = Sender::new(&server.url);
    let mut acked = vec![];
    for n in 0..20_000 {
        let ids = (0..20).map(|m| format!("wamid.{n}.{m}"));
        let messages: Vec<_> = ids.clone().map(|id| Message::new(id, n)).collect();
        let answer = sender.post(&body(&messages)).unwrap();
        if answer.status == 200 {
            acked.extend(ids);
            continue;
        }
        assert_refused(&answer);
        return acked;
    }
    panic!("the disk doesn't fill up")
}

/// Checks that the server takes requests again, without a restart.
fn goes_on(server: &Server, acked: &[String]) {
    assert!(!acked.is_empty());
    let request = body(&[Message::new("wamid.AGAIN", 1)]);
    let mut sender = Sender::new(&server.url);
    super::wait_until("a request is taken again", || sender.post(&request).unwrap().status == 200);
    super::wait_until("readiness is green", || sender.get("/readyz").unwrap().status == 200);
}

fn assert_refused(answer: &Answer) {
    assert_eq!(answer.status, 503, "{}", answer.body);
    assert!(answer.head.contains("\r\nretry-after: "), "{}", answer.head);
}
