//! What Redis says to the sinks that write to it, in the words of [`Failure`].

use crate::redis_link::RedisTrouble;
use crate::step::Failure;

/// What it means that a command has no answer to show.
pub(super) fn judge(trouble: RedisTrouble) -> Failure {
    match trouble {
        RedisTrouble::Away(error) => Failure::SinkDown(error),
        RedisTrouble::Unanswered(error) => {
            Failure::Unknown(format!("{error}; whether it was written is unknown"))
        }
        RedisTrouble::Refused(code, error) => refused(&code, error),
    }
}

/// A refusal has written nothing. All but a general one are about the server, our rights or the key
/// that we write to, and would meet every other event as well.
fn refused(code: &str, error: String) -> Failure {
    // What is said of an argument that is longer than `proto-max-bulk-len`, and of a value that no
    // stream holds.
    const TOO_LARGE: [&str; 3] = ["invalid bulk length", "too large", "too big"];
    let advice = match code {
        "ERR" if TOO_LARGE.iter().any(|words| error.contains(words)) => {
            return Failure::Permanent(error);
        }
        // What a script may not do is told in words.
        "ERR" if error.contains("user executing the script") => "; give the user the right to it",
        "ERR" => return Failure::transient(error),
        "OOM" => "; give it more memory, or trim what it keeps",
        "MOVED" | "ASK" => "; name the node that has the key, for a cluster is not followed",
        "NOPERM" | "NOAUTH" | "WRONGPASS" => "; give the user the right to it",
        "WRONGTYPE" => "; the key is something else already: choose another",
        _ => "",
    };
    Failure::SinkDown(format!("{error}{advice}"))
}
