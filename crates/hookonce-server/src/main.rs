//! hookonce: receives webhooks, stores each event once, and sees each through.

mod admin;
mod cli;
mod commands;
mod config;
mod curl;
mod dashboard;
mod development;
mod out;
mod reference;
mod reload;
mod serve;
mod wiring;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;

use cli::{Cli, Command};
use config::{Place, Problems};
use out::{Format, Reported};

/// A request is allocated on one thread and freed on another, for which this allocator is made.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long what is cut off at the end may take to be gone.
const CUT_OFF: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    // Clap itself answers --help with 0 and wrong usage with 2.
    let cli = Cli::parse();
    let format = if cli.json { Format::Json } else { Format::Text };
    match run(cli, format) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if let Some(problems) = error.downcast_ref::<Problems>() {
                out::remark(&problems.to_string());
            } else if !error.is::<Reported>() {
                out::remark(&format!("hookonce: {error:#}"));
            }
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli, format: Format) -> anyhow::Result<()> {
    let place = Place::find(cli.config.as_deref());
    let runtime = tokio::runtime::Runtime::new()?;
    let done = match cli.command {
        Command::Serve(options) => runtime.block_on(serve::run(&place, &options, format)),
        Command::Init(options) => commands::init::run(&place, &options, format),
        Command::Check(options) => runtime.block_on(commands::check::run(&place, &options, format)),
        Command::Sign(options) => commands::sign::run(&place, &options, format),
        Command::Migrate => runtime.block_on(commands::migrate::run(&place, format)),
        Command::List(options) => runtime.block_on(commands::list::run(&place, options, format)),
        Command::Show(options) => runtime.block_on(commands::show::run(&place, &options, format)),
        Command::Tail(options) => runtime.block_on(commands::tail::run(&place, &options, format)),
        Command::Doctor => runtime.block_on(commands::doctor::run(&place, format)),
        Command::Prune => runtime.block_on(commands::prune::run(&place, format)),
        Command::Stats => runtime.block_on(commands::stats::run(&place, format)),
        Command::Replay(options) => {
            runtime.block_on(commands::steer::replay(&place, &options, format))
        }
        Command::Bury(options) => runtime.block_on(commands::steer::bury(&place, &options, format)),
        Command::Backup(options) => {
            runtime.block_on(commands::backup::run(&place, &options, format))
        }
        Command::Copy(options) => runtime.block_on(commands::copy::run(&place, &options, format)),
        Command::Demo(options) => runtime.block_on(commands::demo::run(&options, format)),
        Command::Storm(options) => runtime.block_on(commands::storm::run(&place, &options, format)),
        Command::Completions { shell } => commands::completions::run(shell),
        Command::Reference { page } => reference::run(page),
    };
    // What still runs past the grace time is cut off; its claim lapses. The wait is for its steps to
    // be dropped: the process of a command is killed by that, and would else outlive this one.
    runtime.shutdown_timeout(CUT_OFF);
    done
}
