//! Literals in which texts may differ that share a plan: all of one form are one to what plans a statement.
//!
//! Of a number the plan follows from how many digits stand before and behind the point: of up to nine the engine makes an
//! INTEGER, of ten either that or a BIGINT. Of a text it follows whether it spells a number, a day, a moment, a list or a
//! word that is a value of another type: letters, and digits behind them, do not. Of a day it follows how that is spelled,
//! never which it is. Where a text is written into a column of a length it follows from its own length too, which is no
//! part of its form.

const DIGITS_MAX: usize = 9;
/// A longer text is no name or key.
const TEXT_BYTES_MAX: usize = 64;
/// Values of other types than text, in letters.
const WORDS: [&str; 19] = [
    "epoch",
    "f",
    "false",
    "inf",
    "infinity",
    "n",
    "nan",
    "no",
    "now",
    "null",
    "off",
    "on",
    "t",
    "today",
    "tomorrow",
    "true",
    "y",
    "yes",
    "yesterday",
];

/// The form of a literal that may be another one in the same plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiteralForm {
    /// So many digits before the point, and behind it.
    Number { whole: usize, fraction: usize },
    /// Letters, digits and few signs, in quotes.
    Text,
    /// `'2024-01-31'`, a day that there is or not.
    Day,
    /// A UUID in quotes; one that begins with a digit begins as a day does.
    Uuid { begins_with_digit: bool },
}

impl LiteralForm {
    /// None of what is no literal, or one that may decide something.
    pub fn of(written: &str) -> Option<Self> {
        match written.strip_prefix('\'') {
            Some(quoted) => quoted.strip_suffix('\'').and_then(string),
            None => number(written),
        }
    }
}

fn number(written: &str) -> Option<LiteralForm> {
    let (whole, fraction) = written.split_once('.').unwrap_or((written, ""));
    let is_digits = |part: &str| part.len() <= DIGITS_MAX && part.bytes().all(|byte| byte.is_ascii_digit());
    let has_all = !whole.is_empty() && !written.ends_with('.');
    let has_no_zeros = whole == "0" || !whole.starts_with('0');
    let form = LiteralForm::Number { whole: whole.len(), fraction: fraction.len() };
    (has_all && has_no_zeros && is_digits(whole) && is_digits(fraction)).then_some(form)
}

fn string(text: &str) -> Option<LiteralForm> {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    let is_all = |is_one: fn(&u8) -> bool| text.bytes().all(|byte| byte == b'-' || is_one(&byte));
    match lengths.as_slice() {
        [4, 2, 2] if is_all(u8::is_ascii_digit) => Some(LiteralForm::Day),
        [8, 4, 4, 4, 12] if is_all(u8::is_ascii_hexdigit) && !is_all(u8::is_ascii_digit) => {
            Some(LiteralForm::Uuid { begins_with_digit: text.starts_with(|first: char| first.is_ascii_digit()) })
        }
        _ => is_plain(text).then_some(LiteralForm::Text),
    }
}

fn is_plain(text: &str) -> bool {
    let is_sign = |byte: u8| matches!(byte, b'_' | b'.' | b'@' | b' ');
    text.len() <= TEXT_BYTES_MAX
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || is_sign(byte))
        && !WORDS.iter().any(|word| text.trim_end().eq_ignore_ascii_case(word))
}

/// The first token of a text: what is in quotes, a name or number with its points, or a sign.
pub fn first_token(text: &str) -> &str {
    let joins = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.');
    let length = match text.chars().next() {
        Some(quote @ ('\'' | '"')) => quoted(text, quote),
        Some(first) if joins(first) => text.find(|c: char| !joins(c)).unwrap_or(text.len()),
        first => first.map_or(0, char::len_utf8),
    };
    text.get(..length).unwrap_or_default()
}

/// The length of the part in quotes that a text begins with: a quote in it is doubled.
fn quoted(text: &str, quote: char) -> usize {
    let mut at = 1;
    while let Some(length) = text.get(at..).and_then(|rest| rest.find(quote)) {
        at += length + 1;
        if !text.get(at..).is_some_and(|rest| rest.starts_with(quote)) {
            return at;
        }
        at += 1;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_as_many_digits_and_texts_of_letters_are_of_one_form() {
        let number = |whole, fraction| Some(LiteralForm::Number { whole, fraction });
        for (written, expected) in [
            ("0", number(1, 0)),
            ("7", number(1, 0)),
            ("4711", number(4, 0)),
            ("999999999", number(9, 0)),
            ("12.50", number(2, 2)),
            ("0.5", number(1, 1)),
            ("'open'", Some(LiteralForm::Text)),
            ("'ada@x.example'", Some(LiteralForm::Text)),
            ("'n12'", Some(LiteralForm::Text)),
            ("'2024-01-31'", Some(LiteralForm::Day)),
            ("'2024-13-45'", Some(LiteralForm::Day)),
            ("'0190a3b4-0000-7000-8000-000000000001'", Some(LiteralForm::Uuid { begins_with_digit: true })),
            ("'F190a3b4-0000-7000-8000-000000000001'", Some(LiteralForm::Uuid { begins_with_digit: false })),
        ] {
            assert_eq!(LiteralForm::of(written), expected, "{written}");
        }
    }

    #[test]
    fn no_other_literal_has_a_form() {
        for written in [
            "",
            "012",
            "1234567890",
            "12.",
            ".5",
            "1.2.3",
            "1e5",
            "-12",
            "t12",
            "''",
            "'",
            "'12'",
            "'2024-1-31'",
            "'2024-01-31 10:00'",
            "'01900000-0000-7000-8000-000000000001'",
            "'31-DEC-2024'",
            "'a-b'",
            "'a:b'",
            "'it''s'",
            "'a%'",
            "'{a}'",
            "'True'",
            "'on'",
            "'infinity'",
            "'Bücher'",
            "\"name\"",
        ] {
            assert_eq!(LiteralForm::of(written), None, "{written}");
        }
        assert_eq!(LiteralForm::of(&format!("'{}'", "a".repeat(TEXT_BYTES_MAX + 1))), None);
    }

    #[test]
    fn a_text_falls_into_tokens_and_nothing_is_lost() {
        let tokens = |text: &str| {
            let (mut found, mut left) = (Vec::new(), text.to_owned());
            while !left.is_empty() {
                let token = first_token(&left).to_owned();
                left = left.split_off(token.len());
                found.push(token);
            }
            found
        };
        assert_eq!(tokens("t1.id>=12.5"), ["t1.id", ">", "=", "12.5"]);
        assert_eq!(tokens("\"a \"\"1\"\"\"='it''s'||$1"), ["\"a \"\"1\"\"\"", "=", "'it''s'", "|", "|", "$1"]);
        for odd in ["'open", "\"", "ä'ö", "''''", "'a'''", "\u{1f600}1"] {
            assert_eq!(tokens(odd).concat(), odd);
        }
    }
}
