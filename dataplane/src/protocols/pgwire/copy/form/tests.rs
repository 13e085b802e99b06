use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array,
    Int16Array, Int32Array, Int64Array, IntervalMonthDayNanoArray, ListArray, ListBuilder, NullArray, StringArray,
    StringBuilder, StructArray, Time64MicrosecondArray, Time64NanosecondArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt8Array, UInt16Array, UInt32Array,
    UInt64Array,
};
use arrow::datatypes::{Field as ArrowField, Int64Type, IntervalMonthDayNano};
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::records::Records;
use super::*;
use crate::encode::pg_rows::{Format, PgType};
use crate::protocols::pgwire::lex;

type Row = Vec<Option<Vec<u8>>>;

fn options(text: &str) -> Options {
    Options::read(&lex::split(text).pop().map(|piece| piece.tokens).unwrap_or_default()).unwrap()
}

/// As the protocol has it.
fn messages(rows: &[Row]) -> BytesMut {
    let mut out = BytesMut::new();
    for row in rows {
        reply::message(&mut out, b'D', |out| {
            out.put_u16(u16::try_from(row.len()).unwrap());
            for value in row {
                out.put_i32(value.as_ref().map_or(-1, |value| i32::try_from(value.len()).unwrap()));
                out.put_slice(value.as_deref().unwrap_or_default());
            }
        });
    }
    out
}

/// The rows of messages of the protocol, each with its bytes and its values.
fn rows_of(mut messages: &[u8]) -> Vec<(&[u8], Row)> {
    let mut rows = Vec::new();
    while let [b'D', a, b, c, d, rest @ ..] = messages {
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize - 4;
        let (row, next) = rest.split_at(length);
        let (mut values, mut behind) = (Row::new(), &row[2..]);
        while let [a, b, c, d, rest @ ..] = behind {
            let length = usize::try_from(i32::from_be_bytes([*a, *b, *c, *d])).ok();
            values.push(length.map(|length| rest[..length].to_vec()));
            behind = &rest[length.unwrap_or(0)..];
        }
        rows.push((row, values));
        messages = next;
    }
    assert!(messages.is_empty());
    rows
}

/// A row by itself, as copies were written before they were written column by column.
fn by_itself(options: &Options, (row, values): &(&[u8], Row), is_first: bool) -> Vec<u8> {
    let mut line = Vec::new();
    if options.format == CopyFormat::Binary {
        line.extend_from_slice(if is_first { SIGNATURE } else { &[] });
        line.extend_from_slice(row);
        return line;
    }
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            line.push(options.delimiter());
        }
        match (value, options.format) {
            (None, _) => line.extend_from_slice(options.null().as_bytes()),
            (Some(value), CopyFormat::Csv) => quoted(options, value, &mut line),
            (Some(value), _) => escaped(options, value, &mut line),
        }
    }
    line.push(b'\n');
    line
}

fn escaped(options: &Options, value: &[u8], line: &mut Vec<u8>) {
    for byte in value {
        match byte {
            b'\\' => line.extend_from_slice(b"\\\\"),
            0x08 => line.extend_from_slice(b"\\b"),
            0x0c => line.extend_from_slice(b"\\f"),
            b'\n' => line.extend_from_slice(b"\\n"),
            b'\r' => line.extend_from_slice(b"\\r"),
            b'\t' => line.extend_from_slice(b"\\t"),
            0x0b => line.extend_from_slice(b"\\v"),
            other if *other == options.delimiter() => line.extend_from_slice(&[b'\\', *other]),
            other => line.push(*other),
        }
    }
}

fn quoted(options: &Options, value: &[u8], line: &mut Vec<u8>) {
    let (quote, escape) = (options.quote, options.escape());
    let special = |byte: &u8| *byte == options.delimiter() || *byte == quote || matches!(byte, b'\n' | b'\r');
    if value != options.null().as_bytes() && value != b"\\." && !value.iter().any(special) {
        line.extend_from_slice(value);
        return;
    }
    line.push(quote);
    for byte in value {
        if *byte == quote || *byte == escape {
            line.push(escape);
        }
        line.push(*byte);
    }
    line.push(quote);
}

/// What each of the `CopyData` messages holds.
fn pieces(mut messages: &[u8]) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    while let [b'd', a, b, c, d, rest @ ..] = messages {
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize - 4;
        pieces.push(rest[..length].to_vec());
        messages = &rest[length..];
    }
    assert!(messages.is_empty());
    pieces
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
        ("DECIMAL(38,4)", Arc::new(decimal.with_precision_and_scale(38, 4).unwrap())),
        ("VARCHAR", Arc::clone(&strings)),
        ("JSON", strings),
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

fn byte() -> impl Strategy<Value = u8> {
    let odd = prop::sample::select(b"\\N.\"\t\n\r\x08\x0b\x0c,;'".to_vec());
    prop_oneof![2 => odd, 1 => any::<u8>()]
}

const FORMS: [&str; 9] = [
    "",
    "csv",
    "binary",
    "(delimiter '|', null 'x')",
    "(delimiter '-')",
    "(delimiter ' ', null '')",
    "(format csv, null '1')",
    "(format csv, delimiter ';', quote 'x', null 'N')",
    "(format csv, escape '-')",
];

#[test]
fn each_byte_that_has_a_letter_is_looked_for() {
    for byte in 0..=u8::MAX {
        assert_eq!(is_escaped(byte), escape(byte).is_some(), "{byte}");
    }
}

proptest! {
    #[test]
    fn each_type_is_copied_as_row_by_row(
        values in vec((
            prop::option::of(prop_oneof![any::<i64>(), -1_000..1_000_i64]),
            prop::option::of(text()),
        ), 1..40),
        form in prop::sample::select(FORMS.to_vec()),
    ) {
        let (numbers, texts): (Vec<_>, Vec<_>) = values.into_iter().unzip();
        let options = options(form);
        let format = if options.format == CopyFormat::Binary { Format::Binary } else { Format::Text };
        let arrays = arrays(&numbers, &texts);
        let field = |(name, _): &(&str, ArrayRef)| {
            Field { name: (*name).to_owned(), kind: PgType::from_engine(name), format }
        };
        let fields: Vec<_> = arrays.iter().map(field).collect();
        let batch = RecordBatch::try_from_iter_with_nullable(arrays.into_iter().map(|(name, array)| (name, array, true)));
        let (batch, zone, half) = (batch.unwrap(), Tz::Europe__Berlin, numbers.len() / 2);
        let (mut encoder, mut out, mut rows) = (CopyEncoder::new(options.clone()), BytesMut::new(), BytesMut::new());
        for share in [0..half, half..numbers.len()] {
            encoder.write(&mut out, &batch, share.clone(), &fields, zone).unwrap();
            pg_rows::write(&mut rows, &batch, share, &fields, zone).unwrap();
        }
        let rows = rows_of(&rows);
        let expected = rows.iter().enumerate().map(|(at, row)| by_itself(&options, row, at == 0));
        prop_assert_eq!(pieces(&out), expected.collect::<Vec<_>>());
    }

    #[test]
    fn what_one_copy_writes_another_reads(
        rows in (1..4_usize).prop_flat_map(|width| vec(vec(prop::option::of(vec(byte(), 0..8)), width), 0..5)),
        format in prop::sample::select(vec!["", "csv", "binary"]),
    ) {
        let options = options(format);
        let (mut encoder, mut out) = (CopyEncoder::new(options.clone()), BytesMut::new());
        if options.format == CopyFormat::Binary {
            encoder.binary(&messages(&rows), &mut out);
        } else {
            let width = rows.first().map_or(0, Vec::len);
            let column = |at: usize| ColumnTexts::of(rows.iter().map(|row| row[at].clone()));
            let columns: Vec<_> = (0..width).map(column).collect();
            encoder.lines(&columns, rows.len(), &mut out);
        }
        encoder.end(&mut out);
        let mut records = Records::new(options);
        records.add(&pieces(&out).concat()).map_err(|error| TestCaseError::fail(error.message))?;
        let mut read: Vec<Row> = Vec::new();
        while let Some(record) = records.last().map_err(|error| TestCaseError::fail(error.message))? {
            read.push(record.into_iter().map(|value| value.map(Vec::from)).collect());
        }
        prop_assert_eq!(read, rows);
    }
}
