//! One walk over sqlparser's syntax tree, shared by every visitor.
//!
//! `sqlparser::ast::Visit::visit` is generic over its visitor: each visitor that is given to it compiles the walk
//! over every node of the tree once more. The walks here are given trait objects instead, so that there is one
//! walk that reads and one that changes, and a further visitor costs its own hooks alone. `clippy.toml` refuses
//! sqlparser's own methods elsewhere.

use std::convert::Infallible;
use std::ops::ControlFlow;

use sqlparser::ast::{
    self, Expr, GroupByExpr, Ident, ObjectName, OrderBy, OrderByExpr, Query, Select, Statement, TableFactor,
    ValueWithSpan, Visitor, VisitorMut,
};

/// A part of a syntax tree that visitors read.
pub(crate) trait Visit {
    /// Walks the part depth first; ends with what a hook breaks with.
    fn visit<V: Visitor>(&self, visitor: &mut V) -> ControlFlow<V::Break>;
}

/// A part of a syntax tree that visitors change.
pub(crate) trait VisitMut {
    /// Walks the part depth first; ends with what a hook breaks with.
    fn visit<V: VisitorMut>(&mut self, visitor: &mut V) -> ControlFlow<V::Break>;
}

impl<T: ast::Visit> Visit for T {
    #[expect(clippy::disallowed_methods, reason = "the one walk that reads")]
    fn visit<V: Visitor>(&self, visitor: &mut V) -> ControlFlow<V::Break> {
        let mut broken = None;
        let _: ControlFlow<()> = ast::Visit::visit(self, &mut Erased(&mut Keeping { visitor, broken: &mut broken }));
        broken.map_or(ControlFlow::Continue(()), ControlFlow::Break)
    }
}

impl<T: ast::VisitMut> VisitMut for T {
    #[expect(clippy::disallowed_methods, reason = "the one walk that changes")]
    fn visit<V: VisitorMut>(&mut self, visitor: &mut V) -> ControlFlow<V::Break> {
        let mut broken = None;
        let _: ControlFlow<()> =
            ast::VisitMut::visit(self, &mut ErasedMut(&mut Keeping { visitor, broken: &mut broken }));
        broken.map_or(ControlFlow::Continue(()), ControlFlow::Break)
    }
}

/// The visitor that the walk that reads is compiled for.
struct Erased<'v>(&'v mut dyn Visitor<Break = ()>);

/// The visitor that the walk that changes is compiled for.
struct ErasedMut<'v>(&'v mut dyn VisitorMut<Break = ()>);

/// Gives every visitor one type of break: the value that it breaks with is kept beside the walk.
struct Keeping<'v, V, B> {
    visitor: &'v mut V,
    broken: &'v mut Option<B>,
}

impl<V, B> Keeping<'_, V, B> {
    fn keep(&mut self, flow: ControlFlow<B>) -> ControlFlow<()> {
        flow.map_break(|value| *self.broken = Some(value))
    }
}

/// Forwards each hook through all four. A hook that a later sqlparser adds is missing here by clippy's word.
macro_rules! forward {
    ($($hook:ident: $node:ty),+ $(,)?) => {
        #[deny(clippy::missing_trait_methods)]
        impl<V: Visitor> Visitor for Keeping<'_, V, V::Break> {
            type Break = ();
            $(fn $hook(&mut self, node: &$node) -> ControlFlow<()> {
                let flow = self.visitor.$hook(node);
                self.keep(flow)
            })+
        }

        #[deny(clippy::missing_trait_methods)]
        impl<V: VisitorMut> VisitorMut for Keeping<'_, V, V::Break> {
            type Break = ();
            $(fn $hook(&mut self, node: &mut $node) -> ControlFlow<()> {
                let flow = self.visitor.$hook(node);
                self.keep(flow)
            })+
        }

        #[deny(clippy::missing_trait_methods)]
        impl Visitor for Erased<'_> {
            type Break = ();
            $(fn $hook(&mut self, node: &$node) -> ControlFlow<()> { self.0.$hook(node) })+
        }

        #[deny(clippy::missing_trait_methods)]
        impl VisitorMut for ErasedMut<'_> {
            type Break = ();
            $(fn $hook(&mut self, node: &mut $node) -> ControlFlow<()> { self.0.$hook(node) })+
        }
    };
}

forward! {
    pre_visit_query: Query, post_visit_query: Query,
    pre_visit_select: Select, post_visit_select: Select,
    pre_visit_relation: ObjectName, post_visit_relation: ObjectName,
    pre_visit_table_factor: TableFactor, post_visit_table_factor: TableFactor,
    pre_visit_expr: Expr, post_visit_expr: Expr,
    pre_visit_statement: Statement, post_visit_statement: Statement,
    pre_visit_value: ValueWithSpan, post_visit_value: ValueWithSpan,
    pre_visit_ident: Ident, post_visit_ident: Ident,
    pre_visit_order_by: OrderBy, post_visit_order_by: OrderBy,
    pre_visit_order_by_expr: OrderByExpr, post_visit_order_by_expr: OrderByExpr,
    pre_visit_group_by: GroupByExpr, post_visit_group_by: GroupByExpr,
}

/// Shows a closure every expression of a part, an outer one before those in it.
pub(crate) fn visit_expressions<B>(part: &impl Visit, seen: impl FnMut(&Expr) -> ControlFlow<B>) -> ControlFlow<B> {
    part.visit(&mut Expressions(seen))
}

/// Whether a closure says so of any expression of a part.
pub(crate) fn any_expression(part: &impl Visit, mut is_one: impl FnMut(&Expr) -> bool) -> bool {
    let seen = |expr: &Expr| if is_one(expr) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    visit_expressions(part, seen).is_break()
}

/// Shows a closure every expression of a part, up to the last.
pub(crate) fn each_expression(part: &impl Visit, mut seen: impl FnMut(&Expr)) {
    any_expression(part, |expr| {
        seen(expr);
        false
    });
}

/// Gives a closure every expression of a part to change, up to the last, an inner one before the one around it.
pub(crate) fn change_expressions(part: &mut impl VisitMut, mut change: impl FnMut(&mut Expr)) {
    let ControlFlow::Continue(()) = visit_expressions_mut(part, |expr| {
        change(expr);
        ControlFlow::<Infallible>::Continue(())
    });
}

/// Gives a closure every expression of a part to change, an inner one before the one around it.
fn visit_expressions_mut<B>(
    part: &mut impl VisitMut,
    change: impl FnMut(&mut Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    part.visit(&mut Expressions(change))
}

/// Gives a closure every expression of a part to change, as [`change_expressions`], up to the first error.
pub(crate) fn try_change_expressions<E>(
    part: &mut impl VisitMut,
    mut change: impl FnMut(&mut Expr) -> Result<(), E>,
) -> Result<(), E> {
    result_of(visit_expressions_mut(part, |expr| flow_of(change(expr))))
}

/// The walk goes on, or breaks with the error.
pub(crate) fn flow_of<E>(result: Result<(), E>) -> ControlFlow<E> {
    result.map_or_else(ControlFlow::Break, ControlFlow::Continue)
}

/// The error that a walk has broken with.
pub(crate) fn result_of<E>(flow: ControlFlow<E>) -> Result<(), E> {
    flow.break_value().map_or(Ok(()), Err)
}

/// Shows a closure the name of every relation of a part.
pub(crate) fn visit_relations<B>(part: &impl Visit, seen: impl FnMut(&ObjectName) -> ControlFlow<B>) -> ControlFlow<B> {
    part.visit(&mut Relations(seen))
}

/// Shows a closure every select of a part, an outer one before those in it.
pub(crate) fn each_select(part: &impl Visit, mut seen: impl FnMut(&Select)) {
    let ControlFlow::Continue(()) = part.visit(&mut Selects(|select: &Select| {
        seen(select);
        ControlFlow::<Infallible>::Continue(())
    }));
}

/// Shows a closure every member of a FROM of a part, an outer one before those in it.
pub(crate) fn each_factor(part: &impl Visit, mut seen: impl FnMut(&TableFactor)) {
    let ControlFlow::Continue(()) = part.visit(&mut Factors(|factor: &TableFactor| {
        seen(factor);
        ControlFlow::<Infallible>::Continue(())
    }));
}

/// Gives a closure every member of a FROM of a part to change, an inner one before the one around it.
pub(crate) fn try_change_factors<E>(
    part: &mut impl VisitMut,
    mut change: impl FnMut(&mut TableFactor) -> Result<(), E>,
) -> Result<(), E> {
    result_of(part.visit(&mut Factors(|factor: &mut TableFactor| flow_of(change(factor)))))
}

/// The same with a closure that cannot fail.
pub(crate) fn change_factors(part: &mut impl VisitMut, mut change: impl FnMut(&mut TableFactor)) {
    let Ok(()) = try_change_factors(part, |factor| {
        change(factor);
        Ok::<(), Infallible>(())
    });
}

/// Whether a query stands in a part.
pub(crate) fn has_query(part: &impl Visit) -> bool {
    part.visit(&mut Queries(|_: &Query| ControlFlow::<()>::Break(()))).is_break()
}

/// A visitor of a closure that changes every expression, an outer one before those in it.
pub(crate) fn outer_first<B>(change: impl FnMut(&mut Expr) -> ControlFlow<B>) -> impl VisitorMut<Break = B> {
    OuterFirst(change)
}

/// A visitor of a closure that changes every expression, an inner one before the one around it.
pub(crate) fn inner_first<B>(change: impl FnMut(&mut Expr) -> ControlFlow<B>) -> impl VisitorMut<Break = B> {
    Expressions(change)
}

/// Visitors each of one hook, which is a closure: the hook of a walk that reads, and that of one that changes.
macro_rules! of_one_hook {
    ($($visitor:ident: $node:ty, $reads:ident, $changes:ident;)+) => {$(
        struct $visitor<F>(F);

        impl<B, F: FnMut(&$node) -> ControlFlow<B>> Visitor for $visitor<F> {
            type Break = B;
            fn $reads(&mut self, node: &$node) -> ControlFlow<B> { self.0(node) }
        }

        impl<B, F: FnMut(&mut $node) -> ControlFlow<B>> VisitorMut for $visitor<F> {
            type Break = B;
            fn $changes(&mut self, node: &mut $node) -> ControlFlow<B> { self.0(node) }
        }
    )+};
}

of_one_hook! {
    Expressions: Expr, pre_visit_expr, post_visit_expr;
    OuterFirst: Expr, pre_visit_expr, pre_visit_expr;
    Relations: ObjectName, pre_visit_relation, post_visit_relation;
    Factors: TableFactor, pre_visit_table_factor, post_visit_table_factor;
    Selects: Select, pre_visit_select, post_visit_select;
    Queries: Query, pre_visit_query, post_visit_query;
}
