//! Values for the parameters of a prepared statement: Arrow rows, one value a column.

use std::time::Duration;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    DataType, Date32Type, DurationMicrosecondType, Float64Type, Int64Type, IntervalMonthDayNanoType, IntervalUnit,
    Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
};
use arrow_flight::FlightData;
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use engine::Value;
use futures::{Stream, StreamExt};
use tonic::Status;

use crate::Error;

/// Rows of one call: each is a statement of its own.
const ROWS_MAX: usize = 10_000;
const BYTES_MAX: usize = 16 << 20;
/// Values that wait for their statement.
const KEPT_BYTES_MAX: usize = 1 << 20;
const NEXT_WITHIN: Duration = Duration::from_secs(30);

fn refused(message: impl Into<String>) -> Error {
    Error::InvalidParams { field: "params", message: message.into() }
}

/// The next message, if it comes in time.
pub async fn next(
    sent: &mut (impl Stream<Item = Result<FlightData, Status>> + Unpin),
) -> Result<Option<FlightData>, Error> {
    match tokio::time::timeout(NEXT_WITHIN, sent.next()).await {
        Ok(message) => message.transpose().map_err(|_| refused("the call broke off")),
        Err(_) => Err(refused("the rest did not come within 30 seconds")),
    }
}

/// All rows of a call, whose first message is here; none where it has no schema.
pub async fn rows(
    first: FlightData,
    sent: impl Stream<Item = Result<FlightData, Status>> + Send + Unpin + 'static,
) -> Result<Vec<Vec<Value>>, Error> {
    let messages = futures::stream::unfold((Some(first), sent), |(first, mut sent)| async move {
        let message = match first {
            Some(first) => Ok(first),
            None => next(&mut sent).await.transpose()?,
        };
        let message = message.map_err(|error| FlightError::ProtocolError(error.to_string()));
        Some((message, (None, sent)))
    });
    // The descriptor may come alone.
    let messages = messages.filter(|message| {
        let is_empty = message.as_ref().is_ok_and(|message| message.data_header.is_empty());
        std::future::ready(!is_empty)
    });
    let mut batches = FlightRecordBatchStream::new_from_flight_data(messages);
    let (mut rows, mut bytes) = (Vec::new(), 0);
    while let Some(batch) = batches.next().await {
        let batch = batch.map_err(|error| refused(format!("the values cannot be read: {error}")))?;
        bytes += batch.get_array_memory_size();
        if rows.len() + batch.num_rows() > ROWS_MAX || bytes > BYTES_MAX {
            return Err(refused(format!("one call takes {ROWS_MAX} rows and 16 MiB of values: send fewer")));
        }
        rows.extend(values(&batch)?);
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
    let one = |value: &Value| match value {
        Value::Text(text) | Value::Decimal(text) | Value::Json(text) | Value::Uuid(text) => text.len(),
        Value::Blob(bytes) => bytes.len(),
        Value::List(items) => size(items),
        _ => 0,
    };
    values.iter().map(|value| size_of::<Value>() + one(value)).sum()
}

fn values(batch: &RecordBatch) -> Result<Vec<Vec<Value>>, Error> {
    let mut columns = Vec::with_capacity(batch.num_columns());
    for (place, column) in batch.columns().iter().enumerate() {
        columns.push(simple(column).map_err(|()| {
            let kind = column.data_type();
            refused(format!("parameter ${} of type {kind} cannot be bound", place + 1))
        })?);
    }
    Ok((0..batch.num_rows()).map(|row| columns.iter().map(|column| value(column, row)).collect()).collect())
}

/// The column in the one form of its kind that is read below.
fn simple(column: &ArrayRef) -> Result<ArrayRef, ()> {
    let form = form(column.data_type()).ok_or(())?;
    if form == *column.data_type() {
        return Ok(ArrayRef::clone(column));
    }
    // What does not fit is an error, not NULL.
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(column, &form, &options).map_err(drop)
}

fn form(kind: &DataType) -> Option<DataType> {
    Some(match kind {
        DataType::Null
        | DataType::Boolean
        | DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => kind.clone(),
        DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32 => DataType::Int64,
        DataType::UInt64 => DataType::Decimal128(20, 0),
        DataType::Float16 | DataType::Float32 | DataType::Float64 => DataType::Float64,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => DataType::LargeUtf8,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            DataType::LargeBinary
        }
        DataType::Date32 | DataType::Date64 => DataType::Date32,
        DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Microsecond),
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Microsecond, zone.clone()),
        DataType::Duration(_) => DataType::Duration(TimeUnit::Microsecond),
        DataType::Interval(_) => DataType::Interval(IntervalUnit::MonthDayNano),
        DataType::Dictionary(_, inner) => form(inner)?,
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            let inner = form(field.data_type()).filter(|inner| !inner.is_nested())?;
            DataType::LargeList(std::sync::Arc::new(field.as_ref().clone().with_data_type(inner)))
        }
        _ => return None,
    })
}

/// A value of a column in its one form.
fn value(column: &ArrayRef, row: usize) -> Value {
    // a column of nothing has no bitmap that says so
    if column.is_null(row) || *column.data_type() == DataType::Null {
        return Value::Null;
    }
    match column.data_type() {
        DataType::Boolean => Value::Boolean(column.as_boolean().value(row)),
        DataType::Int64 => Value::BigInt(column.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => Value::Double(column.as_primitive::<Float64Type>().value(row)),
        DataType::LargeUtf8 => Value::Text(column.as_string::<i64>().value(row).to_owned()),
        DataType::LargeBinary => Value::Blob(column.as_binary::<i64>().value(row).to_vec()),
        DataType::Date32 => Value::Date(column.as_primitive::<Date32Type>().value(row)),
        DataType::Time64(_) => Value::Time(column.as_primitive::<Time64MicrosecondType>().value(row)),
        DataType::Timestamp(_, None) => Value::Timestamp(column.as_primitive::<TimestampMicrosecondType>().value(row)),
        DataType::Timestamp(..) => Value::TimestampTz(column.as_primitive::<TimestampMicrosecondType>().value(row)),
        DataType::Duration(_) => {
            let micros = column.as_primitive::<DurationMicrosecondType>().value(row);
            Value::Interval { months: 0, days: 0, micros }
        }
        DataType::Interval(_) => {
            let interval = column.as_primitive::<IntervalMonthDayNanoType>().value(row);
            Value::Interval { months: interval.months, days: interval.days, micros: interval.nanoseconds / 1_000 }
        }
        DataType::LargeList(_) => {
            let items = column.as_list::<i64>().value(row);
            Value::List((0..items.len()).map(|item| value(&items, item)).collect())
        }
        // Decimals, in plain notation.
        _ => arrow::util::display::array_value_to_string(column, row).map_or(Value::Null, Value::Decimal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{
        BinaryArray, Date64Array, Decimal128Array, Float32Array, Int8Array, Int32Array, ListArray, NullArray,
        StringArray, StringViewArray, StructArray, Time32MillisecondArray, TimestampNanosecondArray,
        TimestampSecondArray, UInt64Array,
    };
    use arrow::datatypes::Int32Type;
    use std::sync::Arc;

    #[test]
    fn every_kind_of_column_becomes_a_value() {
        let decimals = Decimal128Array::from(vec![-1250]).with_precision_and_scale(10, 2).unwrap();
        let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None])]);
        let cases: Vec<(ArrayRef, Value)> = vec![
            (Arc::new(NullArray::new(1)), Value::Null),
            (Arc::new(Int32Array::from(vec![None])), Value::Null),
            (Arc::new(Int8Array::from(vec![-7])), Value::BigInt(-7)),
            (Arc::new(UInt64Array::from(vec![u64::MAX])), Value::Decimal(u64::MAX.to_string())),
            (Arc::new(Float32Array::from(vec![1.5])), Value::Double(1.5)),
            (Arc::new(decimals), Value::Decimal("-12.50".to_owned())),
            (Arc::new(StringArray::from(vec!["a"])), Value::Text("a".to_owned())),
            (Arc::new(StringViewArray::from(vec!["a"])), Value::Text("a".to_owned())),
            (Arc::new(BinaryArray::from(vec![&[0_u8, 255][..]])), Value::Blob(vec![0, 255])),
            (Arc::new(Date64Array::from(vec![86_400_000])), Value::Date(1)),
            (Arc::new(Time32MillisecondArray::from(vec![1])), Value::Time(1_000)),
            (Arc::new(TimestampNanosecondArray::from(vec![5_000])), Value::Timestamp(5)),
            (Arc::new(TimestampSecondArray::from(vec![1]).with_timezone("UTC")), Value::TimestampTz(1_000_000)),
            (Arc::new(lists), Value::List(vec![Value::BigInt(1), Value::Null])),
        ];
        for (column, expected) in cases {
            let kind = column.data_type().clone();
            let batch = RecordBatch::try_from_iter_with_nullable([("v", column, true)]).unwrap();
            assert_eq!(values(&batch).unwrap(), [[expected]], "{kind}");
        }
    }

    #[test]
    fn what_cannot_be_bound_is_refused_by_its_place() {
        let structs: ArrayRef = Arc::new(StructArray::new_empty_fields(1, None));
        let late: ArrayRef = Arc::new(TimestampSecondArray::from(vec![i64::MAX]));
        for column in [structs, late] {
            let batch = RecordBatch::try_from_iter_with_nullable([("v", column, true)]).unwrap();
            let error = values(&batch).unwrap_err();
            assert!(error.to_string().starts_with("parameter $1 of type "), "{error}");
        }
    }
}
