//! Batches of every type that the engine sends, for the tests of what writes them.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array,
    Int16Array, Int32Array, Int64Array, IntervalMonthDayNanoArray, ListArray, ListBuilder, NullArray, RecordBatch,
    StringArray, StringBuilder, StructArray, Time64MicrosecondArray, Time64NanosecondArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt8Array, UInt16Array, UInt32Array,
    UInt64Array,
};
use arrow::datatypes::{Field as ArrowField, Int64Type, IntervalMonthDayNano};
use proptest::collection::vec;
use proptest::prelude::*;

/// A batch with a column of each type, which has the type's name; part of a longer one.
pub fn batches() -> impl Strategy<Value = RecordBatch> {
    let number = prop::option::of(prop_oneof![any::<i64>(), -1_000..1_000_i64]);
    let values = vec((number, prop::option::of(text())), 1..40);
    (values, any::<prop::sample::Index>()).prop_map(|(values, skipped)| {
        let (numbers, texts): (Vec<_>, Vec<_>) = values.into_iter().unzip();
        let skipped = skipped.index(numbers.len());
        let columns = arrays(&numbers, &texts).into_iter().map(|(name, array)| (name, array, true));
        let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        batch.slice(skipped, batch.num_rows() - skipped)
    })
}

/// A column of each type that the engine sends, made of these.
fn arrays(numbers: &[Option<i64>], texts: &[Option<String>]) -> Vec<(&'static str, ArrayRef)> {
    let whole = || numbers.iter().copied();
    let within = |most: i64| whole().map(move |number| number.map(|number| number.rem_euclid(most)));
    let text = || texts.iter().map(Option::as_deref);
    let mut lists = ListBuilder::new(StringBuilder::new());
    for text in texts {
        lists.append_option(text.as_deref().map(|text| [Some(text), None, Some("1")]));
    }
    let counted = ListArray::from_iter_primitive::<Int64Type, _, _>(
        whole().map(|number| number.map(|number| vec![Some(number), None, Some(number % 7)])),
    );
    let longs: ArrayRef = Arc::new(whole().collect::<Int64Array>());
    let strings: ArrayRef = Arc::new(text().collect::<StringArray>());
    let pair = StructArray::from(vec![
        (Arc::new(ArrowField::new("n", longs.data_type().clone(), true)), Arc::clone(&longs)),
        (Arc::new(ArrowField::new("t", strings.data_type().clone(), true)), Arc::clone(&strings)),
    ]);
    let interval = |number: i64| {
        let part = i32::try_from(number % 1_000).unwrap_or(0);
        IntervalMonthDayNano::new(part, -part, number)
    };
    let day = |number: i64| i32::try_from(number % 4_000_000).unwrap_or(0);
    let real = |number: i64| f32::from_bits(u32::try_from(number.unsigned_abs() >> 32).unwrap_or(0));
    let uuid = |number: i64| uuid::Uuid::from_u64_pair(number.cast_unsigned(), 7).to_string();
    let decimal = whole().map(|number| number.map(i128::from)).collect::<Decimal128Array>();
    vec![
        ("\"NULL\"", Arc::new(NullArray::new(numbers.len()))),
        ("BOOLEAN", Arc::new(whole().map(|number| number.map(|number| number % 2 == 0)).collect::<BooleanArray>())),
        ("TINYINT", Arc::new(within(128).map(|n| n.and_then(|n| i8::try_from(n).ok())).collect::<Int8Array>())),
        ("SMALLINT", Arc::new(within(9_999).map(|n| n.and_then(|n| i16::try_from(-n).ok())).collect::<Int16Array>())),
        ("INTEGER", Arc::new(whole().map(|n| n.map(day)).collect::<Int32Array>())),
        ("BIGINT", longs),
        ("UTINYINT", Arc::new(within(256).map(|n| n.and_then(|n| u8::try_from(n).ok())).collect::<UInt8Array>())),
        ("USMALLINT", Arc::new(within(9_999).map(|n| n.and_then(|n| u16::try_from(n).ok())).collect::<UInt16Array>())),
        ("UINTEGER", Arc::new(within(1 << 32).map(|n| n.and_then(|n| u32::try_from(n).ok())).collect::<UInt32Array>())),
        ("UBIGINT", Arc::new(whole().map(|n| n.map(i64::cast_unsigned)).collect::<UInt64Array>())),
        ("FLOAT", Arc::new(whole().map(|n| n.map(real)).collect::<Float32Array>())),
        ("DOUBLE", Arc::new(whole().map(|n| n.map(|n| f64::from_bits(n.cast_unsigned()))).collect::<Float64Array>())),
        ("HUGEINT", Arc::new(decimal.clone().with_precision_and_scale(38, 0).unwrap())),
        ("DECIMAL(38,4)", Arc::new(decimal.with_precision_and_scale(38, 4).unwrap())),
        ("VARCHAR", Arc::clone(&strings)),
        ("JSON", strings),
        ("UUID", Arc::new(whole().map(|n| n.map(uuid)).collect::<StringArray>())),
        ("BLOB", Arc::new(text().map(|text| text.map(str::as_bytes)).collect::<BinaryArray>())),
        ("DATE", Arc::new(whole().map(|n| n.map(day)).collect::<Date32Array>())),
        ("TIME", Arc::new(within(86_400_000_000).collect::<Time64MicrosecondArray>())),
        ("TIME_NS", Arc::new(within(86_400_000_000_000).collect::<Time64NanosecondArray>())),
        ("TIMESTAMP", Arc::new(whole().collect::<TimestampMicrosecondArray>())),
        ("TIMESTAMP_S", Arc::new(within(10_000_000_000).collect::<TimestampSecondArray>())),
        ("TIMESTAMP_MS", Arc::new(within(10_000_000_000_000).collect::<TimestampMillisecondArray>())),
        ("TIMESTAMP_NS", Arc::new(whole().collect::<TimestampNanosecondArray>())),
        (
            "TIMESTAMP WITH TIME ZONE",
            Arc::new(within(4_000_000_000_000_000).collect::<TimestampMicrosecondArray>().with_timezone("UTC")),
        ),
        ("INTERVAL", Arc::new(whole().map(|n| n.map(interval)).collect::<IntervalMonthDayNanoArray>())),
        ("BIGINT[]", Arc::new(counted)),
        ("VARCHAR[]", Arc::new(lists.finish())),
        ("STRUCT(n BIGINT, t VARCHAR)", Arc::new(pair)),
    ]
}

/// Texts of the bytes that mean something in one form or another.
fn text() -> impl Strategy<Value = String> {
    let odd = "\\N.\"\t\n\r\u{8}\u{b}\u{c},;'|-1 xäa".chars().collect::<Vec<_>>();
    let odd = vec(prop::sample::select(odd), 0..6).prop_map(|letters| letters.into_iter().collect::<String>());
    prop_oneof![1 => odd, 2 => "[a-z0-9 ]{0,12}"]
}
