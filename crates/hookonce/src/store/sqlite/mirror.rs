//! The configuration's sources and routes, and who did what, beside the events.

use rusqlite::named_params;

use super::claim::millis;
use super::session::Session;
use crate::store::{AuditEntry, MirrorRoute, MirrorSource};

/// Keeps the configuration's sources and routes beside the events.
pub(super) fn mirror(
    session: &Session,
    sources: &[MirrorSource],
    routes: &[MirrorRoute],
) -> rusqlite::Result<()> {
    for source in sources {
        let parameters = named_params! { ":name": &*source.name, ":scope": &*source.scope };
        session.execute(include_str!("mirror_source.sql"), parameters)?;
    }
    session.execute(include_str!("mirror_clear.sql"), ())?;
    let list = |names: &Option<Vec<String>>| {
        names.as_ref().map(|names| serde_json::Value::from(names.clone()).to_string())
    };
    for route in routes {
        session.execute(
            include_str!("mirror_route.sql"),
            named_params! {
                ":name": &*route.name, ":sources": list(&route.sources),
                ":kinds": list(&route.kinds), ":max_attempts": route.max_attempts,
                ":retry_min": millis(route.retry_min), ":retry_max": millis(route.retry_max),
                ":on_dead": if route.holds { "hold" } else { "pass" },
                ":order": if route.ordered { "lane" } else { "none" },
                ":worker": if route.external { "external" } else { "server" },
            },
        )?;
    }
    Ok(())
}

/// Writes down who does what.
pub(super) fn audit(session: &Session, entry: &AuditEntry) -> rusqlite::Result<()> {
    let parameters = named_params! {
        ":now": session.now(), ":who": entry.who, ":action": entry.action,
        ":details": entry.details,
    };
    session.execute(include_str!("audit.sql"), parameters).map(drop)
}
