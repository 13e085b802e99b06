//! Loading a file into a table: what is asked and what is answered, on both planes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest time that a load may take, from its first byte to its answer.
pub const WITHIN_SECS: u64 = 3_600;
/// Rows that a dry run shows.
pub const ROWS_SHOWN: usize = 20;

/// Query of `POST /v1/environments/{env_id}/tables/{name}/load`, on both planes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Load")]
#[serde(deny_unknown_fields)]
pub struct LoadQuery {
    pub mode: LoadMode,
    pub format: LoadFormat,
    /// Nothing is written: the answer has the columns, their types and the first 20 rows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// Types of columns by name, as `{"zip": "VARCHAR"}`, in place of what the values tell; not where rows are added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<String>,
    /// The file's name, for the audit log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

crate::caller::words!(
    /// What becomes of the table.
    LoadMode, "mode", {
        /// It must not be there.
        Create = "create",
        /// It must be there: its columns and those of the file are matched by name.
        Append = "append",
        /// It is made anew.
        Replace = "replace",
    }
);

crate::caller::words!(
    /// How the file is written.
    LoadFormat, "format", {
        /// With commas and a header.
        Csv = "csv",
        /// A JSON object a line.
        Jsonl = "jsonl",
        Parquet = "parquet",
        /// An Arrow IPC stream, or its file; neither compressed.
        Arrow = "arrow",
    }
);

/// What was loaded, or of a dry run what would be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Loaded")]
pub struct Loaded {
    /// Schema and name.
    pub table: String,
    pub columns: Vec<LoadedColumn>,
    /// Bytes of the file.
    pub bytes: u64,
    /// Absent from a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_loaded: Option<u64>,
    /// The first rows of a dry run, their values in the order of the columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Vec<Vec<serde_json::Value>>>,
}

/// How far a load has come, as the data plane tells the control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadProgress {
    /// Rows of the file that have come; none of a format whose rows are known at its end alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
}

/// A column that is written, with the engine's name of its type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadedColumn {
    pub name: String,
    #[serde(rename = "type")]
    pub type_name: String,
}
