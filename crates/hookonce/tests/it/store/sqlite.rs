//! What is SQLite alone.
