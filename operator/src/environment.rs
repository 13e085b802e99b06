//! The Environment controller: gather → validate → plan → apply → publish.
//!
//! What is here is the pure half: [`observed::Observed`] goes in, a [`plan::Plan`] comes out. It
//! reads no clock, asks no server, and the same input gives the same plan; so a dry run, a test over
//! ten thousand histories and the running operator execute the same code.

pub mod agreement;
pub mod build;
mod certificates;
mod changes;
pub mod child;
mod conditions;
mod events;
mod findings;
pub mod fleet;
pub mod names;
pub mod observed;
mod phase;
pub mod plan;
mod quantity;
mod status;
mod teardown;
#[cfg(test)]
mod tests;
pub mod validate;
mod volume;
mod workload;
