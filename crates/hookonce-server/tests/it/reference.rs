//! The generated reference says what the program says.

use super::program::{Place, assert_golden};

#[test]
fn the_reference_is_what_the_program_prints() {
    let pages = ["configuration.md", "cli.md", "metrics.md", "api.md", "openapi.json"];
    for file in pages {
        let page = file.split('.').next().unwrap();
        let text = Place::new().run(&["reference", page]).ok();
        assert_golden(&format!("docs/reference/{file}"), &text);
    }
}

#[test]
fn help_goes_to_standard_output_and_wrong_usage_exits_2() {
    let place = Place::new();
    assert!(place.run(&["--help"]).ok().contains("Usage: hookonce [OPTIONS] <COMMAND>"));
    assert!(place.run(&["list", "--help"]).ok().contains("--state <STATE>"));
    for wrong in [&["lst"][..], &[], &["list", "--limit", "1001"], &["list", "--state", "done"]] {
        let said = place.run(wrong);
        assert_eq!(said.code, 2, "{wrong:?}");
        assert!(said.stdout.is_empty() && !said.stderr.is_empty(), "{wrong:?}");
    }
}

#[test]
fn completions_are_for_the_shell_that_was_asked_for() {
    let place = Place::new();
    let bash = place.run(&["completions", "bash"]).ok();
    assert!(bash.contains("complete -F _hookonce") && bash.contains("--to-route"));
    assert!(place.run(&["completions", "fish"]).ok().contains("complete -c hookonce"));
}
