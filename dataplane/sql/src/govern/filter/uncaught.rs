//! Calls that fail on some value by an error that the engine's TRY lets through: not in a filter, whose failing would
//! tell of a hidden row.
//!
//! TRY (1.5.5) catches what is invalid, out of range or cannot be converted, and nothing that the engine calls "not
//! implemented", a syntax error or a parameter that is not allowed. `engine/tests/tried.rs` puts the extremes of every type
//! into every function that can fail; what fails on all values of a kind is in `govern/safe_filter/untried.rs`.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Function};

use crate::ast::call::{arguments, called, literal};
use crate::ast::error::Error;
use crate::ast::visit_expressions;
use crate::functions::catalogue::{self, Class, FunctionKind, TryCatches};
use crate::functions::host::LIKE;

/// Zones that every engine knows: a filter that names another may fail on one row and not on the next.
const ZONES: [&str; 3] = ["utc", "gmt", "etc/utc"];

/// Refuses a filter, in the engine's words already, that holds one.
pub(super) fn refuse(filter: &Expr) -> Result<(), Error> {
    let found = visit_expressions(filter, |expr| match why(expr) {
        Some(why) => ControlFlow::Break(why),
        None => ControlFlow::Continue(()),
    });
    match found {
        ControlFlow::Break(why) => {
            Err(Error::invalid_filter(format!("{why}; a filter that fails would tell of a hidden row")))
        }
        ControlFlow::Continue(()) => Ok(()),
    }
}

fn why(expr: &Expr) -> Option<&'static str> {
    const ZONE: &str = "a time zone other than the literal 'UTC' may be none";
    match expr {
        Expr::Lambda(_) => {
            Some("a lambda, and so a function that becomes one (STRTOK, PARSE_URL), may fail on one row")
        }
        Expr::AtTimeZone { time_zone, .. } => (!is_zone(Some(time_zone))).then_some(ZONE),
        Expr::Function(function) => of_call(function, ZONE),
        _ => None,
    }
}

fn of_call(function: &Function, zone: &'static str) -> Option<&'static str> {
    const UNKNOWN: &str = "a call may fail by an error that TRY lets through";
    let name = called(function).filter(|name| name != LIKE)?;
    let Some(known) = catalogue::find(&name) else { return Some(UNKNOWN) };
    let given: Vec<&Expr> = arguments(function).collect();
    let is_read = |format: &Expr| literal(format).is_some_and(|format| !format.contains("%Z"));
    match known.tried {
        Some(TryCatches::Zoned) if given.len() > 1 => (!is_zone(given.first().copied())).then_some(zone),
        Some(TryCatches::Zone) if given.len() > 6 => (!is_zone(given.get(6).copied())).then_some(zone),
        Some(TryCatches::Format) => (!given.get(1).is_some_and(|format| is_read(format)))
            .then_some("a text is read by a literal format without a time zone"),
        Some(TryCatches::Alone) if given.len() > 1 => Some("a list has one dimension"),
        Some(_) => None,
        // TRY holds no aggregate: what asks other tables stands outside of it
        None => (known.class == Class::Throwing && !known.is(FunctionKind::Aggregate)).then_some(UNKNOWN),
    }
}

fn is_zone(zone: Option<&Expr>) -> bool {
    zone.and_then(literal).is_some_and(|zone| ZONES.iter().any(|known| zone.eq_ignore_ascii_case(known)))
}
