//! What is fired at an endpoint, and how its effects are counted.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

/// What is fired at what.
#[derive(Debug, Args)]
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

    /// For how long effects may come after the last answer, and a request is sent anew that isn't taken.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub(crate) wait: Duration,

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
#[group(required = true)]
pub(crate) struct StormSender {
    /// They come from this source of the configuration, and are signed with its first secret.
    #[arg(long, value_name = "NAME", conflicts_with = "scheme")]
    pub(crate) source: Option<String>,

    /// They come from a sender of this scheme, or of this preset; no configuration is read.
    #[arg(long, value_name = "SCHEME", requires = "secret")]
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
#[group(required = true)]
pub(crate) struct StormCount {
    /// A query that gives a row for each effect, with text that the event's id is in, or a number
    /// behind it; or the number of effects alone.
    #[arg(long, value_name = "QUERY", requires = "database")]
    pub(crate) count_sql: Option<String>,

    /// What the query is asked of: `postgres://…`, or a file of `SQLite`.
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,

    /// An address that answers the same as lines of text, or as a JSON array.
    #[arg(long, value_name = "URL", conflicts_with = "count_sql")]
    pub(crate) count_url: Option<String>,

    /// A command that prints the same as lines, run in a shell.
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["count_sql", "count_url"])]
    pub(crate) count_cmd: Option<String>,

    /// Counts in the store of the configuration: an effect for each time that all tasks of an event
    /// were completed. Needs `--source`.
    #[arg(long, requires = "source", conflicts_with_all = ["count_sql", "count_url", "count_cmd"])]
    pub(crate) count_store: bool,
}

fn number(least: u64, most: u64) -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(least..=most)
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds @ 1..=600) => Ok(Duration::from_secs(seconds)),
        _ => Err("write a number of seconds from 1 to 600".to_owned()),
    }
}
