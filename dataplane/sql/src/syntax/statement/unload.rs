//! What `COPY INTO @stage` writes where, and how.

use sqlparser::ast::helpers::key_value_options::{KeyValueOption, KeyValueOptionKind, KeyValueOptions};

use crate::ast::error::Error;
use crate::catalog::file_format::{counted, flagged, word};

/// Bytes that a file has at most unless `MAX_FILE_SIZE` says else, as documented.
const FILE_BYTES: u64 = 16 << 20;
const FILE_BYTES_MAX: u64 = 5 << 30;

/// How an unloaded file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnloadFormat {
    Csv,
    /// A line for each value of the one column.
    Json,
    Parquet,
}

/// How the bytes of an unloaded file are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnloadCompression {
    None,
    /// As is usual for its format: gzip of a text, Snappy within Parquet.
    OfFormat,
}

/// The rows of a query on their way into files of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unload {
    /// The stage's name, as SQL has it.
    pub stage: String,
    names: UnloadNames,
    /// A statement of its own.
    pub query: String,
    pub format: UnloadFormat,
    pub compression: UnloadCompression,
    /// With more rows than these bytes hold, another file begins.
    pub max_file_bytes: u64,
    /// Each file names the columns: a CSV in its first line, Parquet in place of `col1`, `col2`, ….
    pub header: bool,
    /// Files that are there are replaced.
    pub overwrite: bool,
    /// The answer has a row for each file.
    pub detailed: bool,
}

/// What the files of an unload are called.
#[derive(Debug, Clone, PartialEq, Eq)]
struct UnloadNames {
    path: String,
    /// The path is that of the only file, not how the paths begin.
    single: bool,
    with_query_id: bool,
}

const KNOWN: [&str; 7] =
    ["FILE_FORMAT", "HEADER", "OVERWRITE", "SINGLE", "MAX_FILE_SIZE", "INCLUDE_QUERY_ID", "DETAILED_OUTPUT"];

impl Unload {
    pub(crate) fn of((stage, path): (&str, &str), query: String, given: &KeyValueOptions) -> Result<Self, Error> {
        let find = |name: &str| given.options.iter().find(|option| option.option_name.eq_ignore_ascii_case(name));
        let flag = |name: &str| match find(name) {
            Some(option) => flagged(option).ok_or_else(|| Error::syntax(format!("{name} is TRUE or FALSE"))),
            None => Ok(false),
        };
        let is_known =
            |option: &&KeyValueOption| KNOWN.iter().any(|name| option.option_name.eq_ignore_ascii_case(name));
        if let Some(other) = given.options.iter().find(|option| !is_known(option)) {
            let name = other.option_name.to_ascii_uppercase();
            return Err(Error::unsupported(format!("{name} of COPY INTO a stage")));
        }
        let format = find("FILE_FORMAT").ok_or_else(|| Error::unsupported("COPY INTO a stage without FILE_FORMAT"))?;
        let (format, compression) = format_of(format)?;
        let max_file_bytes = match find("MAX_FILE_SIZE") {
            Some(option) => counted(option).filter(|bytes| (1..=FILE_BYTES_MAX).contains(bytes)).ok_or_else(|| {
                Error::syntax(format!("MAX_FILE_SIZE is a whole number of bytes from 1 to {FILE_BYTES_MAX}"))
            })?,
            None => FILE_BYTES,
        };
        let (header, overwrite, detailed) = (flag("HEADER")?, flag("OVERWRITE")?, flag("DETAILED_OUTPUT")?);
        let (single, with_query_id) = (flag("SINGLE")?, flag("INCLUDE_QUERY_ID")?);
        if with_query_id && (single || overwrite) {
            return Err(Error::syntax("INCLUDE_QUERY_ID = TRUE is not with SINGLE = TRUE or OVERWRITE = TRUE"));
        }
        let (stage, names) = (stage.to_owned(), UnloadNames { path: path.to_owned(), single, with_query_id });
        Ok(Self { stage, names, query, format, compression, max_file_bytes, header, overwrite, detailed })
    }

    /// Whether all rows go into one file, whose path is said.
    pub fn is_single(&self) -> bool {
        self.names.single
    }

    /// The path below the stage of the file of this number.
    pub fn file(&self, number: usize, query_id: &str) -> String {
        let UnloadNames { path, single, with_query_id } = &self.names;
        let is_folder = path.is_empty() || path.ends_with('/');
        let begin = if is_folder { format!("{path}data") } else { path.clone() };
        if *single {
            return begin;
        }
        let id = if *with_query_id { format!("_{query_id}") } else { String::new() };
        format!("{begin}{id}_0_0_{number}.{}", self.ending())
    }

    const fn ending(&self) -> &'static str {
        match (self.format, self.compression) {
            (UnloadFormat::Csv, UnloadCompression::None) => "csv",
            (UnloadFormat::Csv, UnloadCompression::OfFormat) => "csv.gz",
            (UnloadFormat::Json, UnloadCompression::None) => "json",
            (UnloadFormat::Json, UnloadCompression::OfFormat) => "json.gz",
            (UnloadFormat::Parquet, UnloadCompression::None) => "parquet",
            (UnloadFormat::Parquet, UnloadCompression::OfFormat) => "snappy.parquet",
        }
    }
}

/// `FILE_FORMAT = (TYPE = CSV | JSON | PARQUET [COMPRESSION = AUTO | GZIP | SNAPPY | NONE])`.
/// A file is compressed unless it says else.
fn format_of(option: &KeyValueOption) -> Result<(UnloadFormat, UnloadCompression), Error> {
    let KeyValueOptionKind::KeyValueOptions(within) = &option.option_value else {
        return Err(Error::unsupported("a named file format of COPY INTO a stage"));
    };
    let unsupported = |name: &str| Error::unsupported(format!("this {name} of COPY INTO a stage"));
    let (mut format, mut compression) = (None, "AUTO".to_owned());
    for option in &within.options {
        let name = option.option_name.to_ascii_uppercase();
        let value = word(option).unwrap_or_default().to_ascii_uppercase();
        match (name.as_str(), value.as_str()) {
            ("TYPE", "CSV") => format = Some(UnloadFormat::Csv),
            ("TYPE", "JSON") => format = Some(UnloadFormat::Json),
            ("TYPE", "PARQUET") => format = Some(UnloadFormat::Parquet),
            ("COMPRESSION", _) => compression.clone_from(&value),
            _ => return Err(unsupported(&name)),
        }
    }
    let format = format.ok_or_else(|| Error::syntax("FILE_FORMAT = (TYPE = …) is CSV, JSON or PARQUET"))?;
    let compression = match (format, compression.as_str()) {
        (_, "NONE") => UnloadCompression::None,
        (_, "AUTO") | (UnloadFormat::Csv | UnloadFormat::Json, "GZIP") | (UnloadFormat::Parquet, "SNAPPY") => {
            UnloadCompression::OfFormat
        }
        _ => return Err(unsupported("COMPRESSION")),
    };
    Ok((format, compression))
}
