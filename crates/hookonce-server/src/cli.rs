//! The command line: what there is to say to `hookonce`. Its texts are the help and, generated,
//! `docs/reference/cli.md`.

mod filter;
mod steer;
mod storm;

use std::path::PathBuf;

use axum::http::{HeaderName, HeaderValue};
use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use filter::{FilterOptions, TailOptions};
pub(crate) use steer::{BuryOptions, ReplayOptions, WhichOptions};
pub(crate) use storm::{StormCount, StormOptions, StormSender};

/// Receives webhooks, stores each event once, and sees each through to exactly-once effects.
#[derive(Debug, Parser)]
#[command(name = "hookonce", version, max_term_width = 100, subcommand_required = true)]
pub(crate) struct Cli {
    /// The configuration file; else the one that `HOOKONCE_CONFIG` names, else `hookonce.toml` in
    /// the current directory, else development mode.
    #[arg(long, global = true, value_name = "PATH", display_order = 100)]
    pub(crate) config: Option<PathBuf>,

    /// Writes for programs: the result as JSON, and what `serve` says likewise.
    #[arg(long, global = true, display_order = 101)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Receives webhooks and handles their events, until SIGTERM or Ctrl-C.
    ///
    /// Without a configuration file it runs in development mode: on loopback, with settings and
    /// secrets of its own in `hookonce.dev.toml`, printing each event. `HOOKONCE_LOG` says what is
    /// logged to standard error, such as `info` (the default) or `hookonce=debug`.
    Serve(ServeOptions),

    /// Writes a commented configuration file to start from.
    Init(InitOptions),

    /// Checks the configuration, the store and every SQL statement, and says what to do about what
    /// is wrong. Creates the store where there is none.
    ///
    /// With `--sample` it shows instead what a request would become: its events, and the routes
    /// that take each. The request needs no signature, and nothing is stored. Where headers are given
    /// that hold one, it says whether they would prove the sender now, and by which secret.
    Check(CheckOptions),

    /// Makes the store's tables, or brings them up to date, and says from which version to which.
    ///
    /// `serve` does the same at its start, so this is for whoever runs it as a user that may not
    /// change tables. Nodes that run go on meanwhile.
    Migrate,

    /// Signs a file as the sender would, and prints the `curl` line that sends it.
    Sign(SignOptions),

    /// Lists events, newest first.
    List(ListOptions),

    /// Shows one event with its tasks, attempts, steps, arrivals and payload.
    Show(ShowOptions),

    /// Follows the events that arrive: one line each, from the last few on, until Ctrl-C.
    ///
    /// A line is written when the event is first seen, and tells the state it has then.
    Tail(TailOptions),

    /// Counts events and tasks, and the tasks of each route.
    Stats,

    /// Looks at everything that is here, and says of each thing whether it is fine, and if it is not,
    /// what to do next. Changes nothing.
    ///
    /// Opens a connection to each HTTP sink and sends no request. Exits with 1 if anything is wrong,
    /// and with 0 where there are only warnings.
    Doctor,

    /// Makes dead tasks due again, attempts from 1, steps that are done kept; a retry that waits is
    /// due now.
    ///
    /// Name events by their ids, or filter them: `hookonce replay --state dead --route ledger`. With
    /// a filter it goes from the oldest event on, so that the order within each lane is kept, over the
    /// events that are there when it begins; without `--state` its tasks are the dead ones and the
    /// retries that wait. It may be broken off and begun again: nothing is moved twice. A task of a
    /// lane waits for its lane. Others are left as they are, and counted so. A running server sees to
    /// what became due within its `worker.poll`.
    Replay(ReplayOptions),

    /// Gives tasks of events up: makes pending ones dead, and lets a lane go on that a dead one
    /// holds.
    ///
    /// Name events by their ids, or filter them, as with `replay`. What a worker has is left.
    Bury(BuryOptions),

    /// Deletes now what is older than `retention` says, instead of little by little in a running
    /// server: payloads, then whole events.
    Prune,

    /// Copies the store to a new file while it is in use.
    ///
    /// One in `PostgreSQL` is copied by that server's own tools, such as `pg_dump`.
    Backup(BackupOptions),

    /// Moves everything out of a stopped node's `SQLite` file into a `PostgreSQL` database, and
    /// compares both.
    ///
    /// The configuration names the file, `--to` the database, which holds no events yet. The file is
    /// kept from everybody meanwhile, and stays as it is. A copy that was broken off, however, goes on
    /// when the same command is run again; until it has come to its end, nobody can open the database
    /// as a store.
    Copy(CopyOptions),

    /// Fires signed requests at an endpoint, ours or anybody's, and counts afterwards whether each event
    /// has had its effect exactly once.
    ///
    /// Each event is sent several times at once, and half of them again later, in requests of other sizes and orders,
    /// some of them slow, cut off, or sent without waiting for the answer; what isn't taken is sent
    /// again, as a sender does. The verdict is by the count, never by answers. Exits with 0 if every
    /// event has one effect, and with 1 if not. The events have ids that no other run has.
    Storm(StormOptions),

    /// Shows what it is for: a server with a small book-keeping ledger on `SQLite`, a storm at it, and a
    /// `kill -9` in the middle; then the counts.
    ///
    /// Needs nothing and leaves nothing: everything is in a temporary folder, on loopback.
    Demo(DemoOptions),

    /// Prints a script that completes `hookonce` commands in a shell.
    Completions {
        /// The shell it is for.
        shell: clap_complete::Shell,
    },

    /// Prints a page of the reference.
    #[command(hide = true)]
    Reference {
        /// Which page.
        page: Page,
    },
}

/// How to serve.
#[derive(Debug, Args)]
pub(crate) struct ServeOptions {
    /// Listens here instead of at `server.listen`.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) listen: Option<String>,

    /// Has the admin API here instead of at `server.admin_listen`.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) admin_listen: Option<String>,

    /// How standard error is written: log lines, and where it listens.
    #[arg(long, value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT")]
    pub(crate) log_format: LogFormat,
}

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// How to begin.
#[derive(Debug, Args)]
pub(crate) struct InitOptions {
    /// Overwrites a file that is there.
    #[arg(long)]
    pub(crate) force: bool,
}

/// What to check.
#[derive(Debug, Args)]
pub(crate) struct CheckOptions {
    /// Shows what this request body becomes; `-` for standard input.
    #[arg(long, value_name = "FILE", requires = "source")]
    pub(crate) sample: Option<PathBuf>,

    /// The source that the sample is sent to.
    #[arg(long, value_name = "NAME", requires = "sample")]
    pub(crate) source: Option<String>,

    /// A header that comes with the sample, such as "X-GitHub-Event: push"; may be given several
    /// times.
    #[arg(long = "header", value_name = "NAME: VALUE", requires = "sample", value_parser = header)]
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

/// Reads a header as it is written in a request.
fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let read = || {
        let (name, value) = text.split_once(':')?;
        Some((name.trim().parse().ok()?, HeaderValue::from_str(value.trim()).ok()?))
    };
    read().ok_or_else(|| "write name and value, such as \"X-GitHub-Event: push\"".to_owned())
}

/// What to sign.
#[derive(Debug, Args)]
pub(crate) struct SignOptions {
    /// The source whose secret signs, and whose address the line sends to.
    #[arg(long, value_name = "NAME")]
    pub(crate) source: String,

    /// Where the server is, if not at `server.listen`; such as `https://hooks.example.com`.
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,

    /// The file with the request's body; `-` for standard input.
    pub(crate) file: PathBuf,
}

/// Which events.
#[derive(Debug, Args)]
pub(crate) struct ListOptions {
    #[command(flatten)]
    pub(crate) filter: FilterOptions,

    /// The event with this key.
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,

    /// The page after this: the `next` of the page before.
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<i64>,

    /// How many at most.
    #[arg(long, default_value_t = 100, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,
}

/// Which event.
#[derive(Debug, Args)]
pub(crate) struct ShowOptions {
    /// The event's id.
    pub(crate) id: String,
}

/// Where to.
#[derive(Debug, Args)]
pub(crate) struct BackupOptions {
    /// The file to write; it must not be there yet, and its name must be UTF-8.
    pub(crate) file: PathBuf,
}

/// Where to.
#[derive(Debug, Args)]
pub(crate) struct CopyOptions {
    /// The database: `postgres://USER@HOST:PORT/DATABASE`. Its password as for a `store`.
    #[arg(long, value_name = "URL")]
    pub(crate) to: String,
}

/// What is shown.
#[derive(Debug, Args)]
pub(crate) struct DemoOptions {
    /// Keeps the server up afterwards, to be looked at, until Ctrl-C.
    #[arg(long)]
    pub(crate) stay: bool,
}

/// A page of the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Page {
    /// Every key of the configuration.
    Configuration,
    /// Every command.
    Cli,
    /// Every metric.
    Metrics,
    /// Every call of the admin API.
    Api,
    /// The admin API as an `OpenAPI` document.
    Openapi,
}
