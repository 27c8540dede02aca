//! The program as its users meet it: its configuration, its command line and its server.

mod program;

mod configuration;
mod reference;
mod setup;

mod signing;

mod serving;
