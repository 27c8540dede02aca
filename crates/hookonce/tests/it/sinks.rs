//! Sinks: what is sent, and what each answer means.

#[cfg(feature = "amqp")]
mod amqp;
mod answers;
mod broker;
mod bullmq;
mod children;
mod claim;
mod exec;
mod log;
#[cfg(feature = "nats")]
mod nats;
mod outage;
mod peer;
#[cfg(feature = "amqp")]
mod rabbit;
mod redis_server;
mod redis_stream;
#[cfg(feature = "amqp")]
mod relay;
mod requests;
mod sql;
#[cfg(feature = "sqs")]
mod sqs;
