//! The expressions of a select, without those of the queries in it: there the same words mean something else.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, Select, VisitorMut};

use crate::ast::VisitMut;

/// Shows a visitor every expression that is inside of no query.
pub(crate) struct Outside<'v, V> {
    visitor: &'v mut V,
    /// Inside of how many queries we are.
    queries: usize,
}

impl<'v, V> Outside<'v, V> {
    pub(crate) fn of(visitor: &'v mut V) -> Self {
        Self { visitor, queries: 0 }
    }
}

impl<V: VisitorMut> Outside<'_, V> {
    /// Shows it the expressions of a select but for those in its FROM.
    pub(crate) fn of_select(&mut self, select: &mut Select) -> ControlFlow<V::Break> {
        select.projection.visit(self)?;
        select.selection.visit(self)?;
        select.group_by.visit(self)?;
        select.having.visit(self)?;
        select.qualify.visit(self)
    }
}

impl<V: VisitorMut> VisitorMut for Outside<'_, V> {
    type Break = V::Break;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<V::Break> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<V::Break> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<V::Break> {
        if self.queries > 0 { ControlFlow::Continue(()) } else { self.visitor.pre_visit_expr(expr) }
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<V::Break> {
        if self.queries > 0 { ControlFlow::Continue(()) } else { self.visitor.post_visit_expr(expr) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns that are met, on the way in and on the way out.
    #[derive(Default)]
    struct Met(Vec<String>);

    impl VisitorMut for Met {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            self.0.extend(matches!(expr, Expr::Identifier(_)).then(|| format!("in {expr}")));
            ControlFlow::Continue(())
        }

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            self.0.extend(matches!(expr, Expr::Identifier(_)).then(|| format!("out {expr}")));
            ControlFlow::Continue(())
        }
    }

    #[test]
    fn what_stands_in_a_query_is_not_met_and_what_stands_behind_it_is() {
        let text = "a + (SELECT b FROM t WHERE c IN (SELECT d FROM u)) + e";
        let mut expr = crate::syntax::parse::expression(text).expect("an expression");
        let mut met = Met::default();
        assert!(expr.visit(&mut Outside::of(&mut met)).is_continue());
        assert_eq!(met.0, ["in a", "out a", "in e", "out e"]);
    }
}
