//! Names of a statement against a catalog: tables, columns, functions and sequences.

mod definition;
pub(crate) mod information_schema;
mod label;
pub(crate) mod resolve;
pub(crate) mod sequence;
mod udf;
