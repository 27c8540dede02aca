//! What is fired at an endpoint, and how its effects are counted.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

/// What is fired at what.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("count").required(true))]
#[command(group = clap::ArgGroup::new("sender").required(true))]
pub(crate) struct StormOptions {
    /// Where webhooks are taken, such as `http://127.0.0.1:3000/webhook`.
    pub(crate) url: String,

    #[command(flatten)]
    pub(crate) sender: StormSender,

    #[command(flatten)]
    pub(crate) count: StormCount,

    /// How many events there are.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = number(1, 100_000))]
    pub(crate) events: u64,

    /// How often each is sent: at once, or all but one at once and one when those are answered.
    #[arg(long, value_name = "K", default_value_t = 5, value_parser = number(2, 50))]
    pub(crate) copies: u64,

    /// The most events in one request, where the sender puts several into one. Each copy comes in
    /// requests of other sizes and in another order.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = number(1, 500))]
    pub(crate) batch: u64,

    /// How many connections send at once.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = number(1, 512))]
    pub(crate) connections: u64,

    /// Sends each request whole and at once. Otherwise one in ten is sent slowly, and one in ten is cut
    /// off and sent anew.
    #[arg(long)]
    pub(crate) calm: bool,

    /// Runs this in a shell when a quarter of the requests are sent, such as what kills the handler and
    /// starts it again.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) midway: Option<String>,

    /// For how long a request is sent anew that isn't taken, and for how long the count may stand still
    /// while an event has no effect yet.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub(crate) wait: Duration,

    /// For how long the count has to stand still once every event has its effect: a second one may come
    /// late. Longer than a lease where something is killed midway: 90 unless it is said, and 3 where
    /// nothing is.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) still: Option<Duration>,

    /// Repeats the order, the sizes and the connections of an earlier run.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Fires at another machine than this one, too. Ask whoever runs it first: it is a flood of
    /// requests that look real.
    #[arg(long)]
    pub(crate) yes_really: bool,
}

/// Whose requests they are.
#[derive(Debug, Args)]
pub(crate) struct StormSender {
    /// They come from this source of the configuration, and are signed with its first secret.
    #[arg(long, value_name = "NAME", group = "sender")]
    pub(crate) source: Option<String>,

    /// They come from a sender of this scheme, or of this preset; no configuration is read.
    #[arg(long, value_name = "SCHEME", requires = "secret", group = "sender")]
    pub(crate) scheme: Option<String>,

    /// What they are signed with: `env:NAME`, `file:PATH` or the secret itself.
    #[arg(long, value_name = "SECRET", conflicts_with = "source")]
    pub(crate) secret: Option<String>,

    /// Sends this file instead of a text message, with each `{id}` in it replaced by the event's own;
    /// what stands between `{each}` and `{/each}` is repeated for each event of a request. `{phone}`,
    /// `{text}` and `{time}` (seconds) are replaced as well.
    #[arg(long, value_name = "FILE")]
    pub(crate) body: Option<PathBuf>,
}

/// How effects are counted.
#[derive(Debug, Args)]
pub(crate) struct StormCount {
    /// A query that gives a row for each effect, with text that the event's id is in; or the id, and how
    /// many effects it has. A number alone is how many there are of all events, which proves less.
    #[arg(long, value_name = "QUERY", requires = "database", group = "count")]
    pub(crate) count_sql: Option<String>,

    /// What the query is asked of: `postgres://…`, or a file of `SQLite`; `env:NAME` or `file:PATH`
    /// where a password is in it.
    #[arg(long, value_name = "URL", requires = "count_sql")]
    pub(crate) database: Option<String>,

    /// An address that answers the same as lines of text, or as a JSON array.
    #[arg(long, value_name = "URL", group = "count")]
    pub(crate) count_url: Option<String>,

    /// A command that prints the same as lines, run in a shell.
    #[arg(long, value_name = "COMMAND", group = "count")]
    pub(crate) count_cmd: Option<String>,

    /// Counts in the store of the configuration how often all tasks of an event were completed, which is
    /// what hookonce knows of effects elsewhere. Needs `--source`.
    #[arg(long, requires = "source", group = "count")]
    pub(crate) count_store: bool,
}

fn number(least: u64, most: u64) -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(least..=most)
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds @ 1..=3600) => Ok(Duration::from_secs(seconds)),
        _ => Err("write a number of seconds from 1 to 3600".to_owned()),
    }
}
