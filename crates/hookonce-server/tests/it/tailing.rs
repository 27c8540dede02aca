//! Following what arrives.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Stdio};

use serde_json::Value;

use crate::engine::on_both;
use crate::program::{Place, send};
use crate::stock::Stock;

on_both![each_event_is_a_line_from_the_last_few_on, a_filter_passes_the_others_over,];

/// What runs, and its standard output.
fn tail(place: &Place, arguments: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut command = place.command(&[&["tail"], arguments].concat());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    (child, stdout)
}

fn line(stdout: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    line
}

fn each_event_is_a_line_from_the_last_few_on() {
    let place = Place::new();
    let stock = Stock::new(&place);
    for n in 0..3 {
        stock.put(&format!("before{n}"), &["books"]);
    }
    let (mut child, mut stdout) = tail(&place, &["--lines", "2"]);
    assert!(line(&mut stdout).trim_end().ends_with(" before1"));
    let last = line(&mut stdout);
    let words: Vec<&str> = last.split_whitespace().collect();
    assert_eq!(words[2..], ["a", "message.text", "pending", "1", "before2"], "{last}");
    stock.put("after", &[]);
    assert!(line(&mut stdout).contains("recorded"));
    assert!(send("INT", child.id()));
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

fn a_filter_passes_the_others_over() {
    let place = Place::new();
    let stock = Stock::new(&place);
    let (mut child, mut stdout) = tail(&place, &["--json", "--route", "books"]);
    for n in 0..250 {
        stock.put(&format!("other{n}"), &[]);
    }
    stock.put("mine", &["books"]);
    let event: Value = serde_json::from_str(&line(&mut stdout)).unwrap();
    assert_eq!((&event["key"], &event["copies"]), (&"mine".into(), &1.into()));
    // Nobody reads any more: it ends though nothing arrives.
    drop(stdout);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
