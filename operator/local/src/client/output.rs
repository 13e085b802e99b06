//! `--output`: one renderer for everything that the platform answers.
//!
//! `json` is the answer as the API gives it, for programs; the three others show its columns. A table is for
//! eyes: what a terminal would obey is written out. An Arrow stream is never written onto a terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::error::ArrowError;
use clap::ValueEnum;
use dataplane::Column;
use dataplane::encode::{arrow_ipc, csv};
use serde_json::Value;

use super::Failure;
use crate::table::table;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    #[default]
    Table,
    Json,
    Csv,
    Arrow,
}

/// The shown answer: some columns of a record or of several, and the answer that they are of.
#[derive(Debug)]
pub struct ShownAnswer {
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
    whole: Value,
    one: bool,
}

/// Members that make the columns, as `name` or `name.of.a.member`, separated by commas.
pub type Columns = &'static str;

impl ShownAnswer {
    pub fn list(records: Vec<Value>, columns: Columns) -> Self {
        let rows = records.iter().map(|record| cells(record, columns)).collect();
        Self { columns: named(columns), rows, whole: Value::Array(records), one: false }
    }

    pub fn record(record: Value, columns: Columns) -> Self {
        Self { columns: named(columns), rows: vec![cells(&record, columns)], whole: record, one: true }
    }

    /// Rows of a query.
    pub fn rows(columns: Vec<String>, rows: Vec<Vec<Value>>) -> Self {
        Self { columns, rows, whole: Value::Null, one: false }
    }

    /// On standard output.
    pub fn show(&self, output: Output) -> Result<(), Failure> {
        output.may_leave()?;
        write(&self.printed(output)?)
    }

    fn printed(&self, output: Output) -> Result<Vec<u8>, Failure> {
        let broken = |error: ArrowError| Failure::Broken(error.to_string());
        Ok(match output {
            Output::Table => self.table().into_bytes(),
            Output::Json => format!("{:#}\n", self.whole).into_bytes(),
            Output::Csv => {
                let column = |name: &String| Column { name: name.clone(), type_name: String::new(), masked: false };
                let mut text = String::new();
                csv::header(&mut text, &self.columns.iter().map(column).collect::<Vec<_>>());
                csv::rows(&mut text, &self.batch().map_err(broken)?);
                text.into_bytes()
            }
            Output::Arrow => self.stream().map_err(broken)?,
        })
    }

    fn table(&self) -> String {
        let cell = |value: &Value| plain(&text(value).unwrap_or_else(|| "-".to_owned()));
        let rows: Vec<Vec<_>> = self.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
        if let ([row], true) = (rows.as_slice(), self.one) {
            let width = self.columns.iter().map(|name| name.chars().count()).max().unwrap_or(0);
            let lines = self.columns.iter().zip(row).map(|(name, cell)| format!("{name:width$}   {cell}\n"));
            return lines.collect();
        }
        let columns: Vec<_> = self.columns.iter().map(|name| plain(name)).collect();
        table(&columns.iter().map(String::as_str).collect::<Vec<_>>(), &rows)
    }

    /// Every column as text.
    fn batch(&self) -> Result<RecordBatch, ArrowError> {
        let fields: Vec<_> = self.columns.iter().map(|name| Field::new(name, DataType::Utf8, true)).collect();
        let column = |place: usize| -> ArrayRef {
            Arc::new(self.rows.iter().map(|row| row.get(place).and_then(text)).collect::<StringArray>())
        };
        RecordBatch::try_new(Arc::new(Schema::new(fields)), (0..self.columns.len()).map(column).collect())
    }

    fn stream(&self) -> Result<Vec<u8>, ArrowError> {
        let batch = self.batch()?;
        let mut encoder = arrow_ipc::Encoder::new(&batch.schema())?;
        encoder.add(&batch)?;
        encoder.end()?;
        Ok(encoder.take())
    }
}

impl Output {
    /// Bytes that are no text stay off a terminal.
    pub fn may_leave(self) -> Result<(), Failure> {
        if self == Self::Arrow && io::stdout().is_terminal() {
            return Err(Failure::Usage("an Arrow stream is no text: write it into a file with >".to_owned()));
        }
        Ok(())
    }
}

fn named(columns: Columns) -> Vec<String> {
    columns.split(", ").map(str::to_owned).collect()
}

fn cells(record: &Value, columns: Columns) -> Vec<Value> {
    let member = |name: &str| name.split('.').try_fold(record, |value, part| value.get(part));
    columns.split(", ").map(|name| member(name).cloned().unwrap_or_default()).collect()
}

/// A value in words; NULL has none.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(values) if values.iter().all(Value::is_string) => {
            Some(values.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","))
        }
        other => Some(other.to_string()),
    }
}

/// Without what a terminal would obey: a value could move the cursor, or change what was said before.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// Bytes to standard output, all of them.
pub fn write(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    Ok(out.flush()?)
}

/// A word beside the output.
#[expect(clippy::print_stderr, reason = "a command says what is noteworthy beside its output")]
pub fn notice(line: &str) {
    eprintln!("{}", plain(line));
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::ipc::reader::StreamReader;
    use serde_json::json;

    const COLUMNS: Columns = "id, scopes, at.port, note";

    fn told() -> ShownAnswer {
        let one = json!({"id": "k1", "scopes": ["a", "b"], "at": {"port": 5439}, "note": "a \"b\",\n\u{1b}[2J"});
        let two = json!({"id": "k2", "scopes": [], "at": null, "more": true});
        ShownAnswer::list(vec![one, two], COLUMNS)
    }

    fn printed(told: &ShownAnswer, output: Output) -> String {
        String::from_utf8(told.printed(output).unwrap()).unwrap()
    }

    #[test]
    fn a_table_shows_columns_and_obeys_nothing() {
        expect_test::expect![[r#"
            id   scopes   at.port   note
            k1   a,b      5439      a "b",\n\u{1b}[2J
            k2            -         -
        "#]]
        .assert_eq(&printed(&told(), Output::Table));
    }

    #[test]
    fn a_record_is_a_line_for_each_member() {
        let record = ShownAnswer::record(json!({"id": "k1", "scopes": ["a"], "at": {"port": 1}}), COLUMNS);
        expect_test::expect![[r"
            id        k1
            scopes    a
            at.port   1
            note      -
        "]]
        .assert_eq(&printed(&record, Output::Table));
    }

    #[test]
    fn json_is_the_answer_itself() {
        let answer: Value = serde_json::from_str(&printed(&told(), Output::Json)).unwrap();
        assert_eq!(answer, told().whole);
        assert_eq!(answer[1]["more"], true);
    }

    #[test]
    fn csv_is_quoted_as_the_platform_does() {
        let expected = "id,scopes,at.port,note\r\nk1,\"a,b\",5439,\"a \"\"b\"\",\n\u{1b}[2J\"\r\nk2,\"\",,\r\n";
        assert_eq!(printed(&told(), Output::Csv), expected);
    }

    #[test]
    fn arrow_is_a_stream_that_arrow_reads() {
        let bytes = told().printed(Output::Arrow).unwrap();
        let batches: Vec<_> = StreamReader::try_new(bytes.as_slice(), None).unwrap().map(Result::unwrap).collect();
        assert_eq!(batches, [told().batch().unwrap()]);
        assert_eq!(batches[0].column(2).null_count(), 1);
    }
}
