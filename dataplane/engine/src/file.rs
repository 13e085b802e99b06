//! Reading a file of the spool: its columns, its rows, and what is wrong with it.
//!
//! Every option of the engine's readers is said here, so that nothing of a file is guessed or left out in silence: no
//! line is skipped, no error ignored, no column made up. The types of CSV are told by all of its values, not by its
//! first ones.

mod fault;
mod inferred;
mod staged;
mod types;

use std::time::Instant;

use arrow::array::{Array, AsArray};
use tokio_util::sync::CancellationToken;

use crate::error::{Error, Kind};
use crate::session::{Outcome, Session, Statement};
use crate::spool::SpoolFile;

pub use fault::FileFault;
pub use inferred::ValueForm;
pub use staged::{CsvSigns, FailedRecords, RECORD, records_of};
pub use types::plain_type;

/// A record of a file: a line of CSV or of JSON. What is longer must not be given to the engine, whose reader may
/// leave it out.
pub const RECORD_BYTES_MAX: usize = 4 << 20;

/// How the rows of a file are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// As RFC 4180 has it, with a header.
    Csv,
    /// An object a line.
    JsonLines,
    Parquet,
}

/// A column of a file, with the engine's name of the type that it is read as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileColumn {
    pub name: String,
    pub type_name: String,
}

impl SpoolFile {
    /// A query of its rows with these columns, which for CSV are all that it has, in their order.
    pub fn query(&self, format: FileFormat, columns: &[FileColumn]) -> Result<String, Error> {
        let path = self.path().to_str().ok_or_else(|| Error::internal("the folder of files has no name in UTF-8"))?;
        let path = text(path);
        let names: Vec<_> = columns.iter().map(|column| name(&column.name)).collect();
        let names = names.join(", ");
        let typed: Vec<_> =
            columns.iter().map(|column| format!("{}: {}", text(&column.name), text(&column.type_name))).collect();
        let typed = typed.join(", ");
        Ok(match format {
            FileFormat::Csv => format!("select {names} from read_csv({path}, columns = {{{typed}}}, {CSV})"),
            FileFormat::JsonLines => {
                format!("select {names} from read_json({path}, columns = {{{typed}}}, auto_detect = false, {JSON})")
            }
            FileFormat::Parquet => {
                let cast =
                    |column: &FileColumn| format!("cast({0} as {1}) as {0}", name(&column.name), column.type_name);
                let columns: Vec<_> = columns.iter().map(cast).collect();
                format!("select {} from read_parquet({path}, {PARQUET})", columns.join(", "))
            }
        })
    }

    /// A query whose columns are those of the file, where the file says them itself.
    fn described(&self, format: FileFormat) -> Result<String, Error> {
        let path = self.path().to_str().ok_or_else(|| Error::internal("the folder of files has no name in UTF-8"))?;
        let path = text(path);
        match format {
            FileFormat::JsonLines => Ok(format!(
                "select * from read_json({path}, auto_detect = true, sample_size = -1, maximum_depth = 3, {JSON})"
            )),
            FileFormat::Parquet => Ok(format!("select * from read_parquet({path}, {PARQUET})")),
            FileFormat::Csv => Err(Error::new(Kind::InvalidInput, "CSV says no types")),
        }
    }
}

const CSV: &str = "auto_detect = false, header = true, skip = 0, delim = ',', quote = '\"', escape = '\"', comment = '', \
                   nullstr = '', allow_quoted_nulls = false, strict_mode = true, null_padding = false, \
                   ignore_errors = false, store_rejects = false, max_line_size = 4194304, encoding = 'utf-8', \
                   compression = 'none', hive_partitioning = false, union_by_name = false, filename = false";
const JSON: &str = "format = 'newline_delimited', records = true, ignore_errors = false, \
                    maximum_object_size = 4194304, convert_strings_to_integers = false, compression = 'uncompressed', \
                    hive_partitioning = false, union_by_name = false, filename = false";
const PARQUET: &str = "binary_as_string = false, file_row_number = false, hive_partitioning = false, \
                       union_by_name = false, filename = false";

impl Session {
    /// The columns of a file with types that hold all their values; `header` names those of CSV.
    pub async fn file_columns(
        &mut self,
        (file, format): (&SpoolFile, FileFormat),
        header: &[String],
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Vec<FileColumn>, Error> {
        if format == FileFormat::Csv {
            return self.csv_columns(file, header, deadline, cancel).await;
        }
        let described = self.describe(&file.described(format)?, deadline, cancel).await?;
        let column = |column: crate::Column| FileColumn {
            type_name: plain_type(&column.type_name).unwrap_or_else(|| types::nested(&column.type_name).to_owned()),
            name: column.name,
        };
        Ok(described.columns.into_iter().map(column).collect())
    }

    async fn csv_columns(
        &mut self,
        file: &SpoolFile,
        header: &[String],
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Vec<FileColumn>, Error> {
        let texts: Vec<_> =
            header.iter().map(|name| FileColumn { name: name.clone(), type_name: types::TEXT.to_owned() }).collect();
        let told: Vec<_> = header.iter().map(|column| types::of_texts(&name(column))).collect();
        let rows = file.query(FileFormat::Csv, &texts)?;
        let sql = format!("select cast(to_json([{}]) as varchar) from ({rows}) as texts", told.join(", "));
        let told = self.one_text(sql, deadline, cancel).await?;
        let told: Vec<String> = serde_json::from_str(&told).map_err(Error::internal)?;
        let column = |(column, type_name): (FileColumn, String)| FileColumn { type_name, ..column };
        Ok(texts.into_iter().zip(told).map(column).collect())
    }

    /// Makes the rows of a file a view of this session, which knows it as a temporary table.
    pub async fn open_file(
        &mut self,
        view: &str,
        rows: &str,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<(), Error> {
        let sql = format!("create temp view {} as {rows}", name(view));
        self.keep(Statement { sql, params: Vec::new(), writes: true }, deadline, cancel).await
    }

    async fn one_text(&mut self, sql: String, deadline: Instant, cancel: &CancellationToken) -> Result<String, Error> {
        let unread = || Error::internal("a question about a file has no answer");
        let statement = Statement { sql, params: Vec::new(), writes: false };
        let Outcome::Rows(mut rows) = self.run(statement, deadline, cancel).await? else { return Err(unread()) };
        let batch = rows.next().await.ok_or_else(unread)??;
        rows.finish().await;
        let column = batch.columns().first().ok_or_else(unread)?;
        let texts = column.as_string_opt::<i32>().filter(|texts| !texts.is_empty()).ok_or_else(unread)?;
        Ok(texts.value(0).to_owned())
    }
}

/// `"name"`.
fn name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// `'text'`.
fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
