//! Names of a statement against a catalog: tables, columns, functions, sequences and variables.

mod definition;
pub(crate) mod information_schema;
mod label;
pub(crate) mod resolve;
pub(crate) mod sequence;
mod udf;
pub(crate) mod variables;
