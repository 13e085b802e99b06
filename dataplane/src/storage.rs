//! Tables that are not the caller's: the catalogue, the system tables, the tables of the runtime.

pub mod catalogue;
pub mod runtime_tables;
pub(crate) mod system_tables;
