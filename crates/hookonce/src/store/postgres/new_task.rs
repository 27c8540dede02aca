//! Tasks on their way into the store by themselves, of events that are there already.

use jiff::Timestamp;
use tokio_postgres::GenericClient;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::error::Failed;
use super::pool::Typed;
use super::rows;

/// A task on its way into the store.
pub(super) struct NewTaskRow<'a> {
    pub(super) seq: i64,
    pub(super) route: &'a str,
    pub(super) id: Uuid,
    pub(super) source: &'a str,
    pub(super) lane_id: Option<Uuid>,
    pub(super) priority: i16,
    pub(super) max_attempts: i32,
    /// Why it is dead on arrival, if it is.
    pub(super) error: Option<&'static str>,
}

/// Stores tasks and wakes their lanes; gives the numbers of the events of those that were not there.
pub(super) async fn write_tasks(
    connection: &impl GenericClient,
    tasks: &[NewTaskRow<'_>],
) -> Result<Vec<i64>, Failed> {
    let seqs: Vec<i64> = tasks.iter().map(|task| task.seq).collect();
    let routes: Vec<&str> = tasks.iter().map(|task| task.route).collect();
    let ids: Vec<Uuid> = tasks.iter().map(|task| task.id).collect();
    let sources: Vec<&str> = tasks.iter().map(|task| task.source).collect();
    let lanes: Vec<Option<Uuid>> = tasks.iter().map(|task| task.lane_id).collect();
    let priorities: Vec<i16> = tasks.iter().map(|task| task.priority).collect();
    let most: Vec<i32> = tasks.iter().map(|task| task.max_attempts).collect();
    let errors: Vec<Option<&str>> = tasks.iter().map(|task| task.error).collect();
    let parameters: [Typed<'_>; 8] = [
        (&seqs, Type::INT8_ARRAY),
        (&routes, Type::TEXT_ARRAY),
        (&ids, Type::UUID_ARRAY),
        (&sources, Type::TEXT_ARRAY),
        (&lanes, Type::UUID_ARRAY),
        (&priorities, Type::INT2_ARRAY),
        (&most, Type::INT4_ARRAY),
        (&errors, Type::TEXT_ARRAY),
    ];
    let stored = connection.query_typed(include_str!("insert_task.sql"), &parameters);
    let alive = tasks.iter().filter(|task| task.error.is_none());
    let woken: Vec<Uuid> = alive.filter_map(|task| task.lane_id).collect();
    let wake = async {
        if !woken.is_empty() {
            let parameters: [Typed<'_>; 1] = [(&woken, Type::UUID_ARRAY)];
            connection.query_typed(include_str!("wake.sql"), &parameters).await?;
        }
        Ok(())
    };
    let (stored, ()) = tokio::try_join!(stored, wake)?;
    Ok(stored.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

/// The sender's time up to which keys were removed.
pub(super) async fn pruned_until(
    connection: &impl GenericClient,
) -> Result<Option<Timestamp>, Failed> {
    let found = connection.query_typed(include_str!("pruned_until.sql"), &[]).await?;
    Ok(found.first().map(|row| rows::time(row, 0)).transpose()?)
}
