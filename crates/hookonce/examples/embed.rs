//! A shop that embeds hookonce: each text message becomes one order, whatever happens.
//!
//! ```sh
//! cargo run -p hookonce --example embed -- [FILE [HOST:PORT]]
//! ```
//!
//! It prints a signed `curl` line. Run it twice, kill the program in between: `/orders` shows one.

#![allow(clippy::print_stdout, reason = "it tells a person what to try")]

use std::error::Error;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use hookonce::async_trait;
use hookonce::gate::{Gate, GateOptions};
use hookonce::janitor::{Janitor, JanitorOptions};
use hookonce::listener::{self, ListenerOptions};
use hookonce::receiver::{Receiver, ReceiverOptions, Source};
use hookonce::route::Route;
use hookonce::scheme::{Proof, Scheme, Secret, Unsigned, meta::Meta};
use hookonce::step::{Done, Failure, Step, StepContext};
use hookonce::store::sqlite::rusqlite::Connection;
use hookonce::store::sqlite::{SqliteOptions, SqliteStore};
use hookonce::worker::{Worker, WorkerOptions};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// What Meta signs with. A real program reads it from where it keeps its secrets.
const APP_SECRET: &str = "the app secret of the shop";
/// How long a shutdown waits for what runs.
const GRACE: Duration = Duration::from_secs(30);

/// The step: books a message as an order.
#[derive(Debug)]
struct Book {
    store: Arc<SqliteStore>,
}

#[async_trait]
impl Step for Book {
    async fn run(&self, context: &StepContext<'_>) -> Result<Done, Failure> {
        // `?` on an error means: try again later. What can never succeed is said aloud.
        let message: Value = serde_json::from_str(context.element()).map_err(Failure::permanent)?;
        let text = message["text"]["body"].as_str();
        let text = text.ok_or_else(|| Failure::permanent("a text message without a text"))?;
        let (id, text) = (context.claim.event.id.to_string(), text.to_owned());

        // The order and the end of the task are one transaction: both happen, or neither does.
        let book = move |transaction: &Connection| {
            let order = "insert into orders (event_id, text) values (?1, ?2)";
            transaction.execute(order, (&id, &text)).map(drop)
        };
        self.store.finish_in(context.claim, book).await.map_err(Failure::of_store)?;
        Ok(Done::Task)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = PathBuf::from(arguments.next().unwrap_or_else(|| "shop.db".to_owned()));
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8090".to_owned());

    // The application's tables and hookonce's are in one file, so that they share transactions.
    let store = Arc::new(SqliteStore::open(&file, SqliteOptions::default())?);
    let database = Connection::open(&file)?;
    database.execute_batch("create table if not exists orders (event_id text, text text)")?;

    let secret = Secret::new(APP_SECRET).ok_or("an empty secret proves nothing")?;
    let scheme = Arc::new(Meta::new(Proof::Secrets(vec![secret]), None));
    let limits = GateOptions { concurrency: Some(4), ..GateOptions::default() };
    let book = Gate::limited("book", Arc::new(Book { store: store.clone() }), limits);
    let routes: Arc<[Route]> = Arc::from([Route {
        kinds: Some(vec!["message.text".to_owned()]),
        steps: vec![book],
        ..Route::new("orders")
    }]);

    let sources = vec![Source::new("whatsapp", scheme.clone())];
    let receiver =
        Receiver::new(store.clone(), sources, routes.clone(), ReceiverOptions::default());
    let name = format!("shop:{}", std::process::id());
    let worker = Worker::new(store.clone(), routes.clone(), WorkerOptions::new(name));
    let janitor = Janitor::new(store, routes, JanitorOptions::default());

    // The receiver's paths beside our own.
    let own = axum::Router::new()
        .route("/orders", get(orders))
        .with_state(Arc::new(Mutex::new(database)));
    let app = receiver.clone().router().merge(own);
    let socket = TcpListener::bind(address).await?;
    println!("{}", curl(&*scheme, &format!("http://{}", socket.local_addr()?)));

    let (tell, told) = watch::channel(false);
    let mut stop = told.clone();
    let stop = async move { drop(stop.wait_for(|is_told| *is_told).await) };
    let shutdown = async {
        asked_to_end().await;
        // Readiness turns red; nothing more is accepted or claimed; what runs is finished.
        receiver.set_draining();
        tell.send_replace(true);
    };
    let limits = ListenerOptions { grace: GRACE, ..ListenerOptions::default() };
    tokio::join!(
        listener::serve(socket, app, limits, stop),
        worker.run(told.clone(), GRACE),
        janitor.run(told),
        shutdown,
    );
    Ok(())
}

/// Waits for Ctrl-C or SIGTERM.
async fn asked_to_end() {
    let terminate = async {
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => terminate.recv().await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate => {}
    }
}

/// `GET /orders`: what was booked, a line each.
async fn orders(State(database): State<Arc<Mutex<Connection>>>) -> Result<String, StatusCode> {
    let database = database.lock().unwrap_or_else(PoisonError::into_inner);
    let orders =
        "select ifnull(group_concat(event_id || ' ' || text || char(10), ''), '') from orders";
    database.query_row(orders, (), |row| row.get(0)).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)
}

/// A line that sends a message as Meta would.
fn curl(scheme: &dyn Scheme, url: &str) -> String {
    let body = r#"{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":{"messaging_product":"whatsapp","metadata":{"phone_number_id":"2"},"messages":[{"from":"15550001111","id":"wamid.1","timestamp":"1760000000","type":"text","text":{"body":"two loaves"}}]}}]}]}"#;
    // Meta signs the body and nothing else.
    let (id, at) = ("", jiff::Timestamp::UNIX_EPOCH);
    let signed = scheme.sign(&Unsigned { body: body.as_bytes(), url, id, at });
    let headers: Vec<_> =
        signed.headers.iter().map(|(name, value)| format!("-H '{name}: {value}'")).collect();
    let headers = headers.join(" ");
    format!("curl -sS {headers} --data-binary '{body}' {url}/webhooks/whatsapp")
}
