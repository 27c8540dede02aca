//! Is told that tasks may have become due, by whoever made them so.
//!
//! Nothing depends on it: whoever is not told polls.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use redis::Client;
use tokio::sync::Notify;

/// How long to wait before listening anew after the connection broke: at first, and at most.
const AGAIN: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(30)];

/// Listens to this channel for as long as the store is there, on the first of these that is.
pub(super) async fn keep_listening(clients: Vec<Client>, channel: String, woken: Arc<Notify>) {
    let [first, most] = AGAIN;
    let mut pause = first;
    for client in clients.iter().cycle() {
        if listen(client, &channel, &woken).await.is_ok() {
            pause = first;
        }
        tokio::time::sleep(pause.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
        pause = most.min(pause * 2);
    }
}

/// Listens until the connection ends; fails where there was none.
async fn listen(client: &Client, channel: &str, woken: &Notify) -> redis::RedisResult<()> {
    let mut listener = client.get_async_pubsub().await?;
    listener.subscribe(channel).await?;
    // Something may have been told before.
    woken.notify_one();
    let mut messages = listener.into_on_message();
    while messages.next().await.is_some() {
        woken.notify_one();
    }
    Ok(())
}
