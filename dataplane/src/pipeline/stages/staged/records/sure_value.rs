//! Columns of a table, and the texts that surely are values of them, as can be told without the engine.
//!
//! Fewer are sure than the engine takes: of the others it is asked. Were one sure that it does not take, a row would be
//! missing of those that are loaded, and the load is refused.

use sql::Column;
use sql::functions::types::Type;

/// Digits that any number with a floating point may have before its point: the least of these types has 38.
const FLOATING_DIGITS: usize = 15;
/// Digits that it may have behind its point: those behind the first 17 or so only round it.
const ROUNDED_DIGITS: usize = 30;
const DAY_BYTES: usize = 10;
const MICROSECOND_DIGITS: usize = 6;

/// A column, and the texts that surely are its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SureColumn {
    texts: SureTexts,
    nullable: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SureTexts {
    /// Any that has no more bytes.
    Short {
        bytes: usize,
    },
    Whole {
        digits: usize,
    },
    Fraction {
        before: usize,
        behind: usize,
    },
    Truth,
    Day,
    Moment,
}

impl SureColumn {
    /// A column by the type that it is read as, and as the table has it; none where no text is sure.
    pub fn of(read: &Column, filled: &Column, truncates: bool) -> Option<Self> {
        let texts = match Type::of_name(&read.type_name) {
            Type::Text if filled.family() == Type::Text => {
                let length = filled.length().filter(|_| !truncates);
                let bytes = length.map_or(usize::MAX, |length| usize::try_from(length).unwrap_or(usize::MAX));
                SureTexts::Short { bytes } // which are as many as its characters, or more
            }
            _ if filled.type_name != read.type_name => return None,
            _ => SureTexts::of(&read.type_name)?,
        };
        Some(Self { texts, nullable: filled.nullable })
    }

    /// Whether a text surely is a value of it; in quotes none stands for NULL.
    pub fn takes(self, text: &[u8], is_quoted: bool, nulls: &[String]) -> bool {
        if !is_quoted && nulls.iter().any(|null| null.as_bytes() == text) {
            return self.nullable;
        }
        match self.texts {
            SureTexts::Short { bytes } => text.len() <= bytes && (self.nullable || !text.is_empty()),
            SureTexts::Whole { digits } => is_whole(text, digits),
            SureTexts::Fraction { before, behind } => is_fraction(text, before, behind),
            SureTexts::Truth => matches!(text, b"true" | b"false"),
            SureTexts::Day => is_day(text),
            SureTexts::Moment => {
                text.split_at_checked(DAY_BYTES).is_some_and(|(day, time)| is_day(day) && is_time(time))
            }
        }
    }
}

impl SureTexts {
    /// Those of a type, as the engine prints it.
    fn of(type_name: &str) -> Option<Self> {
        Some(match type_name {
            "TINYINT" => Self::Whole { digits: 2 },
            "SMALLINT" => Self::Whole { digits: 4 },
            "INTEGER" => Self::Whole { digits: 9 },
            "BIGINT" => Self::Whole { digits: 18 },
            "HUGEINT" => Self::Whole { digits: 37 },
            "FLOAT" | "DOUBLE" => Self::Fraction { before: FLOATING_DIGITS, behind: ROUNDED_DIGITS },
            "BOOLEAN" => Self::Truth,
            "DATE" => Self::Day,
            "TIMESTAMP" => Self::Moment,
            _ => {
                let digits = type_name.strip_prefix("DECIMAL(")?.strip_suffix(')')?.split_once(',')?;
                let (all, behind): (usize, usize) = (digits.0.trim().parse().ok()?, digits.1.trim().parse().ok()?);
                Self::Fraction { before: all.checked_sub(behind)?, behind }
            }
        })
    }
}

fn are_digits(text: &[u8], most: usize) -> bool {
    (1..=most).contains(&text.len()) && text.iter().all(u8::is_ascii_digit)
}

fn is_whole(text: &[u8], digits: usize) -> bool {
    are_digits(text.strip_prefix(b"-").unwrap_or(text), digits)
}

fn is_fraction(text: &[u8], before: usize, behind: usize) -> bool {
    let mut parts = text.splitn(2, |byte| *byte == b'.');
    let is_number = parts.next().is_some_and(|whole| is_whole(whole, before));
    is_number && parts.next().is_none_or(|rest| are_digits(rest, behind))
}

/// A day of the years 1 to 9999.
fn is_day(text: &[u8]) -> bool {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text else { return false };
    let Some((century, year)) = pair(*y1, *y2).zip(pair(*y3, *y4)) else { return false };
    let is_leap = if year == 0 { century.is_multiple_of(4) } else { year.is_multiple_of(4) };
    let days = match pair(*m1, *m2) {
        Some(2) if is_leap => 29,
        Some(2) => 28,
        Some(4 | 6 | 9 | 11) => 30,
        Some(1..=12) => 31,
        _ => return false,
    };
    (century, year) != (0, 0) && pair(*d1, *d2).is_some_and(|day| (1..=days).contains(&day))
}

/// A time behind its day.
fn is_time(text: &[u8]) -> bool {
    let [b' ' | b'T', h1, h2, b':', m1, m2, b':', s1, s2, rest @ ..] = text else { return false };
    pair(*h1, *h2).is_some_and(|hour| hour < 24)
        && pair(*m1, *m2).is_some_and(|minute| minute < 60)
        && pair(*s1, *s2).is_some_and(|second| second < 60)
        && (rest.is_empty() || rest.strip_prefix(b".").is_some_and(|digits| are_digits(digits, MICROSECOND_DIGITS)))
}

/// The number of two digits.
fn pair(tens: u8, ones: u8) -> Option<u8> {
    (tens.is_ascii_digit() && ones.is_ascii_digit()).then(|| (tens - b'0') * 10 + (ones - b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sure(type_name: &str, text: &str) -> bool {
        let column = Column::new("c", type_name);
        SureColumn::of(&column, &column, false).unwrap().takes(text.as_bytes(), false, &["\\N".to_owned()])
    }

    #[test]
    fn a_text_is_sure_where_no_engine_could_refuse_it() {
        for (type_name, text) in [
            ("VARCHAR", ""),
            ("VARCHAR", "x"),
            ("INTEGER", "-999999999"),
            ("INTEGER", "007"),
            ("INTEGER", "\\N"),
            ("BIGINT", "999999999999999999"),
            ("DOUBLE", "-1.5"),
            ("DOUBLE", "0.30000000000000004"),
            ("FLOAT", "0.100000000000000005551115123125"),
            ("DECIMAL(4,2)", "-12.25"),
            ("DECIMAL(38,0)", "1"),
            ("BOOLEAN", "true"),
            ("DATE", "2026-02-28"),
            ("DATE", "2024-02-29"),
            ("DATE", "2000-02-29"),
            ("DATE", "2026-12-31"),
            ("TIMESTAMP", "2026-02-28 23:59:59.123456"),
            ("TIMESTAMP", "0001-01-01T00:00:00"),
        ] {
            assert!(sure(type_name, text), "{type_name}: {text}");
        }
    }

    #[test]
    fn a_text_that_an_engine_could_refuse_or_read_otherwise_is_not_sure() {
        for (type_name, text) in [
            ("INTEGER", ""),
            ("INTEGER", "-"),
            ("INTEGER", "2147483648"),
            ("INTEGER", "1.0"),
            ("INTEGER", " 1"),
            ("INTEGER", "1 "),
            ("INTEGER", "+1"),
            ("INTEGER", "--1"),
            ("INTEGER", "1_000"),
            ("INTEGER", "0x1F"),
            ("INTEGER", "\u{661}"),
            ("BIGINT", "1234567890123456789"),
            ("DOUBLE", "inf"),
            ("DOUBLE", "-Infinity"),
            ("DOUBLE", "nan"),
            ("DOUBLE", "1.5.5"),
            ("DOUBLE", "1.-5"),
            ("DOUBLE", "-.5"),
            ("DOUBLE", "1,5"),
            ("DOUBLE", "1234567890123456.5"),
            ("DOUBLE", "1."),
            ("DOUBLE", ".5"),
            ("DOUBLE", "1e5"),
            ("DECIMAL(4,2)", "123.25"),
            ("DECIMAL(4,2)", "1.125"),
            ("DECIMAL(4,2)", "1.000"),
            ("DECIMAL(4,2)", "012.5"),
            ("DECIMAL(2,2)", "0.25"),
            ("DECIMAL(38,0)", "1.5"),
            ("BOOLEAN", "TRUE"),
            ("BOOLEAN", "t"),
            ("BOOLEAN", "1"),
            ("DATE", "2026-02-29"),
            ("DATE", "1900-02-29"),
            ("DATE", "2026-04-31"),
            ("DATE", "2026-01-32"),
            ("DATE", "2026-01-00"),
            ("DATE", "0000-01-01"),
            ("DATE", "2026-13-01"),
            ("DATE", "26-01-01"),
            ("DATE", "10000-01-01"),
            ("DATE", "-001-01-01"),
            ("DATE", "2026-1-01"),
            ("DATE", "2026/01/01"),
            ("DATE", "2026-01-01 "),
            ("DATE", "infinity"),
            ("DATE", "epoch"),
            ("TIMESTAMP", "2026-02-28"),
            ("TIMESTAMP", "2026-02-28 24:00:00"),
            ("TIMESTAMP", "2026-02-28 00:00:00Z"),
            ("TIMESTAMP", "2026-02-28 00:00:60"),
            ("TIMESTAMP", "2026-02-28 00:00:00."),
            ("TIMESTAMP", "2026-02-28 00:00:00.1234567"),
            ("TIMESTAMP", "2026-02-28t00:00:00"),
            ("TIMESTAMP", "2026-02-28  00:00:00"),
        ] {
            assert!(!sure(type_name, text), "{type_name}: {text}");
        }
    }

    #[test]
    fn a_column_may_need_a_value_and_have_a_length() {
        let needed = Column { nullable: false, ..Column::new("c", "VARCHAR") };
        let column = SureColumn::of(&needed, &needed, false).unwrap();
        let nulls = ["\\N".to_owned()];
        let takes = |text: &str, is_quoted| column.takes(text.as_bytes(), is_quoted, &nulls);
        assert_eq!([takes("x", false), takes("", false), takes("\\N", false)], [true, false, false]);
        assert_eq!([takes("\\N", true), takes("", true)], [true, false]);
        let (text, number) = (Column::new("c", "VARCHAR"), Column::new("c", "INTEGER"));
        assert_eq!(SureColumn::of(&text, &number, false), None);
        for of_no_text in ["JSON", "BLOB", "TIMESTAMP WITH TIME ZONE", "DECIMAL"] {
            let column = Column::new("c", of_no_text);
            assert_eq!(SureColumn::of(&column, &column, false), None, "{of_no_text}");
        }
    }
}
