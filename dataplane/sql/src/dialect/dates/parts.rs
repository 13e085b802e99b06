//! Parts of a moment: `DATE_PART`, `EXTRACT`, `YEAR` and its like.

use sqlparser::ast::{DataType, DateTimeField, Expr, ExtractSyntax, Function};

use super::units::{part, part_of};
use super::{instant, on_a_clock};
use crate::ast::error::Error;
use crate::dialect::call::{self, exactly, plain, written_name};
use crate::dialect::offsets::{self, LocalClock, UtcOffset};
use crate::dialect::{Context, Done, compose, templates};

/// `DATE_PART(part, date)`.
pub(super) fn part_call(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let [word, date] = exactly("date_part", plain(function)?)?;
    let Some(part) = part(&word) else {
        return Err(Error::unsupported(format!("the part {word} of DATE_PART")));
    };
    let date = instant(date, context);
    extracted(part, date, context)
}

fn extracted(part: &str, date: Expr, context: &mut Context<'_>) -> Result<Expr, Error> {
    let local = if part.starts_with("epoch") { None } else { offsets::local(&date, context) };
    let date = match local {
        None => date,
        Some(LocalClock { ahead, .. }) if part.starts_with("timezone_") => {
            return of_offset(part, date, ahead, context);
        }
        Some(LocalClock { time, .. }) => time,
    };
    Ok(match part {
        "nanosecond" => templates::fill("_nanosecond", &mut [date], context)?,
        "epoch" => compose::cast(compose::call("epoch", [date]), DataType::BigInt(None)),
        "epoch_ms" | "epoch_us" | "epoch_ns" => compose::call(part, [date]),
        "isoweek" => compose::call("date_part", [compose::text("week"), date]),
        _ => compose::call("date_part", [compose::text(part), date]),
    })
}

/// The hours, or the minutes beside them, that a clock is ahead of UTC.
fn of_offset(part: &str, date: Expr, ahead: UtcOffset, context: &mut Context<'_>) -> Result<Expr, Error> {
    let template = if part == "timezone_hour" { "_hours_ahead" } else { "_minutes_ahead" };
    match ahead {
        UtcOffset::Minutes(minutes) => templates::fill(template, &mut [date, compose::number(minutes.into())], context),
        UtcOffset::Counted(minutes) => templates::fill(template, &mut [date, *minutes], context),
    }
}

/// `YEAR(x)` and its like, of text too.
pub(super) fn of_moment(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let name = written_name(&function);
    let [moment] = exactly(&name, plain(function)?)?;
    let moment = on_a_clock(moment, context);
    if templates::takes(&name, 1) {
        return templates::fill(&name, &mut [moment], context);
    }
    Ok(compose::call(&name, [moment]))
}

/// `EXTRACT(part FROM date)`: the warehouse's words, in the engine's one spelling.
pub(in crate::dialect) fn rewrite(expr: &mut Expr, context: &mut Context<'_>) -> Result<Done, Error> {
    let Expr::Extract { field, syntax: _, expr: date } = expr else {
        return Ok(Done::No);
    };
    let word = match field {
        DateTimeField::Custom(ident) => ident.value.clone(),
        DateTimeField::Week(None) => "week".to_owned(),
        other => other.to_string(),
    };
    let Some(part) = part_of(&word) else {
        return Err(Error::unsupported(format!("the part {word} of EXTRACT")));
    };
    let date = instant(call::take_expr(date), context);
    *expr = match standard(part) {
        Some(field) => {
            let date = offsets::clock(date, context);
            Expr::Extract { field, syntax: ExtractSyntax::From, expr: Box::new(date) }
        }
        None => extracted(part, date, context)?,
    };
    Ok(Done::Yes)
}

/// Parts that EXTRACT has in the standard, kept in its form.
fn standard(part: &str) -> Option<DateTimeField> {
    match part {
        "year" => Some(DateTimeField::Year),
        "quarter" => Some(DateTimeField::Quarter),
        "month" => Some(DateTimeField::Month),
        "day" => Some(DateTimeField::Day),
        "hour" => Some(DateTimeField::Hour),
        "minute" => Some(DateTimeField::Minute),
        "second" => Some(DateTimeField::Second),
        _ => None,
    }
}
