//! Deletes now what is older than its retention.

use hookonce::store::Pruned;
use serde_json::json;

use super::{audit, unless_interrupted};
use crate::config::{Config, Place};
use crate::out::{self, Format, Progress, Reported, counted};
use crate::wiring;

/// How many events are looked at in one step, so that intake is never held up long.
const BATCH: usize = 500;

pub(crate) async fn run(place: &Place, format: Format) -> anyhow::Result<()> {
    let config = Config::load_for_store(place)?;
    let store = wiring::open_existing(&config).await?;
    let retention = wiring::retention(&config);
    let kept = &config.retention;
    let details = json!({
        "payload": kept.payload.to_string(),
        "key": kept.key.to_string(),
        "dead": kept.dead.to_string(),
    });
    audit(&*store, "prune", &details).await?;
    let progress = Progress::spinner(format);
    let mut total = Pruned::default();
    let all = async {
        // A round leaves what it finds without its payload only afterwards: until one finds nothing.
        let mut before = None;
        while before != Some((total.payloads, total.events)) {
            before = Some((total.payloads, total.events));
            loop {
                let pruned = store.prune(&retention, BATCH).await?;
                total.payloads += pruned.payloads;
                total.events += pruned.events;
                progress.note(0, sentence(total));
                if !pruned.more {
                    break;
                }
            }
        }
        Ok(())
    };
    let done = unless_interrupted(all).await;
    drop(progress);
    let Some(done) = done else {
        let said = sentence(total);
        out::remark(&format!("{said} before it was interrupted; `hookonce prune` goes on"));
        return Err(Reported.into());
    };
    done.map_err(|error| wiring::not_done("cannot prune", &error))?;
    if format == Format::Json {
        return out::json(&total);
    }
    out::text(&sentence(total))
}

fn sentence(pruned: Pruned) -> String {
    let (payloads, events) = (counted(pruned.payloads, "payload"), counted(pruned.events, "event"));
    format!("deleted {payloads}, and {events} with all that was kept of them")
}
