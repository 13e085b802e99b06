//! Arrow batches to rows of the PostgreSQL wire, text or binary, straight into the send buffer.
//!
//! Values are written column by column, and rows are put together of them: for SELECT and for COPY alike. What
//! PostgreSQL has no type for goes out under the nearest one that clients read: wide integers as `numeric`, structs,
//! maps and nested lists as `json`.

mod columns;
pub mod float;
pub mod interval;
pub mod moment;
pub mod number;
pub mod scalar;
mod types;
mod value;

use std::ops::Range;

use arrow::array::RecordBatch;
use bytes::BytesMut;
use chrono_tz::Tz;

pub use columns::PieceForm;
pub use types::PgType;
pub use value::EncodedColumn;

use super::pieces::{self, ColumnPieces, RowHead};
use columns::WireForm;

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

/// Writes these rows of a batch as `DataRow` messages. `taken`: room for their columns, kept for the next rows.
pub fn write(
    taken: &mut Vec<ColumnPieces>,
    out: &mut BytesMut,
    batch: &RecordBatch,
    rows: Range<usize>,
    fields: &[Field],
    zone: Tz,
) -> Result<(), Mismatch> {
    values(taken, batch, rows.clone(), fields, zone)?;
    pieces::rows(out, taken, rows.len(), RowHead::counted(b'D', taken.len()));
    pieces::give_back(taken);
    Ok(())
}

/// Takes the values of rows column by column as the protocol has them: each behind its length.
pub fn values(
    taken: &mut Vec<ColumnPieces>,
    batch: &RecordBatch,
    rows: Range<usize>,
    fields: &[Field],
    zone: Tz,
) -> Result<(), Mismatch> {
    let columns = columns(batch, fields, zone)?;
    pieces::make_room(taken, columns.len());
    for (pieces, (column, is_binary)) in taken.iter_mut().zip(&columns) {
        if *is_binary {
            column.binaries(rows.clone(), pieces);
        } else {
            column.texts(rows.clone(), &WireForm, pieces);
        }
    }
    Ok(())
}

/// Takes the texts of rows column by column, each in the form of its column.
pub fn texts<F: PieceForm>(
    taken: &mut Vec<ColumnPieces>,
    batch: &RecordBatch,
    rows: Range<usize>,
    fields: &[Field],
    zone: Tz,
    form_of: impl Fn(usize) -> F,
) -> Result<(), Mismatch> {
    let columns = columns(batch, fields, zone)?;
    pieces::make_room(taken, columns.len());
    for (at, (pieces, (column, _))) in taken.iter_mut().zip(&columns).enumerate() {
        column.texts(rows.clone(), &form_of(at), pieces);
    }
    Ok(())
}

/// Fills in a length that was not known when its place was written.
pub fn patch(out: &mut [u8], at: usize, length: usize) {
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
