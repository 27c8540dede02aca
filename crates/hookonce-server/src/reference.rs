//! The generated pages of `docs/reference`: what is said once, in the configuration's comments and
//! the command line's help, put into Markdown.

mod api;

use std::fmt::Write as _;

use clap::CommandFactory as _;

use crate::admin;
use crate::cli::{Cli, Page};
use crate::config::{self, Section};
use crate::out;

pub(crate) fn run(page: Page) -> anyhow::Result<()> {
    match page {
        Page::Configuration => out::raw(&configuration()?),
        Page::Cli => out::raw(&cli()?),
        Page::Metrics => out::raw(&metrics()?),
        Page::Api => out::raw(&api::page(GENERATED)?),
        Page::Openapi => out::raw(&serde_json::to_string_pretty(admin::document())?),
    }
}

const GENERATED: &str =
    "<!-- Generated: change the program's texts, then `UPDATE=1 cargo test --workspace`. -->";

/// Where metrics are to be had.
const METRICS_ARE: &str = "The library counts these through the `metrics` facade: a program that \
     embeds it installs a recorder before it makes the receiver. `hookonce serve` shows them to \
     Prometheus at `/metrics` of the admin listener (`server.admin_listen`), without a token. What \
     is looked up in the store for it is at most a second old.";

fn configuration() -> Result<String, std::fmt::Error> {
    let mut page = format!(
        "# Configuration\n\n{GENERATED}\n\n\
         `hookonce` reads the file that `--config` names, else the one that `HOOKONCE_CONFIG` names, \
         else `hookonce.toml` in the current directory. Without any of them `hookonce serve` runs in \
         development mode with `hookonce.dev.toml`. `hookonce check` says what is wrong with a file.\n\n\
         Unknown keys are refused. Durations are written \"250ms\", \"30s\", \"5m\", \"2h\", \"30d\"; sizes \
         \"512KiB\", \"4MiB\". Secrets are `env:NAME`, `file:PATH` or the secret itself; white space \
         around them is removed, and an empty one refuses to start. Relative paths start from the \
         directory of the file. Names of sources, routes and sinks have only a-z, 0-9, _ and -.\n"
    );
    for section in config::sections() {
        write_section(&mut page, &section)?;
    }
    page.push_str(
        "\n## Environment\n\n| variable | meaning |\n|---|---|\n\
         | `HOOKONCE_CONFIG` | The configuration file, where `--config` doesn't name one. |\n\
         | `HOOKONCE_STORE` | Used instead of `store`, and means what it would mean there. |\n\
         | `HOOKONCE_LOG` | What is logged to standard error, such as `info` (the default) or \
         `hookonce=debug`. |\n\
         | `USER`, `LOGNAME` | Who is written down in the store's audit by a command that changes \
         tasks; without either, the number of the user. |\n",
    );
    Ok(page)
}

fn write_section(page: &mut String, section: &Section) -> std::fmt::Result {
    match section.heading {
        "" => write!(page, "\n## In front of every section\n")?,
        heading => write!(page, "\n## `{heading}`\n")?,
    }
    write!(page, "\n{}\n", section.about)?;
    if section.keys.is_empty() {
        return writeln!(page, "\nIt has no other keys.");
    }
    write!(page, "\n| key | default | meaning |\n|---|---|---|\n")?;
    for key in &section.keys {
        let default = match &key.default {
            Some(default) => format!("`{default}`"),
            None if key.required => "required".to_owned(),
            None => "none".to_owned(),
        };
        writeln!(page, "| `{}` | {default} | {} |", key.name, key.about)?;
    }
    Ok(())
}

fn cli() -> Result<String, std::fmt::Error> {
    // A fixed width, so that the page doesn't depend on the terminal it was made in.
    let mut command = Cli::command().term_width(100);
    command.build();
    let mut page = format!("# Command line\n\n{GENERATED}\n\nExit: 0, 1 failure, 2 wrong usage.\n");
    let help = command.render_long_help();
    write!(page, "\n## `hookonce`\n\n```text\n{}\n```\n", trimmed(&help.to_string()))?;
    for sub in command.get_subcommands_mut() {
        if sub.is_hide_set() || sub.get_name() == "help" {
            continue;
        }
        let name = sub.get_name().to_owned();
        let help = sub.render_long_help().to_string();
        write!(page, "\n## `hookonce {name}`\n\n```text\n{}\n```\n", trimmed(&help))?;
    }
    Ok(page)
}

fn metrics() -> Result<String, std::fmt::Error> {
    let mut page = format!(
        "# Metrics\n\n{GENERATED}\n\n{METRICS_ARE}\n\n| metric | kind | unit | labels | meaning |\n"
    );
    page.push_str("|---|---|---|---|---|\n");
    for metric in hookonce::telemetry::METRICS {
        let label = |(name, values): &(&str, &str)| format!("`{name}`: {values}");
        let labels = metric.labels.iter().map(label).collect::<Vec<_>>().join("; ");
        writeln!(
            page,
            "| `{}` | {} | {} | {labels} | {} |",
            metric.name,
            metric.kind.as_str(),
            metric.unit.as_str(),
            metric.help
        )?;
    }
    Ok(page)
}

/// Lines without the white space that help has at their ends.
fn trimmed(text: &str) -> String {
    text.trim().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}
