//! Accounts of people: passwords, links, second factors, sessions.

pub(crate) mod account;
pub(super) mod elsewhere;
pub mod failures;
#[cfg(test)]
mod link_tests;
pub mod links;
pub(crate) mod page;
pub mod second_factor;
pub mod sessions;
