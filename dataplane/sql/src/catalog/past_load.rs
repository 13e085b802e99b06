//! A COPY INTO that has ended, as VALIDATE is told of it, and the columns that it answers.

const TEXT: &str = "VARCHAR";
const NUMBER: &str = "BIGINT";

/// Name and type of the columns over records that cannot be loaded, as they are documented.
pub const FAULT_COLUMNS: [(&str, &str); 12] = [
    ("ERROR", TEXT),
    ("FILE", TEXT),
    ("LINE", NUMBER),
    ("CHARACTER", NUMBER),
    ("BYTE_OFFSET", NUMBER),
    ("CATEGORY", TEXT),
    ("CODE", NUMBER),
    ("SQL_STATE", TEXT),
    ("COLUMN_NAME", TEXT),
    ("ROW_NUMBER", NUMBER),
    ("ROW_START_LINE", NUMBER),
    ("REJECTED_RECORD", TEXT),
];

/// Which COPY INTO is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadJob {
    /// The last one of the session.
    Last,
    /// The one with this query id.
    Query(String),
}

/// A COPY INTO as it was written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastLoad {
    /// `schema.table`, in lower case.
    pub table: String,
    /// Of the stage that it read, whatever that is called.
    pub stage_id: String,
    /// What stood behind its table, in our words; none where a query made the rows.
    pub said: Option<String>,
    /// Those that it took; none where the first record that failed would have ended it.
    pub files: Vec<PastFile>,
}

/// A file as it was when it was loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastFile {
    pub path: String,
    pub bytes: u64,
    pub md5: String,
}
