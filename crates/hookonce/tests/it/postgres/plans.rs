//! By which index the server finds the rows of each step: held by golden files, since a plan that goes
//! astray is right on every small table and stops a large one. `UPDATE=1` rewrites them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use futures_util::StreamExt as _;
use hookonce::store::postgres::PostgresStore;
use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, Client, NoTls};

use super::open;
use crate::bed::postgres::{Connection, Database};

/// Steps that have no plan, or one that says nothing: they speak to no table of ours, or set something.
const WITHOUT: [&str; 6] = [
    "facts.sql",
    "forget_prepared.sql",
    "listen.sql",
    "migrate.sql",
    "mirror_clear.sql",
    "notify.sql",
];

/// What a node and a worker do with an event; it calls every function.
const STORY: &str = include_str!("plans.sql");

/// By step or statement: how its plan reads each table.
type Plans = BTreeMap<String, Vec<String>>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_step_finds_its_rows_by_the_index_that_is_meant() {
    let (database, _store) = filled().await;
    let plans = statements(&database);
    assert!(plans.len() > 40, "{} steps: the check no longer finds them", plans.len());
    compare("statements.txt", &plans);
    for (step, plan) in plans {
        // These tables grow with all that was ever seen.
        for table in ["events", "tasks", "attempts", "steps", "arrivals"] {
            assert!(!plan.contains(&format!("{table} whole")), "{step} reads {table} whole");
        }
    }
}

/// Plans of functions are kept: those made while the tables are empty serve when they are not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_function_planned_on_empty_tables_goes_about_it_as_on_full_ones() {
    let empty = Database::make();
    let _store = open(&empty).await;
    let on_empty = story(&empty).await;
    let (full, _store) = filled().await;
    let on_full = story(&full).await;
    compare("functions.txt", &on_full);
    // What is read of the configuration is small wherever it is read.
    let large = ["tasks", "events", "attempts", "steps", "arrivals", "wakes"];
    let of_large = |plan: &[String]| -> Vec<String> {
        let is_large = |read: &&String| large.iter().any(|table| read.starts_with(table));
        plan.iter().filter(is_large).cloned().collect()
    };
    for (statement, plan) in on_full {
        let at_first = on_empty.get(&statement).map(|plan| of_large(plan));
        let plan = of_large(&plan);
        assert_eq!(at_first, Some(plan), "planned otherwise on empty tables: {statement}");
    }
}

/// A database with twenty thousand events, of which some wait, and one lane is long and blocked.
async fn filled() -> (Database, PostgresStore) {
    let database = Database::make();
    let store = open(&database).await;
    let sql = Connection::open(&database.url);
    sql.run(&format!(include_str!("../../../benches/work/large.sql"), from = 0, to = 20_000));
    sql.run(include_str!("filled.sql"));
    // By itself, since it is no part of a transaction: what is visible to all counts in a plan's cost.
    sql.run("vacuum analyze");
    (database, store)
}

/// The generic plans of the statements that the store sends.
fn statements(database: &Database) -> Plans {
    let sql = Connection::open(&database.url);
    sql.run("set plan_cache_mode = force_generic_plan");
    let mut plans = Plans::new();
    for file in steps() {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        if WITHOUT.contains(&&*name) || name.starts_with("begin_") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let n = (1..100).take_while(|n| text.contains(&format!("${n}"))).count();
        let nulls =
            if n == 0 { String::new() } else { format!("({})", vec!["null"; n].join(", ")) };
        sql.run(&format!("prepare step as {text}"));
        let plan = sql.texts(&format!("explain (costs off) execute step{nulls}"));
        sql.run("deallocate step");
        plans.insert(name, reads(&plan));
    }
    plans
}

fn steps() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/postgres");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|ending| ending == "sql")).collect()
}

/// The plans of all statements that the functions of the story use.
async fn story(database: &Database) -> Plans {
    let (client, mut said) = listening(&database.url).await;
    client.batch_execute(include_str!("explaining.sql")).await.unwrap();
    client.batch_execute(STORY).await.unwrap();
    client.batch_execute("set client_min_messages = error").await.unwrap();
    let mut plans = Plans::new();
    while let Ok(notice) = said.try_recv() {
        let Some((_, plan)) = notice.split_once("Query Text: ") else { continue };
        // The statement, then its plan: a tree that begins with a node and its cost.
        let lines: Vec<&str> = plan.lines().collect();
        let root = lines.iter().position(|line| line.contains("(cost=")).unwrap();
        let words: Vec<&str> =
            lines[..root].iter().flat_map(|line| line.split_whitespace()).collect();
        let tree: Vec<String> = lines[root..].iter().map(|line| (*line).to_owned()).collect();
        plans.insert(words.join(" "), reads(&tree));
    }
    plans
}

/// What a plan reads: each table with the index by which rows are found, or whole.
fn reads(tree: &[String]) -> Vec<String> {
    let mut reads = BTreeSet::new();
    for (n, line) in tree.iter().enumerate() {
        let line = line.split("  (cost=").next().unwrap_or_default();
        let Some((scan, of)) = line.split_once(" on ").filter(|(scan, _)| scan.contains("Scan"))
        else {
            continue;
        };
        let table = of.split_whitespace().next().unwrap_or_default();
        let has_condition = tree.get(n + 1).is_some_and(|line| line.contains("Index Cond: "));
        match scan.split_once(" using ") {
            Some((_, index)) if has_condition => reads.insert(format!("{table} by {index}")),
            Some((_, index)) => reads.insert(format!("{table} by all of {index}")),
            None if scan.ends_with("Seq Scan") => reads.insert(format!("{table} whole")),
            None if scan.ends_with("Tid Scan") => reads.insert(format!("{table} by place")),
            None if scan.ends_with("Tid Range Scan") => {
                reads.insert(format!("{table} from a place on"))
            }
            None if scan.ends_with("Bitmap Heap Scan") => {
                reads.insert(format!("{table} by bitmap"))
            }
            None => false,
        };
    }
    reads.into_iter().collect()
}

/// A connection whose notices are heard.
async fn listening(url: &str) -> (Client, mpsc::UnboundedReceiver<String>) {
    let (client, mut connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    let (say, said) = mpsc::unbounded_channel();
    #[expect(clippy::disallowed_methods, reason = "it ends with its connection")]
    tokio::spawn(async move {
        let mut messages =
            futures_util::stream::poll_fn(move |context| connection.poll_message(context));
        while let Some(Ok(message)) = messages.next().await {
            if let AsyncMessage::Notice(notice) = message {
                let _ = say.send(notice.message().to_owned());
            }
        }
    });
    (client, said)
}

fn compare(name: &str, plans: &Plans) {
    let plans = plans.iter().filter(|(_, reads)| !reads.is_empty());
    let texts = plans.map(|(of, reads)| format!("{of}\n    {}\n", reads.join("\n    ")));
    let text = texts.collect::<Vec<_>>().concat();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/postgres/plans").join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&golden, &text).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    assert_eq!(text, expected, "`UPDATE=1` rewrites {}", golden.display());
}
