//! PostgreSQL's `format('%I = %L', …)`; the engine's own of that name fills in `{}`.

use sqlparser::ast::{BinaryOperator, Expr, Function};

use super::call::{Handler, plain};
use super::{Context, compose, templates};
use crate::ast::error::Error;

pub(super) const CALLS: &[(&[&str], Handler)] = &[(&["format"], format)];

/// By its text, which tells whose it is.
fn format(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let args = plain(function)?;
    let written = args.first().and_then(compose::literal).filter(|text| text.contains('%')).map(str::to_owned);
    let Some(text) = written else { return Ok(compose::call("format", args)) };
    match filled(&text, args.get(1..).unwrap_or_default(), context) {
        // `{}%` is the engine's
        Err(_) if text.contains('{') => Ok(compose::call("format", args)),
        filled => filled,
    }
}

fn filled(text: &str, values: &[Expr], context: &mut Context<'_>) -> Result<Expr, Error> {
    let mut pieces: Vec<Expr> = Vec::new();
    let mut plain = String::new();
    let (mut rest, mut next) = (text, 0_usize);
    while let Some((before, behind)) = rest.split_once('%') {
        plain.push_str(before);
        let digits = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
        let (number, named) = behind.split_at_checked(digits).unwrap_or_default();
        let (place, behind) = match named.strip_prefix('$') {
            Some(behind) if !number.is_empty() => (number.parse().ok(), behind),
            _ => (None, behind),
        };
        let kind = behind.chars().next();
        rest = behind.get(kind.map_or(0, char::len_utf8)..).unwrap_or_default();
        let template = match kind {
            Some('%') => {
                plain.push('%');
                continue;
            }
            Some('s') => "_format_text",
            Some('I') => "_format_name",
            Some('L') => "_format_literal",
            _ => return Err(Error::unsupported("this conversion of FORMAT")),
        };
        next = place.unwrap_or(next + 1);
        let value = next.checked_sub(1).and_then(|at| values.get(at));
        let value = value.ok_or_else(|| Error::unsupported("FORMAT with fewer values than its text takes"))?;
        pieces.push(compose::text(std::mem::take(&mut plain)));
        pieces.push(templates::fill(template, &mut [value.clone()], context)?);
    }
    plain.push_str(rest);
    let joined = |whole, piece| compose::binary(whole, BinaryOperator::StringConcat, piece);
    Ok(pieces.into_iter().chain([compose::text(plain)]).reduce(joined).unwrap_or_else(|| compose::text("")))
}
