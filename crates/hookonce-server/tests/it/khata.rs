//! The example `khata` does what it says: its check, its walk-through, its grammar, its books.

use std::fmt::Write as _;
use std::process::{Command, Stdio};

use crate::engine::{Database, Sql, port};
use crate::program::{Said, root};

const PROGRAM: &str = env!("CARGO_BIN_EXE_hookonce");

#[test]
fn twenty_copies_at_two_nodes_of_which_one_is_killed_are_booked_and_confirmed_once() {
    let database = Database::make();
    let mut check = Command::new(root().join("examples/khata/check.sh"));
    check.arg("2").env("HOOKONCE", PROGRAM).env("DATABASE_URL", &database.url);
    let said = ended(&mut check);
    eprintln!("{}", said.stdout);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    assert!(said.stdout.contains("\nright: 2 posted 20 times each"), "{}", said.stdout);
}

#[test]
fn every_step_of_the_walk_through_works() {
    let database = Database::make();
    let dir = tempfile::TempDir::new().unwrap();
    let khata = dir.path().join("examples/khata");
    std::fs::create_dir_all(&khata).unwrap();
    let [listen, admin, second, second_admin, whatsapp] = [(); 5].map(|()| port::free());
    let at = |text: String| {
        text.replace("127.0.0.1:3000", &format!("127.0.0.1:{whatsapp}"))
            .replace("whatsapp.py 3000", &format!("whatsapp.py {whatsapp}"))
            .replace("127.0.0.1:8090", &format!("127.0.0.1:{second}"))
            .replace("127.0.0.1:8091", &format!("127.0.0.1:{second_admin}"))
    };
    for file in std::fs::read_dir(root().join("examples/khata")).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), khata.join(file.file_name())).unwrap();
    }
    let config = std::fs::read_to_string(khata.join("hookonce.toml")).unwrap();
    let server = format!(
        "[server]\nlisten = \"127.0.0.1:{listen}\"\nadmin_listen = \"127.0.0.1:{admin}\"\n\
         min_free_disk = \"0B\"\n"
    );
    std::fs::write(khata.join("hookonce.toml"), [at(config), server].concat()).unwrap();

    // A person is slower than the program; the script waits instead.
    let mut script = format!(
        "set -euo pipefail\n\
         export PATH=\"$(dirname {PROGRAM}):$PATH\"\n\
         listening() {{ until (echo > /dev/tcp/127.0.0.1/$1) 2> /dev/null; do sleep 0.02; done; }}\n\
         settled() {{ until [[ $(psql -At -c \"select count(*) from hookonce.tasks \
         where state in ('pending', 'claimed')\" \"$DATABASE_URL\") == 0 ]]; do sleep 0.02; done; }}\n\
         trap 'kill -KILL $(jobs -p) 2> /dev/null || true; rm -f \"$OUTBOX\"' EXIT\n"
    );
    let readme = std::fs::read_to_string(khata.join("README.md")).unwrap();
    let walk = readme.split("## Walk through it").nth(1).unwrap().split("\n## ").next().unwrap();
    for block in walk.split("```sh\n").skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            script += &at(format!("{line}\n"));
            if line.ends_with("| sh") {
                script += "settled\n";
            }
        }
        if block.contains("hookonce serve &") {
            writeln!(script, "listening {listen}; listening {second}; listening {whatsapp}")
                .unwrap();
        }
    }
    let mut walk = Command::new("timeout");
    walk.args(["60", "bash", "-c", &script]).current_dir(dir.path());
    let said = ended(walk.env("DATABASE_URL", &database.url).env("no_proxy", "*"));
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    for part in [
        "hookonce.toml is fine",
        "{\"new\":1,\"duplicates\":0}{\"new\":0,\"duplicates\":1}",
        "(2 rows)",
        "Booked: sold 3 soap 120. Cash: 120.00. Sales: -120.00.",
        "order more soap tomorrow | I did not understand this",
        "asha  |  200.00",
    ] {
        assert!(said.stdout.contains(part), "no `{part}` in {}{}", said.stdout, said.stderr);
    }
}

#[test]
fn what_is_understood_is_booked_in_double_entry_and_anything_else_is_a_note() {
    let (_database, sql) = books();
    let booked = [
        ("Sold  3 Soap 120", "cash 120.00, sales -120.00", "Cash: 120.00. Sales: -120.00."),
        ("sold 3 hair oil 60.5 to Asha Rao", "asha rao 60.50, sales -60.50", "Asha Rao owes you"),
        ("bought 2.5 7up 300", "cash -300.00, purchases 300.00", "Purchases: 300.00. Cash: -"),
        (" bought 10 soap 300 from ravi\n", "purchases 300.00, ravi -300.00", "You owe ravi 300"),
        ("paid ravi 500", "cash -500.00, ravi 500.00", "Ravi owes you 200.00. Cash: -680.00."),
        ("received 0.05 from asha rao", "asha rao -0.05, cash 0.05", "Asha Rao owes you 60.45."),
        ("paid cash 999999999.99", "cash -999999999.99, cash 999999999.99", "Cash owes you"),
    ];
    for (n, (text, entries, answer)) in booked.into_iter().enumerate() {
        let id = book(&sql, n, &format!("'{text}'"));
        let made = sql.texts(&format!(
            "select string_agg(concat(a.name, ' ', e.debit - e.credit), ', ' \
             order by a.name, e.debit - e.credit) \
             from khata.entries e join khata.accounts a on a.id = e.account_id where e.event_id = '{id}'"
        ));
        assert_eq!(made, [entries], "{text}");
        let said = sql.texts(&format!("select khata.answer('{id}')")).remove(0);
        assert!(said.starts_with("Booked: ") && said.contains(answer), "{text}: {said}");
    }
    let postings = sql.number("select count(*) from khata.postings");
    let notes = [
        "null",
        "''",
        "'hello'",
        "'sold soap 120'",
        "'sold 0 soap 120'",
        "'sold 3 soap 0.00'",
        "'sold 3 soap 1000000000'",
        "'sold 3 soap 1.234'",
        "'sold 3 soap -120'",
        "'sold \u{663} soap 120'",
        "e'sold 3 soap 120\\nsold 1 rice 80'",
        "'sold 3 soap 120 2 rice 80'",
        "'paid 500'",
        "'paid ravi 500 500'",
        "'received 250 from asha 2'",
        "repeat('sold 3 soap 120 ', 200)",
        "'paid ' || repeat('x', 4000) || ' 5'",
        "'paid \u{fffd}'' or 1=1; -- 5 x'",
    ];
    for (n, text) in notes.into_iter().enumerate() {
        let id = book(&sql, 100 + n, text);
        let said = sql.texts(&format!("select khata.answer('{id}')")).remove(0);
        assert!(said.starts_with("I did not understand"), "{text}: {said}");
    }
    assert_eq!(sql.number("select count(*) from khata.notes"), i64::try_from(notes.len()).unwrap());
    assert_eq!(sql.number("select count(*) from khata.postings"), postings);
    assert_eq!(sql.texts("select sum(balance) from khata.balances"), ["0.00"]);
}

#[test]
fn books_that_do_not_balance_are_refused_and_what_is_booked_stays() {
    let (_database, sql) = books();
    let id = book(&sql, 0, "'sold 3 soap 120'");
    let posting = "insert into khata.postings values \
                   ('00000000-0000-8000-8000-000000000001', 'b', 'x', 'x', now())";
    let entry = |account: &str, debit: u32, credit: u32| {
        format!(
            "insert into khata.entries select '00000000-0000-8000-8000-000000000001', id, {debit}, \
             {credit} from khata.accounts where name = '{account}'"
        )
    };
    for wrong in [
        posting.to_owned(),
        [posting, &entry("cash", 5, 0)].join("; "),
        [posting, &entry("cash", 5, 0), &entry("sales", 0, 6)].join("; "),
        [posting, &entry("cash", 5, 5)].join("; "),
        format!("update khata.entries set debit = 1 where debit > 0 and event_id = '{id}'"),
        format!("delete from khata.entries where event_id = '{id}'"),
        "update khata.postings set body = 'sold 4 soap 120'".to_owned(),
        format!(
            "insert into khata.entries values ('{id}', khata.account('b', 'cash', null), 5, 0)"
        ),
    ] {
        // Anything but a refusal by a constraint ends the test.
        sql.run(&format!(
            "do $do$ begin {wrong}; set constraints all immediate; raise 'taken: %', $$ {wrong} $$; \
             exception when check_violation then end $do$"
        ));
    }
    let right = [posting, &entry("cash", 5, 0), &entry("sales", 0, 5)].join("; ");
    sql.run(&right);
    assert_eq!(sql.number("select count(*) from khata.postings"), 2);
}

/// A database with empty books.
fn books() -> (Database, Sql) {
    let database = Database::make();
    let sql = Sql::of(&database);
    let schema = root().join("examples/khata/schema.sql");
    sql.run(&std::fs::read_to_string(schema).unwrap());
    (database, sql)
}

/// Books a text, which is given as SQL, as the sink does; gives the event's id.
fn book(sql: &Sql, n: usize, text: &str) -> String {
    let id = format!("c0fa7022-8b40-85d9-86c1-{n:012}");
    let element = format!("jsonb_build_object('text', jsonb_build_object('body', {text}))");
    sql.run(&format!("select khata.book('{id}', 'book', {element}, now())"));
    id
}

fn ended(command: &mut Command) -> Said {
    Said::from(command.stdin(Stdio::null()).output().unwrap())
}
