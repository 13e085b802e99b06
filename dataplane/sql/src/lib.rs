//! SQL text in, governed SQL for the engine out. No engine, no input or output, no clock.
//!
//! ```text
//! parse ─ Statement ─ resolve ─ Resolved ─ govern ─ Governed ─ embedded ─ transpile ─ EngineSql
//! ```
//! Each type is made by the step before it alone, so text that did not walk all of them cannot be run.
//! What one of them cannot look into is refused, by name.

#![forbid(unsafe_code)]

mod analyzer;
mod ast;
mod call;
pub mod catalog;
mod catalogue;
pub mod comment;
pub mod definition;
mod depth;
pub mod dialect;
pub mod error;
pub mod filter;
pub mod functions;
pub mod govern;
pub mod heal;
mod label;
mod layout;
mod lex;
pub mod meaning;
pub mod names;
mod outside;
mod parse;
pub mod pivot;
pub mod postgres;
mod print;
pub mod quote;
mod refusals;
mod resolve;
mod scope;
pub mod script;
mod sequence;
pub mod settings;
pub mod statement;
mod steps;
mod transpile;
pub mod types;
mod udf;
mod variables;
mod visible;
mod widths;

pub use analyzer::Analyzer;
pub use catalog::{Catalog, Column, Counter, Names, Table};
pub use comment::Comment;
pub use definition::Definition;
pub use depth::STACK_BYTES;
pub use error::{Error, Position};
pub use govern::{Care, Governed, Mask, Rules, govern};
pub use layout::{LAYOUT_BYTES_MAX, layout};
pub use lex::{IDENTIFIER_CHARS_MAX, TEXT_BYTES_MAX};
pub use parse::{parse, parse_with, request, split};
pub use print::{Bind, CHECK_FAILED};
pub use resolve::is_kept;
pub use resolve::{Resolved, resolve};
pub use statement::{CYCLE, Kind, Operation, SessionCommand, Statement, TableUse, TransactionCommand, digest};
pub use transpile::{Before, EngineSql, transpile};
pub use variables::{Variable, Variables};

#[cfg(test)]
mod page;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tpch_tests;
