//! Batches of rows into what each protocol sends.

pub mod arrow_ipc;
pub mod batch_bytes;
pub mod cell;
pub(crate) mod column;
pub mod csv;
pub mod delimited;
pub mod json;
pub mod parquet_file;
pub mod pg_rows;
pub mod pieces;
#[cfg(test)]
pub(crate) mod samples;
mod text_columns;
mod text_values;
