//! Breaks.
