//! Servers of tests: webhooks and mails are delivered to them, and they show what has come.
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "only tests use this crate: what goes wrong in it fails the test"
)]

pub mod mail;
pub mod webhook;
