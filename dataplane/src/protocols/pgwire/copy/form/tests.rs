use proptest::collection::vec;
use proptest::prelude::*;

use super::super::records::Records;
use super::*;
use crate::encode::pg_rows::{Format, PgType};
use crate::encode::samples;
use crate::protocols::pgwire::lex;

type Row = Vec<Option<Vec<u8>>>;

fn options(text: &str) -> Options {
    Options::read(&lex::split(text).pop().map(|piece| piece.tokens).unwrap_or_default()).unwrap()
}

/// A value in its place in a row.
fn put_value(options: &Options, (at, width): (usize, usize), value: Option<&[u8]>, out: &mut Vec<u8>) {
    let piece = CopyPiece::new(options, at, width);
    match (value, options.format) {
        (None, CopyFormat::Binary) => out.put_i32(-1),
        (Some(value), CopyFormat::Binary) => {
            out.put_i32(i32::try_from(value.len()).unwrap());
            out.put_slice(value);
        }
        (None, _) => piece.null(out),
        (Some(value), _) => piece.text(out, value, piece.is_plain(value)),
    }
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

fn byte() -> impl Strategy<Value = u8> {
    let odd = prop::sample::select(b"\\N.\"\t\n\r\x08\x0b\x0c,;'".to_vec());
    prop_oneof![2 => odd, 1 => any::<u8>()]
}

const FORMS: [&str; 12] = [
    "",
    "csv",
    "binary",
    "(delimiter '|', null 'x')",
    "(delimiter '-')",
    "(delimiter ' ', null '')",
    "(format csv, null '1')",
    "(format csv, delimiter ';', quote 'x', null 'N')",
    "(format csv, escape '-')",
    "(format csv, null '-1')",
    "(format csv, quote '0', null '')",
    "(format csv, delimiter ':')",
];

#[test]
fn each_byte_that_has_a_letter_is_looked_for() {
    for byte in 0..=u8::MAX {
        assert_eq!(is_escaped(byte), escape(byte).is_some(), "{byte}");
    }
}

proptest! {
    #[test]
    fn each_type_is_copied_as_row_by_row(batch in samples::batches(), form in prop::sample::select(FORMS.to_vec())) {
        let options = options(form);
        let format = if options.format == CopyFormat::Binary { Format::Binary } else { Format::Text };
        let field = |name: &String| Field { name: name.clone(), kind: PgType::from_engine(name), format };
        let fields: Vec<_> = batch.schema().fields().iter().map(|column| field(column.name())).collect();
        let (zone, count) = (Tz::Europe__Berlin, batch.num_rows());
        let (mut encoder, mut out, mut rows) = (CopyEncoder::new(options.clone()), BytesMut::new(), BytesMut::new());
        for share in [0..count / 2, count / 2..count] {
            encoder.write(&mut out, &batch, share.clone(), &fields, zone).unwrap();
            pg_rows::write(&mut Vec::new(), &mut rows, &batch, share, &fields, zone).unwrap();
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
        let width = rows.first().map_or(0, Vec::len);
        encoder.columns.resize_with(width, ColumnPieces::default);
        for (at, column) in encoder.columns.iter_mut().enumerate() {
            column.fill(0..rows.len(), |row, out| put_value(&options, (at, width), rows[row][at].as_deref(), out));
        }
        encoder.put(rows.len(), &mut out);
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
