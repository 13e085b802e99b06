//! The engine: DuckDB in a child process of its own, and the client that drives it.
//!
//! This is the only crate that links DuckDB. It runs SQL that others wrote and checked: it knows
//! no caller, no policy and no dialect, and it depends on nothing of ours. What it promises is that
//! a statement can always be ended, whatever it does, and that the rest goes on.
//!
//! Why a child: some functions ignore both the engine's memory limit and its interrupt. A process
//! can be bounded (`RLIMIT_AS`) and killed; a library cannot.
//!
//! | side | file | what |
//! |---|---|---|
//! | parent | `engine` | `Engine`: start, sessions, catalog, stop |
//! | parent | `session`, `line`, `lane`, `opened`, `rows`, `row_message` | one connection; its socket; its statement's rows |
//! | parent | `spool`, `file` | files that the child may read; their columns and rows |
//! | parent | `waiting`, `turns` | sessions that have nothing of their own, for the next statement; whose turn it is |
//! | parent | `processors` | which processors its threads keep to |
//! | parent | `supervisor`, `process`, `watchdog` | keeps a child alive, ends statements, kills, restarts |
//! | both | `frame`, `message`, `value` | what travels over the sockets |
//! | child | `child` and below | opens, hardens, executes |
//! | child | `comparison` | what the host program adds to SQL |
//! | child | `ffi`, `native` | the C API, all unsafe code in the first; numbers and types as it has them |

#![deny(unsafe_code)]

pub mod catalog;
pub mod child;
mod comparison;
mod config;
mod engine;
mod error;
mod ffi;
mod file;
mod frame;
mod lane;
mod line;
mod message;
mod native;
mod opened;
mod process;
pub mod processors;
mod row_message;
mod rows;
pub mod seed;
mod session;
mod spool;
mod store;
mod supervisor;
mod turns;
mod types;
mod value;
mod waiting;
mod watchdog;

pub use catalog::{Catalog, ColumnComment, DefinitionKind, Table};
pub use comparison::{Agreeing, Compared, Comparing, Comparison};
pub use config::Config;
pub use engine::Engine;
pub use error::{Error, Kind};
pub use file::{
    CsvSigns, FailedRecords, FileColumn, FileFault, FileFormat, RECORD, RECORD_BYTES_MAX, ValueForm, plain_type,
    records_of,
};
pub use message::{Change, Column, Parsed, PlanSource};
pub use row_message::RowMessage;
pub use rows::{Held, Rows};
pub use session::{Described, Outcome, Session, Snapshot, Statement};
pub use spool::SpoolFile;
pub use value::Value;
