//! The engine with its real child process.

#[cfg(test)]
mod world;

mod catalog;
mod ending;
mod hardening;
mod kept;
mod mask;
mod rows;
mod safe;
mod transactions;
mod types;
