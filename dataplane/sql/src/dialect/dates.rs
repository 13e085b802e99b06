//! Dates: units, differences, sums and parts.
//!
//! The engine answers a TIMESTAMP for a DATE plus an interval and for `date_trunc`; the warehouse keeps
//! the DATE while the unit is a day or longer. Where the type is not known, `cast_to_type` makes the
//! engine itself follow its argument.

mod parts;
mod units;

use sqlparser::ast::{BinaryOperator, DataType, Expr, Function, TimezoneInfo};

use super::call::{Handler, exactly, plain, written_name, wrong_count};
use super::offsets::{self, LocalClock};
use super::{Context, arithmetic, compose, moments, templates, types};
use crate::ast::error::Error;
use crate::functions::types::Type;
pub(super) use parts::rewrite;
use parts::{of_moment, part_call};
#[cfg(test)]
pub(super) use units::PARTS;
pub(super) use units::{is_part, keeps_date};
use units::{part, unit};

pub(super) const CALLS: &[(&[&str], Handler)] = &[
    (&["add_months"], add_months),
    (&["current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"], now),
    (&["date_diff", "date_sub", "datesub", "datetrunc"], counted),
    (&["date_part", "datepart"], part_call),
    (&["date_trunc"], truncate),
    (
        &[
            "day",
            "dayname",
            "dayofmonth",
            "dayofweek",
            "dayofweekiso",
            "dayofyear",
            "hour",
            "minute",
            "month",
            "monthname",
            "quarter",
            "second",
            "week",
            "weekiso",
            "weekofyear",
            "year",
            "yearofweek",
            "yearofweekiso",
        ],
        of_moment,
    ),
    (&["dateadd", "timeadd", "timestampadd"], add),
    (&["datediff", "timediff", "timestampdiff"], diff),
    (&["last_day"], last_day),
    (&["months_between"], months_between),
    (&["next_day"], next_day),
    (&["previous_day"], previous_day),
    (&["time_slice"], time_slice),
    (&["trunc"], truncate_number_or_date),
];

pub(super) fn timestamp() -> DataType {
    DataType::Timestamp(None, TimezoneInfo::None)
}

/// Text read as a point in time, and NULL, which has no type; anything else as it is.
pub(super) fn instant(expr: Expr, context: &Context<'_>) -> Expr {
    if context.type_of(&expr) == Type::Text || compose::is_null(&expr) {
        compose::cast(moments::literal(expr), timestamp())
    } else {
        expr
    }
}

/// The same as a clock shows it where it was written.
fn on_a_clock(expr: Expr, context: &Context<'_>) -> Expr {
    offsets::clock(instant(expr, context), context)
}

/// `CAST(… AS DATE)` of what was a DATE, the type of `model` where that is not known.
fn like(expr: Expr, model: Expr, context: &mut Context<'_>) -> Result<Expr, Error> {
    match context.type_of(&model) {
        Type::Date => Ok(compose::cast(expr, DataType::Date)),
        Type::Unknown => {
            context.copy(templates::size(&model))?;
            Ok(compose::call("cast_to_type", [expr, model]))
        }
        _ => Ok(expr),
    }
}

/// `DATEADD(unit, n, date)`.
fn add(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let name = written_name(&function);
    let [word, amount, date] = exactly(&name, plain(function)?)?;
    let (unit, amount) = match (part(&word), compose::integer(&amount)) {
        // the engine's TIMESTAMP keeps microseconds
        (Some("nanosecond"), Some(count)) if count % 1000 == 0 => ("microsecond", compose::number(count / 1000)),
        (Some("nanosecond"), _) => {
            let moment = to_nanoseconds(date, &name, context)?;
            return templates::fill("_add_nanoseconds", &mut [moment, amount], context);
        }
        _ => (unit(&word, &name)?, amount),
    };
    let date = instant(date, context);
    if let Some(LocalClock { time, ahead }) = offsets::local(&date, context) {
        let moved = compose::binary(time, BinaryOperator::Plus, interval(unit, amount));
        return offsets::at_place(moved, ahead, context);
    }
    let moved = compose::binary(date.clone(), BinaryOperator::Plus, interval(unit, amount));
    if keeps_date(unit) { like(moved, date, context) } else { Ok(moved) }
}

/// A moment with the nanoseconds that its text has.
fn to_nanoseconds(moment: Expr, function: &str, context: &Context<'_>) -> Result<Expr, Error> {
    match context.type_of(&moment) {
        Type::Text => Ok(compose::cast(moments::literal(moment), types::timestamp_ns())),
        Type::Time => {
            Err(Error::unsupported(format!("the unit NANOSECOND of {} of a time", function.to_ascii_uppercase())))
        }
        _ => Ok(moment),
    }
}

/// `to_days(n)` and its like, with the type of argument each wants.
fn interval(unit: &str, amount: Expr) -> Expr {
    let name = format!("to_{}", if unit == "century" { "centuries".to_owned() } else { format!("{unit}s") });
    let amount = match compose::integer(&amount) {
        Some(_) => amount,
        None if keeps_date(unit) => compose::cast(amount, DataType::Integer(None)),
        None => compose::cast(amount, DataType::BigInt(None)),
    };
    compose::call(&name, [amount])
}

/// `DATEDIFF(unit, from, to)`: boundaries crossed, weeks beginning on Monday.
fn diff(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let name = written_name(&function);
    let [word, from, to] = exactly(&name, plain(function)?)?;
    if part(&word) == Some("nanosecond") {
        let (from, to) = (to_nanoseconds(from, &name, context)?, to_nanoseconds(to, &name, context)?);
        return templates::fill("_nanoseconds", &mut [from, to], context);
    }
    let (from, to) = (instant(from, context), instant(to, context));
    let unit = unit(&word, &name)?;
    if unit == "week" {
        return templates::fill("_week_diff", &mut [from, to], context);
    }
    Ok(compose::call("date_diff", [compose::text(unit), from, to]))
}

/// A function of the engine's own, by a unit that is written: one that is computed may be none, and of some the engine
/// does not live on.
fn counted(function: Function, _: &mut Context<'_>) -> Result<Expr, Error> {
    const LONGER: [&str; 4] = ["century", "decade", "isoyear", "millennium"];
    let name = written_name(&function);
    let mut given = plain(function)?.into_iter();
    let word = given.next().ok_or_else(|| wrong_count(&name, 0))?;
    let longer =
        compose::literal(&word).and_then(|word| LONGER.into_iter().find(|unit| word.eq_ignore_ascii_case(unit)));
    let unit = match longer {
        Some(unit) => unit,
        None => unit(&word, &name)?,
    };
    Ok(compose::call(&name, std::iter::once(compose::text(unit)).chain(given)))
}

/// `DATE_TRUNC(unit, date)`; the warehouse takes the two in either order.
fn truncate(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let [first, second] = exactly("date_trunc", plain(function)?)?;
    let (word, date) =
        if part(&first).is_none() && part(&second).is_some() { (second, first) } else { (first, second) };
    truncated(&word, date, context)
}

fn truncated(word: &Expr, date: Expr, context: &mut Context<'_>) -> Result<Expr, Error> {
    let unit = unit(word, "date_trunc")?;
    let date = instant(date, context);
    if context.type_of(&date) == Type::Time {
        return templates::fill("_cut_time", &mut [compose::text(unit), date], context);
    }
    if let Some(LocalClock { time, ahead }) = offsets::local(&date, context) {
        return offsets::at_place(compose::call("date_trunc", [compose::text(unit), time]), ahead, context);
    }
    let cut = compose::call("date_trunc", [compose::text(unit), date.clone()]);
    like(cut, date, context)
}

/// `TRUNC(date, 'month')`, or the engine's `trunc` of a number.
fn truncate_number_or_date(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let mut args = plain(function)?;
    match args.len() {
        2 => {
            let [value, second] = exactly("trunc", args)?;
            match compose::literal(&second) {
                Some(_) => truncated(&second, value, context),
                None => Ok(compose::call("trunc", [value, arithmetic::whole(second)])),
            }
        }
        1 => Ok(compose::call("trunc", args.drain(..))),
        count => Err(wrong_count("trunc", count)),
    }
}

/// `CURRENT_TIMESTAMP`, bare, with empty brackets or a number of digits, as a call: where a column of the answer is
/// called so, the engine takes the bare word for that column.
fn now(function: Function, _: &mut Context<'_>) -> Result<Expr, Error> {
    let name = written_name(&function);
    let digits = plain(function)?;
    if !matches!(digits.as_slice(), [] | [_]) || digits.iter().any(|digits| compose::integer(digits).is_none()) {
        return Err(wrong_count(&name, digits.len()));
    }
    let engines = match name.as_str() {
        "current_date" => "today",
        "current_time" | "localtime" => "current_localtime",
        "localtimestamp" => "current_localtimestamp",
        _ => "now",
    };
    Ok(compose::call(engines, []))
}

/// `ADD_MONTHS(date, n)`: the last day of a month stays the last.
fn add_months(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let [date, months] = exactly("add_months", plain(function)?)?;
    let date = instant(date, context);
    let months = match compose::integer(&months) {
        Some(_) => months,
        None => compose::cast(months, DataType::Integer(None)),
    };
    if let Some(LocalClock { time, ahead }) = offsets::local(&date, context) {
        let moved = templates::fill("_add_months", &mut [time, months], context)?;
        return offsets::at_place(moved, ahead, context);
    }
    templates::fill("_add_months", &mut [date, months], context)
}

/// `LAST_DAY(date[, unit])`.
fn last_day(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let mut args = plain(function)?;
    let word = if args.len() == 2 { args.pop() } else { None };
    let [date] = exactly("last_day", args)?;
    let date = on_a_clock(date, context);
    match word.map(|word| unit(&word, "last_day")).transpose()? {
        None | Some("month") => Ok(compose::call("last_day", [date])),
        Some("quarter") => templates::fill("_quarter_end", &mut [date], context),
        Some("year") => templates::fill("_year_end", &mut [date], context),
        Some("week") => templates::fill("_week_end", &mut [date], context),
        Some(other) => Err(Error::unsupported(format!("LAST_DAY of a {other}"))),
    }
}

/// `MONTHS_BETWEEN(a, b)`: whole months between the same days and between last days, else by months of 31 days.
fn months_between(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let [first, second] = exactly("months_between", plain(function)?)?;
    let types = (context.type_of(&first), context.type_of(&second));
    if types.0 == Type::Timestamp || types.1 == Type::Timestamp {
        let moment = |expr: Expr| compose::cast(expr, timestamp());
        return templates::fill("_months_between_moments", &mut [moment(first), moment(second)], context);
    }
    let date = |expr: Expr, context: &Context<'_>| match context.type_of(&expr) {
        Type::Date => Ok(expr),
        Type::Text => Ok(compose::cast(expr, DataType::Date)),
        _ => Err(Error::unsupported("MONTHS_BETWEEN of something other than dates")),
    };
    let (first, second) = (date(first, context)?, date(second, context)?);
    templates::fill("_months_between", &mut [first, second], context)
}

/// `TIME_SLICE(moment, length, unit[, 'START' | 'END'])`: slices are counted from 1970.
fn time_slice(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let mut args = plain(function)?;
    let side = if args.len() == 4 { args.pop() } else { None };
    let [moment, length, word] = exactly("time_slice", args)?;
    let unit = unit(&word, "time_slice")?;
    let length = compose::integer(&length).filter(|length| *length > 0);
    let length = length.ok_or_else(|| Error::unsupported("TIME_SLICE of a length that is not a literal"))?;
    let moment = instant(moment, context);
    let (moment, ahead) = match offsets::local(&moment, context) {
        Some(LocalClock { time, ahead }) => (time, Some(ahead)),
        None => (moment, None),
    };
    let width = interval(unit, compose::number(length));
    let template = match unit {
        "week" if length > 1 => return Err(Error::unsupported("TIME_SLICE of several weeks")),
        "week" => "_week_slice",
        _ => "_slice",
    };
    let start = templates::fill(template, &mut [width.clone(), compose::cast(moment.clone(), timestamp())], context)?;
    let side = side.as_ref().map(|side| compose::literal(side).unwrap_or_default().to_ascii_uppercase());
    let slice = match side.as_deref() {
        None | Some("START") => start,
        Some("END") => compose::binary(start, BinaryOperator::Plus, width),
        Some(_) => return Err(Error::unsupported("TIME_SLICE with another side than 'START' and 'END'")),
    };
    match ahead {
        Some(ahead) => offsets::at_place(slice, ahead, context),
        None => like(slice, moment, context),
    }
}

fn next_day(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    weekday("_next_day", function, context)
}

fn previous_day(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    weekday("_previous_day", function, context)
}

/// `NEXT_DAY(date, 'fr')`: the first two letters of the weekday's name decide.
fn weekday(template: &str, function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    const DAYS: [&str; 7] = ["mo", "tu", "we", "th", "fr", "sa", "su"];
    let name = written_name(&function);
    let [date, day] = exactly(&name, plain(function)?)?;
    let number = match compose::literal(&day).map(str::to_ascii_lowercase) {
        None => templates::fill("_weekday", &mut [day], context)?,
        Some(word) => {
            let found = DAYS.iter().zip(1..).find(|(start, _)| word.starts_with(**start));
            let refused = || Error::unsupported(format!("{} of a day with no such name", name.to_ascii_uppercase()));
            compose::number(found.map(|(_, number)| number).ok_or_else(refused)?)
        }
    };
    let date = on_a_clock(date, context);
    templates::fill(template, &mut [date, number], context)
}
