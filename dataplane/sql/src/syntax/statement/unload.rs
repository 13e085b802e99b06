//! `COPY INTO @stage`: its query, its place, and its options.

use std::fmt::Write;

use sqlparser::ast::helpers::key_value_options::{
    KeyValueOption, KeyValueOptionKind, KeyValueOptions, KeyValueOptionsDelimiter,
};

use crate::ast::error::Error;
use crate::catalog::file_format::{FileType, FormatOptions, counted, flagged, word};
use crate::catalog::file_writing::FileWriting;

/// Bytes that a file has at most unless `MAX_FILE_SIZE` says else, as documented.
const FILE_BYTES: u64 = 16 << 20;
const FILE_BYTES_MAX: u64 = 5 << 30;

/// The folder of rows whose partition is NULL, as documented.
const NULL_PARTITION: &str = "__NULL__";
/// In place of a name that has no letter.
const EMPTY_PARTITION: &str = "__EMPTY__";

/// The rows of a query on their way into files of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unload {
    /// The stage's name, as SQL has it.
    pub stage: String,
    names: UnloadNames,
    /// A statement of its own.
    pub query: String,
    /// An expression over the columns of the query: rows that it has the same value for go into files of their own.
    partition_by: Option<String>,
    /// As the format says that the statement names, once it is known.
    pub writing: FileWriting,
    pub(crate) said: SaidFormat,
    /// With more rows than these bytes hold, another file begins.
    pub max_file_bytes: u64,
    /// Each file names the columns: a CSV in its first line, Parquet in place of `col1`, `col2`, ….
    pub header: bool,
    /// Files that are there are replaced.
    pub overwrite: bool,
    /// The answer has a row for each file.
    pub detailed: bool,
    used: UnloadUse,
}

/// The use of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnloadUse {
    Written,
    /// They are the answer, and no file is written.
    Shown,
}

/// The names of the files of an unload.
#[derive(Debug, Clone, PartialEq, Eq)]
struct UnloadNames {
    path: String,
    /// The path is that of the only file, not how the paths begin.
    single: bool,
    with_query_id: bool,
}

/// The format of the files that a statement writes, as far as it says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SaidFormat {
    /// All of it.
    Whole,
    /// As the file format of this name says, and these options beside it.
    Named { name: String, others: Box<KeyValueOptions> },
    /// Nothing: it is that of the stage.
    OfStage,
}

const KNOWN: [&str; 8] = [
    "FILE_FORMAT",
    "HEADER",
    "OVERWRITE",
    "SINGLE",
    "MAX_FILE_SIZE",
    "INCLUDE_QUERY_ID",
    "DETAILED_OUTPUT",
    "VALIDATION_MODE",
];

/// The rows that are unloaded, as they are written: a query, and the expression that parts them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnloadSource {
    pub query: String,
    pub partition_by: Option<String>,
}

impl Unload {
    pub(crate) fn of(
        (stage, path): (&str, &str),
        source: UnloadSource,
        given: &KeyValueOptions,
    ) -> Result<Self, Error> {
        let UnloadSource { query, partition_by } = source;
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
        let used = used(find("VALIDATION_MODE"))?;
        let (said, writing) = format_of(find("FILE_FORMAT"))?;
        let max_file_bytes = match find("MAX_FILE_SIZE") {
            Some(option) => counted(option).filter(|bytes| (1..=FILE_BYTES_MAX).contains(bytes)).ok_or_else(|| {
                Error::syntax(format!("MAX_FILE_SIZE is a whole number of bytes from 1 to {FILE_BYTES_MAX}"))
            })?,
            None => FILE_BYTES,
        };
        let (header, overwrite, detailed) = (flag("HEADER")?, flag("OVERWRITE")?, flag("DETAILED_OUTPUT")?);
        let (single, mut with_query_id) = (flag("SINGLE")?, flag("INCLUDE_QUERY_ID")?);
        if partition_by.is_some() {
            if single || overwrite || (find("INCLUDE_QUERY_ID").is_some() && !with_query_id) {
                let others = "SINGLE = TRUE, OVERWRITE = TRUE or INCLUDE_QUERY_ID = FALSE";
                return Err(Error::syntax(format!("PARTITION BY is not with {others}")));
            }
            with_query_id = true;
        }
        if with_query_id && (single || overwrite) {
            return Err(Error::syntax("INCLUDE_QUERY_ID = TRUE is not with SINGLE = TRUE or OVERWRITE = TRUE"));
        }
        let (stage, names) = (stage.to_owned(), UnloadNames { path: path.to_owned(), single, with_query_id });
        Ok(Self { stage, names, query, partition_by, writing, said, max_file_bytes, header, overwrite, detailed, used })
    }

    /// The same with its files written as this format says.
    pub(crate) fn written_as(self, format: &FormatOptions) -> Result<Self, Error> {
        Ok(Self { writing: FileWriting::of(format)?, said: SaidFormat::Whole, ..self })
    }

    /// Whether a file format or the stage says how its files are written.
    pub fn names_format(&self) -> bool {
        self.said != SaidFormat::Whole
    }

    /// Whether it fails where a file is there whose path somebody can guess.
    pub fn may_meet_others(&self) -> bool {
        !self.overwrite && !self.names.with_query_id
    }

    /// Whether its rows are the answer, and no file is written.
    pub fn is_shown(&self) -> bool {
        self.used == UnloadUse::Shown
    }

    /// Whether all rows go into one file, whose path is said.
    pub fn is_single(&self) -> bool {
        self.names.single
    }

    /// Whether rows go into folders by an expression, whose value is their first column then.
    pub fn is_partitioned(&self) -> bool {
        self.partition_by.is_some()
    }

    /// The statement whose rows are unloaded: the query, or one that has the partition of each row before its columns.
    /// Those of a partition come together.
    pub fn rows(&self) -> String {
        let Self { query, .. } = self;
        let Some(by) = &self.partition_by else { return query.clone() };
        // the texts may end with a comment
        format!("SELECT CAST(({by}\n) AS VARCHAR) AS \"partition\", * FROM ({query}\n) AS \"rows\" ORDER BY 1")
    }

    /// The path below the stage of the first file, whatever is in the rows.
    pub fn first_file(&self, query_id: &str) -> String {
        self.file(self.is_partitioned().then_some(NULL_PARTITION), 0, query_id)
    }

    /// The path below the stage of the file of this number, in the folder of its partition if it has one.
    pub fn file(&self, folder: Option<&str>, number: usize, query_id: &str) -> String {
        let UnloadNames { path, single, with_query_id } = &self.names;
        let is_folder = path.is_empty() || path.ends_with('/');
        let begin = match folder {
            Some(folder) => format!("{path}{}{folder}/data", if is_folder { "" } else { "/" }),
            None if is_folder => format!("{path}data"),
            None => path.clone(),
        };
        if *single {
            return begin;
        }
        let id = if *with_query_id { format!("_{query_id}") } else { String::new() };
        format!("{begin}{id}_0_0_{number}.{}", self.writing.ending())
    }
}

/// The folders that rows of this partition are in, below the path of the unload, whatever is in the value.
///
/// A slash in it begins another folder. What could lead elsewhere, or is no part of a URL, is a `!` and two hexadecimal
/// digits.
pub fn partition_folder(value: Option<&str>) -> String {
    let Some(value) = value else { return NULL_PARTITION.to_owned() };
    value.split('/').map(folder_name).collect::<Vec<_>>().join("/")
}

fn folder_name(part: &str) -> String {
    if part.is_empty() {
        return EMPTY_PARTITION.to_owned();
    }
    let is_elsewhere = matches!(part, "." | "..");
    let mut name = String::with_capacity(part.len());
    for letter in part.chars() {
        if is_elsewhere || letter.is_control() || matches!(letter, '!' | '\\' | '%' | '?' | '#' | '*') {
            for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(name, "!{byte:02X}");
            }
        } else {
            name.push(letter);
        }
    }
    name
}

fn used(option: Option<&KeyValueOption>) -> Result<UnloadUse, Error> {
    match option.map(word).transpose()? {
        None => Ok(UnloadUse::Written),
        Some(mode) if mode.eq_ignore_ascii_case("RETURN_ROWS") => Ok(UnloadUse::Shown),
        Some(_) => Err(Error::syntax("VALIDATION_MODE of COPY INTO a stage is RETURN_ROWS")),
    }
}

/// `FILE_FORMAT = (TYPE = …)`, `FILE_FORMAT = (FORMAT_NAME = f)`, `FILE_FORMAT = f`, or none, and how files are written as
/// far as that says it.
fn format_of(option: Option<&KeyValueOption>) -> Result<(SaidFormat, FileWriting), Error> {
    let unsaid = |said| -> Result<(SaidFormat, FileWriting), Error> {
        Ok((said, FileWriting::of(&FormatOptions::new(FileType::Csv))?))
    };
    let Some(option) = option else { return unsaid(SaidFormat::OfStage) };
    let within = match &option.option_value {
        KeyValueOptionKind::KeyValueOptions(within) => within,
        KeyValueOptionKind::Multi(values) if values.is_empty() => return unsaid(SaidFormat::OfStage),
        _ => {
            let others = KeyValueOptions { options: Vec::new(), delimiter: KeyValueOptionsDelimiter::Space };
            return unsaid(SaidFormat::Named { name: word(option)?.to_owned(), others: Box::new(others) });
        }
    };
    let is = |name: &str, option: &KeyValueOption| option.option_name.eq_ignore_ascii_case(name);
    if let Some(place) = within.options.iter().position(|option| is("FORMAT_NAME", option)) {
        let mut others = within.clone();
        let name = word(&others.options.remove(place))?.to_owned();
        return unsaid(SaidFormat::Named { name, others });
    }
    if !within.options.iter().any(|option| is("TYPE", option)) {
        return Err(Error::syntax("FILE_FORMAT = (TYPE = …) is CSV, JSON or PARQUET"));
    }
    Ok((SaidFormat::Whole, FileWriting::of(&FormatOptions::of(within)?)?))
}
