//! Calls that fail on some value by an error that the engine's TRY lets through: not in a filter, whose failing would
//! tell of a hidden row.
//!
//! TRY (1.5.5) catches what is invalid, out of range or cannot be converted, and nothing that the engine calls "not
//! implemented", a syntax error or a parameter that is not allowed. `engine/tests/tried.rs` puts the extremes of every type
//! into every function that can fail; what fails on all values of a kind is in `govern/hiding/untried.rs`.

use std::ops::ControlFlow;

use sqlparser::ast::Expr;

use crate::ast::call::{arguments, called, literal};
use crate::ast::error::Error;
use crate::ast::visit_expressions;

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
        Expr::Function(function) => {
            let given: Vec<&Expr> = arguments(function).collect();
            match called(function)?.as_str() {
                "timezone" if given.len() > 1 => (!is_zone(given.first().copied())).then_some(ZONE),
                "make_timestamptz" if given.len() > 6 => (!is_zone(given.get(6).copied())).then_some(ZONE),
                "strptime" | "try_strptime" => {
                    let is_read =
                        given.get(1).and_then(|format| literal(format)).is_some_and(|format| !format.contains("%Z"));
                    (!is_read).then_some("a text is read by a literal format without a time zone")
                }
                "array_length" if given.len() > 1 => Some("a list has one dimension"),
                "time_bucket" => Some("a slice of time may be of no length"),
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_zone(zone: Option<&Expr>) -> bool {
    zone.and_then(literal).is_some_and(|zone| ZONES.iter().any(|known| zone.eq_ignore_ascii_case(known)))
}
