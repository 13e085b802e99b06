//! `= ANY` and `<> ALL` of a list that is written out are IN and NOT IN.
//!
//! ANY and ALL of a list are a subquery to the engine, and TRY holds none: a filter of them would refuse every statement.

use std::ops::ControlFlow;

use sqlparser::ast::{Array, BinaryOperator, Expr, Query, VisitorMut};

use crate::ast::error::Error;
use crate::ast::{VisitMut, result_of};

/// Says it in the filter; refuses ANY and ALL of any other list, unless a subquery of the filter asks.
pub(super) fn as_in(filter: &mut Expr) -> Result<(), Error> {
    result_of(filter.visit(&mut Quantified { depth: 0 }))
}

struct Quantified {
    /// How many subqueries it is inside of.
    depth: usize,
}

impl VisitorMut for Quantified {
    type Break = Error;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        let (left, right, negated) = match expr {
            Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, is_some: _ } => (left, right, Some(false)),
            Expr::AllOp { left, compare_op: BinaryOperator::NotEq, right } => (left, right, Some(true)),
            Expr::AnyOp { left, right, .. } | Expr::AllOp { left, right, .. } => (left, right, None),
            _ => return ControlFlow::Continue(()),
        };
        match (right.as_mut(), negated) {
            (Expr::Subquery(_), _) => ControlFlow::Continue(()),
            (Expr::Array(Array { elem, .. }), Some(negated)) if !elem.is_empty() => {
                let (value, list) = (left.clone(), std::mem::take(elem));
                *expr = Expr::InList { expr: value, list, negated };
                ControlFlow::Continue(())
            }
            _ if self.depth > 0 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(Error::invalid_filter(
                "ANY and ALL of a list are not asked in a filter: write IN (…), or array_contains(value, list)",
            )),
        }
    }
}
