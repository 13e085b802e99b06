//! The Environment controller: gather → validate → plan → apply → publish.
//!
//! What is here is the pure half: [`observed::Observed`] goes in, a [`plan::Plan`] comes out. It
//! reads no clock, asks no server, and the same input gives the same plan; so a dry run, a test over
//! ten thousand histories and the running operator execute the same code.

pub mod child;
pub mod fleet;
pub mod observed;
pub mod plan;
