//! Files of a stage that a statement reads: which ones, how, and as what columns of which rows.

use sqlparser::tokenizer::Location;

use crate::ast::{names, quote};
use crate::catalog::external_rows::ExternalRows;
use crate::catalog::file_reading::{FileReading, FileRecords};
use crate::catalog::own_stage;
use crate::catalog::past_load::{LoadJob, PastFile};
use crate::catalog::stage::StageFormat;
use crate::catalog::stage_location::StageLocation;
use crate::catalog::table::{Column, Table};

/// The path of its file, for each row that is selected.
pub const FILE_NAME: &str = "METADATA$FILENAME";
/// The number of a row in its file, from 1.
pub const ROW_NUMBER: &str = "METADATA$FILE_ROW_NUMBER";
/// What another content of its file would not have.
pub const CONTENT_KEY: &str = "METADATA$FILE_CONTENT_KEY";
/// When its file was put there.
pub const LAST_MODIFIED: &str = "METADATA$FILE_LAST_MODIFIED";
/// When its file was begun to be read.
pub const SCAN_TIME: &str = "METADATA$START_SCAN_TIME";

/// Name and type of the columns over a row's file, which are there where a statement names them.
pub(crate) const FILE_FACTS: [(&str, &str); 3] =
    [(CONTENT_KEY, "VARCHAR"), (LAST_MODIFIED, "TIMESTAMP"), (SCAN_TIME, "TIMESTAMP WITH TIME ZONE")];

/// A column of the table that a load fills with what is known of a record's file, whatever that has for the column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataColumn {
    pub column: String,
    /// `METADATA$FILENAME`, or another of these.
    pub value: &'static str,
}

/// What is known of a record's file, by its name in any case.
pub(crate) fn metadata_named(name: &str) -> Option<&'static str> {
    let facts = FILE_FACTS.into_iter().map(|(fact, _)| fact);
    [FILE_NAME, ROW_NUMBER].into_iter().chain(facts).find(|known| known.eq_ignore_ascii_case(name))
}

/// A place in a statement where files of a stage are read, before its names are bound.
#[derive(Debug, Clone)]
pub(crate) struct StageRead {
    /// Where the stage's name stands, which tells the place from others.
    pub at: Location,
    pub chosen: FileChoice,
    /// In place of the stage's own.
    pub format: Option<StageFormat>,
    /// `$1` to `$n` are the columns that the statement names.
    pub width: usize,
    /// The members of `$1` that it names, if it reads no more of it.
    pub members: Option<Vec<String>>,
    /// Set where COPY INTO loads them.
    pub load: Option<LoadOptions>,
    /// What COPY INTO fills with other than the files' values.
    pub metadata: Vec<MetadataColumn>,
    /// Set where `INFER_SCHEMA` asks for their columns.
    pub infers: Option<InferOptions>,
    /// Set where `VALIDATE` asks for what an earlier load could not load: then `at` is the place of its table.
    pub job: Option<LoadJob>,
}

/// Which of a stage's files are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileChoice {
    /// How their paths begin.
    pub prefix: String,
    /// Those that are named, behind the prefix; all where none is.
    pub names: Vec<String>,
    /// A regular expression that the whole path matches.
    pub pattern: Option<String>,
}

/// The options of `INFER_SCHEMA` besides its files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InferOptions {
    /// Columns whose names differ in case alone are one, with its name in upper case.
    pub ignores_case: bool,
    /// Files that are read at most.
    pub files_max: Option<usize>,
    /// Records of a file that are read at most, of CSV and JSON.
    pub records_max: Option<u64>,
}

/// The options of COPY INTO for loading.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LoadOptions {
    pub by_name: Option<NameMatching>,
    pub on_error: OnError,
    /// Files are loaded that were loaded before.
    pub forces: bool,
    /// A query makes the rows of their records.
    pub transforms: bool,
    /// A text that is longer than its column holds is cut.
    pub truncates: bool,
    pub after: AfterLoad,
    pub told: ToldFiles,
    /// No file begins once those before it have more bytes together.
    pub size_limit: Option<u64>,
    /// Nothing is loaded: the answer tells of each record that fails, or shows the first ones.
    pub validates: Option<ValidatedFiles>,
}

impl LoadOptions {
    /// Whether records are looked at one by one before they are loaded: the texts of a query are cut by itself.
    pub fn judges(self) -> bool {
        (self.truncates && !self.transforms) || self.on_error != OnError::Abort || self.validates.is_some()
    }

    /// Whether each record that fails is told.
    pub fn tells_faults(self) -> bool {
        matches!(self.validates, Some(ValidatedFiles::Unloaded | ValidatedFiles::All))
    }

    /// So many records are shown in place of being loaded.
    pub fn shows(self) -> Option<u64> {
        match self.validates {
            Some(ValidatedFiles::First(count)) => Some(count),
            Some(ValidatedFiles::Unloaded | ValidatedFiles::All) | None => None,
        }
    }

    /// The same once so many records are shown.
    pub fn behind(self, shown: u64) -> Self {
        let rest = self.shows().map(|count| ValidatedFiles::First(count.saturating_sub(shown)));
        Self { validates: rest.or(self.validates), ..self }
    }

    /// Whether files are removed that are loaded.
    pub fn removes(self) -> bool {
        self.after == AfterLoad::Removed && self.validates.is_none()
    }

    /// Whether files are read that were loaded before.
    pub fn reads_loaded(self) -> bool {
        self.forces || self.validates == Some(ValidatedFiles::All)
    }
}

/// The fate of a file all of whose records are loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AfterLoad {
    #[default]
    Stays,
    Removed,
}

/// The files whose records are only looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValidatedFiles {
    /// Those that would be loaded.
    Unloaded,
    All,
    /// The same as far as their first so many records, which are shown.
    First(u64),
}

/// The files that COPY INTO answers a row for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToldFiles {
    #[default]
    All,
    /// Those of which a record has failed.
    Failed,
}

/// How COPY INTO goes on at a record that cannot be loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnError {
    /// Nothing is loaded.
    #[default]
    Abort,
    /// The others of its file are loaded.
    Continue,
    /// Nothing of its file is loaded once there are so many.
    SkipFile(ErrorLimit),
}

/// How many records of a file may fail before the file is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorLimit {
    /// Fewer than these.
    Count(u64),
    /// So many of a hundred.
    Percent(u64),
}

impl OnError {
    /// So many records that fail are too many, in a file of so many.
    pub fn limit(self, records: u64) -> u64 {
        match self {
            Self::Abort => 1,
            Self::Continue => records.max(1),
            Self::SkipFile(ErrorLimit::Count(count)) => count,
            Self::SkipFile(ErrorLimit::Percent(percent)) => records.saturating_mul(percent) / 100 + 1,
        }
    }
}

/// How names in a file are those of columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameMatching {
    CaseSensitive,
    CaseInsensitive,
}

/// The files of a stage as a bound statement reads them: as the rows of a table that is filled before it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedRows {
    pub schema: String,
    /// The stage's name, as trees and policies have it.
    pub name: String,
    /// The same as it was written.
    pub called: String,
    /// The folder of its files.
    pub stage_id: String,
    /// Where they are instead, of an external stage.
    pub location: Option<StageLocation>,
    pub chosen: FileChoice,
    pub reading: FileReading,
    /// The engine's name of the temporary table.
    pub kept_as: String,
    pub columns: Vec<Column>,
    /// Those of the table that they are loaded into, in the same order.
    pub filled: Vec<Column>,
    /// The members of `$1` that are read; none where all are.
    pub members: Option<Vec<String>>,
    pub load: Option<LoadOptions>,
    /// Those of its columns that hold what is known of the files.
    pub metadata: Vec<MetadataColumn>,
    /// Set where its rows tell of the files' columns.
    pub infers: Option<InferOptions>,
    /// What stands behind the table that they are loaded into, in our words; none where a query makes the rows.
    pub said: Option<String>,
    /// Set where its rows tell of the records that an earlier load could not load.
    pub past: Option<PastRows>,
    /// Set where an external table is made of them.
    pub external: Option<ExternalRows>,
}

/// Files of an earlier load, and how that load has read them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastRows {
    pub rows: Box<StagedRows>,
    pub files: Vec<PastFile>,
}

impl StagedRows {
    /// What names and policies know it as.
    pub(crate) fn table(&self) -> Table {
        Table::new(&self.schema, &self.name, self.columns.clone()).kept_as(&self.kept_as)
    }

    /// Whether its columns are `$1` and so on, and not those of a table or of an answer.
    pub fn selects(&self) -> bool {
        self.infers.is_none() && self.past.is_none() && self.load.is_none_or(|load| load.transforms)
    }

    /// How many of its columns are of a record: those behind them say of which file a selected row is.
    pub fn width(&self) -> usize {
        let is_of_file = |column: &&Column| {
            let name = column.name.as_str();
            [FILE_NAME, ROW_NUMBER].contains(&name) || FILE_FACTS.iter().any(|(fact, _)| *fact == name)
        };
        self.columns.len() - self.columns.iter().rev().take_while(is_of_file).count()
    }

    /// Whether its rows tell of their files more than their names.
    pub fn tells_facts(&self) -> bool {
        let is_fact = |column: &Column| FILE_FACTS.iter().any(|(fact, _)| *fact == column.name);
        self.selects() && self.columns.iter().any(is_fact)
    }

    /// The load whose records are looked at one by one before they are loaded.
    pub fn judged(&self) -> Option<LoadOptions> {
        self.load.filter(|load| load.judges() || self.has_formats())
    }

    /// Whether a text of its files becomes a value by a format.
    pub fn has_formats(&self) -> bool {
        self.columns.iter().any(|column| self.formatted("", &column.type_name).is_some())
    }

    /// The expression of a text of its files as a value of this type; nothing where the engine's cast reads it.
    pub fn formatted(&self, text: &str, type_name: &str) -> Option<String> {
        let is_text = !matches!(self.reading.records, FileRecords::Parquet { .. });
        is_text.then(|| self.reading.texts.expression(text, type_name)).flatten()
    }

    /// A file of it as LIST tells it: with the stage's name before its path, unless it is an own stage.
    pub fn named(&self, path: &str) -> String {
        own_stage::listed(&self.called, path)
    }

    /// The engine's full name of the temporary table.
    pub fn place(&self) -> String {
        [names::TEMP_CATALOG, names::TEMP_SCHEMA, self.kept_as.as_str()].map(quote::name).join(".")
    }

    /// A query of the temporary table.
    pub fn shown(&self) -> String {
        format!("SELECT * FROM {}", self.place())
    }

    /// What makes the temporary table, without rows.
    pub fn made(&self) -> String {
        let column = |column: &Column| format!("{} {}", quote::name(&column.name), column.type_name);
        let columns: Vec<_> = self.columns.iter().map(column).collect();
        format!("CREATE OR REPLACE TEMP TABLE {} ({})", self.place(), columns.join(", "))
    }

    /// The name by which policies and the log know the rows: that of an external table, else the stage's.
    pub fn known_as(&self) -> String {
        self.external.as_ref().map_or_else(|| self.path(), ExternalRows::path)
    }

    /// `schema.@stage`.
    pub fn path(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }
}
