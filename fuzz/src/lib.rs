//! What must hold for any bytes: each target is a function that takes some and panics where it
//! doesn't.
//!
//! A fuzzer calls them with what it makes up, the library's tests with what was found before. Of the
//! library only what is public is used, and what is expected is computed here anew.

mod element;
mod evolution;
mod gateway;
mod generic_rules;
mod mac;
mod meta;
mod parse;
mod planted;
mod request;
mod signatures;
mod twilio_form;
mod twilio_json;
mod waha;
mod wasender;

pub use element::element;
pub use evolution::evolution_parse;
pub use generic_rules::generic_rules;
pub use meta::{meta_challenge, meta_parse, meta_signature};
pub use signatures::signatures;
pub use twilio_form::twilio_form;
pub use twilio_json::twilio_json;
pub use waha::waha_parse;
pub use wasender::wasender_parse;

/// Panics where bytes are not as they must be.
pub type Target = fn(&[u8]);

/// Every target by its name, which its corpus has as well.
pub const TARGETS: [(&str, Target); 11] = [
    ("element", element),
    ("evolution_parse", evolution_parse),
    ("generic_rules", generic_rules),
    ("meta_challenge", meta_challenge),
    ("meta_parse", meta_parse),
    ("meta_signature", meta_signature),
    ("signatures", signatures),
    ("twilio_form", twilio_form),
    ("twilio_json", twilio_json),
    ("waha_parse", waha_parse),
    ("wasender_parse", wasender_parse),
];
