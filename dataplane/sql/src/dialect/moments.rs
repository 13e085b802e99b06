//! Text where a date or a moment is wanted, and moments where text is.
//!
//! `TIMESTAMP_NTZ` is what a clock on the wall shows: an offset behind it is left out. A literal is read here: the engine
//! takes no blank before an offset, and beside ISO 8601 the warehouse knows `12/31/2024` and `31-DEC-2024`. What is not
//! a literal is spelled as ISO 8601 by the engine first, which refuses what it cannot read. A moment as text has three
//! digits of a second, and one with a zone its offset.

use sqlparser::ast::{BinaryOperator, DataType, Expr, TimezoneInfo, Value};

use super::offsets::{self, LocalClock, UtcOffset};
use super::{Context, compose, formats, templates};
use crate::ast::error::Error;
use crate::functions::types::Type;

/// Text as the engine is to read it; `tried` where what it cannot read is NULL.
pub(super) fn written(text: Expr, tried: bool, context: &mut Context<'_>) -> Result<Expr, Error> {
    if compose::literal(&text).is_some() || templates::is_volatile(&text) {
        return Ok(literal(text));
    }
    templates::fill(if tried { "_try_day_first" } else { "_day_first" }, &mut [text], context)
}

/// The same of a date. Behind a day the engine reads on for a time, and leaves out what is none
/// (duckdb/duckdb#23938): such a text becomes no day.
pub(super) fn day(text: Expr, tried: bool, context: &mut Context<'_>) -> Result<Expr, Error> {
    let text = written(text, tried, context)?;
    match compose::literal(&text) {
        Some(literal) if !may_go_on(literal) => Ok(text),
        _ => templates::fill("_day", &mut [text], context),
    }
}

/// Whether something other than digits and their signs stands in what begins as a day.
fn may_go_on(literal: &str) -> bool {
    let text = literal.trim();
    let is_of_moment = |letter: char| letter.is_ascii_digit() || "-/:.+ T".contains(letter);
    text.starts_with(|letter: char| letter.is_ascii_digit()) && !text.chars().all(is_of_moment)
}

/// The text of a time, as the engine is to read it: `24:00:00` is a time to the engine, and none to the warehouse.
pub(super) fn within_a_day(text: Expr, context: &mut Context<'_>) -> Result<Expr, Error> {
    match compose::literal(&text) {
        Some(literal) if !literal.trim_start().starts_with("24:") => Ok(text),
        _ => templates::fill("_within_a_day", &mut [text], context),
    }
}

/// A literal as the engine is to read it; anything else as it is.
pub(super) fn literal(text: Expr) -> Expr {
    compose::literal(&text).and_then(read).map(compose::text).unwrap_or(text)
}

/// A moment as text.
pub(super) fn shown(moment: Expr, context: &Context<'_>) -> Expr {
    const WITHOUT_ZONE: &str = "%Y-%m-%d %H:%M:%S.%g";
    let written =
        |time: Expr, offset: &str| compose::call("strftime", [time, compose::text(format!("{WITHOUT_ZONE}{offset}"))]);
    match offsets::local(&moment, context) {
        Some(LocalClock { time, ahead: UtcOffset::Minutes(minutes) }) => {
            written(time, &format!(" {}", formats::offset(minutes, "")))
        }
        Some(LocalClock { time, ahead: UtcOffset::Counted(ahead) }) => {
            let offset = offsets::signed(&ahead, "%H%M");
            compose::binary(written(time, " "), BinaryOperator::StringConcat, offset)
        }
        // the engine's day begins at midnight UTC
        None if context.type_of(&moment) == Type::TimestampTz => written(moment, " +0000"),
        None => written(moment, ""),
    }
}

/// A text whose offset stands behind a blank, without the blank; nothing where there is none.
pub fn offset_joined(literal: &str) -> Option<String> {
    let text = literal.trim();
    let (wall, _) = offsets::split(text)?;
    let offset = text.get(wall.len()..)?.trim_start();
    (wall.len() + offset.len() < text.len()).then(|| format!("{wall}{offset}"))
}

/// A moment with a zone, made of a value whose type is not known before it is there.
pub(super) fn with_zone(value: Expr) -> Expr {
    compose::cast(value, DataType::Timestamp(None, TimezoneInfo::WithTimeZone))
}

/// The text of `TIMESTAMP '…'`.
pub(super) fn typed(value: &mut Value) {
    if let Value::SingleQuotedString(text) = value
        && let Some(plain) = read(text)
    {
        *text = plain;
    }
}

/// A literal as ISO 8601 without an offset; nothing where it is so already.
fn read(literal: &str) -> Option<String> {
    let text = literal.trim();
    let wall = offsets::split(text).map(|(wall, _)| wall);
    let kept = wall.unwrap_or(text);
    let (day, time) = kept.split_at(kept.find([' ', 'T', 't']).unwrap_or(kept.len()));
    match date(day) {
        Some(day) => Some(format!("{day}{time}")),
        None => wall.map(str::to_owned),
    }
}

/// `12/31/2024` and `31-DEC-2024` as `2024-12-31`.
fn date(text: &str) -> Option<String> {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let parts: Vec<&str> = text.split(['/', '-']).collect();
    let [first, second, year] = parts.as_slice() else { return None };
    if year.len() != 4 || !year.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (month, day) = if text.contains('-') {
        let month = MONTHS.iter().position(|month| second.eq_ignore_ascii_case(month))?;
        (u8::try_from(month + 1).ok()?, first.parse::<u8>().ok()?)
    } else {
        (first.parse().ok()?, second.parse().ok()?)
    };
    Some(format!("{year}-{month:02}-{day:02}"))
}

#[cfg(test)]
mod tests {
    use super::{may_go_on, offset_joined, read};

    #[test]
    fn what_may_stand_behind_a_day_is_looked_at() {
        for literal in ["2020-01-01 garbage", "2020-01-01garbage", "2020-01-01 10:00 UTC", "2020-01-01,"] {
            assert!(may_go_on(literal), "{literal}");
        }
        for literal in ["2020-01-01", "2020-01-01T10:00:00.5+02:00", " 2020/1/1 ", "x", "now", ""] {
            assert!(!may_go_on(literal), "{literal}");
        }
    }

    #[test]
    fn an_offset_stands_right_behind_the_time() {
        let cases = [
            ("2024-02-29 12:34:56.789 +00:00", Some("2024-02-29 12:34:56.789+00:00")),
            ("2024-02-29 12:34:56  -0530", Some("2024-02-29 12:34:56-0530")),
            ("2024-02-29 12:34:56+02", None),
            ("2024-02-29 12:34:56", None),
            ("2024-02-29", None),
            ("now", None),
        ];
        for (literal, joined) in cases {
            assert_eq!(offset_joined(literal).as_deref(), joined, "{literal}");
        }
    }

    #[test]
    fn literals_become_what_the_engine_reads() {
        let cases = [
            ("2024-01-01 10:00:00 +0200", Some("2024-01-01 10:00:00")),
            ("2024-01-01T10:00:00.5-05:30", Some("2024-01-01T10:00:00.5")),
            ("2024-01-01 10:00+02", Some("2024-01-01 10:00")),
            ("1/5/2024", Some("2024-01-05")),
            ("12/31/2024 23:59", Some("2024-12-31 23:59")),
            ("05-mar-2024", Some("2024-03-05")),
            ("2024-01-01", None),
            ("2024-01-01 10:00:00", None),
            ("10:00:00", None),
            ("31-foo-2024", None),
            ("1/2/24", None),
            ("", None),
        ];
        for (literal, plain) in cases {
            assert_eq!(read(literal).as_deref(), plain, "{literal}");
        }
    }
}
