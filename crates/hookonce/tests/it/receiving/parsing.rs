//! Long bodies, which are cut into events apart from their connections: what clients that hang up
//! meanwhile can't make of it.

use std::sync::{Arc, Condvar, Mutex};

use axum::body::Body;
use axum::http::{Request as HttpRequest, StatusCode};
use hookonce::event::NewEvent;
use hookonce::receiver::{Receiver, ReceiverOptions, Source};
use hookonce::scheme::{Origin, Request, Scheme, Signed, Unproven, Unsigned, Verified};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tower_service::Service as _;

use super::client::LIMIT;
use super::scheme::{ListScheme, SECRET};
use super::store::{FakeStore, Mood};

const LENGTH: usize = 70_000;

/// Parses nothing before it is told to.
#[derive(Debug)]
struct Waiting {
    begun: UnboundedSender<()>,
    parsing: Mutex<Parsing>,
    opened: Condvar,
}

#[derive(Debug, Default)]
struct Parsing {
    bytes: usize,
    most: usize,
    is_open: bool,
}

impl Waiting {
    fn new() -> (Arc<Self>, UnboundedReceiver<()>) {
        let (begun, begins) = unbounded_channel();
        let (parsing, opened) = (Mutex::default(), Condvar::new());
        (Arc::new(Self { begun, parsing, opened }), begins)
    }

    fn open(&self) {
        self.parsing.lock().unwrap().is_open = true;
        self.opened.notify_all();
    }

    fn receiver(self: &Arc<Self>, bytes_in_flight: usize) -> Arc<Receiver> {
        let options = ReceiverOptions { bytes_in_flight, ..Default::default() };
        let store = Arc::new(FakeStore::new(Mood::Fine));
        Receiver::new(store, vec![Source::new("test", self.clone())], Arc::new([]), options)
    }
}

impl Scheme for Waiting {
    fn verify(&self, request: Request) -> Result<Verified, Unproven> {
        ListScheme.verify(request)
    }

    fn parse(&self, verified: &Verified, origin: &Origin) -> Vec<NewEvent> {
        let mut parsing = self.parsing.lock().unwrap();
        parsing.bytes += verified.body().len();
        parsing.most = parsing.most.max(parsing.bytes);
        let _ = self.begun.send(());
        parsing = self.opened.wait_while(parsing, |parsing| !parsing.is_open).unwrap();
        parsing.bytes -= verified.body().len();
        ListScheme.parse(verified, origin)
    }

    fn sign(&self, unsigned: &Unsigned<'_>) -> Signed {
        ListScheme.sign(unsigned)
    }
}

fn long() -> HttpRequest<Body> {
    let request = HttpRequest::post("/webhooks/test").header("x-secret", SECRET);
    request.body(Body::from("x".repeat(LENGTH))).unwrap()
}

/// Fails where what a request holds of the budget isn't moved into the closure of `parsing::parse`: it
/// is then given back with each request that is dropped.
#[tokio::test]
async fn what_is_parsed_for_clients_that_hung_up_stays_within_the_budget() {
    let (scheme, mut begins) = Waiting::new();
    let receiver = scheme.receiver(3 * LENGTH);
    let mut router = receiver.clone().router();
    let mut statuses = Vec::new();
    for _ in 0..20 {
        // Dropped once it is being parsed, as it is when its client hangs up.
        tokio::select! {
            answer = router.call(long()) => statuses.push(answer.unwrap().status()),
            begun = begins.recv() => begun.unwrap(),
        }
    }
    let held = receiver.bytes_in_flight();
    scheme.open();
    let all_given_back = async {
        while receiver.bytes_in_flight() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LIMIT, all_given_back).await.expect("all is given back");
    assert_eq!(scheme.parsing.lock().unwrap().most, 3 * LENGTH);
    assert_eq!(held, 3 * LENGTH);
    assert_eq!(statuses, [StatusCode::SERVICE_UNAVAILABLE; 17]);
    assert_eq!(router.call(long()).await.unwrap().status(), StatusCode::OK);
}

#[test]
fn a_request_that_is_to_be_parsed_while_the_runtime_ends_is_told_to_come_again() {
    let (scheme, _begins) = Waiting::new();
    let mut router = scheme.receiver(3 * LENGTH).router();
    let ending = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let handle = ending.handle().clone();
    ending.shutdown_background();
    let answer = handle.block_on(router.call(long())).unwrap();
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
}
