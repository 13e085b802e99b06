//! Whether a query answers one row, whatever rows there are: where it stands for a value, another may have more.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Function, GroupByExpr, Ident, Query, Select, SelectItem, Visitor};

use super::indistinct_values;
use crate::ast::{Visit, each_expression, names};
use crate::functions::catalogue;
use crate::govern::lineage::LineageWalk;

impl LineageWalk<'_> {
    /// One value of all rows. An aggregate of nothing but another query's columns is that query's.
    pub(in crate::govern) fn is_of_all_rows(&self, select: &Select) -> bool {
        let GroupByExpr::Expressions(grouped, modifiers) = &select.group_by else { return false };
        let [SelectItem::UnnamedExpr(item) | SelectItem::ExprWithAlias { expr: item, .. }] =
            select.projection.as_slice()
        else {
            return false;
        };
        let mut calls = ExpressionCalls { walk: self, depth: 0, aggregates: false, unnests: false };
        let _: ControlFlow<()> = item.visit(&mut calls);
        grouped.is_empty() && modifiers.is_empty() && calls.aggregates && !calls.unnests
    }

    /// Whether what a call is given names a column of the FROM that is nearest, or none at all.
    fn is_nearest(&self, function: &Function) -> bool {
        let mut named = Vec::new();
        for argument in indistinct_values::arguments(function) {
            each_expression(argument, |expr| match expr {
                Expr::Identifier(column) => named.push((None, column.clone())),
                Expr::CompoundIdentifier(path) => {
                    if let [.., table, column] = path.as_slice() {
                        named.push((Some(table.clone()), column.clone()));
                    }
                }
                _ => {}
            });
        }
        let is_own = |(table, column): &(Option<Ident>, Ident)| {
            self.scopes.last().into_iter().flatten().any(|source| match table {
                Some(table) => source.alias.eq_ignore_ascii_case(&table.value),
                None => source.outputs.iter().any(|output| output.name.eq_ignore_ascii_case(&column.value)),
            })
        };
        let columns: usize = self.scopes.last().into_iter().flatten().map(|source| 1 + source.outputs.len()).sum();
        if !self.work.spend(columns * named.len()) {
            return false;
        }
        named.is_empty() || named.iter().any(is_own)
    }
}

/// The calls of an expression, without those of the queries in it.
struct ExpressionCalls<'w, 'a> {
    walk: &'w LineageWalk<'a>,
    depth: usize,
    aggregates: bool,
    unnests: bool,
}

impl Visitor for ExpressionCalls<'_, '_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let (Expr::Function(function), 0) = (expr, self.depth) {
            let name = names::last(&function.name).map_or("", |ident| ident.value.as_str());
            self.unnests |= catalogue::is_table_function(name);
            self.aggregates |=
                function.over.is_none() && catalogue::is_aggregate(name) && self.walk.is_nearest(function);
        }
        ControlFlow::Continue(())
    }
}
