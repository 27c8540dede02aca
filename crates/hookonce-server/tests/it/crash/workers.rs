//! The workers of `examples/node`, `examples/python` and `examples/rust-sqlx`, which handle events by
//! SQL: as they are meant, killed, and paused.

mod killed;
mod meant;
mod office;
mod paused;

/// Makes a test of each function for each language.
macro_rules! in_each_language {
    ($($name:ident),+ $(,)?) => {
        mod node {
            $(#[test] fn $name() { super::$name(super::Language::Node); })+
        }

        mod python {
            $(#[test] fn $name() { super::$name(super::Language::Python); })+
        }

        mod sqlx {
            $(#[test] fn $name() { super::$name(super::Language::Sqlx); })+
        }
    };
}
use in_each_language;
