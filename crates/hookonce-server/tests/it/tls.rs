//! TLS of the program: what `curl` sees, files that are renewed, and clients that show who they are.

#[path = "../../../hookonce/tests/it/bed/authority.rs"]
mod authority;
mod keep;

use std::os::unix::fs::symlink;

use crate::cases::stand::until;
use crate::program::{Place, Said, Server};
use authority::Authority;
use keep::{HOST, Kept};
use rcgen::ExtendedKeyUsagePurpose::{ClientAuth, ServerAuth};

/// A configuration with this in its `[server.tls]`.
fn config(tls: &str) -> String {
    format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nmin_free_disk = \"0B\"\n\
         [server.tls]\ncertificate = \"live/fullchain.pem\"\nkey = \"live/privkey.pem\"\n{tls}\n\
         [sources.a]\nscheme = \"meta\"\nsecrets = [\"x\"]\nverify_token = \"y\"\n"
    )
}

/// A directory with a certificate by this authority.
fn place(authority: &Authority, tls: &str) -> Place {
    let place = Place::new();
    for dir in ["live", "archive"] {
        std::fs::create_dir(place.path(dir)).unwrap();
    }
    place.write("root.pem", &authority.pem());
    renew(&place, 1, authority.vouch(HOST, ServerAuth));
    place.write("hookonce.toml", &config(tls));
    place.write(
        "body",
        r#"{"object":"x","entry":[{"id":"1","changes":[{"field":"f","value":1}]}]}"#,
    );
    place
}

/// Puts a certificate and its key in the place of others as certbot does: the links are replaced,
/// one after the other.
fn renew(place: &Place, n: usize, (certificate, key): (String, String)) {
    for (name, text) in [("fullchain", certificate), ("privkey", key)] {
        let file = format!("archive/{name}{n}.pem");
        place.write(&file, &text);
        let new = place.path("live/new");
        symlink(format!("../{file}"), &new).unwrap();
        std::fs::rename(new, place.path(&format!("live/{name}.pem"))).unwrap();
    }
}

/// What `curl` says of a path, and the status of the answer at the end.
fn curl(place: &Place, server: &Server, options: &str, path: &str) -> Said {
    let port = server.url.rsplit_once(':').unwrap().1;
    place.shell(&format!(
        "curl -sS -w ' %{{http_code}}' --resolve {HOST}:{port}:127.0.0.1 --cacert root.pem \
         {options} https://{HOST}:{port}{path}"
    ))
}

#[test]
fn curl_gets_through_and_what_is_printed_says_https() {
    let place = place(&Authority::make("ours"), "");
    place.run(&["check"]).ok();
    let server = place.serve(&[]);
    assert!(server.url.starts_with("https://127.0.0.1:"), "{}", server.url);
    server.stderr_line(&format!("source a   {}/webhooks/a", server.url));
    assert_eq!(curl(&place, &server, "", "/healthz").ok(), "ok\n 200");
    let line = place.run(&["sign", "--source", "a", "body"]).ok();
    assert!(line.contains("'https://127.0.0.1:0/webhooks/a'"), "{line}");
    let signature = line.split('\'').find(|word| word.starts_with("X-Hub")).unwrap();
    let post = format!("-H '{signature}' --data-binary @body");
    assert_eq!(
        curl(&place, &server, &post, "/webhooks/a").ok(),
        "{\"new\":1,\"duplicates\":0} 200"
    );
    // Plain HTTP is no use there, and does no harm.
    let plain = place.shell(&format!("curl -s {}/healthz", server.url.replace("https", "http")));
    assert_ne!(plain.code, 0);
    assert_eq!(curl(&place, &server, "--http2 --tls-max 1.2", "/healthz").ok(), "ok\n 200");
}

#[test]
fn a_renewed_certificate_is_taken_and_open_connections_go_on() {
    let (old, new) = (Authority::make("old"), Authority::make("new"));
    let place = place(&old, "");
    let server = place.serve(&[]);
    let mut kept = Kept::connect(&server, &old.pem()).unwrap();
    assert_eq!(kept.ask("/healthz"), 200);
    let renewed = new.vouch(HOST, ServerAuth);
    renew(&place, 2, renewed);
    server.stderr_line("the certificate was renewed");
    assert!(Kept::connect(&server, &old.pem()).is_err());
    assert_eq!(Kept::connect(&server, &new.pem()).unwrap().ask("/healthz"), 200);
    assert_eq!(kept.ask("/healthz"), 200);
    // Written over in its place, it is seen as well.
    let (certificate, key) = old.vouch(HOST, ServerAuth);
    place.write("live/privkey.pem", &key);
    place.write("live/fullchain.pem", &certificate);
    server.stderr_line("the certificate was renewed");
    assert_eq!(Kept::connect(&server, &old.pem()).unwrap().ask("/healthz"), 200);
    assert_eq!(kept.ask("/healthz"), 200);
}

#[test]
fn a_renewal_that_is_broken_keeps_the_old_one_and_is_said() {
    let authority = Authority::make("ours");
    let place = place(&authority, "");
    let server = place.serve(&[]);
    let good = place.read("live/privkey.pem");
    let broken = [
        (
            authority.vouch(HOST, ServerAuth).1,
            "server.tls.key: `live/privkey.pem`: the key is not that of",
        ),
        (good[..good.len() / 2].to_owned(), "server.tls.key: `live/privkey.pem`: the key can't"),
        (String::new(), "there is no key in it"),
    ];
    for (key, says) in broken {
        place.write("live/privkey.pem", &key);
        let line = server.stderr_line("the certificate was not renewed, the old one stays");
        assert!(line.contains(says), "{line}");
        assert_eq!(Kept::connect(&server, &authority.pem()).unwrap().ask("/healthz"), 200);
    }
    std::fs::remove_file(place.path("live/privkey.pem")).unwrap();
    server.stderr_line("server.tls.key: cannot read `live/privkey.pem`");
    assert_eq!(Kept::connect(&server, &authority.pem()).unwrap().ask("/healthz"), 200);
    place.write("live/privkey.pem", &good);
    server.stderr_line("the certificate's files are again those that are used");
    let new = Authority::make("new");
    renew(&place, 2, new.vouch(HOST, ServerAuth));
    server.stderr_line("the certificate was renewed");
    assert_eq!(Kept::connect(&server, &new.pem()).unwrap().ask("/healthz"), 200);
    let rest = server.into_stderr();
    assert!(!rest.contains("was not renewed"), "each is said once: {rest}");
}

#[test]
fn clients_show_who_they_are_where_that_is_asked() {
    let (ours, theirs) = (Authority::make("ours"), Authority::make("theirs"));
    let name = "client.webhooks.example.com";
    let place = place(&ours, &format!("client_ca = \"clients.pem\"\nclient_name = \"{name}\""));
    place.write("clients.pem", &theirs.pem());
    for (file, (certificate, key)) in [
        ("right", theirs.vouch(name, ClientAuth)),
        ("other", theirs.vouch("other.example.com", ClientAuth)),
        ("strange", ours.vouch(name, ClientAuth)),
    ] {
        place.write(file, &[certificate, key].concat());
    }
    place.run(&["check"]).ok();
    let server = place.serve(&[]);
    let line = server.stderr_line("admin API");
    let admin = line.split_whitespace().last().unwrap().trim_end_matches("/api").to_owned();
    assert_eq!(curl(&place, &server, "--cert right", "/healthz").ok(), "ok\n 200");
    for refused in ["", "--cert other", "--cert strange"] {
        let said = curl(&place, &server, refused, "/healthz");
        assert!(said.code != 0 && said.stdout == " 000", "{refused}: {}", said.stdout);
    }
    // A balancer that has no certificate asks the other listener.
    assert_eq!(place.shell(&format!("curl -s {admin}/readyz")).ok(), "ready\n");
    for (reason, n) in [("certificate_missing", 1), ("certificate_refused", 2)] {
        let line = format!("hookonce_handshake_errors_total{{reason=\"{reason}\"}} {n}");
        // A client may know of its refusal before it is counted.
        until(&line, || {
            place.shell(&format!("curl -s {admin}/metrics")).ok().lines().any(|said| said == line)
        });
    }
    // Their authority changes, as Meta's did.
    let next = Authority::make("next");
    let (certificate, key) = next.vouch(name, ClientAuth);
    place.write("next", &[certificate, key].concat());
    place.write("clients.pem", &[theirs.pem(), next.pem()].concat());
    server.stderr_line("the certificate was renewed");
    for taken in ["--cert right", "--cert next"] {
        assert_eq!(curl(&place, &server, taken, "/healthz").ok(), "ok\n 200");
    }
}

#[test]
fn files_that_cannot_be_used_are_named_before_anything_starts() {
    let authority = Authority::make("ours");
    let place = place(&authority, "");
    place.write("live/privkey.pem", &authority.vouch(HOST, ServerAuth).1);
    let says = "hookonce.toml:6: server.tls.key: `live/privkey.pem`: the key is not that of the \
                certificate";
    for command in ["check", "serve"] {
        let said = place.run(&[command]);
        assert_eq!(said.code, 1);
        assert!(said.stderr.contains(says), "{command}: {}", said.stderr);
    }
}

#[test]
fn other_files_are_named_at_a_reload_as_something_for_the_next_start() {
    let place = place(&Authority::make("ours"), "");
    let server = place.serve(&[]);
    place.write("hookonce.toml", &config("").replace("live/privkey", "other/privkey"));
    server.send("HUP");
    server.stderr_line("`[server.tls]` changed: it is taken over at the next start");
}

/// While a store is waited for, senders must be told so in a language that they understand, by a
/// certificate that still holds.
#[test]
fn a_server_that_waits_for_its_store_speaks_tls_too() {
    let (old, new) = (Authority::make("old"), Authority::make("new"));
    let place = place(&old, "");
    let store = "store = \"postgres://nobody@127.0.0.1:1/nothing\"\n";
    place.write("hookonce.toml", &[store, &config("")].concat());
    let server = place.serve(&[]);
    assert!(curl(&place, &server, "", "/readyz").ok().ends_with(" 503"));
    renew(&place, 2, new.vouch(HOST, ServerAuth));
    server.stderr_line("the certificate was renewed");
    until("the new one is shown", || {
        Kept::connect(&server, &new.pem()).is_ok_and(|mut kept| kept.ask("/healthz") == 200)
    });
}
