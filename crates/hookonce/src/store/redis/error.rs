//! What an error of the server means: to a person, and for whether to try again.

use redis::{ErrorKind, RedisError, ServerErrorKind};

use crate::store::StoreError;

/// What the scripts themselves say where the data they stood on is gone.
pub(super) const EMPTIED: &str = "EMPTIED";

/// How a server says that a command is not there, or not for this user, where its code doesn't.
const NOT_ALLOWED: [&str; 3] =
    ["unknown command", "can't run this command", "Unknown Redis command called from script"];

/// Whether the same may be done at another time: nothing was written, or it is unknown whether it was,
/// and the same call then gets the same answer.
pub(super) fn may_pass(error: &RedisError) -> bool {
    use ServerErrorKind::{BusyLoading, ClusterDown, MasterDown, Moved, ReadOnly, TryAgain};
    match error.kind() {
        // An answer that was cut off in its middle can't be read.
        ErrorKind::Io | ErrorKind::Parse | ErrorKind::ClusterConnectionNotFound => true,
        ErrorKind::Server(kind) => {
            matches!(kind, BusyLoading | ClusterDown | MasterDown | Moved | ReadOnly | TryAgain)
        }
        _ => matches!(error.code(), Some("BUSY" | "NOREPLICAS")),
    }
}

/// What a person is told.
pub(super) fn told(error: RedisError) -> StoreError {
    let message = match error.code() {
        Some("OOM") => {
            "Redis has no memory left for more (`maxmemory`): nothing is taken until some is free; \
             shorten [retention] or raise `maxmemory`"
        }
        Some("NOAUTH" | "WRONGPASS") => return not_let_in(),
        _ if error.kind() == ErrorKind::AuthenticationFailed => return not_let_in(),
        Some("NOPERM") => return not_allowed(&error),
        // What a script is not allowed is told in words alone.
        _ if NOT_ALLOWED.iter().any(|words| says(&error, words)) => return not_allowed(&error),
        _ if says(&error, "DB index is out of range") => {
            return StoreError::Refused(
                "this Redis has no database of the number that `store` ends with".to_owned(),
            );
        }
        _ if says(&error, "cluster support disabled") => {
            return StoreError::Refused(
                "this Redis is no cluster: write `redis://HOST:PORT/0`".to_owned(),
            );
        }
        Some("MISCONF") => "Redis can't write to its disk and takes nothing; see its log",
        Some("READONLY") => {
            "this Redis is a replica and takes nothing: name the primary in `store`"
        }
        Some("LOADING") => "Redis is reading its data, and is there once it is done",
        Some("CLUSTERDOWN" | "MASTERDOWN") => "a part of the Redis cluster is down",
        Some("NOREPLICAS") => {
            "Redis has too few replicas to take anything (`min-replicas-to-write`)"
        }
        Some("BUSY") => "Redis is busy with a script of somebody else",
        _ if error.is_timeout() => "Redis gave no answer in time",
        _ if error.is_connection_refusal() => {
            "Redis refuses connections: start it, or correct `store`"
        }
        _ if error.kind() == ErrorKind::Parse => "Redis gave an answer that can't be read",
        _ if error.is_io_error() => "Redis can't be reached, or the connection to it broke",
        _ => "Redis did not do what it was asked to",
    };
    StoreError::Unavailable { message: message.to_owned(), source: Some(Box::new(error)) }
}

/// Whether a script failed at what it was given, and was not refused as a whole.
pub(super) fn is_a_scripts(error: &StoreError) -> bool {
    let StoreError::Unavailable { source: Some(source), .. } = error else { return false };
    source.downcast_ref::<RedisError>().is_some_and(|error| error.code() == Some("ERR"))
}

/// The same for another who waits.
pub(super) fn again(error: &StoreError) -> StoreError {
    match error {
        StoreError::Refused(message) => StoreError::Refused(message.clone()),
        other => StoreError::unavailable(other.to_string()),
    }
}

fn says(error: &RedisError, words: &str) -> bool {
    error.detail().is_some_and(|detail| detail.contains(words))
}

fn not_allowed(error: &RedisError) -> StoreError {
    let said = error.detail().unwrap_or("no details");
    // What it was asked with may be somebody's.
    let said = said.split(", with args").next().unwrap_or_default();
    StoreError::Refused(format!(
        "Redis doesn't let this user do what is needed ({said}): give it all commands on keys and channels \
         that begin with `hookonce:`, or with its `prefix`"
    ))
}

fn not_let_in() -> StoreError {
    StoreError::Refused(
        "Redis doesn't let us in: the user or the password is wrong or missing".to_owned(),
    )
}
