//! What an engine is started with.

use std::ffi::OsString;
use std::path::PathBuf;

/// One environment's engine. The parent passes all of it over a socket: nothing secret is ever in
/// the child's arguments or environment.
#[derive(Clone)]
pub struct Config {
    /// The program of the child, usually the current executable.
    pub program: PathBuf,
    /// Its arguments, usually `engine`; they must lead to [`crate::child::run`].
    pub arguments: Vec<OsString>,
    /// Folder of the environment; the database is `raw.duckdb` in it. None: each session has an empty
    /// database of its own, in memory.
    pub data: Option<PathBuf>,
    /// Private folder: what the engine spills goes below it. Made with mode 0700 when absent.
    pub run: PathBuf,
    /// What the engine may hold in memory by its own count.
    pub memory_limit_bytes: u64,
    /// What it may spill to `run`; the files that it reads may take half as much besides.
    pub temp_limit_bytes: u64,
    /// Its worker threads.
    pub threads: u16,
    /// `RLIMIT_AS` of the child: the bound that holds when the engine's own does not. Address space
    /// is not memory, so leave several times `memory_limit_bytes`.
    pub address_space_bytes: u64,
    /// Sessions at one time; the next caller is refused.
    pub sessions_max: u16,
    /// Statements that each session keeps prepared for when their texts come again; 0: none. One of a database in
    /// memory keeps none.
    pub kept_statements: u16,
    /// Key of `sluice_mask_hash`.
    pub mask_key: [u8; 32],
}
