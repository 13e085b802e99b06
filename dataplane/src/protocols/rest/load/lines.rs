//! The records of a file as its bytes come: each within its bounds, counted, and the first one of CSV read.
//!
//! The engine's reader leaves a record out that is longer than its buffer, without a word. So none longer than a bound
//! is given to it, and what it has read is compared with what was counted here.

use engine::RECORD_BYTES_MAX;

use crate::Error;
use crate::limits::json_depth::JsonDepth;

const HEADER_BYTES_MAX: usize = 1 << 20;

/// The records of CSV or JSON lines so far.
#[derive(Debug)]
pub struct RecordCount {
    header: Header,
    /// Of JSON.
    depth: JsonDepth,
    /// Within quotes.
    is_quoted: bool,
    /// Nothing stands in the record that has begun.
    is_blank: bool,
    /// Bytes of the record that has begun.
    length: usize,
    /// Lines that have ended.
    lines: u64,
    records: u64,
    blank: u64,
}

/// The header of a file, as far as it has come.
#[derive(Debug)]
enum Header {
    /// JSON lines have none.
    None,
    Begun(Vec<u8>),
    Whole(Vec<u8>),
}

/// The names in the header of CSV, and how many rows there are at least and at most.
pub type CountedRecords = (Option<Vec<String>>, (u64, u64));

impl RecordCount {
    pub fn of_csv() -> Self {
        Self { header: Header::Begun(Vec::new()), ..Self::of_json_lines() }
    }

    pub fn of_json_lines() -> Self {
        let depth = JsonDepth::default();
        Self {
            header: Header::None,
            depth,
            is_quoted: false,
            is_blank: true,
            length: 0,
            lines: 0,
            records: 0,
            blank: 0,
        }
    }

    pub fn take(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if matches!(self.header, Header::None) {
            self.depth.take(bytes).map_err(|line| Error::file(Some(line), JsonDepth::reason()))?;
        }
        for byte in bytes {
            let is_end = *byte == b'\n';
            self.lines += u64::from(is_end);
            if is_end && !self.is_quoted {
                self.ended();
                continue;
            }
            self.length += 1;
            let most = match &mut self.header {
                Header::Begun(header) => {
                    header.push(*byte);
                    HEADER_BYTES_MAX
                }
                Header::Whole(_) | Header::None => RECORD_BYTES_MAX,
            };
            let is_csv = !matches!(self.header, Header::None);
            self.is_quoted ^= is_csv && *byte == b'"';
            self.is_blank &= *byte == b'\r' || (!is_csv && matches!(byte, b' ' | b'\t'));
            if self.length > most {
                let reason = format!("it is longer than {} MiB", most >> 20);
                return Err(Error::file(Some(self.lines + 1), reason));
            }
        }
        Ok(())
    }

    fn ended(&mut self) {
        if let Header::Begun(header) = &mut self.header {
            self.header = Header::Whole(std::mem::take(header));
        } else if self.is_blank {
            self.blank += 1;
        } else {
            self.records += 1;
        }
        (self.length, self.is_blank) = (0, true);
    }

    /// Records that have ended, the header and blank lines left out.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The bytes have ended.
    pub fn end(mut self) -> Result<CountedRecords, Error> {
        if self.length > 0 {
            self.ended();
        }
        match &self.header {
            Header::None => Ok((None, (self.records, self.records))),
            Header::Begun(header) | Header::Whole(header) => {
                // Where there is one column, an empty line is a row.
                Ok((Some(names(header)?), (self.records, self.records.saturating_add(self.blank))))
            }
        }
    }
}

/// The names in a header: parted by commas, quoted where they hold one.
fn names(header: &[u8]) -> Result<Vec<String>, Error> {
    let refused = |reason: &str| Error::file(Some(1), reason);
    let text = std::str::from_utf8(header).map_err(|_| refused("it is not UTF-8"))?;
    let text = text.trim_start_matches('\u{feff}').trim_end_matches('\r');
    if text.trim().is_empty() {
        return Err(refused("the header is missing: the first line names the columns"));
    }
    let (mut names, mut rest) = (Vec::new(), text);
    loop {
        let (name, behind) = if let Some(quoted) = rest.strip_prefix('"') {
            unquoted(quoted).ok_or_else(|| refused("a quote is not closed"))?
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            let (name, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
            (name.to_owned(), behind)
        };
        names.push(name);
        match behind.strip_prefix(',') {
            Some(more) => rest = more,
            None if behind.is_empty() => return Ok(names),
            None => return Err(refused("something stands between a quote and a comma")),
        }
    }
}

/// A quoted name whose first quote is taken, and what stands behind it.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let (mut name, mut rest) = (String::new(), text);
    loop {
        let (before, behind) = rest.split_once('"')?;
        name.push_str(before);
        match behind.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => return Some((name, behind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(text: &str) -> Result<CountedRecords, Error> {
        let mut whole = RecordCount::of_csv();
        whole.take(text.as_bytes())?;
        let mut pieces = RecordCount::of_csv();
        text.as_bytes().chunks(1).try_for_each(|piece| pieces.take(piece))?;
        let counted = whole.end()?;
        assert_eq!(pieces.end()?, counted, "{text:?}");
        Ok(counted)
    }

    #[test]
    fn records_are_counted_and_the_header_read() {
        for (text, names, rows) in [
            ("a,b\n1,2\n", &["a", "b"][..], (1, 1)),
            ("\u{feff}a,\"b, \"\"c\"\"\"\r\n1,2\r\n3,4", &["a", "b, \"c\""], (2, 2)),
            ("\"a\nb\",c\n1,\"x\ny\"\n", &["a\nb", "c"], (1, 1)),
            ("a\n1\n\n2\n", &["a"], (2, 3)),
            ("a,,b", &["a", "", "b"], (0, 0)),
        ] {
            let (header, counted) = counted(text).unwrap();
            assert_eq!((header.unwrap(), counted), (names.iter().map(|name| (*name).to_owned()).collect(), rows));
        }
        let mut lines = RecordCount::of_json_lines();
        lines.take(b"{\"a\": \"\\\"\"}\n \t\r\n{}").unwrap();
        assert_eq!(lines.end().unwrap(), (None, (2, 2)));
    }

    #[test]
    fn a_header_that_names_nothing_and_a_record_that_does_not_end_are_refused() {
        for text in ["", "\n1,2\n", "\"a,b\n1,2", "\"a\"b,c\n"] {
            assert!(counted(text).is_err(), "{text:?}");
        }
        let mut count = RecordCount::of_csv();
        count.take(b"a\nb\n").unwrap();
        let error = count.take(&vec![b'x'; RECORD_BYTES_MAX + 1]).unwrap_err();
        assert_eq!(error.problem().details["line"], 3);
        assert!(error.to_string().contains("longer than 4 MiB"), "{error}");
    }
}
