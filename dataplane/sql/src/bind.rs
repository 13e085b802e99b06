//! Names of a statement against a catalog: tables, columns, functions and sequences.

mod definition;
pub(crate) mod information_schema;
pub(crate) mod resolve;
pub(crate) mod scope;
pub(crate) mod sequence;
pub(crate) mod types;
mod udf;
