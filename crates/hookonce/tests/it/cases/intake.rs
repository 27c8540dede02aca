//! The way in, without a socket: the receiver's own router, with the source of the corpus.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, header};
use hookonce::receiver::{Ack, Receiver, ReceiverOptions, Source};
use hookonce::route::Route;
use hookonce::scheme::meta::Meta;
use hookonce::scheme::{Proof, Secret};
use hookonce::store::{Clock, Store};
use http_body_util::BodyExt as _;
use tower_service::Service as _;

use super::case::Case;
use crate::bed::Bed;

#[derive(Debug)]
pub(crate) struct Intake(axum::Router);

/// What a request is answered: its status, its body, and when to come again.
pub(crate) type Answer = (u16, String, Option<String>);

/// Answers of 200.
pub(crate) fn took(new: usize, duplicates: usize) -> Answer {
    (200, format!(r#"{{"new":{new},"duplicates":{duplicates}}}"#), None)
}

/// The answer to what could not be stored.
pub(crate) fn not_stored() -> Answer {
    (503, "not stored; send it again\n".into(), Some("5".into()))
}

impl Intake {
    /// Into the store of a bed, for its route `r`.
    pub(crate) fn of(bed: &Bed) -> Self {
        Self::new(bed.store.clone(), bed.clock.clock())
    }

    pub(crate) fn new(store: Arc<dyn Store>, clock: Clock) -> Self {
        let secret = Secret::new("test-app-secret-0001").unwrap();
        let scheme = Arc::new(Meta::new(Proof::Secrets(vec![secret]), None));
        // The bed computes its ids in this scope.
        let ack = Ack::Stored;
        let source = Source { scope: "whatsapp".into(), ack, ..Source::new("meta", scheme) };
        let route = Route { max_attempts: 3, ..Route::new("r") };
        let ack_timeout = Duration::from_millis(500);
        let options = ReceiverOptions { ack_timeout, clock, ..ReceiverOptions::default() };
        let receiver = Receiver::new(store, vec![source], Arc::from([route]), options);
        Self(receiver.router())
    }

    /// Sends the request of a case as it is.
    pub(crate) async fn send(&self, id: &str) -> Answer {
        let case = Case::of(id);
        let mut request = Request::builder().method(&*case.http.method).uri(&case.http.path);
        for (name, value) in &case.http.headers {
            request = request.header(name, value);
        }
        self.ask(request.body(Body::from(case.text())).unwrap()).await
    }

    async fn ask(&self, request: Request<Body>) -> Answer {
        let answer = self.0.clone().call(request).await.unwrap();
        let again = answer.headers().get(header::RETRY_AFTER);
        let again = again.map(|value| value.to_str().unwrap().to_owned());
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap(), again)
    }
}

/// The key of a message to the number of the corpus.
pub(crate) fn message(id: &str) -> String {
    format!("message:200000000000001:{id}")
}
