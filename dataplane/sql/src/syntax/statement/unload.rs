//! What `COPY INTO @stage` writes where, and how.

use sqlparser::ast::helpers::key_value_options::{KeyValueOption, KeyValueOptionKind, KeyValueOptions};

use crate::ast::error::Error;
use crate::catalog::file_format::{flagged, word};

/// How an unloaded file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnloadFormat {
    Csv,
    /// A line for each value of the one column.
    Json,
}

/// How the bytes of an unloaded file are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnloadCompression {
    None,
    Gzip,
}

/// The rows of a query on their way into a file of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unload {
    /// The stage's name, as SQL has it.
    pub stage: String,
    path: String,
    /// A statement of its own.
    pub query: String,
    pub format: UnloadFormat,
    pub compression: UnloadCompression,
    /// Its first line names the columns.
    pub header: bool,
    /// A file that is there is replaced.
    pub overwrite: bool,
    /// The path is that of the file, not how its path begins.
    single: bool,
}

impl Unload {
    pub(crate) fn of((stage, path): (&str, &str), query: String, given: &KeyValueOptions) -> Result<Self, Error> {
        let find = |name: &str| given.options.iter().find(|option| option.option_name.eq_ignore_ascii_case(name));
        let flag = |name: &str| match find(name) {
            Some(option) => flagged(option).ok_or_else(|| Error::syntax(format!("{name} is TRUE or FALSE"))),
            None => Ok(false),
        };
        let known = ["FILE_FORMAT", "HEADER", "OVERWRITE", "SINGLE"];
        let is_known =
            |option: &&KeyValueOption| known.iter().any(|name| option.option_name.eq_ignore_ascii_case(name));
        if let Some(other) = given.options.iter().find(|option| !is_known(option)) {
            let name = other.option_name.to_ascii_uppercase();
            return Err(Error::unsupported(format!("{name} of COPY INTO a stage")));
        }
        let (stage, path) = (stage.to_owned(), path.to_owned());
        let format = find("FILE_FORMAT").ok_or_else(|| Error::unsupported("COPY INTO a stage without FILE_FORMAT"))?;
        let (format, compression) = format_of(format)?;
        let (header, overwrite, single) = (flag("HEADER")?, flag("OVERWRITE")?, flag("SINGLE")?);
        Ok(Self { stage, path, query, format, compression, header, overwrite, single })
    }

    /// The path of the file below the stage.
    pub fn file(&self) -> String {
        let is_folder = self.path.is_empty() || self.path.ends_with('/');
        let begin = if is_folder { format!("{}data", self.path) } else { self.path.clone() };
        if self.single { begin } else { format!("{begin}_0_0_0.{}", self.ending()) }
    }

    const fn ending(&self) -> &'static str {
        match (self.format, self.compression) {
            (UnloadFormat::Csv, UnloadCompression::None) => "csv",
            (UnloadFormat::Csv, UnloadCompression::Gzip) => "csv.gz",
            (UnloadFormat::Json, UnloadCompression::None) => "json",
            (UnloadFormat::Json, UnloadCompression::Gzip) => "json.gz",
        }
    }
}

/// `FILE_FORMAT = (TYPE = CSV | JSON [COMPRESSION = AUTO | GZIP | NONE])`: with gzip unless it says else.
fn format_of(option: &KeyValueOption) -> Result<(UnloadFormat, UnloadCompression), Error> {
    let KeyValueOptionKind::KeyValueOptions(within) = &option.option_value else {
        return Err(Error::unsupported("a named file format of COPY INTO a stage"));
    };
    let (mut format, mut compression) = (None, UnloadCompression::Gzip);
    for option in &within.options {
        let name = option.option_name.to_ascii_uppercase();
        let value = word(option).unwrap_or_default().to_ascii_uppercase();
        match (name.as_str(), value.as_str()) {
            ("TYPE", "CSV") => format = Some(UnloadFormat::Csv),
            ("TYPE", "JSON") => format = Some(UnloadFormat::Json),
            ("COMPRESSION", "AUTO" | "GZIP") => compression = UnloadCompression::Gzip,
            ("COMPRESSION", "NONE") => compression = UnloadCompression::None,
            _ => return Err(Error::unsupported(format!("this {name} of COPY INTO a stage"))),
        }
    }
    let format = format.ok_or_else(|| Error::syntax("FILE_FORMAT = (TYPE = …) is CSV or JSON"))?;
    Ok((format, compression))
}
