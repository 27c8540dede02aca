//! The corpus against the tests: no case is forgotten, and none is said to be missing that is there.

use std::collections::BTreeSet;
use std::path::Path;

use super::case::Case;
use crate::program::root;

/// Cases without a test yet, by what they wait for and the issue that brings it.
const NOT_YET: [(&str, &[&str]); 0] = [];

#[test]
fn every_case_has_a_test_of_its_name_or_waits_for_something() {
    let tests = tests();
    let waiting = |id: &str| NOT_YET.iter().filter(|(_, ids)| ids.contains(&id)).count();
    let cases = Case::all();
    for case in &cases {
        let start = case.id.to_lowercase().replace('-', "_") + "_";
        let has_test = tests.iter().any(|test| test.starts_with(&start));
        let places = usize::from(has_test) + waiting(&case.id);
        assert_eq!(places, 1, "{}: has a test: {has_test}; see `NOT_YET`", case.id);
    }
    let known: BTreeSet<_> = cases.iter().map(|case| &*case.id).collect();
    for id in NOT_YET.iter().flat_map(|(_, ids)| *ids) {
        assert!(known.contains(id), "{id} is no case");
    }
}

/// The names that stand in the sources of cases as those of tests do.
fn tests() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for crate_name in ["hookonce", "hookonce-server"] {
        let folder = root().join("crates").join(crate_name).join("tests/it/cases");
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            if path.extension() == Some("rs".as_ref()) && path.file_name() != Some(this_file()) {
                names.extend(names_in(&std::fs::read_to_string(path).unwrap()));
            }
        }
    }
    names
}

fn this_file() -> &'static std::ffi::OsStr {
    Path::new(file!()).file_name().unwrap()
}

/// What follows `fn`, `mod` or `store_test!(`, comments left out.
fn names_in(source: &str) -> Vec<String> {
    let lines = source.lines().map(str::trim_start).filter(|line| !line.starts_with("//"));
    let text = lines.collect::<Vec<_>>().join("\n");
    let starts = ["fn ", "mod ", "store_test!("].into_iter();
    let after = starts.flat_map(|start| text.split(start).skip(1));
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    after
        .map(|rest| rest.trim_start().chars().take_while(|c| is_name(*c)).collect::<String>())
        .collect()
}
