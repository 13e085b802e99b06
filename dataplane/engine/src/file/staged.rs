//! Queries of a file by the signs that its format names, and of records that are whole values.
//!
//! As for files that are loaded, every option of the engine's readers is said: nothing is guessed or left out.

use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::{FileColumn, PARQUET, name, text};
use crate::error::Error;
use crate::session::Session;
use crate::spool::SpoolFile;

/// The column of a record that is one JSON value.
pub const RECORD: &str = "record";

/// How the values of a CSV file are told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvSigns {
    pub delimiter: u8,
    pub quote: Option<u8>,
    /// Before a quote within quotes; a quote that is written twice where there is none.
    pub escape: Option<u8>,
    /// Lines before the first record.
    pub skipped: u64,
    /// Texts that stand for NULL, at least one.
    pub nulls: Vec<String>,
    /// A record may have fewer values than there are columns.
    pub is_padded: bool,
    /// The first record is none, but names the values.
    pub has_header: bool,
}

/// The records of a file, those of them that fail, and the first of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedRecords {
    pub records: u64,
    pub failed: u64,
    pub line: Option<u64>,
    /// The number of what it fails by.
    pub check: Option<usize>,
}

impl SpoolFile {
    /// A query of the rows of a CSV file with these columns, which are all that it has, in their order.
    pub fn csv_rows(&self, signs: &CsvSigns, columns: &[FileColumn]) -> Result<String, Error> {
        let CsvSigns { delimiter, quote, escape, skipped, nulls, is_padded, has_header } = signs;
        let path = self.quoted_path()?;
        let names: Vec<_> = columns.iter().map(|column| name(&column.name)).collect();
        let typed: Vec<_> =
            columns.iter().map(|column| format!("{}: {}", text(&column.name), text(&column.type_name))).collect();
        let sign = |byte: Option<u8>| text(&byte.map(|byte| char::from(byte).to_string()).unwrap_or_default());
        let nulls: Vec<_> = nulls.iter().map(|null| text(null)).collect();
        Ok(format!(
            "select {} from read_csv({path}, columns = {{{}}}, auto_detect = false, header = {has_header}, skip = {skipped}, \
             delim = {}, quote = {}, escape = {}, comment = '', nullstr = [{}], allow_quoted_nulls = false, \
             strict_mode = true, null_padding = {is_padded}, parallel = {}, ignore_errors = false, \
             store_rejects = false, max_line_size = 4194304, encoding = 'utf-8', compression = 'none', \
             hive_partitioning = false, union_by_name = false, filename = false)",
            names.join(", "),
            typed.join(", "),
            sign(Some(*delimiter)),
            sign(*quote),
            sign(escape.or(*quote)),
            nulls.join(", "),
            !is_padded,
        ))
    }

    /// A query of the values of a JSON file, one behind the other or the items of one array, as [`RECORD`].
    pub fn json_records(&self, is_array: bool) -> Result<String, Error> {
        let format = if is_array { "array" } else { "unstructured" };
        Ok(format!(
            "select json as {} from read_json_objects({}, format = '{format}', ignore_errors = false, \
             maximum_object_size = 4194304, compression = 'uncompressed', filename = false)",
            name(RECORD),
            self.quoted_path()?,
        ))
    }

    /// A query of the rows of a Parquet file, with the columns that it has.
    pub fn parquet_table(&self, binary_is_text: bool) -> Result<String, Error> {
        Ok(format!("select * from {}", self.parquet_scan(binary_is_text)?))
    }

    /// A query of the rows of a Parquet file with these of its columns, of which no other is read.
    pub fn parquet_columns(&self, binary_is_text: bool, columns: &[String]) -> Result<String, Error> {
        let names: Vec<_> = columns.iter().map(|column| name(column)).collect();
        Ok(format!("select {} from {}", names.join(", "), self.parquet_scan(binary_is_text)?))
    }

    fn parquet_scan(&self, binary_is_text: bool) -> Result<String, Error> {
        let options = PARQUET.replace("binary_as_string = false", &format!("binary_as_string = {binary_is_text}"));
        Ok(format!("read_parquet({}, {options})", self.quoted_path()?))
    }

    fn quoted_path(&self) -> Result<String, Error> {
        let path = self.path().to_str();
        path.map(text).ok_or_else(|| Error::internal("the folder of files has no name in UTF-8"))
    }
}

/// A query of the rows of another, each one JSON object, as [`RECORD`].
pub fn records_of(rows: &str) -> String {
    format!("select to_json(_sluice_record) as {} from ({rows}) as _sluice_record", name(RECORD))
}

impl Session {
    /// The names that the objects of a query of JSON records have, each once.
    pub async fn record_keys(
        &mut self,
        records: &str,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Vec<String>, Error> {
        let keys = format!("select unnest(json_keys({})) as key from ({records}) as records", name(RECORD));
        let sql = format!("select cast(to_json(coalesce(list(distinct key), [])) as varchar) from ({keys}) as keys");
        let told = self.one_text(sql, deadline, cancel).await?;
        serde_json::from_str(&told).map_err(Error::internal)
    }

    /// The texts of the first record of a query of columns, without the NULLs at its end.
    pub async fn first_texts(
        &mut self,
        rows: &str,
        columns: &[FileColumn],
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Vec<String>, Error> {
        let texts: Vec<_> = columns.iter().map(|column| name(&column.name)).collect();
        let texts = texts.join(", ");
        let sql = format!("select cast(to_json([{texts}]) as varchar) from ({rows} limit 1) as records");
        let told = self.one_text(sql, deadline, cancel).await?;
        let mut told: Vec<Option<String>> = serde_json::from_str(&told).map_err(Error::internal)?;
        while told.pop_if(|last| last.is_none()).is_some() {}
        Ok(told.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// How many rows of a query fail, which have a number in `fault`, and the first of them by `line`.
    ///
    /// Where it `reads_all`, each value is read, so that a broken file is found.
    pub async fn failed_records(
        &mut self,
        judged: &str,
        reads_all: bool,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<FailedRecords, Error> {
        let first = "filter (where fault is not null)";
        let told = format!("[count(*), count(fault), min(line) {first}, arg_min(fault, line) {first}]");
        let all = if reads_all { ", bit_xor(hash(_sluice_judged))" } else { "" };
        let sql = format!("select cast(to_json({told}) as varchar){all} from ({judged}) as _sluice_judged");
        let told = self.one_text(sql, deadline, cancel).await?;
        let (records, failed, line, check) = serde_json::from_str(&told).map_err(Error::internal)?;
        Ok(FailedRecords { records, failed, line, check })
    }

    /// The rows of such a query that fail, the first of them by `line`, each with its number in `fault`.
    pub async fn failures(
        &mut self,
        judged: &str,
        most: usize,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Vec<(u64, usize)>, Error> {
        let first = format!(
            "select line, fault from ({judged}) as _sluice_judged where fault is not null order by line limit {most}"
        );
        let told = "coalesce(list([line, fault] order by line), [])";
        let sql = format!("select cast(to_json({told}) as varchar) from ({first}) as _sluice_failed");
        let told = self.one_text(sql, deadline, cancel).await?;
        serde_json::from_str(&told).map_err(Error::internal)
    }

    /// How many rows a query has.
    pub async fn row_count(&mut self, rows: &str, deadline: Instant, cancel: &CancellationToken) -> Result<u64, Error> {
        let sql = format!("select cast(count(*) as varchar) from ({rows}) as records");
        self.one_text(sql, deadline, cancel).await?.parse().map_err(Error::internal)
    }
}
