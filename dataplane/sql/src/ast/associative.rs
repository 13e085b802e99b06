//! Operators whose arms may be joined in any order of brackets.

use sqlparser::ast::{BinaryOperator, SetOperator, SetQuantifier};

/// Whether `(a op b) op c` is `a op (b op c)`.
pub(crate) fn operator(op: &BinaryOperator) -> bool {
    matches!(op, BinaryOperator::Or | BinaryOperator::And | BinaryOperator::StringConcat)
}

/// The same of queries; by name the first arm says the order of columns.
pub(crate) fn set_operation(op: SetOperator, quantifier: SetQuantifier) -> bool {
    match op {
        SetOperator::Union => matches!(quantifier, SetQuantifier::None | SetQuantifier::All | SetQuantifier::Distinct),
        SetOperator::Intersect => matches!(quantifier, SetQuantifier::None | SetQuantifier::Distinct),
        SetOperator::Except | SetOperator::Minus => false,
    }
}
