//! Moves everything out of a store in a file into one in PostgreSQL.

use std::fmt::Write as _;

use anyhow::{anyhow, bail};
use hookonce::store::copy::{Copied, CopiedTable, Copying, copy};

use super::unless_interrupted;
use crate::cli::CopyOptions;
use crate::config::{Config, Place, StoreConfig};
use crate::out::{self, Format, Progress, Reported, counted, table};
use crate::wiring;

pub(crate) async fn run(
    place: &Place,
    options: &CopyOptions,
    format: Format,
) -> anyhow::Result<()> {
    let config = Config::load_for_store(place)?;
    let StoreConfig::Sqlite(from) = &config.store else {
        bail!(
            "the store `{}` is no file; `copy` moves one out of a file: name it as `store`, or by \
             `HOOKONCE_STORE=sqlite:PATH`",
            config.store
        );
    };
    let to = StoreConfig::parse(&options.to, &config.dir).map_err(|why| anyhow!("--to: {why}"))?;
    let StoreConfig::Postgres(url) = &to else {
        bail!("--to: a store is copied to a database: write `postgres://…`");
    };
    wiring::must_be_there(from)?;
    let target = wiring::postgres(&config, url)?;
    let mut bar = Bar { format, shown: None };
    let mut note = |copying| bar.note(copying);
    let done = unless_interrupted(Box::pin(copy(from, &target, &mut note))).await;
    drop(bar);
    let Some(done) = done else {
        out::remark("interrupted; `hookonce copy` goes on from there when it is run again");
        return Err(Reported.into());
    };
    let what = format!("cannot copy `{}` to `{to}`", config.store);
    let copied = done.map_err(|error| wiring::not_done(&what, &error))?;
    if format == Format::Json {
        return out::json(&copied);
    }
    out::text(&said(&copied))?;
    out::remark(&format!(
        "`{}` is as it was; from now on serve by the copy: write `store = \"{to}\"`, with what else \
         its address needs",
        config.store
    ));
    Ok(())
}

fn said(copied: &Copied) -> String {
    let row = |table: &CopiedTable| {
        vec![table.table.to_owned(), table.rows.to_string(), table.checksum.clone()]
    };
    let rows: Vec<_> = copied.tables.iter().map(row).collect();
    let mut said = table(&["TABLE", "ROWS", "CHECKSUM, THE SAME IN BOTH"], &rows);
    if copied.refused > 0 {
        // Writing to a string can't fail.
        let _ = write!(
            said,
            "\n\n{} kept as base64, since PostgreSQL's text can't hold a NUL; open tasks of such are \
             dead",
            counted(copied.refused, "payload")
        );
    }
    said
}

/// How far it is: first in copying, then in comparing.
struct Bar {
    format: Format,
    shown: Option<(&'static str, Progress)>,
}

impl Bar {
    fn note(&mut self, copying: Copying) {
        let (done, of, message) = match copying {
            Copying::Writing { done, of } => (done, of, "events copied"),
            Copying::Comparing { done, of } => (done, of, "events compared"),
        };
        let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        if self.shown.as_ref().is_none_or(|(shown, _)| *shown != message) {
            self.shown = Some((message, Progress::bar(self.format, number(of))));
        }
        if let Some((message, progress)) = &self.shown {
            progress.note(number(done), *message);
        }
    }
}
