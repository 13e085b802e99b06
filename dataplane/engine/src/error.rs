//! What can go wrong in the engine, by class.
//!
//! `message` is the engine's own text: it may hold values and names, so a caller maps by `kind` and
//! scrubs before anyone else sees it.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{kind:?}: {message}")]
pub struct Error {
    pub kind: Kind,
    pub message: String,
    /// Byte offset in the SQL that was sent, where the engine gives one.
    pub position: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    Parser,
    Binder,
    /// A column that no table in scope has.
    ColumnMissing,
    /// Rows, queries or lists of names that are not as wide as each other.
    Width,
    /// A table, schema, function or type that does not exist.
    CatalogMissing,
    CatalogExists,
    /// Something else depends on it.
    Dependency,
    Conversion,
    OutOfRange,
    DivideByZero,
    InvalidInput,
    Constraint,
    /// Another transaction changed the same rows first.
    WriteConflict,
    /// An earlier error ended the transaction; only a rollback is possible.
    TransactionAborted,
    OutOfMemory,
    TempSpace,
    /// The caller cancelled.
    Interrupted,
    /// The deadline passed.
    Timeout,
    NotImplemented,
    Permission,
    /// The child died under this statement, by another's fault or its own.
    Crashed,
    /// As `Crashed`, and it had kept more in memory than it may.
    Starved,
    /// No child to talk to, too many sessions, or a session that cannot be used (any more).
    Unavailable,
    /// The engine broke a rule of its own.
    Internal,
    /// As `Internal`, and the instance cannot be used any more.
    Fatal,
}

/// The engine's error text with `errors_as_json`.
#[derive(Deserialize)]
struct Report {
    exception_type: String,
    exception_message: String,
    position: Option<String>,
    error_subtype: Option<String>,
}

impl Error {
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), position: None }
    }

    /// The child died under it: it is not known what became of a change, and a read may be tried again.
    pub fn is_lost(&self) -> bool {
        matches!(self.kind, Kind::Crashed | Kind::Starved)
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(Kind::Unavailable, message)
    }

    pub(crate) fn internal(message: impl std::fmt::Display) -> Self {
        Self::new(Kind::Internal, message.to_string())
    }

    /// The class of an error the engine reported; a text that cannot be read is `Internal`.
    pub(crate) fn from_engine(text: &str) -> Self {
        let report =
            text.find('{').and_then(|at| text.get(at..)).and_then(|json| serde_json::from_str::<Report>(json).ok());
        let Some(report) = report else {
            return Self::new(plain(text), text);
        };
        Self {
            kind: classify(&report),
            position: report.position.and_then(|p| p.parse().ok()),
            message: report.exception_message,
        }
    }
}

/// How the engine says that a file ends before what is read of it.
pub(crate) const SHORT_FILE: &str = "Could not read enough bytes";
/// Of an error of the disk: that its own files have no room.
const SPACE: [&str; 4] = ["duckdb_temp", "temporary", "temp_directory", "attempted to write"];

fn classify(report: &Report) -> Kind {
    let message = report.exception_message.as_str();
    match report.exception_type.as_str() {
        // What a pattern turns out to be when it meets a value.
        "Syntax" if message.contains("escape") => Kind::InvalidInput,
        "Parser" if message.contains("VALUES lists must all be the same length") => Kind::Width,
        "Parser" | "Syntax" => Kind::Parser,
        "Binder" if report.error_subtype.as_deref() == Some("COLUMN_NOT_FOUND") => Kind::ColumnMissing,
        "Binder" => binder(message),
        "Parameter Not Resolved" | "Parameter Not Allowed" | "Expression" => Kind::Binder,
        "Catalog" if report.error_subtype.as_deref() == Some("ENTRY_ALREADY_EXISTS") => Kind::CatalogExists,
        "Catalog" if message.contains("already exists") => Kind::CatalogExists,
        "Catalog" if message.contains("does not exist") || message.starts_with("Existing object") => {
            Kind::CatalogMissing
        }
        "Catalog" if message.contains("Could not drop") || message.contains("depends on") => Kind::Dependency,
        "Dependency" => Kind::Dependency,
        "Conversion" | "Mismatch Type" | "Decimal" => Kind::Conversion,
        "Out of Range" => Kind::OutOfRange,
        "Divide by Zero" => Kind::DivideByZero,
        "Constraint" => Kind::Constraint,
        "TransactionContext" if message.contains("aborted") => Kind::TransactionAborted,
        // A commit that lost the race for a key: to try again would meet the key.
        "TransactionContext" if message.contains("constraint") => Kind::Constraint,
        "TransactionContext" if message.contains("onflict") => Kind::WriteConflict,
        "Invalid Input" | "Invalid type" | "Object Size" | "Sequence" | "Catalog" | "TransactionContext" => {
            Kind::InvalidInput
        }
        "Out of Memory" if message.contains("max_temp_directory_size") => Kind::TempSpace,
        "Out of Memory" => Kind::OutOfMemory,
        "INTERRUPT" | "Interrupt" => Kind::Interrupted,
        "Not implemented" => Kind::NotImplemented,
        "Permission" | "Missing Extension" | "Extension Autoloading" | "Invalid Configuration" | "Settings" => {
            Kind::Permission
        }
        // A file that was handed in, shorter than it says.
        "IO" if message.starts_with(SHORT_FILE) && message.contains("/spool/") => Kind::InvalidInput,
        "IO" if SPACE.iter().any(|words| message.contains(words)) => Kind::TempSpace,
        // A Parquet file whose inner parts are broken.
        "Invalid" if message.starts_with("TProtocolException") => Kind::InvalidInput,
        "FATAL" => Kind::Fatal,
        _ => Kind::Internal,
    }
}

/// What the engine says in words alone.
fn binder(message: &str) -> Kind {
    const COLUMN: [&str; 4] = [
        "does not have a column named",
        "does not have a column with name",
        "Referenced update column",
        "side of join!",
    ];
    const WIDTH: [&str; 3] = ["values were supplied", "the same number of result columns", "columns specified"];
    let says = |words: &&str| message.contains(*words);
    if COLUMN.iter().any(says) {
        Kind::ColumnMissing
    } else if WIDTH.iter().any(says) {
        Kind::Width
    } else {
        Kind::Binder
    }
}

/// Errors the C API words itself, without a report.
fn plain(text: &str) -> Kind {
    if text.contains("INTERRUPT") || text.contains("Interrupted") {
        Kind::Interrupted
    } else if text.contains("bad_alloc") || text.contains("Out of Memory") {
        Kind::OutOfMemory
    } else {
        Kind::Internal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_report_has_its_class() {
        let cases = [
            (
                r#"{"exception_type":"Parser","exception_message":"m","error_subtype":"SYNTAX_ERROR","position":"7"}"#,
                Kind::Parser,
            ),
            (
                r#"{"exception_type":"Binder","exception_message":"m","error_subtype":"COLUMN_NOT_FOUND"}"#,
                Kind::ColumnMissing,
            ),
            (r#"{"exception_type":"Binder","exception_message":"No function matches"}"#, Kind::Binder),
            (
                r#"{"exception_type":"Binder","exception_message":"Table \"l\" does not have a column named \"n\""}"#,
                Kind::ColumnMissing,
            ),
            (
                r#"{"exception_type":"Binder","exception_message":"table o has 2 columns but 3 values were supplied"}"#,
                Kind::Width,
            ),
            (
                r#"{"exception_type":"Parser","exception_message":"VALUES lists must all be the same length"}"#,
                Kind::Width,
            ),
            (
                r#"{"exception_type":"Catalog","exception_message":"m","error_subtype":"ENTRY_ALREADY_EXISTS"}"#,
                Kind::CatalogExists,
            ),
            (r#"{"exception_type":"Catalog","exception_message":"does not exist"}"#, Kind::CatalogMissing),
            (
                r#"{"exception_type":"TransactionContext","exception_message":"Conflict on update!"}"#,
                Kind::WriteConflict,
            ),
            (
                r#"{"exception_type":"TransactionContext","exception_message":"Current transaction is aborted (please ROLLBACK)"}"#,
                Kind::TransactionAborted,
            ),
            (
                r#"{"exception_type":"TransactionContext","exception_message":"Failed to commit: PRIMARY KEY or UNIQUE constraint violation"}"#,
                Kind::Constraint,
            ),
            (
                r#"{"exception_type":"Catalog","exception_message":"Could not drop the table because"}"#,
                Kind::Dependency,
            ),
            (
                r#"{"exception_type":"Catalog","exception_message":"Cannot drop this column: an index depends on it!"}"#,
                Kind::Dependency,
            ),
            (r#"Invalid Input Error: {"exception_type":"Invalid Input","exception_message":"m"}"#, Kind::InvalidInput),
            (
                r#"{"exception_type":"IO","exception_message":"Could not write to file \"/run/temp/duckdb_temp_storage_DEFAULT-0.tmp\""}"#,
                Kind::TempSpace,
            ),
            (
                r#"{"exception_type":"IO","exception_message":"Could not read enough bytes from file \"/run/spool/1\": attempted to read 9 bytes from location 4"}"#,
                Kind::InvalidInput,
            ),
            (
                r#"{"exception_type":"IO","exception_message":"Could not read enough bytes from file \"/data/db\": attempted to read 9 bytes from location 4"}"#,
                Kind::Internal,
            ),
            (r#"{"exception_type":"Something New","exception_message":"m"}"#, Kind::Internal),
            ("INTERRUPT Error: Interrupted!", Kind::Interrupted),
            ("not json {", Kind::Internal),
        ];
        for (text, kind) in cases {
            assert_eq!(Error::from_engine(text).kind, kind, "{text}");
        }
    }

    #[test]
    fn the_position_is_kept() {
        let text = r#"{"exception_type":"Parser","exception_message":"m","position":"7"}"#;
        assert_eq!(Error::from_engine(text).position, Some(7));
    }
}
