//! What must hold for any bytes: each target is a function that takes some and panics where it
//! doesn't.
//!
//! A fuzzer calls them with what it makes up, the library's tests with what was found before. Of the
//! library only what is public is used, and what is expected is computed here anew.

mod element;
mod meta;
mod parse;
mod request;

pub use element::element;
pub use meta::{meta_challenge, meta_parse, meta_signature};

/// Panics where bytes are not as they must be.
pub type Target = fn(&[u8]);

/// Every target by its name, which its corpus has as well.
pub const TARGETS: [(&str, Target); 4] = [
    ("element", element),
    ("meta_challenge", meta_challenge),
    ("meta_parse", meta_parse),
    ("meta_signature", meta_signature),
];
