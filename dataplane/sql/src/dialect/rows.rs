//! Rows of values, `(a, b) = (c, d)`: the engine compares them as structs, for which NULL is a value like any other
//! (duckdb/duckdb#24320). They are written column by column.

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};

use super::{Context, compose, templates};
use crate::ast::error::Error;
use crate::ast::expression::unnested;

/// Before its parts are rewritten, so that each comparison is looked at as one that was written.
pub(super) fn rewrite(expr: &mut Expr, context: &mut Context<'_>) -> Result<(), Error> {
    let made = match expr {
        Expr::BinaryOp { left, op, right } => match (left.as_ref(), right.as_ref()) {
            (Expr::Tuple(left), Expr::Tuple(right)) => compared(left, op, right, context)?,
            _ => None,
        },
        Expr::InList { expr, list, negated: true } => match expr.as_ref() {
            Expr::Tuple(row) => listed(row, list, context)?.map(negated),
            _ => None,
        },
        Expr::InSubquery { expr, negated: true, .. } if matches!(expr.as_ref(), Expr::Tuple(_)) => {
            return Err(undecided());
        }
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => match unnested(expr) {
            Expr::InList { expr, list, negated: false } => match expr.as_ref() {
                Expr::Tuple(row) => listed(row, list, context)?.map(negated),
                _ => None,
            },
            Expr::InSubquery { expr, negated: false, .. } if matches!(expr.as_ref(), Expr::Tuple(_)) => {
                return Err(undecided());
            }
            _ => None,
        },
        _ => None,
    };
    if let Some(made) = made {
        *expr = made;
    }
    Ok(())
}

/// The engine answers NULL where one column is NULL, whatever the others say (duckdb/duckdb#22418).
fn undecided() -> Error {
    Error::unsupported("NOT IN of a query with several columns")
}

fn nested(expr: Expr) -> Expr {
    Expr::Nested(Box::new(expr))
}

fn negated(expr: Expr) -> Expr {
    Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(nested(expr)) }
}

fn pairs(left: &[Expr], op: &BinaryOperator, right: &[Expr], between: &BinaryOperator) -> Option<Expr> {
    let each = left.iter().zip(right);
    each.map(|(left, right)| nested(compose::binary(left.clone(), op.clone(), right.clone())))
        .reduce(|first, next| compose::binary(first, between.clone(), next))
}

fn same_length(left: &[Expr], right: &[Expr]) -> Result<(), Error> {
    if left.len() == right.len() { Ok(()) } else { Err(Error::unsupported("comparing rows of different length")) }
}

fn compared(
    left: &[Expr],
    op: &BinaryOperator,
    right: &[Expr],
    context: &mut Context<'_>,
) -> Result<Option<Expr>, Error> {
    use BinaryOperator as B;
    let made = match op {
        B::Eq => pairs(left, op, right, &B::And),
        B::NotEq => pairs(left, op, right, &B::Or),
        B::Lt | B::LtEq => ordered(left, (&B::Lt, op), right, context)?,
        B::Gt | B::GtEq => ordered(left, (&B::Gt, op), right, context)?,
        _ => return Ok(None),
    };
    same_length(left, right)?;
    Ok(made)
}

/// The first columns that differ decide; the last by the operator as it is written.
fn ordered(
    left: &[Expr],
    (strict, last): (&BinaryOperator, &BinaryOperator),
    right: &[Expr],
    context: &mut Context<'_>,
) -> Result<Option<Expr>, Error> {
    let mut made: Option<Expr> = None;
    for (left, right) in left.iter().zip(right).rev() {
        let by = |op: &BinaryOperator| nested(compose::binary(left.clone(), op.clone(), right.clone()));
        made = Some(match made.take() {
            None => by(last),
            Some(rest) => {
                repeated(left, context)?;
                repeated(right, context)?;
                let equal = compose::binary(by(&BinaryOperator::Eq), BinaryOperator::And, nested(rest));
                compose::binary(by(strict), BinaryOperator::Or, nested(equal))
            }
        });
    }
    Ok(made)
}

/// Whether the row is one of the list; `None` where the list holds something else than rows.
fn listed(row: &[Expr], list: &[Expr], context: &mut Context<'_>) -> Result<Option<Expr>, Error> {
    let mut made: Option<Expr> = None;
    for item in list {
        let Expr::Tuple(item) = item else { return Ok(None) };
        same_length(row, item)?;
        let Some(equal) = pairs(row, &BinaryOperator::Eq, item, &BinaryOperator::And) else { return Ok(None) };
        made = Some(match made.take() {
            None => nested(equal),
            Some(before) => {
                row.iter().try_for_each(|value| repeated(value, context))?;
                compose::binary(before, BinaryOperator::Or, nested(equal))
            }
        });
    }
    Ok(made)
}

fn repeated(value: &Expr, context: &mut Context<'_>) -> Result<(), Error> {
    if templates::is_volatile(value) {
        return Err(Error::unsupported("comparing rows that hold a volatile value"));
    }
    context.copy(templates::size(value))
}
