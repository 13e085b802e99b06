//! Storage beside the caller's tables: the catalogue, the system tables, those of branches and of the runtime,
//! and the files of stages. And beyond it: databases that are attached.

pub mod attached;
pub mod branches;
pub mod catalogue;
pub mod external_files;
pub mod load_history;
pub mod runtime_tables;
pub mod stage_files;
pub(crate) mod system_tables;
