//! `TIMESTAMP_TZ` keeps the offset that it was written with, within its statement.
//!
//! The engine keeps the moment alone. The local time is the moment in UTC and the minutes of the offset. A literal tells
//! them wherever its value goes; any other text is asked for them in the expression around its cast. Without them the
//! local time is UTC.

use sqlparser::ast::{BinaryOperator, DataType, Expr, TimezoneInfo};

use super::{Context, compose, templates};
use crate::ast::call::{arguments, called};
use crate::ast::error::Error;
use crate::bind::types::offset::{WrittenOffset, minutes_of};
use crate::functions::types::Type;

/// An offset behind a time of day, and what stands before it.
const OFFSET: &str = "(:[0-9]{2}(?:[.][0-9]+)?) *[+-][0-9]{2}(?::?[0-9]{2})?$";

/// How often a text is repeated where its offset is asked for.
const REPEATED: usize = 4;

/// The time of a clock at the place of a moment.
pub(super) struct LocalClock {
    pub time: Expr,
    pub ahead: UtcOffset,
}

/// By how many minutes a clock is ahead of UTC.
pub(super) enum UtcOffset {
    Minutes(i32),
    /// NULL where the moment is.
    Counted(Box<Expr>),
}

/// Text without the offset behind it.
pub(super) fn without_offset(text: Expr) -> Expr {
    compose::call("regexp_replace", [text, compose::text(OFFSET), compose::text("\\1")])
}

/// What stands before the offset of a text, and the minutes that it is ahead of UTC.
pub(super) fn split(text: &str) -> Option<(&str, i32)> {
    let sign = text.rfind(['+', '-']).filter(|sign| text.find(':').is_some_and(|colon| colon < *sign))?;
    let (before, offset) = (text.get(..sign)?, text.get(sign + 1..)?);
    let number = |part: &str| {
        let is_number = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { part.parse::<i32>().ok() } else { None }
    };
    let minutes = offset.get(2..)?;
    let minutes = match minutes.strip_prefix(':').unwrap_or(minutes) {
        "" => 0,
        minutes => number(minutes)?,
    };
    let ahead = number(offset.get(..2)?)? * 60 + minutes;
    Some((before.trim_end(), if text.get(sign..)?.starts_with('-') { -ahead } else { ahead }))
}

/// The offset of a value that is cast to `TIMESTAMP_TZ`. Of a text that is tried none is read: beyond the years that text
/// has, its clock could fail where the moment does not.
pub(super) fn told(value: &Expr, is_try: bool, context: &Context<'_>) -> Option<WrittenOffset> {
    if let Some(text) = compose::literal(value) {
        let has_year = text.trim_start().bytes().take_while(u8::is_ascii_digit).count() == 4;
        let minutes = split(text.trim()).map(|(_, minutes)| minutes).filter(|minutes| *minutes != 0 && has_year);
        return minutes.map(WrittenOffset::Minutes);
    }
    match context.type_of(value) {
        Type::TimestampTz => minutes_of(value, &context.scopes).map(WrittenOffset::Minutes),
        Type::Text | Type::Json if !is_try && !templates::is_volatile(value) => Some(WrittenOffset::OfText),
        _ => None,
    }
}

/// The moment with what is told of its offset.
pub(super) fn noted(moment: Expr, told: Option<WrittenOffset>, context: &mut Context<'_>) -> Result<Expr, Error> {
    let Some(offset) = told else { return Ok(moment) };
    if !matches!(offset, WrittenOffset::Minutes(_)) {
        context.copy(templates::size(&moment) * REPEATED)?;
    }
    Ok(match moment {
        Expr::Cast {
            kind,
            expr,
            data_type: DataType::Timestamp(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz),
            format,
        } => Expr::Cast { kind, expr, data_type: offset.data_type(), format },
        other => compose::cast(other, offset.data_type()),
    })
}

/// The clock at the place of a moment whose offset is told, if that is not UTC.
pub(super) fn local(moment: &Expr, context: &Context<'_>) -> Option<LocalClock> {
    if context.type_of(moment) != Type::TimestampTz {
        return None;
    }
    if let Some(minutes) = minutes_of(moment, &context.scopes) {
        let span = compose::call("to_minutes", [compose::number(minutes.into())]);
        let time = compose::binary(in_utc(moment.clone()), BinaryOperator::Plus, span);
        return Some(LocalClock { time, ahead: UtcOffset::Minutes(minutes) });
    }
    counted(moment)
}

/// The clock of a moment whose offset its own expression has.
fn counted(moment: &Expr) -> Option<LocalClock> {
    match moment {
        Expr::Nested(inner) => counted(inner),
        Expr::Cast { expr, data_type, .. } => match WrittenOffset::of_type(data_type)? {
            WrittenOffset::Minutes(_) => None,
            WrittenOffset::OfText => of_text(expr, moment),
            WrittenOffset::OfClock => of_clock(expr),
        },
        _ => None,
    }
}

/// The clock that a text shows, and what it is ahead of the moment that the text is.
fn of_text(text: &Expr, moment: &Expr) -> Option<LocalClock> {
    let read = match text {
        Expr::Function(function) => called(function).map(|name| (name, function)),
        _ => None,
    };
    let time = match read {
        Some((name, function)) if name == "strptime" => {
            let mut args = arguments(function);
            let (text, format) = (args.next()?, compose::literal(args.next()?)?.strip_suffix("%z")?);
            compose::call("strptime", [without_offset(text.clone()), compose::text(format.trim_end())])
        }
        // the blank before the offset was taken out of it
        Some((name, function)) if name == "regexp_replace" => without_offset(arguments(function).next()?.clone()),
        _ => without_offset(text.clone()),
    };
    let time = compose::cast(time, timestamp());
    let ahead = compose::call("date_diff", [compose::text("minute"), in_utc(moment.clone()), time.clone()]);
    Some(LocalClock { time, ahead: UtcOffset::Counted(Box::new(ahead)) })
}

/// What was put together by [`at_place`].
fn of_clock(moment: &Expr) -> Option<LocalClock> {
    let argument = |expr: &Expr, place: usize| match expr {
        Expr::Function(function) => arguments(function).nth(place).cloned(),
        _ => None,
    };
    let Expr::BinaryOp { left: time, op: BinaryOperator::Minus, right: span } = argument(moment, 1)? else {
        return None;
    };
    Some(LocalClock { time: *time, ahead: UtcOffset::Counted(Box::new(argument(&span, 0)?)) })
}

/// What a clock shows at the place of a moment, as far as that is told; anything else as it is.
pub(super) fn clock(moment: Expr, context: &Context<'_>) -> Expr {
    local(&moment, context).map_or(moment, |local| local.time)
}

/// The moment at which a clock at this place shows the time.
pub(super) fn at_place(time: Expr, ahead: UtcOffset, context: &mut Context<'_>) -> Result<Expr, Error> {
    let (minutes, offset) = match ahead {
        UtcOffset::Minutes(minutes) => (compose::number(minutes.into()), WrittenOffset::Minutes(minutes)),
        UtcOffset::Counted(minutes) => (*minutes, WrittenOffset::OfClock),
    };
    let span = compose::call("to_minutes", [minutes]);
    noted(in_utc(compose::binary(time, BinaryOperator::Minus, span)), Some(offset), context)
}

/// A moment in UTC as a clock shows it, or the moment of such a clock.
fn in_utc(moment: Expr) -> Expr {
    compose::call("timezone", [compose::text("UTC"), moment])
}

fn timestamp() -> DataType {
    DataType::Timestamp(None, TimezoneInfo::None)
}

/// An offset as text, by the engine's format of its hours and minutes.
pub(super) fn signed(ahead: &Expr, format: &str) -> Expr {
    let is_behind = compose::binary(ahead.clone(), BinaryOperator::Lt, compose::number(0));
    let sign = compose::case(None, vec![(is_behind, compose::text("-"))], Some(compose::text("+")));
    let span = compose::call("to_minutes", [compose::call("abs", [ahead.clone()])]);
    let clock = compose::binary(compose::cast(compose::text("1970-01-01"), timestamp()), BinaryOperator::Plus, span);
    compose::binary(sign, BinaryOperator::StringConcat, compose::call("strftime", [clock, compose::text(format)]))
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn an_offset_is_what_stands_behind_a_time_of_day() {
        let cases = [
            ("2024-01-01 10:00:00 +0200", Some(("2024-01-01 10:00:00", 120))),
            ("2024-01-01T10:00:00.5-05:30", Some(("2024-01-01T10:00:00.5", -330))),
            ("2024-01-01 10:00+02", Some(("2024-01-01 10:00", 120))),
            ("2024-01-01 10:00 -00:30", Some(("2024-01-01 10:00", -30))),
            ("2024-01-01", None),
            ("10:00:00", None),
            ("2024-01-01 10:00:00 +2", None),
            ("2024-01-01 10:00:00 +02:0", None),
            ("2024-01-01 10:00:00 +é1", None),
        ];
        for (text, found) in cases {
            assert_eq!(split(text), found, "{text}");
        }
    }
}
