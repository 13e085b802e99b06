//! Values for the parameters of a prepared statement: Arrow rows, one value a column.

use arrow_flight::FlightData;
use engine::Value;
use futures::{Stream, StreamExt};
use tonic::Status;

use super::columns::{ByteBudget, FlightColumns};
use super::put_stream::{batches, refused, unreadable};
use crate::Error;

/// Rows of one call: each is a statement of its own.
const ROWS_MAX: usize = 10_000;
const BYTES_MAX: usize = 16 << 20;
/// Values that wait for their statement.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// All rows of a call, whose first message is here; none where it has no schema.
pub async fn rows(
    first: FlightData,
    sent: impl Stream<Item = Result<FlightData, Status>> + Send + Unpin + 'static,
) -> Result<Vec<Vec<Value>>, Error> {
    let too_much = || refused(format!("one call takes {ROWS_MAX} rows and 16 MiB of values: send fewer"));
    let mut batches = batches(first, sent);
    let (mut rows, mut budget) = (Vec::new(), ByteBudget(BYTES_MAX));
    while let Some(batch) = batches.next().await {
        let batch = batch.map_err(unreadable)?;
        if rows.len() + batch.num_rows() > ROWS_MAX {
            return Err(too_much());
        }
        let columns = FlightColumns::of(&batch).map_err(|place| {
            let schema = batch.schema();
            let kind = schema.fields().get(place).map(|field| field.data_type().to_string()).unwrap_or_default();
            refused(format!("parameter ${} of type {kind} cannot be bound", place + 1))
        })?;
        for row in 0..columns.rows() {
            rows.push(columns.row(row, &mut budget).map_err(|_| too_much())?);
        }
    }
    Ok(rows)
}

/// Rows of values that are kept until their statement is run.
pub async fn kept(
    first: FlightData,
    sent: impl Stream<Item = Result<FlightData, Status>> + Send + Unpin + 'static,
) -> Result<Vec<Vec<Value>>, Error> {
    let rows = rows(first, sent).await?;
    if rows.iter().map(|row| size(row)).sum::<usize>() > KEPT_BYTES_MAX {
        return Err(refused("the values that are bound are at most 1 MiB"));
    }
    Ok(rows)
}

/// About what values take.
pub fn size(values: &[Value]) -> usize {
    values.iter().map(Value::bytes).sum()
}
