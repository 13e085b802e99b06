//! One test binary; its modules are named by what they prove.

#![cfg(test)]

mod agents;
mod chaos;
mod commands;
mod golden;
mod governance;
mod memories;
mod pods;
mod prometheus;
mod protocols;
mod runtime_tables;
mod tenants;
mod traces;
mod walks;
