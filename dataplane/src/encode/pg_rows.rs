//! Arrow batches to rows of the PostgreSQL wire, text or binary, straight into the send buffer.
//!
//! A batch's columns are looked at once and its values row by row, so nothing is kept beside the
//! buffer. What PostgreSQL has no type for goes out under the nearest one that clients read:
//! wide integers as `numeric`, structs, maps and nested lists as `json`.

pub mod interval;
pub mod moment;
pub mod number;
pub mod scalar;
mod texts;
mod types;
mod value;

use arrow::array::RecordBatch;
use bytes::{BufMut, BytesMut};
use chrono_tz::Tz;

pub use texts::ColumnTexts;
pub use types::PgType;
pub use value::EncodedColumn;

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    Binary,
}

/// A column as the client was told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub kind: PgType,
    pub format: Format,
}

/// A column cannot be written as its type was announced: a defect of ours.
#[derive(Debug, thiserror::Error)]
#[error("column {column} of type {kind:?} does not hold {found}")]
pub struct Mismatch {
    pub column: String,
    pub kind: PgType,
    pub found: String,
}

/// Writes rows `from..to` of a batch as `DataRow` messages.
pub fn write(
    out: &mut BytesMut,
    batch: &RecordBatch,
    rows: std::ops::Range<usize>,
    fields: &[Field],
    zone: Tz,
) -> Result<(), Mismatch> {
    let columns = columns(batch, fields, zone)?;
    let count = u16::try_from(columns.len()).unwrap_or(u16::MAX);
    for row in rows {
        out.put_u8(b'D');
        let start = out.len();
        out.put_u32(0);
        out.put_u16(count);
        for (column, binary) in &columns {
            if column.is_null(row) {
                out.put_i32(-1);
                continue;
            }
            let at = out.len();
            out.put_u32(0);
            if *binary {
                column.binary(row, out);
            } else {
                column.text(row, out);
            }
            patch(out, at, out.len() - at - 4);
        }
        patch(out, start, out.len() - start);
    }
    Ok(())
}

/// Takes the texts of rows of a batch column by column, in place of those that are there.
pub fn texts(
    taken: &mut Vec<ColumnTexts>,
    batch: &RecordBatch,
    rows: std::ops::Range<usize>,
    fields: &[Field],
    zone: Tz,
) -> Result<(), Mismatch> {
    let columns = columns(batch, fields, zone)?;
    taken.resize_with(columns.len(), ColumnTexts::default);
    for (texts, (column, _)) in taken.iter_mut().zip(&columns) {
        texts.fill(column, rows.clone());
    }
    Ok(())
}

/// Fills in a length that was not known when its place was written.
pub fn patch(out: &mut BytesMut, at: usize, length: usize) {
    // Messages are far below 2 GB: rows by the engine's limit of a frame, texts by the protocol's.
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    if let Some(place) = out.get_mut(at..at + 4) {
        place.copy_from_slice(&length.to_be_bytes());
    }
}

fn columns<'a>(batch: &'a RecordBatch, fields: &[Field], zone: Tz) -> Result<Vec<(EncodedColumn<'a>, bool)>, Mismatch> {
    batch
        .columns()
        .iter()
        .zip(fields)
        .map(|(array, field)| {
            let column = EncodedColumn::new(&field.kind, array.as_ref(), zone).ok_or_else(|| Mismatch {
                column: field.name.clone(),
                kind: field.kind.clone(),
                found: array.data_type().to_string(),
            })?;
            Ok((column, field.format == Format::Binary))
        })
        .collect()
}

#[cfg(test)]
mod tests;
