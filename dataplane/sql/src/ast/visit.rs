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

struct Expressions<F>(F);

impl<B, F: FnMut(&Expr) -> ControlFlow<B>> Visitor for Expressions<F> {
    type Break = B;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<B> {
        self.0(expr)
    }
}

impl<B, F: FnMut(&mut Expr) -> ControlFlow<B>> VisitorMut for Expressions<F> {
    type Break = B;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<B> {
        self.0(expr)
    }
}

struct Relations<F>(F);

impl<B, F: FnMut(&ObjectName) -> ControlFlow<B>> Visitor for Relations<F> {
    type Break = B;

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<B> {
        self.0(name)
    }
}
