//! `CONDITIONAL_CHANGE_EVENT(x) OVER (… ORDER BY …)`: a running count of the rows where `x` differs from the row
//! before. A window in a window is nothing the engine has, so the differences are found in a select below.
//!
//! `FROM t WHERE c` becomes `FROM (SELECT *, <differs> AS change FROM t WHERE c) AS t`. NULL raises an error:
//! whether it is a change is not for us to guess.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, FunctionArguments, GroupByExpr, Ident, ObjectName, Select, SelectItem, SetExpr, TableAlias,
    TableFactor, VisitorMut, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowType,
};

use crate::ast::call::{argument, sole_argument};
use crate::ast::error::Error;
use crate::ast::names::{self, ours};
use crate::ast::outside::Outside;
use crate::ast::{VisitMut, change_expressions, flow_of, result_of, star};
use crate::syntax::rewrites::CHANGE_EVENT;

/// Rewrites the select, if it calls the function.
pub(super) fn rewrite(select: &mut Select) -> Result<(), Error> {
    let mut calls = ChangeEventCalls { made: Vec::new() };
    let outside = &mut Outside::of(&mut calls);
    result_of(select.projection.visit(outside))?;
    result_of(select.qualify.visit(outside))?;
    let ChangeEventCalls { made } = calls;
    if made.is_empty() {
        return Ok(());
    }
    let refused = || Error::unsupported("CONDITIONAL_CHANGE_EVENT over a join or beside GROUP BY");
    let groups = match &select.group_by {
        GroupByExpr::All(_) => true,
        GroupByExpr::Expressions(exprs, modifiers) => !exprs.is_empty() || !modifiers.is_empty(),
    };
    let [table] = select.from.as_mut_slice() else {
        return Err(refused());
    };
    if groups || !table.joins.is_empty() {
        return Err(refused());
    }
    let name = match &table.relation {
        TableFactor::Table { alias: None, name, .. } => names::last(name).cloned(),
        TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } => {
            Some(alias.name.clone())
        }
        _ => None,
    };
    let name = name.ok_or_else(refused)?;
    let mut query = crate::syntax::parse::query("SELECT * FROM t")?;
    if let SetExpr::Select(inner) = query.body.as_mut()
        && let Some(from) = inner.from.first_mut()
    {
        from.relation = table.relation.clone();
        inner.selection = select.selection.take();
        inner.projection.extend(made.iter().enumerate().map(|(at, differs)| SelectItem::ExprWithAlias {
            expr: differs.clone(),
            alias: names::quoted(&ours::change(at)),
        }));
    }
    let alias = TableAlias { explicit: true, name, columns: Vec::new(), at: None };
    table.relation = TableFactor::Derived { lateral: false, subquery: query, alias: Some(alias), sample: None };
    for item in &mut select.projection {
        if let SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) = item {
            star::leave_out(options, (0..made.len()).map(|at| names::quoted(&ours::change(at))));
        }
    }
    Ok(())
}

/// The calls of a select, each replaced by a sum over what is found below.
struct ChangeEventCalls {
    made: Vec<Expr>,
}

impl VisitorMut for ChangeEventCalls {
    type Break = Error;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        let Expr::Function(function) = expr else {
            return ControlFlow::Continue(());
        };
        if !names::single(&function.name).is_some_and(|name| name.value.eq_ignore_ascii_case(CHANGE_EVENT)) {
            return ControlFlow::Continue(());
        }
        let sum = self.replaced(function);
        flow_of(sum.map(|sum| *expr = sum))
    }
}

impl ChangeEventCalls {
    fn replaced(&mut self, function: &Function) -> Result<Expr, Error> {
        let refused = || Error::unsupported("CONDITIONAL_CHANGE_EVENT without OVER (… ORDER BY …)");
        let value = sole_argument(function).ok_or_else(refused)?;
        let Some(WindowType::WindowSpec(window)) = &function.over else {
            return Err(refused());
        };
        if window.order_by.is_empty() || window.window_frame.is_some() || window.window_name.is_some() {
            return Err(refused());
        }
        let template = "CASE WHEN v IS NULL THEN CAST('CONDITIONAL_CHANGE_EVENT of NULL' AS INTEGER) \
                        WHEN lag(v) OVER (ORDER BY 1) <> v THEN 1 ELSE 0 END";
        let mut differs = crate::syntax::parse::expression(template)?;
        change_expressions(&mut differs, |part| match part {
            Expr::Identifier(ident) if ident.value == "v" => *part = value.clone(),
            Expr::Function(call) if call.over.is_some() => call.over = Some(WindowType::WindowSpec(window.clone())),
            _ => {}
        });
        self.made.push(differs);
        let mut sum = function.clone();
        sum.name = ObjectName::from(vec![Ident::new("sum")]);
        let found = Expr::Identifier(names::quoted(&ours::change(self.made.len() - 1)));
        if let FunctionArguments::List(list) = &mut sum.args {
            list.args = vec![argument(found)];
        }
        let mut window = window.clone();
        window.window_frame = Some(WindowFrame {
            units: WindowFrameUnits::Rows,
            start_bound: WindowFrameBound::Preceding(None),
            end_bound: Some(WindowFrameBound::CurrentRow),
        });
        sum.over = Some(WindowType::WindowSpec(window));
        Ok(Expr::Function(sum))
    }
}
