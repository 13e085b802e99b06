//! Tables that are not the caller's: the catalogue, the system tables, those of branches and of the runtime.

pub mod branches;
pub mod catalogue;
pub mod runtime_tables;
pub(crate) mod system_tables;
