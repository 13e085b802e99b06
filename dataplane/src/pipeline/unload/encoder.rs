//! Rows of an unload as the text that they have in a file, whichever that is. Batches are encoded side by side.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::RecordBatch;
use bytes::{Bytes, BytesMut};
use contract::wire::Numbers;
use sql::{Unload, UnloadFormat};

use crate::encode::batch_bytes::batch_bytes;
use crate::encode::delimited::DelimitedText;
use crate::encode::json;
use crate::pipeline::Result;
use crate::{Column, Error};

/// Rows of text that are in one file together; of Parquet those of a batch are.
const ROWS_AT_A_TIME: usize = 128;
/// The same of a file that may be as large as [`LARGE_BYTES`].
const ROWS_OF_LARGE: usize = 4_096;
const LARGE_BYTES: u64 = 64 << 20;
/// A batch of more bytes has rows so wide that many of them together would outgrow the file.
const WIDE_BYTES: usize = 4 << 20;

/// Rows that go into one file, and their text, if it is one of text.
#[derive(Debug)]
pub(super) struct EncodedRows {
    pub batch: RecordBatch,
    pub text: Bytes,
}

/// Makes the text of rows.
#[derive(Debug, Clone)]
pub(super) struct RowEncoder {
    format: UnloadFormat,
    /// Of a CSV file.
    signs: Arc<DelimitedText>,
    columns: Arc<[Column]>,
    rows_at_a_time: usize,
    /// Rows are parted first, and encoded then.
    is_partitioned: bool,
}

impl RowEncoder {
    pub fn of(unload: &Unload, columns: &[Column]) -> Self {
        let rows_at_a_time = if unload.max_file_bytes < LARGE_BYTES { ROWS_AT_A_TIME } else { ROWS_OF_LARGE };
        let signs = Arc::new(DelimitedText::of(&unload.writing.csv));
        let (format, is_partitioned) = (unload.writing.format, unload.is_partitioned());
        Self { format, signs, columns: columns.into(), rows_at_a_time, is_partitioned }
    }

    /// The same of rows that are parted.
    pub fn parted(self) -> Self {
        Self { is_partitioned: false, ..self }
    }

    pub fn encoded(&self, batch: &RecordBatch) -> Result<Vec<EncodedRows>> {
        let count = batch.num_rows();
        if count == 0 {
            return Ok(Vec::new());
        }
        if self.is_partitioned || self.format == UnloadFormat::Parquet {
            return Ok(vec![EncodedRows { batch: batch.clone(), text: Bytes::new() }]);
        }
        let is_wide = batch_bytes(batch) > WIDE_BYTES;
        let together = if is_wide { ROWS_AT_A_TIME } else { self.rows_at_a_time };
        let some = |from| batch.slice(from, together.min(count - from));
        (0..count).step_by(together).map(|from| self.encoded_together(some(from))).collect()
    }

    fn encoded_together(&self, batch: RecordBatch) -> Result<EncodedRows> {
        let text = match self.format {
            UnloadFormat::Csv => {
                let values = batch_bytes(&batch);
                let mut text = BytesMut::with_capacity(values + values / 4); // about as many as there will be
                self.signs.rows(&mut text, &batch);
                text.freeze()
            }
            UnloadFormat::Json => json_lines(&self.columns, &batch)?.into(),
            UnloadFormat::Parquet => Bytes::new(),
        };
        Ok(EncodedRows { batch, text })
    }
}

/// The values of the one column, each on its line.
fn json_lines(columns: &[Column], batch: &RecordBatch) -> Result<String> {
    let unread = |error: serde_json::Error| Error::Unverified { why: error.to_string() };
    let (mut text, mut lines, mut is_first) = (String::from("["), String::new(), true);
    json::rows(&mut text, columns, batch, Numbers::Json, &mut is_first);
    text.push(']');
    for (value,) in serde_json::from_str::<Vec<(serde_json::Value,)>>(&text).map_err(unread)? {
        let _ = writeln!(lines, "{value}");
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, StringArray};
    use sql::{CsvWriting, EmptyText};

    use super::*;

    #[test]
    fn fewer_rows_are_together_where_they_are_wide() {
        let signs = CsvWriting {
            delimiter: b',',
            line_end: "\n",
            quote: None,
            null: String::new(),
            empty: EmptyText::Enclosed,
        };
        let encoder = RowEncoder {
            format: UnloadFormat::Csv,
            signs: Arc::new(DelimitedText::of(&signs)),
            columns: Arc::new([]),
            rows_at_a_time: ROWS_OF_LARGE,
            is_partitioned: false,
        };
        for (width, expected) in [(10, 1), (4_000, 16)] {
            let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..2_000).map(|_| "x".repeat(width))));
            let batch = RecordBatch::try_from_iter([("text", texts)]).unwrap();
            let parts = encoder.encoded(&batch).unwrap();
            assert_eq!(parts.len(), expected, "texts of {width}");
            assert_eq!(parts.iter().map(|rows| rows.batch.num_rows()).sum::<usize>(), 2_000);
        }
    }
}
