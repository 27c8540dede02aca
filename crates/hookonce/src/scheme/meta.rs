//! Meta
