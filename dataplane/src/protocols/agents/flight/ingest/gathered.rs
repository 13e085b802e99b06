//! Rows on their way into a table: taken from a batch, gathered by column, given away as the values of one INSERT.

use arrow::array::RecordBatch;
use engine::Value;

use super::super::columns::{ByteBudget, FlightColumns};
use super::exact::ExactColumns;
use super::fields::{self, IngestFields};
use crate::Error;
use crate::protocols::agents::flight::put_stream;

/// Gathered for one INSERT.
const ROWS_MAX: usize = 20_000;
const BYTES_MAX: usize = 4 << 20;
const ROW_BYTES_MAX: usize = 4 << 20;

pub struct GatheredRows {
    exact: ExactColumns,
    lists: Vec<Vec<Value>>,
    bytes: usize,
    batch: Option<RecordBatch>,
    /// Rows of the batch that are gathered, or written.
    taken: usize,
    /// Over all batches, to say which.
    number: u64,
}

impl GatheredRows {
    pub fn new(fields: &IngestFields, exact: ExactColumns) -> Self {
        let lists = (0..fields.count()).map(|_| Vec::new()).collect();
        Self { exact, lists, bytes: 0, batch: None, taken: 0, number: 0 }
    }

    /// The next batch to take rows from; all of the one before have been taken.
    pub fn open(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        if batch.num_columns() != self.lists.len() {
            return Err(put_stream::refused("a batch has other columns than the schema"));
        }
        (self.batch, self.taken) = (Some(batch.clone()), 0);
        Ok(())
    }

    pub fn has_rows(&self) -> bool {
        self.lists.first().is_some_and(|list| !list.is_empty())
    }

    /// Takes rows of the batch until there are enough for an INSERT; whether there are.
    pub fn fill(&mut self) -> Result<bool, Error> {
        let Some(batch) = &self.batch else { return Ok(false) };
        let gathered = self.lists.first().map_or(0, Vec::len);
        let count = (batch.num_rows() - self.taken).min(ROWS_MAX - gathered);
        // Only as many as can be wanted are made ready.
        let piece = batch.slice(self.taken, count);
        let columns = FlightColumns::of(&piece).map_err(|place| match piece.schema().fields().get(place) {
            Some(field) => fields::unread(field),
            None => put_stream::refused("a batch has other columns than the schema"),
        })?;
        for row in 0..columns.rows() {
            if self.bytes >= BYTES_MAX {
                return Ok(true);
            }
            self.number += 1;
            let mut budget = ByteBudget(ROW_BYTES_MAX);
            let values = columns.row(row, &mut budget).map_err(|_| {
                let message = format!("row {} is larger than {} MiB", self.number, ROW_BYTES_MAX >> 20);
                put_stream::refused(message)
            })?;
            self.bytes += ROW_BYTES_MAX - budget.0;
            for (place, (list, value)) in self.lists.iter_mut().zip(values).enumerate() {
                self.exact.check(place, &value)?;
                list.push(written(value));
            }
            self.taken += 1;
        }
        Ok(self.bytes >= BYTES_MAX || gathered + count >= ROWS_MAX)
    }

    /// What has been gathered: one list a column.
    pub fn take(&mut self) -> Vec<Value> {
        self.bytes = 0;
        self.lists.iter_mut().map(|list| Value::List(std::mem::take(list))).collect()
    }
}

/// A list has one type: decimals, of which each has a type of its own, and lists go as text, and the cast around
/// them makes them what they are.
fn written(value: Value) -> Value {
    match value {
        Value::Decimal(digits) => Value::Text(digits),
        Value::List(items) => Value::Text(list(&items)),
        other => other,
    }
}

/// As the engine reads a list from text.
fn list(items: &[Value]) -> String {
    let mut text = String::from("[");
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            text.push_str(", ");
        }
        match item {
            Value::Text(word) => {
                text.push('"');
                for letter in word.chars() {
                    if matches!(letter, '"' | '\\') {
                        text.push('\\');
                    }
                    text.push(letter);
                }
                text.push('"');
            }
            Value::Decimal(digits) => text.push_str(digits),
            Value::Boolean(truth) => text.push_str(if *truth { "true" } else { "false" }),
            Value::BigInt(number) => text.push_str(&number.to_string()),
            Value::Double(number) => text.push_str(&number.to_string()),
            _ => text.push_str("NULL"),
        }
    }
    text.push(']');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, Int64Array, StringArray};
    use std::sync::Arc;

    fn gathered(columns: &[(&str, ArrayRef)]) -> GatheredRows {
        let batch = RecordBatch::try_from_iter(columns.to_vec()).unwrap();
        let fields = IngestFields::of(&batch.schema()).unwrap();
        let mut gathered = GatheredRows::new(&fields, ExactColumns::default());
        gathered.open(&batch).unwrap();
        gathered
    }

    /// Rows of each INSERT that a batch becomes.
    fn pieces(mut gathered: GatheredRows) -> Result<Vec<usize>, Error> {
        let mut pieces = Vec::new();
        while gathered.fill()? {
            let lists = gathered.take();
            let Some(Value::List(list)) = lists.first() else { panic!("{lists:?}") };
            pieces.push(list.len());
        }
        pieces.push(gathered.lists[0].len());
        Ok(pieces)
    }

    #[test]
    fn a_batch_is_cut_by_rows_and_by_bytes() {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..45_000));
        assert_eq!(pieces(gathered(&[("n", numbers)])).unwrap(), [20_000, 20_000, 5_000]);
        let long = "x".repeat(1 << 20);
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values(std::iter::repeat_n(long, 6)));
        assert_eq!(pieces(gathered(&[("t", texts)])).unwrap(), [4, 2]);
        let larger: ArrayRef = Arc::new(StringArray::from_iter_values(["x".repeat(5 << 20)]));
        assert!(pieces(gathered(&[("t", larger)])).unwrap_err().to_string().contains("row 1 is larger"));
    }

    #[test]
    fn a_list_is_written_as_the_engine_reads_it() {
        let items = [Value::BigInt(-1), Value::Null, Value::Double(0.5), Value::Boolean(true)];
        assert_eq!(list(&items), "[-1, NULL, 0.5, true]");
        let words = ["a", "it's \"x\" \\", ""].map(|word| Value::Text(word.to_owned()));
        assert_eq!(list(&words), r#"["a", "it's \"x\" \\", ""]"#);
    }
}
