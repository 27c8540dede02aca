//! Tells other nodes, and is told by them, that tasks may have become due.
//!
//! At most twenty notifications a second for each node, and none that anything depends on: whoever
//! is not told polls.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_postgres::AsyncMessage;

use super::PostgresOptions;
use super::connector::Connector;
use super::error::Failed;
use super::pool::Pool;
use crate::store::StoreError;

/// How long to wait before listening anew after the connection broke.
const LISTEN_AGAIN: Duration = Duration::from_secs(2);

/// Starts listening.
pub(super) fn start(
    running: &mut JoinSet<()>,
    _pool: &Arc<Pool>,
    options: &PostgresOptions,
    due: &Arc<Notify>,
) -> Result<(), StoreError> {
    let url = options.listen_url.as_deref().unwrap_or(&options.url);
    let connector = Connector::new(url, options)?;
    let due = due.clone();
    running.spawn(async move {
        loop {
            // What breaks here costs latency only.
            let _ = listen(&connector, &due).await;
            tokio::time::sleep(LISTEN_AGAIN).await;
        }
    });
    Ok(())
}

/// Listens until the connection ends.
async fn listen(connector: &Connector, due: &Notify) -> Result<(), Failed> {
    let (client, mut connection) = connector.connect().await?;
    let mut messages =
        futures_util::stream::poll_fn(move |context| connection.poll_message(context));
    let receive = async {
        use futures_util::StreamExt as _;
        while let Some(message) = messages.next().await {
            if let AsyncMessage::Notification(_) = message? {
                due.notify_one();
            }
        }
        Ok(())
    };
    let ask = async {
        client.batch_execute("listen hookonce_due").await?;
        std::future::pending::<Result<(), Failed>>().await
    };
    tokio::select! {
        ended = receive => ended,
        ended = ask => ended,
    }
}
