//! The rows of a copy that comes in, cut from bytes that arrive in pieces of any size.

use bytes::{Buf, Bytes, BytesMut};
use contract::Code;

use super::super::failure::ErrorResponse;
use super::{CopyFormat, Options};

/// The bytes of one row.
const RECORD_BYTES_MAX: usize = 16 << 20;
/// The signature of a binary copy, its flags, and the length of what may follow.
const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";
const HEADER_BYTES: usize = 19;

/// A row's values; none is NULL.
pub type Record = Vec<Option<Bytes>>;

#[derive(Debug)]
pub struct Records {
    options: Options,
    inbox: BytesMut,
    /// Bytes at the front of the inbox that hold no end of a row.
    looked: usize,
    /// Inside quotes, at the end of those bytes.
    quoted: bool,
    count: u64,
    header: bool,
    ended: bool,
}

impl Records {
    pub fn new(options: Options) -> Self {
        let header = options.header || options.format == CopyFormat::Binary;
        Self { options, inbox: BytesMut::new(), looked: 0, quoted: false, count: 0, header, ended: false }
    }

    /// Rows given so far, for errors.
    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn add(&mut self, data: &[u8]) -> Result<(), ErrorResponse> {
        if self.inbox.len() + data.len() > RECORD_BYTES_MAX * 2 {
            return Err(ErrorResponse::new(Code::QueryTooLarge, "a row of the copy is too long"));
        }
        self.inbox.extend_from_slice(data);
        Ok(())
    }

    /// The next whole row.
    pub fn next(&mut self) -> Result<Option<Record>, ErrorResponse> {
        if self.options.format == CopyFormat::Binary {
            return self.binary();
        }
        while let Some(line) = self.line() {
            if let Some(record) = self.read(&line)? {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// What is left when the client has sent all: a last line without its end.
    pub fn last(&mut self) -> Result<Option<Record>, ErrorResponse> {
        if let Some(record) = self.next()? {
            return Ok(Some(record));
        }
        // The mark behind the last row of a binary copy may be absent, as at PostgreSQL: ADBC sends none.
        let is_binary = self.options.format == CopyFormat::Binary;
        if self.quoted || (is_binary && (!self.inbox.is_empty() || self.header)) {
            return Err(ErrorResponse::new(Code::ConversionFailed, "the copy ends inside a row").with_state("22P04"));
        }
        let rest = self.inbox.split();
        self.looked = 0;
        if rest.is_empty() { Ok(None) } else { self.read(&rest) }
    }

    /// The bytes up to the next end of a row, without it.
    fn line(&mut self) -> Option<BytesMut> {
        let is_csv = self.options.format == CopyFormat::Csv;
        let mut escaped = false;
        let mut at = self.looked;
        while let Some(byte) = self.inbox.get(at).copied() {
            if is_csv && byte == self.options.quote {
                // A doubled quote closes and opens again, which comes to the same.
                self.quoted = !self.quoted;
            } else if is_csv && self.quoted && byte == self.options.escape() {
                self.inbox.get(at + 1)?;
                at += 1;
            } else if !is_csv && byte == b'\\' {
                self.inbox.get(at + 1)?;
                at += 1;
                escaped = true;
            } else if byte == b'\n' && !self.quoted {
                let mut line = self.inbox.split_to(at + 1);
                line.truncate(at);
                if line.last() == Some(&b'\r') && !(escaped && line.ends_with(b"\\\r")) {
                    line.truncate(at - 1);
                }
                self.looked = 0;
                return Some(line);
            }
            at += 1;
            self.looked = at;
        }
        None
    }

    fn read(&mut self, line: &[u8]) -> Result<Option<Record>, ErrorResponse> {
        if std::mem::take(&mut self.header) || self.ended {
            return Ok(None);
        }
        if line == b"\\." {
            self.ended = true;
            return Ok(None);
        }
        self.count += 1;
        let record = if self.options.format == CopyFormat::Csv { self.csv(line) } else { self.text(line) };
        let place = |failure: ErrorResponse| ErrorResponse {
            message: format!("line {}: {}", self.count, failure.message),
            ..failure
        };
        record.map(Some).map_err(place)
    }

    fn text(&self, line: &[u8]) -> Result<Record, ErrorResponse> {
        let mut record = Record::new();
        let mut raw = 0..0;
        let mut value = Vec::new();
        let mut bytes = line.iter().copied();
        let mut close = |raw: std::ops::Range<usize>, value: &mut Vec<u8>| {
            let is_null = line.get(raw) == Some(self.options.null().as_bytes());
            let value = std::mem::take(value);
            record.push((!is_null).then(|| Bytes::from(value)));
        };
        while let Some(byte) = bytes.next() {
            raw.end += 1;
            if byte == self.options.delimiter() {
                close(raw.start..raw.end - 1, &mut value);
                raw = raw.end..raw.end;
            } else if byte == b'\\' {
                let Some(letter) = bytes.next() else {
                    value.push(b'\\');
                    continue;
                };
                raw.end += 1;
                value.push(match letter {
                    b'b' => 0x08,
                    b'f' => 0x0c,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'v' => 0x0b,
                    b'x' | b'0'..=b'7' => {
                        return Err(ErrorResponse::unsupported("a byte by its number in COPY text"));
                    }
                    other => other,
                });
            } else {
                value.push(byte);
            }
        }
        close(raw, &mut value);
        Ok(record)
    }

    fn csv(&self, line: &[u8]) -> Result<Record, ErrorResponse> {
        let (quote, escape) = (self.options.quote, self.options.escape());
        let mut record = Record::new();
        let (mut value, mut was_quoted, mut inside) = (Vec::new(), false, false);
        let mut bytes = line.iter().copied().peekable();
        let mut close = |value: &mut Vec<u8>, was_quoted: &mut bool| {
            let is_null = !*was_quoted && value.as_slice() == self.options.null().as_bytes();
            *was_quoted = false;
            let value = std::mem::take(value);
            record.push((!is_null).then(|| Bytes::from(value)));
        };
        while let Some(byte) = bytes.next() {
            if inside && byte == escape && bytes.peek().is_some_and(|next| *next == quote || *next == escape) {
                value.extend(bytes.next());
            } else if byte == quote {
                inside = !inside;
                was_quoted = true;
            } else if byte == self.options.delimiter() && !inside {
                close(&mut value, &mut was_quoted);
            } else {
                value.push(byte);
            }
        }
        if inside {
            return Err(ErrorResponse::new(Code::ConversionFailed, "a quoted value has no end").with_state("22P04"));
        }
        close(&mut value, &mut was_quoted);
        Ok(record)
    }

    fn binary(&mut self) -> Result<Option<Record>, ErrorResponse> {
        let broken =
            || ErrorResponse::new(Code::ConversionFailed, "the copy is not in the binary format").with_state("22P04");
        if self.header {
            if self.inbox.len() < HEADER_BYTES {
                return Ok(None);
            }
            let extension = self.inbox.get(15..HEADER_BYTES).map_or(1, |mut bytes| bytes.get_u32());
            if !self.inbox.starts_with(SIGNATURE) || extension != 0 {
                return Err(broken());
            }
            self.inbox.advance(HEADER_BYTES);
            self.header = false;
        }
        let Some(end) = self.binary_end()? else { return Ok(None) };
        let mut row = self.inbox.split_to(end);
        let fields = row.get_i16();
        if fields < 0 {
            self.ended = true;
            return Ok(None);
        }
        self.count += 1;
        let value = |_| {
            let length = usize::try_from(row.get_i32()).ok();
            length.map(|length| row.split_to(length).freeze())
        };
        Ok(Some((0..fields).map(value).collect()))
    }

    /// Where the row at the front ends, when all of it is here.
    fn binary_end(&self) -> Result<Option<usize>, ErrorResponse> {
        if self.ended {
            return Ok(None);
        }
        let Some(mut fields) = self.inbox.get(..2) else { return Ok(None) };
        let mut at = 2;
        for _ in 0..fields.get_i16() {
            let Some(mut length) = self.inbox.get(at..at + 4) else { return Ok(None) };
            let length = length.get_i32();
            at += 4 + usize::try_from(length).unwrap_or(0);
            if length < -1 || at > RECORD_BYTES_MAX {
                return Err(ErrorResponse::new(Code::QueryTooLarge, "a row of the copy is too long"));
            }
        }
        Ok((at <= self.inbox.len()).then_some(at))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::lex;
    use super::*;

    fn records(options: &str, pieces: &[&[u8]]) -> Result<Vec<Vec<Option<String>>>, ErrorResponse> {
        let tokens = lex::split(options).pop().map(|piece| piece.tokens).unwrap_or_default();
        let mut records = Records::new(Options::read(&tokens).unwrap());
        let mut all = Vec::new();
        let shown = |record: Record| {
            record.into_iter().map(|value| value.map(|value| String::from_utf8_lossy(&value).into_owned())).collect()
        };
        for piece in pieces {
            records.add(piece)?;
            while let Some(record) = records.next()? {
                all.push(shown(record));
            }
        }
        while let Some(record) = records.last()? {
            all.push(shown(record));
        }
        Ok(all)
    }

    type Case = (&'static str, &'static [u8], Vec<Vec<Option<String>>>);

    fn values(values: &[Option<&str>]) -> Vec<Option<String>> {
        values.iter().map(|value| value.map(str::to_owned)).collect()
    }

    #[test]
    fn rows_are_read_wherever_the_bytes_were_cut() {
        let cases: &[Case] = &[
            ("", b"1\ta\\tb\n2\t\\N\n\\.\n", vec![values(&[Some("1"), Some("a\tb")]), values(&[Some("2"), None])]),
            ("", b"a\\\nb\r\nlast", vec![values(&[Some("a\nb")]), values(&[Some("last")])]),
            (
                "csv header",
                b"x,y\r\n1,\"a \"\"b\"\",\nc\"\n2,\n3,\"\"\n",
                vec![
                    values(&[Some("1"), Some("a \"b\",\nc")]),
                    values(&[Some("2"), None]),
                    values(&[Some("3"), Some("")]),
                ],
            ),
            (
                "csv delimiter ';' null 'NULL' escape '\\'",
                b"a;\"\\\"\"\nNULL;\n",
                vec![values(&[Some("a"), Some("\"")]), values(&[None, Some("")])],
            ),
        ];
        for (options, bytes, expected) in cases {
            assert_eq!(records(options, &[bytes]).as_ref(), Ok(expected), "{options}");
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(records(options, &single).as_ref(), Ok(expected), "{options}, byte by byte");
        }
    }

    #[test]
    fn binary_rows_are_read_by_their_lengths() {
        let mut bytes = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0".to_vec();
        bytes.extend(b"\x00\x02\x00\x00\x00\x02ab\xff\xff\xff\xff");
        bytes.extend(b"\xff\xff");
        let expected = vec![values(&[Some("ab"), None])];
        assert_eq!(records("binary", &[&bytes]), Ok(expected.clone()));
        assert_eq!(records("binary", &bytes.chunks(1).collect::<Vec<_>>()), Ok(expected.clone()));
        let whole = bytes.len();
        assert_eq!(records("binary", &[&bytes[..whole - 2]]), Ok(expected), "without the mark of the end");
        for cut in [0, 5, whole - 1, whole - 5] {
            assert!(records("binary", &[&bytes[..cut]]).is_err(), "{cut}");
        }
        assert!(records("binary", &[b"1,2,3\n and more than nineteen bytes"]).is_err());
    }

    #[test]
    fn a_quoted_value_without_an_end_is_refused() {
        assert_eq!(records("csv", &[b"1,\"a\n2"]).unwrap_err().sqlstate, "22P04");
    }
}
