//! What is wrong with the admin listener's address, names and tokens.

use super::{GOOD, assert_said, check};

/// What is replaced in the good configuration by what, and what is said of it then.
const WRONG: &[(&str, &str, &str)] = &[
    (
        "[sources.",
        "[admin]\ntoken = []\n[sources.",
        "3: admin.token: there is no key `token`; did you mean `tokens`?",
    ),
    (
        "[sources.",
        "[server]\nadmin_listen = \"x\"\n[sources.",
        "3: server.admin_listen: `x` is no address",
    ),
    (
        "[sources.",
        "[server]\nadmin_listen = \"127.0.0.1:8080\"\n[sources.",
        "3: server.admin_listen: webhooks come in there",
    ),
    (
        "[sources.",
        "[admin]\nhosts = [\"http://ops\"]\n[sources.",
        "3: admin.hosts[0]: `(a URL, which is not shown)` is no name of a host",
    ),
    ("[sources.", "[admin]\ntokens = 1\n[sources.", "3: admin.tokens: write a table for each"),
    (
        "[sources.",
        "[[admin.tokens]]\nname = \"a\"\nrole = \"admin\"\ntoken = \"0123456789abcdef\"\n[sources.",
        "4: admin.tokens[0].role: unknown variant `admin`",
    ),
    (
        "[sources.",
        "[[admin.tokens]]\nname = \"a\"\nrole = \"view\"\ntoken = \"hunter2\"\n[sources.",
        "5: admin.tokens[0].token: it is shorter than 16 characters, so it could be guessed",
    ),
    (
        "[sources.",
        "[[admin.tokens]]\nname = \"a\"\nrole = \"view\"\ntoken = \"env:UNSET\"\n[sources.",
        "5: admin.tokens[0].token: the environment variable `UNSET` is not set",
    ),
    (
        "[sources.",
        "[[admin.tokens]]\nname = \"a\"\nrole = \"view\"\ntoken = \"hunter2 hunter2 hunter2\"\n[sources.",
        "5: admin.tokens[0].token: a header can't carry it",
    ),
    (
        "[sources.",
        "[[admin.tokens]]\nname = \"a\"\nrole = \"view\"\ntoken = \"0123456789abcdef\"\n\
         [[admin.tokens]]\nname = \"a\"\nrole = \"view\"\ntoken = \"0123456789abcdef\"\n[sources.",
        "7: admin.tokens[1].name: there is a token `a` already",
    ),
    (
        "[sources.",
        "[[admin.tokens]]\nname = \"a\"\nrole = \"view\"\ntoken = \"0123456789abcdef\"\n\
         [[admin.tokens]]\nname = \"b\"\nrole = \"view\"\ntoken = \" 0123456789abcdef\"\n[sources.",
        "9: admin.tokens[1].token: it is the same as that of `a`",
    ),
    (
        "[sources.",
        "[[admin.tokens]]\nname = \"a\"\nrole = \"worker\"\ntoken = \"0123456789abcdef\"\n[sources.",
        "2: admin.tokens[0].routes: a worker claims the tasks of its routes only",
    ),
    (
        "[sources.",
        "[[admin.tokens]]\nname = \"a\"\nrole = \"worker\"\ntoken = \"0123456789abcdef\"\nroutes = [\"books\"]\n[sources.",
        "6: admin.tokens[0].routes[0]: the route `books` is handled by the server; write `worker =",
    ),
    (
        "[sources.",
        "[[admin.tokens]]\nname = \"a\"\nrole = \"worker\"\ntoken = \"0123456789abcdef\"\nroutes = [\"book\"]\n[sources.",
        "6: admin.tokens[0].routes[0]: there is no route `book`; did you mean `books`?",
    ),
    (
        "[sources.",
        "[[admin.tokens]]\nname = \"a\"\nrole = \"view\"\ntoken = \"0123456789abcdef\"\nroutes = [\"books\"]\n[sources.",
        "6: admin.tokens[0].routes: the role `view` is for every route",
    ),
];

#[test]
fn a_token_is_long_enough_its_own_and_of_a_role_that_fits_its_routes() {
    assert_said(WRONG);
}

#[test]
fn every_key_of_the_admin_listener_is_accepted() {
    let text = GOOD.replace("steps = [\"ledger\", \"bot\"]", "worker = \"external\"");
    let said = check(&format!(
        "{text}\n\
         [server]\nadmin_listen = \"[::1]:0\"\n\
         [admin]\nhosts = [\"ops.example.com\"]\n\
         [[admin.tokens]]\nname = \"ops\"\nrole = \"operate\"\ntoken = \"0123456789abcdef\"\n\
         [[admin.tokens]]\nname = \"bot\"\nrole = \"worker\"\ntoken = \"fedcba9876543210\"\n\
         routes = [\"books\"]\n"
    ));
    said.ok();
}
