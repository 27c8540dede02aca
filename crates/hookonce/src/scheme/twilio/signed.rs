//! What a signed form says however it is taken apart.
//!
//! Names and values are signed joined, so that whoever captured a request may cut the same text into
//! other parameters under the same signature. What is asked here is asked of that text, and so has
//! one answer for all of them. Reads no parameter.

use memchr::memmem;

/// The text that Twilio signed behind its address: the query of that and, joined, the parameters.
pub(super) struct SignedText(Vec<u8>);

/// What the name of a parameter with the id of something else begins with.
const OTHERS: [&[u8]; 3] = [b"OriginalReplied", b"Parent", b"Dial"];

/// What only the forms have that are no message coming in.
const NO_MESSAGE: [&str; 3] = ["EventType", "CallSid", "CallStatus"];

/// A parameter that says how often Twilio has tried, and so differs between copies.
const RETRIES: &str = "RetryCount";

/// What only the copy of a message has that goes to the fallback address, in this order and before
/// the sender's address: the error of the first attempt, and where that went.
const ERROR: [&str; 3] = ["ErrorCode", "ErrorUrl", "From"];

impl SignedText {
    pub(super) fn of(query: &str, parameters: &[&[u8]]) -> Self {
        Self([&[query.as_bytes()], parameters].concat().concat())
    }

    /// Whether `sid` is the one id that can be read behind these names: two letters and hex digits,
    /// up to what is no such digit. One that was cut elsewhere isn't, nor one of two.
    pub(super) fn names_only(&self, sid: &str, names: &[&str]) -> bool {
        let found = names.iter().flat_map(|name| {
            let own = |at: &usize| !OTHERS.iter().any(|other| self.0[..*at].ends_with(other));
            self.places(name).filter(own).filter_map(|at| sid_at(&self.0[at + name.len()..]))
        });
        let mut found = found.peekable();
        found.peek().is_some() && found.all(|other| other == sid.as_bytes())
    }

    /// Whether it can be nothing but a message that came in.
    pub(super) fn is_message(&self) -> bool {
        let came_in = |name: &&str| {
            self.places(name).all(|at| {
                let word = self.0[at + name.len()..].iter().take(9).map(u8::to_ascii_lowercase);
                word.collect::<Vec<_>>().starts_with(b"receiv")
            })
        };
        !NO_MESSAGE.iter().any(|name| self.has(name))
            && ["MessageStatus", "SmsStatus"].iter().all(came_in)
    }

    /// Whether this can be read in it.
    pub(super) fn has(&self, name: &str) -> bool {
        self.places(name).next().is_some()
    }

    /// What is the same in every copy: all of it but the number of retries and, where it names a
    /// message, the error for which a copy of that goes to the fallback address. The id that tells two
    /// messages apart is never left out.
    pub(super) fn same(&self) -> Vec<u8> {
        let (mut same, mut from) = (Vec::with_capacity(self.0.len()), 0);
        let mut errors = self.errors();
        errors.extend(self.places(RETRIES).map(|at| {
            let end = at + RETRIES.len();
            (at, end + digits(&self.0[end..]))
        }));
        errors.sort_unstable();
        for (at, end) in errors.into_iter().filter(|(at, end)| at < end) {
            if at >= from {
                same.extend_from_slice(&self.0[from..at]);
                from = end;
            }
        }
        same.extend_from_slice(&self.0[from..]);
        same
    }

    /// Where the error of an earlier attempt stands, from and to. Where its address ends nothing says
    /// but the name that follows, so that this one, too, is asked of the text alone.
    fn errors(&self) -> Vec<(usize, usize)> {
        let [code, url, next] = ERROR;
        if !self.has("MessageSid") && !self.has("SmsSid") {
            return Vec::new();
        }
        let mut ends = self.places(next).peekable();
        let mut ids = self.places("Sid").peekable();
        let error = |at: usize| {
            let number = at + code.len();
            let number_end = number + digits(&self.0[number..]);
            let address = number_end + url.len();
            if number == number_end || !self.0[number_end..].starts_with(url.as_bytes()) {
                return None;
            }
            while ends.next_if(|end| *end < address).is_some() {}
            while ids.next_if(|id| *id < address).is_some() {}
            let end = *ends.peek()?;
            ids.peek().is_none_or(|id| *id > end).then_some((at, end))
        };
        self.places(code).filter_map(error).collect()
    }

    /// Where a name begins, each time.
    fn places<'t>(&'t self, name: &'t str) -> impl Iterator<Item = usize> + 't {
        memmem::find_iter(&self.0, name.as_bytes())
    }
}

/// How many digits a text begins with.
fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|b| b.is_ascii_digit()).count()
}

/// The id at the start of a text, if there is one.
fn sid_at(text: &[u8]) -> Option<&[u8]> {
    let is_digit = |b: &&u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    let letters = text.get(..2)?.iter().all(u8::is_ascii_alphabetic);
    let digits = text[2..].iter().take_while(is_digit).count();
    (letters && (1..=32).contains(&digits)).then(|| &text[..2 + digits])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> SignedText {
        SignedText::of("", &[text.as_bytes()])
    }

    #[test]
    fn an_id_is_read_in_one_way_or_not_at_all() {
        let names = ["MessageSid", "SmsSid"];
        let is = |sid: &str, signed: &str| text(signed).names_only(sid, &names);
        for sid in ["SM1", "SM0123456789abcdef0123456789abcdef"] {
            assert!(is(sid, &format!("BodyhiMessageSid{sid}NumMedia0SmsSid{sid}Towhatsapp:+1")));
            assert!(is(sid, &format!("MessageSid{sid}OriginalRepliedMessageSidSM2")));
            assert!(!is(sid, &format!("BodyMessageSidSM2MessageSid{sid}")));
            assert!(!is(sid, &format!("MessageSid{sid}0")));
        }
        for (sid, signed) in [
            ("SM1NumMedia0", "MessageSidSM1NumMedia0"),
            ("SM", "MessageSidSM1"),
            ("SM2", "MessageSidSM1OriginalRepliedMessageSidSM2"),
            ("wamid.1", "MessageSidwamid.1"),
            ("", ""),
        ] {
            assert!(!is(sid, signed), "{signed}");
        }
        assert!(!is("SM1", &format!("MessageSidSM1{}", "0".repeat(32))));
    }

    #[test]
    fn only_what_came_in_is_a_message() {
        for yes in ["MessageSidSM1", "SmsStatusreceived", "SmsStatusReceiving"] {
            assert!(text(yes).is_message(), "{yes}");
        }
        for no in ["MessageStatussent", "SmsStatusreceivedSmsStatus", "EventTypex", "CallSidCA1"] {
            assert!(!text(no).is_message(), "{no}");
        }
        let moved = SignedText::of("x=1EventTypeonMessageAdded", &[b"MessageSid", b"IM1"]);
        assert!(!moved.is_message());
    }

    #[test]
    fn the_number_of_retries_is_left_out_wherever_it_is_cut() {
        assert_eq!(text("AbRetryCount0ServiceSidIS1").same(), b"AbServiceSidIS1");
        assert_eq!(text("RetryCount12").same(), b"");
        assert_eq!(text("RetryCountx").same(), b"x");
    }

    #[test]
    fn the_error_of_an_earlier_attempt_is_left_out_and_no_id_with_it() {
        let same = |signed: &str| String::from_utf8(text(signed).same()).unwrap();
        let copy = "BodyCallStatusErrorCode11200ErrorUrlhttps://h.test/aFrom+1MessageSidSM1";
        assert_eq!(same(copy), "BodyCallStatusFrom+1MessageSidSM1");
        let both = "BodyxErrorCode1ErrorUrlhttps://h.test/aFrom+1RetryCount1SmsSidSM1";
        assert_eq!(same(both), "BodyxFrom+1SmsSidSM1");
        for whole in [
            // Of another thing than a message it may be all that there is.
            "ErrorCode11200ErrorUrlhttps://h.test/aFrom+1",
            "ErrorCode11200From+1MessageSidSM1",
            "ErrorCodeErrorUrlhttps://h.test/aFrom+1MessageSidSM1",
            "ErrorCode1ErrorUrlhttps://h.test/aMessageSidSM1From+1",
            "MessageSidSM1ErrorCode1ErrorUrlhttps://h.test/a",
        ] {
            assert_eq!(same(whole), whole);
        }
    }
}
