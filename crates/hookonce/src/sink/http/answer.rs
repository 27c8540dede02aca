//! What the answer of an HTTP sink means.

use std::time::Duration;

use axum::http::{HeaderMap, header};
use jiff::Timestamp;
use jiff::fmt::rfc2822;

use crate::sink::quote;
use crate::step::Failure;

/// How much of an answer is read: enough for its error, and to use the connection again.
const ANSWER_LIMIT: usize = 4 << 10;
/// How long *not yet* is when the answer doesn't say.
const NOT_YET: Duration = Duration::from_secs(10);
/// How long it is at least: it costs no attempt, so without a pause it would go round for ever.
const NOT_YET_LEAST: Duration = Duration::from_secs(1);
/// The longest that an answer may put a task off; a day, as long as all retries together.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Tells success from the kinds of failure.
pub(super) async fn judge(
    answer: reqwest::Response,
    permanent: &[u16],
    now: Timestamp,
) -> Result<(), Failure> {
    let status = answer.status();
    let asked = retry_after(answer.headers(), now);
    let text = read(answer).await;
    let error = match quote::first(&text) {
        quoted if quoted.is_empty() => format!("answered {status}"),
        quoted => format!("answered {status}: {quoted}"),
    };
    match status.as_u16() {
        200..=299 => Ok(()),
        425 | 429 => {
            Err(Failure::NotYet { error, after: asked.unwrap_or(NOT_YET).max(NOT_YET_LEAST) })
        }
        code if permanent.contains(&code) => Err(Failure::Permanent(error)),
        // A proxy that got no good answer doesn't know what its backend did; 503 says that it did not.
        code @ 502..=504 => {
            Err(Failure::Unavailable { error, retry_after: asked, may_have_happened: code != 503 })
        }
        // Redirects too: who is called has moved, which is for a person to configure.
        _ => Err(Failure::Transient { error, retry_after: asked }),
    }
}

/// The first part of the answer's body. The status is known by now: a body that breaks off or never
/// ends changes nothing about it.
async fn read(mut answer: reqwest::Response) -> Vec<u8> {
    let mut text = Vec::new();
    while text.len() < ANSWER_LIMIT {
        let Ok(Some(part)) = answer.chunk().await else { break };
        text.extend_from_slice(&part[..part.len().min(ANSWER_LIMIT - text.len())]);
    }
    text
}

/// How long the answer asks to wait, at most a day: seconds, or a date. A date is measured by the
/// answer's own `Date` where it has one, so that nobody's clock needs to be right.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name| headers.get(name)?.to_str().ok();
    let asked = text(header::RETRY_AFTER)?.trim();
    // However many digits: what is too long for a number is still a long time.
    if !asked.is_empty() && asked.bytes().all(|byte| byte.is_ascii_digit()) {
        let seconds = asked.parse().unwrap_or(u64::MAX);
        return Some(Duration::from_secs(seconds).min(LONGEST));
    }
    let date = |text: &str| rfc2822::DateTimeParser::new().parse_timestamp(text.trim()).ok();
    let from = text(header::DATE).and_then(date).unwrap_or(now);
    let until = date(asked)?.duration_since(from);
    // A date that has passed asks for nothing.
    Some(Duration::try_from(until).unwrap_or_default().min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(retry_after: &'static str, date: Option<&'static str>) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        let mut put = |name, text| {
            headers.insert(name, axum::http::HeaderValue::from_static(text));
        };
        put(header::RETRY_AFTER, retry_after);
        if let Some(date) = date {
            put(header::DATE, date);
        }
        super::retry_after(&headers, "1994-11-06T08:51:07Z".parse().unwrap())
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_and_at_most_a_day() {
        let date = Some("Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(asked("120", None), Some(Duration::from_secs(120)));
        assert_eq!(asked("Sun, 06 Nov 1994 08:51:37 GMT", date), Some(Duration::from_secs(120)));
        assert_eq!(asked("Sun, 06 Nov 1994 08:00:00 GMT", date), Some(Duration::ZERO));
        assert_eq!(asked("Sun, 06 Nov 1994 08:51:37 GMT", None), Some(Duration::from_secs(30)));
        assert_eq!(asked("99999999999", None), Some(LONGEST));
        assert_eq!(asked("99999999999999999999999", None), Some(LONGEST));
        assert_eq!(asked("soon", date), None);
        assert_eq!(asked("-5", date), None);
    }
}
