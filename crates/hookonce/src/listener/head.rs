//! Watches the head of a request for two lengths at once.
//!
//! Of a request with `Content-Length` and `Transfer-Encoding` the HTTP implementation believes the
//! latter and forgets that the former was there. A proxy in front may believe the other one, and
//! see one request where we see two. Such a request is refused, so both must be seen: in the bytes.

use std::io::BufRead as _;

const CONTENT_LENGTH: &[u8] = b"content-length";
const TRANSFER_ENCODING: &[u8] = b"transfer-encoding";
/// The longest name that is looked for, and so what is kept of a line.
const KEPT: usize = TRANSFER_ENCODING.len();

/// Which lengths a head gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Head {
    content_length: bool,
    transfer_encoding: bool,
}

impl Head {
    /// Whether the body's length is given in both ways.
    pub(super) fn is_ambiguous(self) -> bool {
        self.content_length && self.transfer_encoding
    }

    pub(super) fn bits(self) -> u8 {
        u8::from(self.content_length) | u8::from(self.transfer_encoding) << 1
    }

    pub(super) fn from_bits(bits: u8) -> Self {
        Self { content_length: bits & 1 != 0, transfer_encoding: bits & 2 != 0 }
    }
}

/// Reads a head as it arrives, in pieces of any size.
#[derive(Debug, Default)]
pub(super) struct HeadScan {
    seen: Head,
    /// The beginning of the line that has not ended yet.
    line: [u8; KEPT],
    /// How long that line is so far.
    length: usize,
    ended: bool,
}

impl HeadScan {
    /// Takes the next bytes and says what is known so far.
    pub(super) fn read(&mut self, mut bytes: &[u8]) -> Head {
        while !self.ended && !bytes.is_empty() {
            let rest = bytes;
            // On a slice this can't fail; it is the standard library's fast search for a byte.
            let Ok(taken) = bytes.skip_until(b'\n') else { break };
            let piece = &rest[..taken];
            self.keep(piece);
            if piece.ends_with(b"\n") {
                self.end_line();
            }
        }
        self.seen
    }

    fn keep(&mut self, piece: &[u8]) {
        if self.length < KEPT {
            let n = piece.len().min(KEPT - self.length);
            self.line[self.length..self.length + n].copy_from_slice(&piece[..n]);
        }
        self.length += piece.len();
    }

    fn end_line(&mut self) {
        let line = &self.line[..self.length.min(KEPT)];
        let named =
            |name: &[u8]| line.len() >= name.len() && line[..name.len()].eq_ignore_ascii_case(name);
        // A longer name that begins so is none that HTTP knows.
        self.seen.content_length |= named(CONTENT_LENGTH);
        self.seen.transfer_encoding |= named(TRANSFER_ENCODING);
        self.ended = line == b"\n" || line == b"\r\n";
        self.length = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(head: &[u8], piece: usize) -> Head {
        let mut scan = HeadScan::default();
        head.chunks(piece).map(|bytes| scan.read(bytes)).last().unwrap()
    }

    #[test]
    fn both_lengths_are_seen_in_pieces_of_any_size() {
        let head = b"POST / HTTP/1.1\r\nCONTENT-length: 3\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n";
        assert!((1..head.len()).all(|piece| scan(head, piece).is_ambiguous()));
    }

    #[test]
    fn a_body_is_no_part_of_the_head() {
        let head = b"POST / HTTP/1.1\nContent-Length: 30\nX: y\n\nTransfer-Encoding: chunked\n\n";
        assert!((1..head.len()).all(|piece| !scan(head, piece).is_ambiguous()));
        assert!(
            !scan(b"GET /content-length HTTP/1.1\r\nX: transfer-encoding\r\n\r\n", 99)
                .is_ambiguous()
        );
    }
}
