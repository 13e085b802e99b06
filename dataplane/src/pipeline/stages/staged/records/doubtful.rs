//! The records of a CSV file of which the engine is asked whether they fail: those that surely do not are loaded at once.
//!
//! The others are kept aside as the engine is given them, so that it need not read the whole file twice. Nothing is kept
//! of a file with a record whose values could be told apart in more than one way: all of that is asked.

use sql::{CsvRecords, StagedRows};

use super::sure_value::SureColumn;

/// Bytes of records that are kept.
const KEPT_BYTES_MAX: usize = 4 << 20;

/// The records that are doubtful, and how others are told from them.
#[derive(Debug)]
pub(in crate::pipeline::stages::staged) struct DoubtfulRecords {
    columns: Vec<SureColumn>,
    nulls: Vec<String>,
    delimiter: u8,
    quote: Option<u8>,
    /// As the engine is given them, behind the one that names the values.
    kept: Vec<u8>,
    records: u64,
    is_given_up: bool,
}

/// A value as it is written, without its quotes, and all that stands behind its delimiter.
struct FirstValue<'r> {
    text: &'r [u8],
    is_quoted: bool,
    rest: Option<&'r [u8]>,
}

impl DoubtfulRecords {
    /// For files that fill these rows; none where no record would be sure.
    pub fn of(signs: &CsvRecords, rows: &StagedRows, truncates: bool) -> Option<Self> {
        if signs.escape.is_some() && signs.escape != signs.quote {
            return None;
        }
        let columns = rows.columns.iter().zip(&rows.filled);
        let columns = columns.map(|(read, filled)| SureColumn::of(read, filled, truncates));
        Some(Self {
            columns: columns.collect::<Option<_>>()?,
            nulls: signs.nulls.clone(),
            delimiter: signs.delimiter,
            quote: signs.quote,
            kept: Vec::new(),
            records: 0,
            is_given_up: false,
        })
    }

    /// Keeps the record that names the values.
    pub fn head(&mut self, given: &[u8]) {
        self.kept.extend_from_slice(given);
    }

    /// Keeps a record as it is `given`, if it is doubtful.
    pub fn take(&mut self, record: &[u8], given: &[u8]) {
        if self.is_given_up {
            return;
        }
        match self.is_sure(record) {
            Some(true) => {}
            Some(false) if self.kept.len() + given.len() <= KEPT_BYTES_MAX => {
                self.kept.extend_from_slice(given);
                self.records += 1;
            }
            Some(false) | None => {
                self.is_given_up = true;
                self.kept = Vec::new();
            }
        }
    }

    /// All of them with their bytes; none where the whole file is to be asked.
    pub fn into_kept(self) -> Option<(u64, Vec<u8>)> {
        (!self.is_given_up).then_some((self.records, self.kept))
    }

    /// Whether each value surely is one of its column's; none where it is in doubt what the values are.
    fn is_sure(&self, record: &[u8]) -> Option<bool> {
        if [0, b'\n', b'\r'].iter().any(|byte| record.contains(byte)) {
            return None;
        }
        let (mut columns, mut is_sure, mut left) = (self.columns.iter(), true, Some(record));
        while let Some(values) = left {
            let FirstValue { text, is_quoted, rest } = self.first(values)?;
            is_sure &= columns.next().is_some_and(|column| column.takes(text, is_quoted, &self.nulls));
            left = rest;
        }
        Some(is_sure && columns.next().is_none())
    }

    fn first<'r>(&self, values: &'r [u8]) -> Option<FirstValue<'r>> {
        let Some((_, quoted)) = values.split_first().filter(|(first, _)| Some(**first) == self.quote) else {
            let length = values.iter().position(|byte| *byte == self.delimiter).unwrap_or(values.len());
            let text = values.get(..length)?;
            let has_quote = self.quote.is_some_and(|quote| text.contains(&quote));
            return (!has_quote).then(|| FirstValue { text, is_quoted: false, rest: values.get(length + 1..) });
        };
        let mut from = 0;
        loop {
            let length = from + quoted.get(from..)?.iter().position(|byte| Some(*byte) == self.quote)?;
            let behind = quoted.get(length + 1).copied();
            if behind.is_none_or(|byte| byte == self.delimiter) {
                return Some(FirstValue {
                    text: quoted.get(..length)?,
                    is_quoted: true,
                    rest: quoted.get(length + 2..),
                });
            }
            if behind != self.quote {
                return None;
            }
            from = length + 2; // it is written twice
        }
    }
}

#[cfg(test)]
mod tests {
    use sql::Column;

    use super::*;

    fn doubtful(columns: &[&str]) -> DoubtfulRecords {
        let columns = columns.iter().map(|kind| Column::new("c", *kind));
        let columns = columns.map(|column| SureColumn::of(&column, &column, false).unwrap()).collect();
        let (nulls, quote) = (vec!["\\N".to_owned()], Some(b'"'));
        DoubtfulRecords { columns, nulls, delimiter: b',', quote, kept: Vec::new(), records: 0, is_given_up: false }
    }

    #[test]
    fn a_record_is_sure_where_each_value_of_it_is() {
        let records = doubtful(&["INTEGER", "VARCHAR(3)"]);
        for (record, told) in [
            ("1,a", Some(true)),
            ("\\N,", Some(true)),
            ("1,\"a,b\"", Some(true)),
            ("\"1\",\"\"", Some(true)),
            ("1,\"\"\"\"", Some(true)),
            ("x,a", Some(false)),
            ("1,abcd", Some(false)),
            ("1", Some(false)),
            ("1,a,", Some(false)),
            ("1,a\"b", None),
            ("1,\"a\"b", None),
            ("1,\"a", None),
            ("1,\"a\nb\"", None),
            ("1,\"a\rb\"", None),
            ("1,a\0", None),
            ("1,a ", Some(true)),
            ("1 ,a", Some(false)),
            ("1,\"\\N\"", Some(true)),
            ("\"\\N\",a", Some(false)),
        ] {
            assert_eq!(records.is_sure(record.as_bytes()), told, "{record:?}");
        }
    }

    #[test]
    fn those_that_are_not_sure_are_kept_until_they_are_too_many() {
        let mut records = doubtful(&["INTEGER"]);
        records.head(b"#1,id\n");
        for (record, given) in [("1", "#2,1\n"), ("x", "#3,x\n"), ("y", "#4,y\n")] {
            records.take(record.as_bytes(), given.as_bytes());
        }
        assert_eq!(records.into_kept(), Some((2, b"#1,id\n#3,x\n#4,y\n".to_vec())));
        let mut records = doubtful(&["INTEGER"]);
        records.take(b"x", &vec![b'x'; KEPT_BYTES_MAX + 1]);
        records.take(b"x", b"x");
        assert_eq!(records.into_kept(), None);
    }
}
