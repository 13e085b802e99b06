//! Distances between texts, which the warehouse takes of letters and the engine of bytes.
//!
//! Nothing but which letters are equal counts. Where a letter has several bytes, each letter that both texts have becomes
//! one of ASCII, and whatever else is in one of them a letter that the other does not have.

use sqlparser::ast::{Expr, Function};

use super::call::{Handler, exactly, plain};
use super::{Context, compose, templates};
use crate::ast::error::Error;

pub(super) const CALLS: &[(&[&str], Handler)] =
    &[(&["editdistance"], edit_distance), (&["jarowinkler_similarity"], similarity)];

/// `EDITDISTANCE(a, b[, most])`.
fn edit_distance(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    const NAME: &str = "editdistance";
    let mut args = plain(function)?;
    let most = if args.len() == 3 { args.pop() } else { None };
    let [one, other] = exactly(NAME, args)?;
    let is_plain = has_ascii_alone(&one) && has_ascii_alone(&other);
    let distance = if is_plain {
        compose::call("levenshtein", [one.clone(), other.clone()])
    } else {
        of_letters(NAME, "levenshtein", [&one, &other], context)?
    };
    match most {
        Some(most) => templates::fill("_at_most", &mut [one, other, distance, most], context),
        None => Ok(distance),
    }
}

/// `JAROWINKLER_SIMILARITY(a, b)`, which leaves the case of letters out.
fn similarity(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    const NAME: &str = "jarowinkler_similarity";
    let [one, other] = exactly(NAME, plain(function)?)?;
    let is_plain = has_ascii_alone(&one) && has_ascii_alone(&other);
    let (one, other) = (compose::call("upper", [one]), compose::call("upper", [other]));
    let similarity = if is_plain {
        compose::call("jaro_winkler_similarity", [one, other])
    } else {
        of_letters(NAME, "jaro_winkler_similarity", [&one, &other], context)?
    };
    templates::fill("_percent", &mut [similarity], context)
}

/// Whether it is a literal whose letters are bytes.
fn has_ascii_alone(text: &Expr) -> bool {
    compose::is_null(text) || compose::literal(text).is_some_and(str::is_ascii)
}

/// The engine's function of this name over letters.
fn of_letters(name: &str, engine: &str, [one, other]: [&Expr; 2], context: &mut Context<'_>) -> Result<Expr, Error> {
    let shared = templates::fill("_shared_letters", &mut [one.clone(), other.clone()], context)?;
    context.copy(2 * (templates::size(one) + templates::size(other) + templates::size(&shared)))?;
    let in_ascii = |text: &Expr, rest: &str, context: &mut Context<'_>| {
        templates::fill("_in_ascii", &mut [text.clone(), shared.clone(), compose::text(rest)], context)
    };
    let (first, second) = (in_ascii(one, "<", context)?, in_ascii(other, ">", context)?);
    let lettered = compose::call(engine, [first, second]);
    let of_bytes = compose::call(engine, [one.clone(), other.clone()]);
    let refusal = format!("{} of texts with over 80 letters in common", name.to_ascii_uppercase());
    let mut args = [one.clone(), other.clone(), of_bytes, shared, lettered, compose::text(refusal)];
    templates::fill("_of_letters", &mut args, context)
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_letter_that_both_texts_have_becomes_another_one() {
        let line = include_str!("templates.txt").lines().find(|line| line.starts_with("_in_ascii(")).unwrap();
        let letters = line.split('\'').nth(1).unwrap();
        let distinct: std::collections::BTreeSet<_> = letters.chars().collect();
        assert!(letters.is_ascii() && distinct.len() == letters.len() && letters.len() >= 80, "{letters}");
        assert!(!letters.contains(['<', '>']), "these are what only one of them has");
    }
}
