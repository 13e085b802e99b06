//! Arrow columns, read a value at a time.
//!
//! What is small only while it is shared (a dictionary, a view, a list of what takes no space) is never spread out
//! as a whole: who reads says how many bytes there may be.

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, OffsetSizeTrait, RecordBatch};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    DataType, Date32Type, DurationMicrosecondType, Float64Type, Int64Type, IntervalMonthDayNanoType, IntervalUnit,
    Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
};
use engine::Value;

/// Bytes that may still be read.
#[derive(Debug)]
pub struct ByteBudget(pub usize);

/// It is used up.
#[derive(Debug, PartialEq, Eq)]
pub struct Spent;

impl ByteBudget {
    fn spend(&mut self, bytes: usize) -> Result<(), Spent> {
        self.0 = self.0.checked_sub(bytes).ok_or(Spent)?;
        Ok(())
    }
}

/// The columns of a batch.
pub struct FlightColumns {
    columns: Vec<FlightColumn>,
    rows: usize,
}

impl FlightColumns {
    /// Where there is a type that is not read, or a value that does not fit: the place of its column.
    pub fn of(batch: &RecordBatch) -> Result<Self, usize> {
        let read = |(place, column)| FlightColumn::of(column).ok_or(place);
        let columns = batch.columns().iter().enumerate().map(read).collect::<Result<_, _>>()?;
        Ok(Self { columns, rows: batch.num_rows() })
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn row(&self, row: usize, budget: &mut ByteBudget) -> Result<Vec<Value>, Spent> {
        self.columns.iter().map(|column| column.value(row, budget)).collect()
    }
}

enum FlightColumn {
    /// In the one form of its kind.
    Plain(ArrayRef),
    Keyed {
        keys: Int64Array,
        items: Box<FlightColumn>,
    },
    Lists {
        lists: ArrayRef,
        /// Where each list begins in the items, and where the last ends.
        starts: Vec<usize>,
        items: Box<FlightColumn>,
    },
}

impl FlightColumn {
    fn of(column: &ArrayRef) -> Option<Self> {
        match column.data_type() {
            DataType::Dictionary(..) => {
                let dictionary = column.as_any_dictionary_opt()?;
                let keys = exactly(dictionary.keys(), &DataType::Int64)?;
                let keys = keys.as_primitive::<Int64Type>().clone();
                Some(Self::Keyed { keys, items: Box::new(Self::of(dictionary.values())?) })
            }
            DataType::List(item) if !item.data_type().is_nested() => Self::listed::<i32>(column),
            DataType::LargeList(item) if !item.data_type().is_nested() => Self::listed::<i64>(column),
            DataType::FixedSizeList(item, size) if !item.data_type().is_nested() => {
                let size = usize::try_from(*size).ok()?;
                let starts = (0..=column.len()).map(|row| row * size).collect();
                Self::lists(column, starts, column.as_fixed_size_list().values())
            }
            kind => {
                let form = form(kind)?;
                let plain = if form == *kind { ArrayRef::clone(column) } else { exactly(column, &form)? };
                Some(Self::Plain(plain))
            }
        }
    }

    fn listed<O: OffsetSizeTrait>(column: &ArrayRef) -> Option<Self> {
        let lists = column.as_list::<O>();
        let starts = lists.value_offsets().iter().map(|at| at.as_usize()).collect();
        Self::lists(column, starts, lists.values())
    }

    /// Of the items only those that the lists have.
    fn lists(column: &ArrayRef, mut starts: Vec<usize>, items: &ArrayRef) -> Option<Self> {
        let (first, last) = (*starts.first()?, *starts.last()?);
        for start in &mut starts {
            *start -= first;
        }
        let items = Box::new(Self::of(&items.slice(first, last - first))?);
        Some(Self::Lists { lists: ArrayRef::clone(column), starts, items })
    }

    fn value(&self, row: usize, budget: &mut ByteBudget) -> Result<Value, Spent> {
        match self {
            Self::Plain(column) => plain(column, row, budget),
            Self::Keyed { keys, items } if keys.is_valid(row) => {
                items.value(usize::try_from(keys.value(row)).unwrap_or(usize::MAX), budget)
            }
            Self::Lists { lists, starts, items } if lists.is_valid(row) => {
                let (start, end) = (starts.get(row).copied(), starts.get(row + 1).copied());
                let places = start.unwrap_or(0)..end.unwrap_or(0);
                budget.spend(size_of::<Value>())?;
                places.map(|place| items.value(place, budget)).collect::<Result<_, _>>().map(Value::List)
            }
            Self::Keyed { .. } | Self::Lists { .. } => {
                budget.spend(size_of::<Value>())?;
                Ok(Value::Null)
            }
        }
    }
}

/// What does not fit is an error, not NULL.
fn exactly(column: &dyn Array, form: &DataType) -> Option<ArrayRef> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(column, form, &options).ok()
}

/// The one form of a kind that is read below.
fn form(kind: &DataType) -> Option<DataType> {
    Some(match kind {
        DataType::Null
        | DataType::Boolean
        | DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..)
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => kind.clone(),
        DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32 => DataType::Int64,
        DataType::UInt64 => DataType::Decimal128(20, 0),
        DataType::Float16 | DataType::Float32 | DataType::Float64 => DataType::Float64,
        DataType::Date32 | DataType::Date64 => DataType::Date32,
        DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Microsecond),
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Microsecond, zone.clone()),
        DataType::Duration(_) => DataType::Duration(TimeUnit::Microsecond),
        DataType::Interval(_) => DataType::Interval(IntervalUnit::MonthDayNano),
        _ => return None,
    })
}

/// A value of a column in its one form.
fn plain(column: &ArrayRef, row: usize, budget: &mut ByteBudget) -> Result<Value, Spent> {
    budget.spend(size_of::<Value>())?;
    // a column of nothing has no bitmap that says so
    if column.is_null(row) || *column.data_type() == DataType::Null {
        return Ok(Value::Null);
    }
    Ok(match column.data_type() {
        DataType::Boolean => Value::Boolean(column.as_boolean().value(row)),
        DataType::Int64 => Value::BigInt(column.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => Value::Double(column.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => text(column.as_string::<i32>().value(row), budget)?,
        DataType::LargeUtf8 => text(column.as_string::<i64>().value(row), budget)?,
        DataType::Utf8View => text(column.as_string_view().value(row), budget)?,
        DataType::Binary => blob(column.as_binary::<i32>().value(row), budget)?,
        DataType::LargeBinary => blob(column.as_binary::<i64>().value(row), budget)?,
        DataType::BinaryView => blob(column.as_binary_view().value(row), budget)?,
        DataType::FixedSizeBinary(_) => blob(column.as_fixed_size_binary().value(row), budget)?,
        DataType::Date32 => Value::Date(column.as_primitive::<Date32Type>().value(row)),
        DataType::Time64(_) => Value::Time(column.as_primitive::<Time64MicrosecondType>().value(row)),
        DataType::Timestamp(_, zone) => {
            let micros = column.as_primitive::<TimestampMicrosecondType>().value(row);
            if zone.is_some() { Value::TimestampTz(micros) } else { Value::Timestamp(micros) }
        }
        DataType::Duration(_) => {
            let micros = column.as_primitive::<DurationMicrosecondType>().value(row);
            Value::Interval { months: 0, days: 0, micros }
        }
        DataType::Interval(_) => {
            let interval = column.as_primitive::<IntervalMonthDayNanoType>().value(row);
            Value::Interval { months: interval.months, days: interval.days, micros: interval.nanoseconds / 1_000 }
        }
        // Decimals, in plain notation.
        _ => arrow::util::display::array_value_to_string(column, row).map_or(Value::Null, Value::Decimal),
    })
}

fn text(text: &str, budget: &mut ByteBudget) -> Result<Value, Spent> {
    budget.spend(text.len())?;
    Ok(Value::Text(text.to_owned()))
}

fn blob(bytes: &[u8], budget: &mut ByteBudget) -> Result<Value, Spent> {
    budget.spend(bytes.len())?;
    Ok(Value::Blob(bytes.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{
        BinaryArray, Date64Array, Decimal128Array, DictionaryArray, FixedSizeListArray, Float32Array, Int8Array,
        Int32Array, ListArray, NullArray, StringArray, StringViewArray, StructArray, Time32MillisecondArray,
        TimestampNanosecondArray, TimestampSecondArray, UInt64Array,
    };
    use arrow::datatypes::{Field, Int32Type};
    use std::sync::Arc;

    const PLENTY: usize = 1 << 20;

    fn batch(column: ArrayRef) -> RecordBatch {
        RecordBatch::try_from_iter_with_nullable([("v", column, true)]).unwrap()
    }

    /// The last value of a column.
    fn read(column: ArrayRef, bytes: usize) -> Result<Value, Spent> {
        let columns = FlightColumns::of(&batch(column)).unwrap();
        columns.row(columns.rows() - 1, &mut ByteBudget(bytes)).map(|mut row| row.remove(0))
    }

    #[test]
    fn every_kind_of_column_becomes_a_value() {
        let decimals = Decimal128Array::from(vec![-1250]).with_precision_and_scale(10, 2).unwrap();
        let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(7)]), Some(vec![Some(1), None])]);
        let keyed: DictionaryArray<Int32Type> = ["a", "b", "a"].into_iter().collect();
        let missing: DictionaryArray<Int32Type> = [Some("a"), None].into_iter().collect();
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
            (Arc::new(lists.clone()), Value::List(vec![Value::BigInt(1), Value::Null])),
            (Arc::new(lists.slice(1, 1)), Value::List(vec![Value::BigInt(1), Value::Null])),
            (Arc::new(keyed), Value::Text("a".to_owned())),
            (Arc::new(missing), Value::Null),
        ];
        for (column, expected) in cases {
            let kind = column.data_type().clone();
            assert_eq!(read(column, PLENTY), Ok(expected), "{kind}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_told_by_its_place() {
        let structs: ArrayRef = Arc::new(StructArray::new_empty_fields(1, None));
        let late: ArrayRef = Arc::new(TimestampSecondArray::from(vec![i64::MAX]));
        for column in [structs, late] {
            assert_eq!(FlightColumns::of(&batch(column)).err(), Some(0));
        }
    }

    #[test]
    fn what_would_be_large_is_not_made() {
        let item = Arc::new(Field::new("item", DataType::Null, true));
        let size = 1_000_000_000;
        let nothing: ArrayRef = Arc::new(NullArray::new(1_000_000_000));
        let lists: ArrayRef = Arc::new(FixedSizeListArray::new(item, size, nothing, None));
        let long: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(PLENTY)]));
        for column in [lists, long] {
            assert_eq!(read(column, PLENTY), Err(Spent));
        }
    }
}
