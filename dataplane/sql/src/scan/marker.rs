//! Names in the tree that stand for what this crate decided; no text can be read as one of them.

use sqlparser::ast::{Expr, Ident, ObjectName, ObjectNamePart, Value};

use crate::ast::names;

const SCAN: &str = "\0scan";
const WITH: &str = "\0with";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marked {
    /// A table, by its number among the statement's references.
    Scan(usize),
    /// A WITH query, by its number in the statement.
    With(usize),
}

pub(crate) fn name(marked: Marked) -> ObjectName {
    let (word, number) = match marked {
        Marked::Scan(number) => (SCAN, number),
        Marked::With(number) => (WITH, number),
    };
    ObjectName::from(vec![Ident::new(word), Ident::new(number.to_string())])
}

pub(crate) fn read(name: &ObjectName) -> Option<Marked> {
    let [ObjectNamePart::Identifier(word), ObjectNamePart::Identifier(number)] = name.0.as_slice() else {
        return None;
    };
    let marked: fn(usize) -> Marked = match word.value.as_str() {
        SCAN => Marked::Scan,
        WITH => Marked::With,
        _ => return None,
    };
    number.value.parse().ok().map(marked)
}

/// What a WITH query is called in the engine's text.
pub(crate) fn with_name(number: usize) -> String {
    format!("{}{number}", names::ours::WITH)
}

const CHECK: &str = "\0check";
const RETURNED: &str = "\0returned";
const WRITTEN: &str = "\0written";
const BOUND: &str = "\0bound";
const LITERAL: &str = "\0literal";

/// Expressions of ours; they travel as parameters with names that no text can spell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GeneratedExpr<'a> {
    /// The first value written, if the new row passes the filters of the target, this scan.
    Check(usize),
    /// What the caller sees of this column of the target.
    Returned(usize, usize),
    /// What is written into this column of the target, of its type, once for each row.
    Written(usize, usize, &'a str),
    /// A value from a policy's placeholder.
    Bound(&'a str),
    /// A literal of a filter that holds the name of something a caller carries.
    Literal(usize),
}

pub(crate) fn expr(made: GeneratedExpr<'_>) -> Expr {
    Expr::Value(Value::Placeholder(name_of(made)).into())
}

pub(crate) fn name_of(made: GeneratedExpr<'_>) -> String {
    match made {
        GeneratedExpr::Check(scan) => format!("{CHECK}{scan}"),
        GeneratedExpr::Returned(scan, column) => format!("{RETURNED}{scan}.{column}"),
        GeneratedExpr::Written(scan, column, place) => format!("{WRITTEN}{scan}.{column}.{place}"),
        GeneratedExpr::Bound(text) => format!("{BOUND}{text}"),
        GeneratedExpr::Literal(number) => format!("{LITERAL}{number}"),
    }
}

pub(crate) fn made(name: &str) -> Option<GeneratedExpr<'_>> {
    if let Some(text) = name.strip_prefix(BOUND) {
        return Some(GeneratedExpr::Bound(text));
    }
    if let Some(scan) = name.strip_prefix(CHECK) {
        return scan.parse().ok().map(GeneratedExpr::Check);
    }
    if let Some(number) = name.strip_prefix(LITERAL) {
        return number.parse().ok().map(GeneratedExpr::Literal);
    }
    if let Some(written) = name.strip_prefix(WRITTEN) {
        let (scan, rest) = written.split_once('.')?;
        let (column, place) = rest.split_once('.')?;
        return Some(GeneratedExpr::Written(scan.parse().ok()?, column.parse().ok()?, place));
    }
    let (scan, column) = name.strip_prefix(RETURNED)?.split_once('.')?;
    Some(GeneratedExpr::Returned(scan.parse().ok()?, column.parse().ok()?))
}
