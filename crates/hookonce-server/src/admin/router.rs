//! What the admin listener answers: first whether the request is for it, then who asks, then the
//! call.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{MatchedPath, Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use http_body_util::LengthLimitError;

use super::api::calls;
use super::call::{Asked, Call, Given};
use super::problem::Problem;
use super::{Shared, token};

/// The longest body, in bytes.
const BODY_LIMIT: usize = 1 << 20;
/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// The paths of the API and of metrics, beside those of `health`.
pub(super) fn router(shared: Shared, health: Router) -> Router {
    let mut paths: Vec<&str> = calls().iter().map(|call| call.path).collect();
    paths.sort_unstable();
    paths.dedup();
    let mut router = Router::new().route("/metrics", get(metrics));
    for path in paths.into_iter().chain(["/api", "/api/", "/api/{*rest}"]) {
        router = router.route(path, any(api));
    }
    let guard = middleware::from_fn_with_state(shared.clone(), guard);
    router.with_state(shared).merge(health).fallback(nothing).layer(guard)
}

/// Refuses what is for another host, and says of every answer that it is nobody else's.
async fn guard(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    let mut response = if shared.settings().hosts.admit(&request) {
        next.run(request).await
    } else {
        Problem::foreign_host().into_response()
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

async fn nothing() -> Problem {
    Problem::not_found("there is nothing here; the API is under /api")
}

async fn metrics(State(shared): State<Shared>) -> Response {
    let text = shared.metrics.render(&*shared.store, &shared.settings().routes).await;
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

/// Answers whatever comes to a path of the API.
async fn api(
    State(shared): State<Shared>,
    matched: MatchedPath,
    path: Result<Path<BTreeMap<String, String>>, PathRejection>,
    request: Request,
) -> Result<Response, Problem> {
    let settings = shared.settings();
    let token = token::bearer(request.headers());
    let caller = token.and_then(|token| settings.tokens.find(token));
    let caller = caller.ok_or_else(Problem::unauthenticated)?;
    let call = find(matched.as_str(), request.method())?;
    let path = path.map_err(|_| Problem::not_found("the path is not UTF-8"))?.0;
    let asked = Asked { store: shared.store.clone(), settings, caller, path };
    let (head, body) = request.into_parts();
    let body = match head.method {
        Method::POST | Method::PUT => read(&head.headers, body).await?,
        _ => Bytes::new(),
    };
    let query = head.uri.query().unwrap_or_default().to_owned();
    call.answer(asked, &Given { query, headers: head.headers, body }).await
}

/// The call of this path and method. HEAD is GET, whose body the listener leaves out.
fn find(path: &str, method: &Method) -> Result<&'static Call, Problem> {
    let there: Vec<&Call> = calls().iter().filter(|call| call.path == path).collect();
    if there.is_empty() {
        return Err(Problem::not_found(
            "there is no such call; GET /api/openapi.json has them all",
        ));
    }
    let asked = if method == Method::HEAD { &Method::GET } else { method };
    there.iter().find(|call| call.method == asked).copied().ok_or_else(|| {
        let head = there.iter().any(|call| call.method == Method::GET).then_some("HEAD");
        let methods: Vec<&str> =
            there.iter().map(|call| call.method.as_str()).chain(head).collect();
        Problem::method(&methods.join(", "))
    })
}

async fn read(headers: &HeaderMap, body: Body) -> Result<Bytes, Problem> {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    // Said before anything is read, so that nothing is sent in vain.
    if length
        .and_then(|length| length.parse().ok())
        .is_some_and(|length: u64| length > BODY_LIMIT as u64)
    {
        return Err(Problem::too_large(BODY_LIMIT));
    }
    match tokio::time::timeout(BODY_TIMEOUT, axum::body::to_bytes(body, BODY_LIMIT)).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(error)) => {
            let is_long = std::error::Error::source(&error)
                .is_some_and(<dyn std::error::Error>::is::<LengthLimitError>);
            Err(if is_long { Problem::too_large(BODY_LIMIT) } else { Problem::body_broken() })
        }
        Err(_) => Err(Problem::body_slow()),
    }
}
