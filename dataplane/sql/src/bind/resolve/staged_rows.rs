//! A stage that is read: its files become a table of the statement, with the columns that are asked for.
//!
//! Its name is that of the stage, so policies and grants judge it as they judge a table.

mod truncated;

use sqlparser::ast::{ObjectName, Statement, TableAlias, TableFactor};

use super::external::{Conditions, conditions};
use super::{Binder, alias_as_named, located, past_load};
use crate::ast::error::{Error, ErrorKind};
use crate::ast::names::{self, ours};
use crate::catalog::definition::Definition;
use crate::catalog::file_format::FormatOptions;
use crate::catalog::file_reading::{FileReading, FileRecords};
use crate::catalog::stage::{Stage, StageFormat};
use crate::catalog::staged_rows::{
    FILE_FACTS, FILE_NAME, LoadOptions, MetadataColumn, ROW_NUMBER, StageRead, StagedRows,
};
use crate::catalog::table::{Column, Table};
use crate::catalog::tables::Catalog;
use crate::dialect::text_by_format;
use crate::functions::types::Type;
use crate::scan::marker::{self, Marked};

const TEXT: &str = "VARCHAR";
const JSON: &str = "JSON";

/// The columns that `INFER_SCHEMA` answers.
const INFERRED: [(&str, &str); 6] = [
    ("COLUMN_NAME", TEXT),
    ("TYPE", TEXT),
    ("NULLABLE", "BOOLEAN"),
    ("EXPRESSION", TEXT),
    ("FILENAMES", TEXT),
    ("ORDER_ID", "BIGINT"),
];

/// The stages of a statement, and what was found of them.
#[derive(Debug, Default)]
pub(super) struct StageBinding {
    pub(super) reads: Vec<StageRead>,
    /// The columns that COPY INTO fills.
    filled: Vec<Column>,
    /// Whether COPY INTO names them.
    are_listed: bool,
    pub(super) rows: Vec<StagedRows>,
    /// By which files of external tables may be left out.
    pub(super) conditions: Conditions,
    /// Columns over the files themselves that it may name.
    facts: Vec<(&'static str, &'static str)>,
    /// The statement makes a view, which keeps the names of external tables.
    pub(super) makes_view: bool,
}

impl StageBinding {
    /// Of a statement whose query cuts its texts from now on, where it says so.
    pub fn new(
        reads: Vec<StageRead>,
        target: Option<&Table>,
        tree: &mut Statement,
        catalog: &Catalog,
    ) -> Result<Self, Error> {
        let mut binding = Self::of(reads, target, tree)?;
        if catalog.has_external_tables() {
            binding.conditions = conditions(tree);
        }
        binding.truncate(tree)?;
        Ok(binding)
    }

    fn of(reads: Vec<StageRead>, target: Option<&Table>, tree: &Statement) -> Result<Self, Error> {
        let makes_view = matches!(tree, Statement::CreateView(_));
        let facts = facts_named(&reads, tree);
        let mut binding = Self { reads, facts, makes_view, ..Self::default() };
        let loads = binding.reads.iter().any(|read| read.load.is_some());
        let (Some(table), Statement::Insert(insert)) = (target.filter(|_| loads), tree) else { return Ok(binding) };
        binding.are_listed = !insert.columns.is_empty();
        if !binding.are_listed {
            binding.filled.clone_from(&table.columns);
            return Ok(binding);
        }
        for name in &insert.columns {
            let column = names::single(name).ok_or_else(|| Error::unsupported("a path as a column of COPY INTO"))?;
            let found = table.column(&column.value);
            let missing = || Error::no_column(&table.path(), &column.value).at(column.span.start);
            binding.filled.push(found.ok_or_else(missing)?.clone());
        }
        Ok(binding)
    }

    pub fn into_rows(self) -> Vec<StagedRows> {
        self.rows
    }

    /// Columns that are filled with what is known of a file, as the table calls them.
    fn included(&self, metadata: Vec<MetadataColumn>) -> Result<Vec<MetadataColumn>, Error> {
        let own = |one: MetadataColumn| {
            let found = self.filled.iter().find(|column| column.name.eq_ignore_ascii_case(&one.column));
            let missing = || Error::syntax(format!("INCLUDE_METADATA names no column of the table: {}", one.column));
            let column = found.ok_or_else(missing)?.name.clone();
            Ok(MetadataColumn { column, ..one })
        };
        metadata.into_iter().map(own).collect()
    }

    /// The columns that a file has for those of the table.
    fn loaded(&self, load: LoadOptions, reading: &FileReading) -> Result<Vec<Column>, Error> {
        let is_csv = matches!(reading.records, FileRecords::Csv(_));
        match load.by_name {
            Some(_) if is_csv && !has_header(reading) => {
                return Err(Error::unsupported("MATCH_BY_COLUMN_NAME of a CSV file without PARSE_HEADER"));
            }
            Some(_) if self.are_listed => {
                return Err(Error::syntax("MATCH_BY_COLUMN_NAME stands without a list of columns"));
            }
            None if !is_csv && self.filled.iter().map(Column::family).ne([Type::Json]) => {
                let construct = "COPY INTO of whole records into other than one VARIANT column".to_owned();
                let message = format!("{construct} is not supported: say MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE");
                return Err(Error::new(ErrorKind::Unsupported { construct }, message));
            }
            _ => {}
        }
        if load.by_name.is_some() && !is_csv {
            reading.named.suit(&self.filled)?;
        }
        Ok(self.filled.iter().map(|column| Column::new(&column.name, read_as(&column.type_name))).collect())
    }
}

/// The columns over files that a statement may name: a literal that has such a name in it adds one that nothing reads.
fn facts_named(reads: &[StageRead], tree: &Statement) -> Vec<(&'static str, &'static str)> {
    if reads.is_empty() {
        return Vec::new();
    }
    let text = tree.to_string().to_ascii_uppercase();
    FILE_FACTS.into_iter().filter(|(name, _)| text.contains(*name)).collect()
}

/// Refuses a format of texts where a query reads them as they are.
pub(super) fn are_plain(reading: &FileReading) -> Result<(), Error> {
    let (true, Some(option)) = (matches!(reading.records, FileRecords::Csv(_)), reading.texts.said) else {
        return Ok(());
    };
    let construct = format!("{option} of a query of files");
    let message =
        format!("{construct} is not supported: its values are texts, which TO_DATE and others read by a format");
    Err(Error::new(ErrorKind::Unsupported { construct }, message))
}

pub(super) fn has_header(reading: &FileReading) -> bool {
    matches!(&reading.records, FileRecords::Csv(csv) if csv.has_header)
}

/// The type that a value of a file is read as for a column of this type.
fn read_as(type_name: &str) -> &str {
    match Type::of_name(type_name) {
        Type::Blob => "BLOB",
        Type::Decimal | Type::Json | Type::Uuid | Type::Interval => type_name,
        Type::Timestamp => "TIMESTAMP",
        Type::Boolean | Type::Integer | Type::Double | Type::Date | Type::Time | Type::TimestampTz => {
            if type_name.contains('(') { TEXT } else { type_name }
        }
        // what is not plain the engine makes of the text, as it does of an INSERT
        Type::Text | Type::List | Type::Struct | Type::Map | Type::Unknown => TEXT,
    }
}

/// `$1` and so on, and where each row is from: the number of its record last.
fn selected(width: usize, reading: &FileReading, facts: &[(&'static str, &'static str)]) -> Vec<Column> {
    let type_name = if matches!(reading.records, FileRecords::Csv(_)) { TEXT } else { JSON };
    let columns = (1..=width).map(|number| Column::new(format!("${number}"), type_name));
    let facts = facts.iter().map(|(name, type_name)| Column::new(*name, *type_name));
    columns.chain(facts).chain([Column::new(FILE_NAME, TEXT), Column::new(ROW_NUMBER, "BIGINT")]).collect()
}

impl Binder<'_> {
    /// What stands for a stage's name.
    pub(super) fn staged_rows(&mut self, factor: &mut TableFactor) -> Result<(), Error> {
        let TableFactor::Table { name, alias, version, .. } = factor else { return Ok(()) };
        if self.is_in_view() {
            return Err(located(Error::unsupported("a stage in a view"), name));
        }
        if version.is_some() {
            return Err(Error::unsupported("time travel (AT, BEFORE)"));
        }
        let at = names::last(name).map(|last| last.span.start);
        let found = self.stages.reads.iter().enumerate().find(|(_, read)| Some(read.at) == at);
        let Some((number, read)) = found.map(|(number, read)| (number, read.clone())) else {
            return Err(located(Error::unsupported("a stage here"), name));
        };
        let stage = self.staged_named(name)?;
        let rows = self.rows_of(&stage, number, read).map_err(|error| located(error, name))?;
        self.reads_rows(rows, name, alias);
        Ok(())
    }

    /// The name becomes a scan of these rows, and stays their alias.
    pub(super) fn reads_rows(&mut self, rows: StagedRows, name: &mut ObjectName, alias: &mut Option<TableAlias>) {
        self.references.push(std::sync::Arc::new(rows.table()));
        if !self.stages.rows.iter().any(|known| known.kept_as == rows.kept_as) {
            self.stages.rows.push(rows);
        }
        alias_as_named(name, alias);
        *name = marker::name(Marked::Scan(self.references.len() - 1));
    }

    fn rows_of(&self, stage: &Definition, number: usize, read: StageRead) -> Result<StagedRows, Error> {
        let Stage { id, format, location } = stage.stage()?;
        let format = self.format_of(read.format.unwrap_or(format))?;
        let reading = FileReading::of(&format, text_by_format)?;
        if read.infers.is_none() && read.load.is_none_or(|load| load.transforms) {
            are_plain(&reading)?;
        }
        if has_header(&reading) && read.infers.is_none() && read.load.is_none_or(|load| load.by_name.is_none()) {
            return Err(Error::unsupported("PARSE_HEADER without MATCH_BY_COLUMN_NAME"));
        }
        let (columns, filled) = match (read.infers, read.load) {
            (Some(_), _) => (INFERRED.map(|(column, type_name)| Column::new(column, type_name)).to_vec(), Vec::new()),
            (None, Some(load)) if !load.transforms => (self.stages.loaded(load, &reading)?, self.stages.filled.clone()),
            (None, _) => (selected(read.width, &reading, &self.stages.facts), Vec::new()),
        };
        let metadata = self.stages.included(read.metadata)?;
        let said = past_load::said((stage, &format), (&filled, &metadata), read.load);
        Ok(StagedRows {
            schema: stage.schema.clone(),
            name: stage.name.clone(),
            called: stage.called().to_owned(),
            stage_id: id,
            location,
            chosen: read.chosen,
            reading,
            kept_as: ours::staged(number),
            columns,
            filled,
            members: read.members,
            load: read.load,
            metadata,
            infers: read.infers,
            said,
            past: None,
            external: None,
        })
    }

    pub(super) fn format_of(&self, format: StageFormat) -> Result<FormatOptions, Error> {
        format.options(self.catalog, self.session)
    }
}

#[cfg(test)]
mod tests;
