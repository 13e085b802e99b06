//! The answer of `INFER_SCHEMA`: the columns that they have, of types that hold all of their values.

mod column_kind;

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use engine::{CsvSigns, FileFault, Statement, ValueForm};
use sql::ast::quote;
use sql::{CsvRecords, FileRecords, InferOptions};

use super::columns;
use super::parquet_source::ParquetAhead;
use super::records::RecordScan;
use super::source::{FileSource, refused};
use crate::Error;
use crate::pipeline::Result;
use crate::storage::stage_files::parquet_parts::required_columns;
use crate::storage::stage_files::{StageFile, blocking};

use column_kind::ColumnKind;

/// Columns that a file may have.
const COLUMNS_MAX: usize = 1_600;
/// Bytes that the names in an answer may have.
const NAMES_BYTES_MAX: usize = 16 << 20;
/// Bytes that a column counts as besides its names: very many may have short ones.
const COLUMN_BYTES: usize = 200;

/// The columns of one file, in its order.
type FileKinds = Vec<FileKind>;

/// A column of one file.
struct FileKind {
    name: String,
    kind: ColumnKind,
    nullable: bool,
}

impl FileSource<'_> {
    /// Fills the table with a row for each column of these files.
    pub async fn infer(&mut self, files: &[StageFile], options: InferOptions) -> Result<()> {
        let mut found = InferredColumns { options, places: HashMap::new(), columns: Vec::new(), bytes: 0, files: 0 };
        let rows = self.rows;
        for file in files {
            let kinds = match &rows.reading.records {
                FileRecords::Csv(signs) => Box::pin(self.csv_kinds(file, signs, options)).await?,
                FileRecords::Json { is_array } => Box::pin(self.json_kinds(file, *is_array, options)).await?,
                FileRecords::Parquet { binary_is_text } => Box::pin(self.parquet_kinds(file, *binary_is_text)).await?,
            };
            found.add(file, kinds)?;
        }
        if found.columns.is_empty() {
            return Ok(());
        }
        let statement = Statement { sql: found.written(&rows.place()), params: Vec::new(), writes: true };
        let ran = self.session.run(statement, self.query.deadline, &self.query.ask.cancel).await;
        ran.map(drop).map_err(|error| self.query.fault(error))
    }

    async fn csv_kinds(&mut self, file: &StageFile, signs: &CsvRecords, options: InferOptions) -> Result<FileKinds> {
        let mut scan = RecordScan::new(signs);
        let spool = self.csv_spooled((file, signs), |part| scan.take(&part).map(|()| part)).await?;
        let totals = scan.end().map_err(|fault| refused(file, fault))?;
        if totals.records == 0 {
            return Ok(Vec::new());
        }
        let CsvRecords { delimiter, quote, escape, skipped, nulls, has_header, .. } = signs.clone();
        let signs = CsvSigns { delimiter, quote, escape, skipped, nulls, is_padded: true, has_header };
        let texts = columns::numbered(totals.values);
        let (deadline, cancel, staged) = (self.query.deadline, &self.query.ask.cancel, self.rows);
        let by_format = |kind: &str, value: &str| staged.formatted(value, kind);
        let mut header = Vec::new();
        if has_header {
            let first = CsvSigns { has_header: false, ..signs.clone() };
            let rows = spool.csv_rows(&first, &texts).map_err(|error| self.query.fault(error))?;
            let told = self.session.first_texts(&rows, &texts, deadline, cancel).await;
            header = told.map_err(|error| self.fault(file, error))?;
        }
        let names = headed(file, &header, totals.values)?;
        let mut forms = Vec::new();
        if totals.records > u64::from(has_header) {
            let rows = spool.csv_rows(&signs, &texts).map_err(|error| self.query.fault(error))?;
            let each: Vec<String> = texts.into_iter().map(|column| column.name).collect();
            let rows = columns::limited(rows, options.records_max);
            let told = self.session.text_forms(&rows, &each, &by_format, deadline, cancel).await;
            forms = told.map_err(|error| self.fault(file, error))?;
        }
        Ok(named(names, &forms))
    }

    async fn json_kinds(&mut self, file: &StageFile, is_array: bool, options: InferOptions) -> Result<FileKinds> {
        let spool = self.json_spooled(file, is_array).await?;
        if spool.bytes() == 0 {
            return Ok(Vec::new());
        }
        let records = spool.json_records(is_array).map_err(|error| self.query.fault(error))?;
        let records = columns::limited(records, options.records_max);
        let (deadline, cancel, staged) = (self.query.deadline, &self.query.ask.cancel, self.rows);
        let by_format = |kind: &str, value: &str| staged.formatted(value, kind);
        let keys = self.session.ordered_keys(&records, COLUMNS_MAX + 1, deadline, cancel).await;
        let keys = keys.map_err(|error| self.fault(file, error))?;
        bounded(file, keys.len())?;
        let forms = self.session.member_forms(&records, &keys, &by_format, deadline, cancel).await;
        let forms = forms.map_err(|error| self.fault(file, error))?;
        Ok(named(keys, &forms))
    }

    async fn parquet_kinds(&mut self, file: &StageFile, binary_is_text: bool) -> Result<FileKinds> {
        let mut alone = ParquetAhead::of(self.parquet_source()?, std::slice::from_ref(file));
        let spool = self.parquet_spool(&mut alone).await?;
        let table = spool.parquet_table(binary_is_text).map_err(|error| self.query.fault(error))?;
        let described = self.session.describe(&table, self.query.deadline, &self.query.ask.cancel).await;
        let described = described.map_err(|error| self.fault(file, error))?;
        bounded(file, described.columns.len())?;
        let written = spool.reader().await.map_err(|error| self.query.fault(error))?;
        // what no file of ours has may stop the library that looks at it
        let required = blocking(move || Ok(required_columns(&written))).await.unwrap_or_default().unwrap_or_default();
        let kind = |column: engine::Column| {
            let (kind, nullable) = (ColumnKind::of_type(&column.type_name), !required.contains(&column.name));
            FileKind { name: column.name, kind, nullable }
        };
        Ok(described.columns.into_iter().map(kind).collect())
    }
}

/// The names of so many values of CSV: those of its header, and `c1` and so on where it has none.
fn headed(file: &StageFile, header: &[String], count: usize) -> Result<Vec<String>> {
    let name = |place: usize| match header.get(place) {
        Some(name) if !name.is_empty() => name.clone(),
        _ => format!("c{}", place + 1),
    };
    let names: Vec<String> = (0..count).map(name).collect();
    let twice = {
        let mut met = HashSet::new();
        names.iter().find(|name| !met.insert(name.as_str())).cloned()
    };
    match twice {
        Some(twice) => {
            let reason = format!("its header names the column {twice} twice");
            Err(refused(file, FileFault { line: None, reason }))
        }
        None => Ok(names),
    }
}

fn bounded(file: &StageFile, count: usize) -> Result<()> {
    if count <= COLUMNS_MAX {
        return Ok(());
    }
    Err(refused(file, FileFault { line: None, reason: format!("it has more than {COLUMNS_MAX} columns") }))
}

fn named(names: Vec<String>, forms: &[ValueForm]) -> FileKinds {
    let kinds = forms.iter().map(ColumnKind::of_form).chain(std::iter::repeat(ColumnKind::Empty));
    names.into_iter().zip(kinds).map(|(name, kind)| FileKind { name, kind, nullable: true }).collect()
}

/// The columns of all files, in the order in which they are met.
struct InferredColumns {
    options: InferOptions,
    places: HashMap<String, usize>,
    columns: Vec<InferredColumn>,
    /// Of all names together.
    bytes: usize,
    /// How many there are.
    files: usize,
}

struct InferredColumn {
    name: String,
    kind: ColumnKind,
    nullable: bool,
    files: Vec<String>,
}

impl InferredColumns {
    fn add(&mut self, file: &StageFile, kinds: FileKinds) -> Result<()> {
        self.files += 1;
        for FileKind { name, kind, nullable } in kinds {
            if name.contains('\0') {
                let reason = "the name of a column has a zero character".to_owned();
                return Err(refused(file, FileFault { line: None, reason }));
            }
            let name = if self.options.ignores_case { name.to_uppercase() } else { name };
            self.bytes += name.len() + file.path.len();
            if self.bytes > NAMES_BYTES_MAX {
                let message = "the files have more columns than can be told: say MAX_FILE_COUNT".to_owned();
                return Err(Error::InvalidParams { field: "MAX_FILE_COUNT", message });
            }
            let place = *self.places.entry(name.clone()).or_insert(self.columns.len());
            let Some(known) = self.columns.get_mut(place) else {
                self.bytes += COLUMN_BYTES;
                self.columns.push(InferredColumn { name, kind, nullable, files: vec![file.path.clone()] });
                continue;
            };
            known.kind = known.kind.joined(kind);
            known.nullable |= nullable;
            if known.files.last() != Some(&file.path) {
                known.files.push(file.path.clone());
            }
        }
        Ok(())
    }

    /// What writes their rows into a table.
    fn written(&self, table: &str) -> String {
        let mut sql = format!("insert into {table} values ");
        for (place, column) in self.columns.iter().enumerate() {
            let InferredColumn { name, kind, nullable, files } = column;
            let nullable = *nullable || files.len() < self.files; // one that a file has not is NULL for its rows
            let (type_name, between) = (kind.to_string(), if place == 0 { "" } else { ", " });
            let expression = self.expression(name, &type_name);
            let texts = [type_name, expression, files.join(", ")].map(|told| quote::text(&told));
            let [type_name, expression, files] = texts;
            let name = quote::text(name);
            let _ = write!(sql, "{between}({name}, {type_name}, {nullable}, {expression}, {files}, {place})");
        }
        sql
    }

    /// The column in a query of the stage, as the warehouse writes it.
    fn expression(&self, name: &str, type_name: &str) -> String {
        let name = if quote::is_plain(name) { name.to_owned() } else { quote::name(name) };
        if self.options.ignores_case {
            format!("GET_IGNORE_CASE ($1, {name})::{type_name}")
        } else {
            format!("$1:{name}::{type_name}")
        }
    }
}
