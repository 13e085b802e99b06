//! What the host program adds to the engine: how like a text, or a vector, is to a text, and whether a query agrees.
//!
//! `system.main.sluice_likeness(VARCHAR, VARCHAR)` and `sluice_vector_likeness(DOUBLE[n], VARCHAR)`, both
//! `DOUBLE`, and NULL where either side is. Each call of a statement has a comparison of its own, shared
//! by the threads that run it and gone with the statement, so that it can remember, and count.

use crate::message::Parsed;

/// Whether what the engine's parser finds in a query is what its author says: these tables, and functions that may be
/// called. Of a write (`true`) it finds the tables alone that it reads.
pub type Agreeing = fn(&Parsed, &[String], bool) -> bool;

/// What is compared with a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Compared<'a> {
    Text(&'a str),
    Vector(&'a [f64]),
}

/// One call of a statement.
pub trait Comparison: Send {
    /// An error ends the statement, as of an argument that is not taken. It must not panic.
    fn compare(&mut self, one: Compared<'_>, text: &str) -> Result<f64, String>;
}

/// How a host compares.
#[derive(Debug, Clone, Copy)]
pub struct Comparing {
    /// How long a vector is.
    pub dimensions: u32,
    /// For one call of a statement.
    pub make: fn() -> Box<dyn Comparison>,
}
