//! Regular expressions: which match is meant, which group of it, and the warehouse's parameters.
//!
//! The engine's `m` is not the warehouse's: there `^` and `$` are of every line, which RE2 knows as `(?m)` alone.

use sqlparser::ast::{BinaryOperator, Expr, Function};

use super::call::{Handler, exactly, plain, wrong_count};
use super::{Context, compose, templates};
use crate::ast::error::Error;

pub(super) const CALLS: &[(&[&str], Handler)] = &[
    (&["regexp_count"], count),
    (&["regexp_instr"], place),
    (&["regexp_replace"], replace),
    (&["regexp_substr"], one),
    (&["regexp_substr_all"], all),
];

/// The parameters of a call.
#[derive(Default)]
struct Parameters {
    /// The engine's options.
    options: String,
    /// `^` and `$` are of every line.
    by_line: bool,
    /// The first group is meant.
    extracts: bool,
}

impl Parameters {
    /// `c`, `i`, `m`, `s` and `e`.
    fn of(written: Option<&Expr>) -> Result<Self, Error> {
        let mut found = Self::default();
        let Some(written) = written else { return Ok(found) };
        let letters = compose::literal(written)
            .ok_or_else(|| Error::unsupported("regular expression parameters that are not a literal"))?;
        for c in letters.chars() {
            match c {
                'c' | 'i' | 's' => found.options.push(c),
                'm' => found.by_line = true,
                'e' => found.extracts = true,
                _ => {
                    return Err(Error::unsupported(format!("the regular expression parameter {c}")));
                }
            }
        }
        Ok(found)
    }

    fn pattern(&self, pattern: Expr) -> Expr {
        if self.by_line { prefixed("(?m)", pattern) } else { pattern }
    }

    fn options(&self) -> Expr {
        compose::text(self.options.as_str())
    }

    /// The group meant, where the call names none: a pattern without one is its own.
    fn group(&self, pattern: &Expr) -> i64 {
        i64::from(self.extracts && compose::literal(pattern).is_none_or(has_group))
    }
}

fn prefixed(flags: &str, pattern: Expr) -> Expr {
    match compose::literal(&pattern) {
        Some(written) => compose::text(format!("{flags}{written}")),
        None => compose::binary(compose::text(flags), BinaryOperator::StringConcat, pattern),
    }
}

/// Whether a bracket of the pattern captures; one inside of `[…]` is taken for one that does.
fn has_group(pattern: &str) -> bool {
    let mut letters = pattern.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '\\' => {
                letters.next();
            }
            '(' if letters.peek() != Some(&'?') => return true,
            '(' => {
                letters.next();
                if letters.peek() == Some(&'P') {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// `REGEXP_COUNT(s, p[, position[, parameters]])`.
fn count(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let mut args = plain(function)?;
    let parameters = if args.len() == 4 { args.pop() } else { None };
    let Some(parameters) = parameters else {
        return templates::fill("_regexp_count", &mut args, context);
    };
    let parameters = Parameters::of(Some(&parameters))?;
    let [text, pattern, start] = exactly("regexp_count", args)?;
    let pattern = parameters.pattern(pattern);
    templates::fill("_regexp_count", &mut [text, pattern, start, parameters.options()], context)
}

/// `REGEXP_INSTR(s, p[, position[, occurrence[, option[, parameters]]]])`.
fn place(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let mut args = plain(function)?;
    let parameters = if args.len() == 6 { args.pop() } else { None };
    let option = if args.len() == 5 { args.pop() } else { None };
    if args.len() < 2 {
        return Err(wrong_count("regexp_instr", args.len()));
    }
    while args.len() < 4 {
        args.push(compose::number(1));
    }
    let [text, pattern, start, nth] = exactly("regexp_instr", args)?;
    let template = match option.as_ref().map(compose::integer) {
        None | Some(Some(0)) => "_regexp_instr",
        Some(Some(1)) => "_regexp_end",
        Some(_) => return Err(Error::unsupported("REGEXP_INSTR with an option other than 0 and 1")),
    };
    let Parameters { options, by_line, extracts: _ } = Parameters::of(parameters.as_ref())?;
    let flags = format!("{}{}", options.replace('c', ""), if by_line { "m" } else { "" });
    let flags = if flags.is_empty() { flags } else { format!("(?{flags})") };
    templates::fill(template, &mut [text, pattern, start, nth, compose::text(flags)], context)
}

/// `REGEXP_SUBSTR(s, p[, position[, occurrence[, parameters[, group]]]])`.
fn one(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let mut args = plain(function)?;
    if args.len() < 5 {
        return templates::fill("_regexp_substr", &mut args, context);
    }
    let group = if args.len() == 6 { args.pop() } else { None };
    let [text, pattern, start, nth, parameters] = exactly("regexp_substr", args)?;
    let parameters = Parameters::of(Some(&parameters))?;
    let group = group.unwrap_or_else(|| compose::number(parameters.group(&pattern)));
    let pattern = parameters.pattern(pattern);
    templates::fill("_regexp_group", &mut [text, pattern, start, nth, group, parameters.options()], context)
}

/// `REGEXP_SUBSTR_ALL(s, p[, position[, occurrence[, parameters[, group]]]])`.
fn all(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let mut args = plain(function)?;
    let group = if args.len() == 6 { args.pop() } else { None };
    let parameters = if args.len() == 5 { args.pop() } else { None };
    if args.len() < 2 {
        return Err(wrong_count("regexp_substr_all", args.len()));
    }
    while args.len() < 4 {
        args.push(compose::number(1));
    }
    let [text, pattern, start, nth] = exactly("regexp_substr_all", args)?;
    let parameters = Parameters::of(parameters.as_ref())?;
    let group = group.unwrap_or_else(|| compose::number(parameters.group(&pattern)));
    let pattern = parameters.pattern(pattern);
    templates::fill("_regexp_all", &mut [text, pattern, start, nth, group, parameters.options()], context)
}

/// `REGEXP_REPLACE(s, p[, r[, position[, occurrence[, parameters]]]])`: all matches. Four arguments
/// with a text last are the engine's own form.
fn replace(function: Function, context: &mut Context<'_>) -> Result<Expr, Error> {
    let mut args = plain(function)?;
    if args.len() < 4 {
        return templates::fill("_regexp_replace", &mut args, context);
    }
    if args.len() == 4 && args.get(3).is_some_and(|last| compose::literal(last).is_some()) {
        return Ok(compose::call("regexp_replace", args));
    }
    let parameters = Parameters::of(args.get(5))?;
    let numbers: Vec<_> = args.iter().skip(3).take(2).map(compose::integer).collect();
    args.truncate(5);
    let refused = || Error::unsupported("REGEXP_REPLACE with this position and occurrence");
    let (start, nth) = match numbers[..] {
        [Some(start)] if start > 0 => (start, 0),
        [Some(start), Some(nth)] if start > 0 && nth >= 0 => (start, nth),
        _ => return Err(refused()),
    };
    if nth > 1 {
        let [text, pattern, replacement, start, nth] = exactly("regexp_replace", args)?;
        if refers(&replacement) {
            return Err(refused());
        }
        let mut args = [text, parameters.pattern(pattern), replacement, start, nth, parameters.options()];
        return templates::fill("_regexp_replace_nth", &mut args, context);
    }
    args.truncate(3);
    let [text, pattern, replacement] = exactly("regexp_replace", args)?;
    let options = compose::text(format!("{}{}", if nth == 0 { "g" } else { "" }, parameters.options));
    let pattern = parameters.pattern(pattern);
    if start == 1 {
        return Ok(compose::call("regexp_replace", [text, pattern, replacement, options]));
    }
    let mut args = [text, pattern, replacement, compose::number(start), options];
    templates::fill("_regexp_replace_from", &mut args, context)
}

/// Whether a replacement may name groups of its pattern.
fn refers(replacement: &Expr) -> bool {
    compose::literal(replacement).is_none_or(|text| text.contains('\\'))
}

#[cfg(test)]
mod tests {
    use super::has_group;

    #[test]
    fn a_group_is_a_bracket_that_captures() {
        for pattern in ["(a)", "a(?P<n>b)", "(?:a)(b)", r"\((x)\)"] {
            assert!(has_group(pattern), "{pattern}");
        }
        for pattern in ["abc", r"\(a\)", "(?:a)", "(?i)a", ""] {
            assert!(!has_group(pattern), "{pattern}");
        }
    }
}
