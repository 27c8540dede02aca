//! The dashboard: pages on the admin listener for whoever wants to see what became of events, and to mend
//! what died. Each works without a script; with it, what is shown is what is so now.
//!
//! Everything is in the program. What a sender wrote is text and never markup, which the type of a page
//! sees to; and nothing but this program's own style and script is run, which the browser is told.

mod dead;
mod event;
mod events;
mod live;
mod overview;
mod page;
mod payload;
mod session;
mod steer;
mod text;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use maud::{Markup, html};

use crate::admin::Shared;
use hookonce::store::StoreError;
use hookonce::telemetry;

use page::Page;
use session::{Login, Session};

pub(crate) use live::Live;

/// The longest form, in bytes.
const FORM: usize = 64 << 10;
/// What a page may load and do, as browsers read it: nothing but what comes from here.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
                      img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Why there is no page to show.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Nobody who may look is signed in: the path to come back to.
    SignedOut(String),
    /// Who is signed in may not do it.
    Forbidden(&'static str),
    /// What was asked for is not understood.
    Bad(String),
    /// There is nothing of this name.
    NotFound(String),
    /// The store can't be asked now.
    Store(StoreError),
}

type Answer = Result<Response, Failure>;

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The pages, beside the API.
pub(crate) fn router(shared: Shared) -> Router {
    Router::new()
        .route("/", get(overview::show))
        .route("/events", get(events::list))
        .route("/events/{id}", get(event::show))
        .route("/events/{id}/{action}", post(steer::one))
        .route("/dead", get(dead::show).post(steer::many))
        .route("/live", get(live::follow))
        .route("/login", get(sign_in).post(signed_in))
        .route("/logout", post(signed_out))
        .route("/style.css", asset("text/css; charset=utf-8", include_str!("dashboard/style.css")))
        .route(
            "/live.js",
            asset("text/javascript; charset=utf-8", include_str!("dashboard/live.js")),
        )
        .route("/icon.svg", asset("image/svg+xml", include_str!("dashboard/icon.svg")))
        .with_state(shared)
        .layer(middleware::from_fn(guard))
}

/// Tells browsers what the pages may do.
async fn guard(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    response
}

fn asset(kind: &'static str, text: &'static str) -> MethodRouter<Shared> {
    get(([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], text))
}

/// The form by which one signs in.
async fn sign_in(Query(login): Query<Login>) -> Response {
    login_page(&login, None)
}

fn login_page(login: &Login, wrong: Option<&str>) -> Response {
    let status = if wrong.is_some() { StatusCode::UNAUTHORIZED } else { StatusCode::OK };
    let form = html! {
        form.login method="post" action="/login" {
            h1 { "hookonce" }
            p { "A token of " code { "[[admin.tokens]]" } " with the role " code { "view" } " or " code { "operate" } "." }
            @if let Some(wrong) = wrong { p.wrong role="alert" { (wrong) } }
            input type="hidden" name="to" value=(login.to.as_deref().unwrap_or("/"));
            label for="token" { "Token" }
            input id="token" type="password" name="token" required autofocus autocomplete="current-password";
            button { "Sign in" }
        }
    };
    (status, Page::outside("Sign in", &form)).into_response()
}

async fn signed_in(State(shared): State<Shared>, headers: HeaderMap, body: Body) -> Answer {
    session::same_site(&headers)?;
    let login: Login = form(body).await?;
    let token = login.token.clone().unwrap_or_default();
    match Session::begin(&shared, token.trim()) {
        Some(cookie) => {
            let to = login.to.as_deref().filter(|to| is_here(to)).unwrap_or("/");
            Ok(redirect(to, Some(&cookie)))
        }
        None => Ok(login_page(
            &login,
            Some("This is no token that may look at it. Is it the right one?"),
        )),
    }
}

async fn signed_out(State(shared): State<Shared>, headers: HeaderMap, body: Body) -> Answer {
    let session = Session::of(&shared, &headers, "/")?;
    let form: session::Form = form(body).await?;
    session.prove(&headers, &form.proof)?;
    Ok(redirect("/login", Some(session::END)))
}

/// Whether an address leads to a page of ours, and not by `//` or `/\` to somebody else's.
fn is_here(to: &str) -> bool {
    to.starts_with('/') && !to.starts_with("//") && !to.contains(['\\', '\r', '\n'])
}

/// Sends on to another page.
fn redirect(to: &str, cookie: Option<&str>) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    let to = HeaderValue::from_str(to).unwrap_or(HeaderValue::from_static("/"));
    headers.insert(header::LOCATION, to);
    if let Some(cookie) = cookie.and_then(|cookie| HeaderValue::from_str(cookie).ok()) {
        headers.insert(header::SET_COOKIE, cookie);
    }
    response
}

/// Reads a form.
async fn form<T: serde::de::DeserializeOwned>(body: Body) -> Result<T, Failure> {
    let read = axum::body::to_bytes(body, FORM).await;
    let bytes: Bytes =
        read.map_err(|_| Failure::Bad("the form can't be read, or is too long".into()))?;
    serde_urlencoded::from_bytes(&bytes).map_err(|error| Failure::Bad(error.to_string()))
}

/// The path and query of a page, to come back to.
fn here(uri: &axum::http::Uri) -> String {
    uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string)
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let (status, title, text) = match self {
            Self::SignedOut(to) => {
                let query = serde_urlencoded::to_string([("to", to)]).unwrap_or_default();
                return redirect(&format!("/login?{query}"), None);
            }
            Self::Forbidden(why) => (StatusCode::FORBIDDEN, "Not allowed", why.to_owned()),
            Self::Bad(why) => (StatusCode::BAD_REQUEST, "Not understood", why),
            Self::NotFound(what) => (StatusCode::NOT_FOUND, "Not found", what),
            Self::Store(error) => {
                telemetry::admin_failed(&error);
                let text = "The store can't be asked now; the log says why.".to_owned();
                (StatusCode::SERVICE_UNAVAILABLE, "No answer", text)
            }
        };
        let content: Markup = html! { h1 { (title) } p { (text) } p { a href="/" { "Overview" } } };
        (status, Page::outside(title, &content)).into_response()
    }
}

/// Reads the id of an event.
fn event_id(text: &str) -> Result<hookonce::event::EventId, Failure> {
    text.parse().map_err(|_| Failure::NotFound(format!("`{text}` is no id of an event")))
}

type OnePath = Path<String>;
