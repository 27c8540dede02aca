//! What is around every page.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::session::Session;

/// A page, whole.
pub(super) struct Page(Markup);

/// The places of the dashboard, and their names.
const PLACES: [(&str, &str); 3] = [("/", "Overview"), ("/events", "Events"), ("/dead", "Dead")];

impl Page {
    /// A page of somebody who is signed in; `at` is its place. It is kept up to date.
    pub(super) fn new(
        session: &Session,
        (title, at): (&str, &str),
        search: &str,
        content: &Markup,
    ) -> Self {
        let body = html! {
            body data-live="" {
                a.skip href="#main" { "Skip to content" }
                header {
                    nav aria-label="Main" {
                        strong { "hookonce" }
                        @for (path, name) in PLACES {
                            a href=(path) aria-current=[(path == at).then_some("page")] { (name) }
                        }
                    }
                    form.search role="search" action="/events" {
                        input type="search" name="q" value=(search) aria-label="Search" placeholder="id, key or lane";
                    }
                    form.who method="post" action="/logout" {
                        input type="hidden" name="proof" value=(session.proof);
                        span { (session.caller.name) }
                        button { "Sign out" }
                    }
                }
                main id="main" tabindex="-1" { (content) }
                script src="/live.js" defer {}
            }
        };
        Self(whole(title, &body))
    }

    /// A page of nobody.
    pub(super) fn outside(title: &str, content: &Markup) -> Self {
        Self(whole(title, &html! { body.outside { main { (content) } } }))
    }
}

fn whole(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · hookonce" }
                link rel="stylesheet" href="/style.css";
                link rel="icon" href="/icon.svg" type="image/svg+xml";
            }
            (PreEscaped(&body.0))
        }
    }
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        let kind = HeaderValue::from_static("text/html; charset=utf-8");
        ([(header::CONTENT_TYPE, kind)], self.0.into_string()).into_response()
    }
}
