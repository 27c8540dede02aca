//! The program as its users meet it: its configuration, its command line and its server.

#![allow(clippy::unwrap_used, reason = "a test that can't go on should panic")]

mod engine;
mod program;

mod configuration;
mod reference;
mod sampling;
mod setup;

mod generic;
mod pages;
mod signing;

mod planted;
mod senders;
mod wasender;

mod forwarded;
mod gateways;

mod postgres;
mod serving;

mod addresses;
mod tls;

mod exec;
mod queues;

mod steering;

mod admin;

mod handling;

mod stock;
mod storm;

mod bulk;
mod doctor;
mod tailing;

mod cases;

mod crash;

mod chaos;
mod connections;
mod khata;

#[cfg(feature = "amqp")]
mod consumers;
