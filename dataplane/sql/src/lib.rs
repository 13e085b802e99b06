//! SQL text in, governed SQL for the engine out. No engine, no input or output, no clock.
//!
//! ```text
//! parse ─ Statement ─ resolve ─ Resolved ─ govern ─ Governed ─ embedded ─ transpile ─ EngineSql
//! ```
//! Each type is made by the step before it alone, so text that did not walk all of them cannot be run.
//! What one of them cannot look into is refused, by name.

#![forbid(unsafe_code)]

pub mod ast;
pub mod bind;
pub mod catalog;
pub mod compile;
pub mod dialect;
pub mod functions;
pub mod govern;
mod print;
mod scan;
pub mod syntax;

pub use ast::depth::STACK_BYTES;
pub use ast::error::{Error, Position};
pub use bind::resolve::external::numbered_columns;
pub use bind::resolve::staged::{
    FilesAsked, StagePlace, external_stages, files_asked, stage_ids, stage_location, stage_named, stage_of_external,
    stage_path, unloaded_as_said,
};
pub use bind::resolve::temporary::drop_temporary;
pub use bind::resolve::{Resolved, is_kept, resolve};
pub use catalog::attached_read::AttachedRead;
pub use catalog::column_comment::ColumnComment;
pub use catalog::comment::Comment;
pub use catalog::csv_spelling::CsvSpelling;
pub use catalog::definition::Definition;
pub use catalog::external_change::{ExternalChange, ListChange};
pub use catalog::external_rows::ExternalRows;
pub use catalog::external_table::{KeptExternalTable, RECORD_COLUMN};
pub use catalog::file_reading::{CsvRecords, FileCompression, FileReading, FileRecords, RecordWidth};
pub use catalog::file_writing::{CsvWriting, EmptyText, FileWriting, NULL, QUOTE, UnloadCompression, UnloadFormat};
pub use catalog::formatted_texts::FormattedTexts;
pub use catalog::named_values::NamedValues;
pub use catalog::own_stage::{UNUSED_STAGE, table_of_stage, with_tables_of_stages};
pub use catalog::past_load::{FAULT_COLUMNS, LoadJob, PastFile, PastLoad};
pub use catalog::stage::FileEntry;
pub use catalog::stage_location::{BUCKET_SCHEME, FOLDER_SCHEME, StageLocation};
pub use catalog::staged_rows::{
    AfterLoad, CONTENT_KEY, ErrorLimit, FILE_NAME, FileChoice, InferOptions, LAST_MODIFIED, LoadOptions,
    MetadataColumn, NameMatching, OnError, PastRows, ROW_NUMBER, SCAN_TIME, StagedRows, ToldFiles, ValidatedFiles,
};
pub use catalog::table::{Column, Counter, DefaultValue, Table};
pub use catalog::tables::{Catalog, SessionNames};
pub use catalog::text_decoding::{TextDecoding, TextEncoding};
pub use compile::analyzer::Analyzer;
pub use compile::external_members::external_members;
pub use compile::external_rows::{external_paths, external_query};
pub use compile::steps::MET_TWICE;
pub use compile::transpile::{Before, EngineSql, LiteralForm, SharedSql, SharedText, first_token, transpile};
pub use govern::{ExecutionMode, Governed, Rules, govern};
pub use print::{Bind, CHECK_FAILED, MemberRead};
pub use scan::Mask;
pub use syntax::credentials::without_credentials;
pub use syntax::layout::{LAYOUT_BYTES_MAX, layout};
pub use syntax::lex::escapes::standard as standard_strings;
pub use syntax::lex::{IDENTIFIER_CHARS_MAX, TEXT_BYTES_MAX};
pub use syntax::parse::{parse, parse_with, request, split};
pub use syntax::statement::{
    CYCLE, ExternalCommand, Operation, SessionCommand, Statement, StatementKind, TableTemplate, TableUse,
    TransactionCommand, Unload, digest, partition_folder,
};
pub use syntax::variables::{Variable, Variables};

#[cfg(test)]
mod page;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tpch_tests;
