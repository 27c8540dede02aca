//! Tells other nodes, and is told by them, that tasks may have become due.
//!
//! At most twenty notifications a second for each node, none from an idle one, and none that anything
//! depends on: whoever is not told polls. They are sent apart from what they tell of, since a commit
//! that notifies waits for every other that does.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_postgres::AsyncMessage;
use tokio_postgres::types::Type;

use super::PostgresOptions;
use super::connector::Connector;
use super::error::Failed;
use super::pool::Pool;
use crate::store::StoreError;
use crate::task::Token;

/// What passes between two notifications.
const PAUSE: Duration = Duration::from_millis(50);
/// How long to wait before listening anew after the connection broke: at first, and at most.
const AGAIN: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(30)];

/// Starts telling and listening: whatever is noted as `due` on this node, or on another, wakes `woken`.
pub(super) fn start(
    running: &mut JoinSet<()>,
    pool: &Arc<Pool>,
    options: &PostgresOptions,
    due: &Arc<Notify>,
    woken: &Arc<Notify>,
) -> Result<(), StoreError> {
    let url = options.listen_url.as_deref().unwrap_or(&options.url);
    let connector = Connector::new(url, options)?;
    // By this a node knows its own notifications.
    let node = hex::encode(Token::draw().as_bytes());
    let untold = Arc::new(Notify::new());
    running.spawn(pass_on(due.clone(), woken.clone(), untold.clone()));
    running.spawn(tell(pool.clone(), untold, node.clone()));
    running.spawn(keep_listening(connector, woken.clone(), node));
    Ok(())
}

/// Wakes this node at once, and leaves the others to `tell`.
async fn pass_on(due: Arc<Notify>, woken: Arc<Notify>, untold: Arc<Notify>) {
    loop {
        due.notified().await;
        woken.notify_one();
        untold.notify_one();
    }
}

/// Notifies the other nodes.
async fn tell(pool: Arc<Pool>, untold: Arc<Notify>, node: String) {
    loop {
        untold.notified().await;
        // What can't be told is found by polling.
        let _ = pool.query(include_str!("notify.sql"), &[(&node, Type::TEXT)]).await;
        tokio::time::sleep(PAUSE).await;
    }
}

/// Listens for as long as the store is there.
async fn keep_listening(connector: Connector, woken: Arc<Notify>, node: String) {
    let [first, most] = AGAIN;
    let mut pause = first;
    loop {
        let mut has_listened = false;
        let _ = listen(&connector, &woken, &node, &mut has_listened).await;
        if has_listened {
            pause = first;
        }
        tokio::time::sleep(pause.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
        pause = most.min(pause * 2);
    }
}

/// Listens until the connection ends.
async fn listen(
    connector: &Connector,
    woken: &Notify,
    node: &str,
    has_listened: &mut bool,
) -> Result<(), Failed> {
    let (client, mut driver) = connector.connect().await?;
    let mut messages = futures_util::stream::poll_fn(move |context| driver.poll_message(context));
    let receive = async {
        while let Some(message) = messages.next().await {
            if let AsyncMessage::Notification(message) = message?
                && message.payload() != node
            {
                woken.notify_one();
            }
        }
        Ok(())
    };
    let ask = async {
        client.batch_execute(include_str!("listen.sql")).await?;
        *has_listened = true;
        // Something may have been told before.
        woken.notify_one();
        std::future::pending::<Result<(), Failed>>().await
    };
    tokio::select! {
        ended = receive => ended,
        ended = ask => ended,
    }
}
