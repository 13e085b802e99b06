use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array,
    IntervalMonthDayNanoArray, ListArray, NullArray, StringArray, StructArray, Time64MicrosecondArray,
    TimestampMicrosecondArray, TimestampNanosecondArray, UInt64Array,
};
use arrow::datatypes::{Field as ArrowField, Int32Type, IntervalMonthDayNano};

use proptest::prelude::*;

use super::*;
use crate::encode::samples;

mod by_value;

/// The bytes of each value of a one-column batch; `None` is NULL.
fn values(type_name: &str, array: ArrayRef, format: Format, zone: Tz) -> Vec<Option<Vec<u8>>> {
    let rows = array.len();
    let batch = RecordBatch::try_from_iter_with_nullable([("c", array, true)]).unwrap();
    let field = Field { name: "c".to_owned(), kind: PgType::from_engine(type_name), format };
    let mut out = BytesMut::new();
    write(&mut Vec::new(), &mut out, &batch, 0..rows, &[field], zone).unwrap();
    let mut rest = &out[..];
    let mut values = Vec::new();
    while let [b'D', a, b, c, d, body @ ..] = rest {
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize - 4;
        let value = &body[2..length];
        let size = i32::from_be_bytes(value[..4].try_into().unwrap());
        assert_eq!(size, if size < 0 { -1 } else { i32::try_from(value.len()).unwrap() - 4 });
        values.push((size >= 0).then(|| value[4..].to_vec()));
        rest = &body[length..];
    }
    values
}

fn texts(type_name: &str, array: ArrayRef) -> Vec<String> {
    let shown = |value: Option<Vec<u8>>| value.map_or("NULL".to_owned(), |bytes| String::from_utf8(bytes).unwrap());
    values(type_name, array, Format::Text, Tz::UTC).into_iter().map(shown).collect()
}

fn binary(type_name: &str, array: ArrayRef) -> Vec<Option<Vec<u8>>> {
    values(type_name, array, Format::Binary, Tz::UTC)
}

fn numbers() -> ArrayRef {
    Arc::new(Int32Array::from(vec![Some(7), None, Some(i32::MIN)]))
}

fn list_of_numbers() -> ArrayRef {
    Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None]), Some(vec![]), None]))
}

#[test]
fn every_type_has_a_text_form() {
    let decimal = Decimal128Array::from(vec![-1_250]).with_precision_and_scale(12, 2).unwrap();
    let interval = IntervalMonthDayNano::new(14, 3, 4_500_000_000);
    let pair = StructArray::from(vec![
        (Arc::new(ArrowField::new("n", arrow::datatypes::DataType::Int32, true)), numbers()),
        (Arc::new(ArrowField::new("l", list_of_numbers().data_type().clone(), true)), list_of_numbers()),
    ]);
    let cases: Vec<(&str, ArrayRef, &[&str])> = vec![
        ("INTEGER", numbers(), &["7", "NULL", "-2147483648"]),
        ("\"NULL\"", Arc::new(NullArray::new(1)), &["NULL"]),
        ("BOOLEAN", Arc::new(BooleanArray::from(vec![true, false])), &["t", "f"]),
        ("UBIGINT", Arc::new(UInt64Array::from(vec![u64::MAX])), &["18446744073709551615"]),
        ("DECIMAL(12,2)", Arc::new(decimal), &["-12.50"]),
        ("DOUBLE", Arc::new(Float64Array::from(vec![0.1, f64::INFINITY])), &["0.1", "Infinity"]),
        ("VARCHAR", Arc::new(StringArray::from(vec!["a\n'ä"])), &["a\n'ä"]),
        ("BLOB", Arc::new(BinaryArray::from(vec![&b"\x00\xff"[..]])), &["\\x00ff"]),
        ("DATE", Arc::new(Date32Array::from(vec![19_782])), &["2024-02-29"]),
        ("TIME", Arc::new(Time64MicrosecondArray::from(vec![1])), &["00:00:00.000001"]),
        ("TIMESTAMP", Arc::new(TimestampMicrosecondArray::from(vec![-1])), &["1969-12-31 23:59:59.999999"]),
        ("TIMESTAMP_NS", Arc::new(TimestampNanosecondArray::from(vec![1_500])), &["1970-01-01 00:00:00.000001"]),
        ("INTERVAL", Arc::new(IntervalMonthDayNanoArray::from(vec![interval])), &["1 year 2 mons 3 days 00:00:04.5"]),
        ("INTEGER[]", list_of_numbers(), &["{1,NULL}", "{}", "NULL"]),
        (
            "STRUCT(n INTEGER, l INTEGER[])",
            Arc::new(pair),
            &[r#"{"n":7,"l":[1,null]}"#, r#"{"n":null,"l":[]}"#, r#"{"n":-2147483648,"l":null}"#],
        ),
    ];
    for (name, array, expected) in cases {
        assert_eq!(texts(name, array), expected, "{name}");
    }
}

#[test]
fn binary_forms_are_those_of_the_announced_type() {
    let one = |name: &str, array: ArrayRef| binary(name, array)[0].clone().unwrap();
    assert_eq!(one("INTEGER", numbers()), 7_i32.to_be_bytes());
    assert_eq!(one("BIGINT", Arc::new(Int64Array::from(vec![-1]))), (-1_i64).to_be_bytes());
    assert_eq!(
        one("UINTEGER", Arc::new(arrow::array::UInt32Array::from(vec![u32::MAX]))),
        4_294_967_295_i64.to_be_bytes()
    );
    let id = "550e8400-e29b-41d4-a716-446655440000";
    assert_eq!(hex::encode(one("UUID", Arc::new(StringArray::from(vec![id])))), id.replace('-', ""));
    assert_eq!(one("JSONB", Arc::new(StringArray::from(vec!["[1]"]))), b"\x01[1]");
    let array = [1_u32, 1, 23, 2, 1, 4, 1, u32::MAX].map(u32::to_be_bytes).concat();
    assert_eq!(one("INTEGER[]", list_of_numbers()), array);
    assert_eq!(
        binary("INTEGER[]", list_of_numbers())[1].clone().unwrap(),
        [0_u32, 0, 23].map(u32::to_be_bytes).concat()
    );
}

#[test]
fn items_of_an_array_are_quoted_where_they_could_be_misread() {
    let mut items = arrow::array::ListBuilder::new(arrow::array::StringBuilder::new());
    items.append_value(["plain", "", "null", "a,b", "q\"\\", "{}"].map(Some));
    assert_eq!(texts("VARCHAR[]", Arc::new(items.finish())), [r#"{plain,"","null","a,b","q\"\\","{}"}"#]);
}

#[test]
fn only_the_rows_asked_for_are_written() {
    let batch = RecordBatch::try_from_iter([("c", numbers())]).unwrap();
    let field = Field { name: "c".to_owned(), kind: PgType::Int4, format: Format::Text };
    let mut out = BytesMut::new();
    write(&mut Vec::new(), &mut out, &batch, 1..2, &[field], Tz::UTC).unwrap();
    assert_eq!(out.as_ref(), b"D\x00\x00\x00\x0a\x00\x01\xff\xff\xff\xff");
}

#[test]
fn texts_that_are_written_are_not_kept() {
    let texts = StringArray::from(vec!["written"; 3]);
    let batch = RecordBatch::try_from_iter([("c", Arc::new(texts.clone()) as ArrayRef)]).unwrap();
    let field = Field { name: "c".to_owned(), kind: PgType::Text, format: Format::Text };
    let mut taken = Vec::new();
    write(&mut taken, &mut BytesMut::new(), &batch, 0..3, &[field], Tz::UTC).unwrap();
    drop(batch);
    assert_eq!((taken.len(), texts.values().strong_count()), (1, 1));
}

#[test]
fn a_column_that_is_not_as_announced_is_an_error() {
    let batch = RecordBatch::try_from_iter([("c", numbers())]).unwrap();
    let field = Field { name: "c".to_owned(), kind: PgType::Text, format: Format::Text };
    let error = write(&mut Vec::new(), &mut BytesMut::new(), &batch, 0..1, &[field], Tz::UTC).unwrap_err();
    assert_eq!(error.to_string(), "column c of type Text does not hold Int32");
}

proptest! {
    #[test]
    fn columns_are_written_as_each_value_by_itself(batch in samples::batches(), binary in any::<u64>()) {
        let format = |at: usize| if (binary >> at) & 1 == 1 { Format::Binary } else { Format::Text };
        let field = |(at, name): (usize, &String)| {
            Field { name: name.clone(), kind: PgType::from_engine(name), format: format(at) }
        };
        let schema = batch.schema();
        let fields: Vec<_> = schema.fields().iter().map(|column| column.name()).enumerate().map(field).collect();
        let (mut taken, mut out, mut expected) = (Vec::new(), BytesMut::new(), BytesMut::new());
        let (count, zone) = (batch.num_rows(), Tz::Asia__Kolkata);
        for share in [0..count / 2, count / 2..count] {
            write(&mut taken, &mut out, &batch, share.clone(), &fields, zone).unwrap();
            by_value::write(&mut expected, &batch, share, &fields, zone);
        }
        prop_assert_eq!(out, expected);
    }
}
