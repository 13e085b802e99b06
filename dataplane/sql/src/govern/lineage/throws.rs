//! Whether an expression can fail on a value.

use sqlparser::ast::{BinaryOperator, CastKind, Expr, UnaryOperator};

use super::reach::sole_argument;
use crate::dialect;
use crate::functions::{self, Class};
use crate::names;
use crate::types::{self, Columns, Type};

/// Whether an expression can raise an error that depends on the values it meets. Comparing two
/// families of types casts one to the other, which can.
pub(super) fn throws(expr: &Expr, columns: &dyn Columns) -> bool {
    match expr {
        Expr::Cast { kind, .. } => matches!(kind, CastKind::Cast | CastKind::DoubleColon),
        Expr::Function(function) => {
            let name = names::last(&function.name).map_or("", |ident| ident.value.as_str());
            let reads_text = dialect::reads_moment(name)
                && sole_argument(function).is_none_or(|moment| !types::type_of(moment, columns).is_moment());
            reads_text || functions::class(name) != Some(Class::Safe)
        }
        Expr::BinaryOp { left, op, right } => throws_between(left, op, right, columns),
        Expr::InList { expr, list, .. } => list.iter().any(|item| !same_family(expr, item, columns)),
        Expr::Between { expr, low, high, .. } => !same_family(expr, low, columns) || !same_family(expr, high, columns),
        Expr::UnaryOp { op, .. } => *op != UnaryOperator::Not,
        Expr::TypedString(_)
        | Expr::AtTimeZone { .. }
        | Expr::Extract { .. }
        | Expr::Substring { .. }
        | Expr::CompoundFieldAccess { .. }
        | Expr::JsonAccess { .. }
        | Expr::Subquery(_)
        | Expr::InSubquery { .. }
        | Expr::SimilarTo { .. }
        | Expr::RLike { .. }
        | Expr::AnyOp { .. }
        | Expr::AllOp { .. } => true,
        _ => false,
    }
}

fn throws_between(left: &Expr, op: &BinaryOperator, right: &Expr, columns: &dyn Columns) -> bool {
    use BinaryOperator as B;
    match op {
        B::And | B::Or | B::StringConcat => false,
        B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq => !same_family(left, right, columns),
        _ => true,
    }
}

fn same_family(left: &Expr, right: &Expr, columns: &dyn Columns) -> bool {
    let (left, right) = (types::type_of(left, columns), types::type_of(right, columns));
    left != Type::Unknown && (left == right || left.is_number() && right.is_number())
}
