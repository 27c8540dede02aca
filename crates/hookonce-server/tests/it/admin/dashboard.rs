//! Who is shown the dashboard, and by whom it can be made to act.

use super::client::{Answer, Ask, TOKENS};
use super::stand::Stand;
use crate::engine::{audit, on_both};

on_both![
    nothing_is_shown_and_nothing_done_without_being_signed_in,
    nobody_is_signed_in_by_another_token_or_a_changed_cookie,
    who_may_look_may_not_act,
    another_site_gets_nothing_done,
    pages_show_what_is_so_and_text_as_text,
];

const PAGES: [&str; 5] = ["/", "/events", "/dead", "/events?state=dead", "/events/0"];

fn token(name: &str) -> &'static str {
    TOKENS.iter().find(|(known, _)| *known == name).unwrap().1
}

fn sign_in(stand: &Stand, token: &str) -> Answer {
    stand.send(&Ask::new("POST", "/login").form(&format!("token={token}&to=%2Fevents")))
}

/// The cookie of somebody.
fn cookie(stand: &Stand, name: &str) -> String {
    let answer = sign_in(stand, token(name)).expect(303);
    assert_eq!(answer.header("location"), Some("/events"));
    let set = answer.header("set-cookie").unwrap();
    assert!(set.ends_with("HttpOnly; SameSite=Strict"), "{set}");
    set.split(';').next().unwrap().to_owned()
}

fn page(stand: &Stand, cookie: &str, path: &str) -> Answer {
    stand.send(&Ask::new("GET", path).header("cookie", cookie))
}

/// What a form of a page carries.
fn proof(page: &Answer) -> String {
    let part = page
        .body
        .split("name=\"proof\" value=\"")
        .nth(1)
        .unwrap_or_else(|| panic!("{}", page.body));
    part.split('"').next().unwrap().to_owned()
}

fn dead(stand: &Stand) -> String {
    stand.say(&["no"]);
    stand.wait_for("state=dead", 1)[0]["id"].as_str().unwrap().to_owned()
}

fn nothing_is_shown_and_nothing_done_without_being_signed_in() {
    let stand = Stand::new();
    let id = dead(&stand);
    for path in PAGES {
        let answer = stand.send(&Ask::new("GET", path)).expect(303);
        assert!(answer.header("location").unwrap().starts_with("/login?to=%2F"), "{}", answer.head);
        assert_eq!(answer.body, "");
    }
    stand.send(&Ask::new("GET", "/live")).expect(401);
    for path in [format!("/events/{id}/replay"), "/dead".to_owned(), "/logout".to_owned()] {
        let form = "proof=&route=books&action=replay";
        let answer = stand.send(&Ask::new("POST", &path).form(form)).expect(303);
        assert!(answer.header("location").unwrap().starts_with("/login"), "{}", answer.head);
    }
    // Not even by a token that the API takes.
    let by_token = Ask::new("POST", &format!("/events/{id}/replay")).by("ops").form("proof=");
    stand.send(&by_token).expect(303);
    assert_eq!(audit(&stand.place.asks()), []);
}

fn nobody_is_signed_in_by_another_token_or_a_changed_cookie() {
    let stand = Stand::new();
    for wrong in ["", "x", token("crm"), "view-0123456789abcdeg"] {
        let answer = sign_in(&stand, wrong).expect(401);
        assert!(answer.header("set-cookie").is_none() && answer.body.contains("This is no token"));
    }
    let cookie = cookie(&stand, "viewer");
    page(&stand, &cookie, "/").expect(200);
    let (name, rest) = cookie.split_once('=').unwrap();
    let parts: Vec<&str> = rest.split('.').collect();
    let [who, end, proof] = parts[..] else { panic!("{rest}") };
    let later = end.parse::<i64>().unwrap() + 1;
    for changed in [
        format!("{name}=ops.{end}.{proof}"),
        format!("{name}={who}.{later}.{proof}"),
        format!("{name}={who}.0.{proof}"),
        format!("{name}={who}.{end}.{}", "0".repeat(64)),
        format!("{name}={who}.{end}."),
        format!("{name}={who}"),
        format!("{name}=nobody.{end}.{proof}"),
    ] {
        page(&stand, &changed, "/").expect(303);
    }
    // It leads to no other site.
    for to in ["https%3A%2F%2Fevil.example", "%2F%2Fevil.example", "%2F%5Cevil.example"] {
        let form = format!("token={}&to={to}", token("viewer"));
        let answer = stand.send(&Ask::new("POST", "/login").form(&form)).expect(303);
        assert_eq!(answer.header("location"), Some("/"));
    }
}

fn who_may_look_may_not_act() {
    let stand = Stand::new();
    let id = dead(&stand);
    let cookie = cookie(&stand, "viewer");
    let shown = page(&stand, &cookie, &format!("/events/{id}")).expect(200);
    assert!(!shown.body.contains("Replay"), "{}", shown.body);
    let form = format!("proof={}&route=books", proof(&shown));
    let path = format!("/events/{id}/replay");
    let ask = Ask::new("POST", &path).header("cookie", &cookie).form(&form);
    assert!(stand.send(&ask).expect(403).body.contains("its role is `view`"));
    assert_eq!(audit(&stand.place.asks()), []);
}

fn another_site_gets_nothing_done() {
    let stand = Stand::new();
    let id = dead(&stand);
    let cookie = cookie(&stand, "ops");
    let path = format!("/events/{id}/replay");
    let own = proof(&page(&stand, &cookie, &format!("/events/{id}")).expect(200));
    let ask = |proof: &str| {
        let form = format!("proof={proof}&route=books");
        Ask::new("POST", &path).header("cookie", &cookie).form(&form)
    };
    stand.send(&ask("")).expect(403);
    stand.send(&ask(&"0".repeat(64))).expect(403);
    for (name, value) in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "https://evil.example"),
        ("origin", "null"),
    ] {
        stand.send(&ask(&own).header(name, value)).expect(403);
    }
    assert_eq!(audit(&stand.place.asks()), []);
    let answer = stand.send(&ask(&own).header("origin", "http://localhost")).expect(303);
    assert_eq!(answer.header("location"), Some(&*format!("/events/{id}")));
    let [(who, action, _)] = &audit(&stand.place.asks())[..] else { panic!("one was done") };
    assert_eq!((&**who, &**action), ("ops", "replay"));
}

fn pages_show_what_is_so_and_text_as_text() {
    let stand = Stand::new();
    stand.say(&["<script>alert(1)</script>", "yes"]);
    stand.wait_for("state=completed&route=books", 2);
    let cookie = cookie(&stand, "viewer");
    for path in PAGES.iter().filter(|path| !path.ends_with("/0")) {
        let shown = page(&stand, &cookie, path).expect(200);
        let policy = shown.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'; style-src 'self'; script-src 'self'"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(shown.header("cache-control"), Some("no-store"));
    }
    let overview = page(&stand, &cookie, "/").expect(200).body;
    assert!(overview.contains("2 events have arrived, and none of them twice."), "{overview}");
    let shown = page(&stand, &cookie, "/events?q=message%3A2%3Awamid.1.yes").expect(303);
    let found = page(&stand, &cookie, shown.header("location").unwrap()).expect(200).body;
    assert!(found.contains("wamid.1.yes") && found.contains("completed"), "{found}");
    let evil = "/events?q=message%3A2%3Awamid.0.%3Cscript%3Ealert(1)%3C%2Fscript%3E";
    let shown = page(&stand, &cookie, evil).expect(303);
    let shown = page(&stand, &cookie, shown.header("location").unwrap()).expect(200).body;
    assert!(
        shown.contains("&lt;script&gt;alert(1)") && !shown.contains("<script>alert"),
        "{shown}"
    );
    page(&stand, &cookie, "/events/00000000-0000-8000-8000-000000000000").expect(404);
    page(&stand, &cookie, "/events?state=strange").expect(400);
}
