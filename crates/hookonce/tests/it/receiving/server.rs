//! A server on a free port, whose store and limits a test chooses.

use std::net::SocketAddr;
use std::sync::Arc;

use hookonce::listener::{self, ListenerOptions};
use hookonce::receiver::{Network, Receiver, ReceiverOptions, Source};
use hookonce::route::Route;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::client::{Answer, Client, LIMIT};
use super::scheme::ListScheme;
use super::store::{FakeStore, Mood};

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) store: Arc<FakeStore>,
    pub(crate) receiver: Arc<Receiver>,
    running: JoinSet<()>,
    stop: Option<oneshot::Sender<()>>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(ReceiverOptions::default(), ListenerOptions::default()).await
    }

    pub(crate) async fn with(receiving: ReceiverOptions, listening: ListenerOptions) -> Self {
        Self::at("127.0.0.1:0", receiving, listening).await
    }

    pub(crate) async fn at(
        at: &str,
        receiving: ReceiverOptions,
        listening: ListenerOptions,
    ) -> Self {
        Self::allowing(None, at, receiving, listening).await
    }

    /// One whose source allows these addresses.
    pub(crate) async fn allowing(
        allow: Option<Vec<Network>>,
        at: &str,
        receiving: ReceiverOptions,
        listening: ListenerOptions,
    ) -> Self {
        let store = Arc::new(FakeStore::new(Mood::Fine));
        let source = Source {
            scope: "scope-of-test".into(),
            allow,
            ..Source::new("test", Arc::new(ListScheme))
        };
        let mut statuses = Route::new("statuses");
        statuses.kinds = Some(vec!["status.*".to_owned()]);
        let routes = Arc::new([Route::new("all"), statuses]);
        let receiver = Receiver::new(store.clone(), vec![source], routes, receiving);
        let socket = TcpListener::bind(at).await.unwrap();
        let address = socket.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let mut running = JoinSet::new();
        running.spawn(listener::serve(socket, receiver.clone().router(), listening, async {
            let _ = stopped.await;
        }));
        Self { address, store, receiver, running, stop: Some(stop) }
    }

    pub(crate) async fn connect(&self) -> Client {
        Client::connect(self.address).await
    }

    /// The answer to one request on a connection of its own.
    pub(crate) async fn ask(&self, request: impl AsRef<[u8]>) -> Answer {
        self.connect().await.ask(request).await
    }

    /// The keys that are stored, batch by batch.
    pub(crate) fn keys(&self) -> Vec<Vec<String>> {
        let keys = |batch: Vec<hookonce::event::NewEvent>| {
            batch.iter().map(|event| event.key.as_str().to_owned()).collect()
        };
        self.store.batches().into_iter().map(keys).collect()
    }

    /// Tells the server to stop.
    pub(crate) fn stop(&mut self) {
        let _ = self.stop.take().unwrap().send(());
    }

    /// Waits until it has stopped.
    pub(crate) async fn stopped(&mut self) {
        let ended = tokio::time::timeout(LIMIT, self.running.join_next()).await;
        ended.expect("the server stops in time").unwrap().unwrap();
    }
}
