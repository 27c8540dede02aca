//! What the tree promises about itself: layers, steps of stores, reference, lengths, links.
//!
//! Each check reads text, knows no Rust, and is as strict as the formatter makes that possible.

mod links;
mod names;
mod shape;
mod source;
mod steps;
