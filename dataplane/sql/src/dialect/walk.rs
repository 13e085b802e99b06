//! The walk over a statement: scopes begin and end, and every expression is shown to the families, leaves first.

use std::mem;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, GroupByExpr, OrderByExpr, Query, Select, SelectItem, Statement, TableFactor, TableWithJoins, Value,
    ValueWithSpan, VisitorMut, With,
};

use super::{
    BACKSLASH, Context, Done, EXPRESSIONS, LOCKS, aliases, drawn, exists, flatten, held, lambdas, limits, order,
    patterns, rows, stored, sums, tables, united, windows, writes,
};
use crate::ast::error::Error;
use crate::ast::{VisitMut, flow_of};
use crate::functions::types::Type;

pub(super) struct DialectWalk<'a> {
    pub(super) context: Context<'a>,
    /// WITH clauses already rewritten, of the queries we are inside of.
    withs: Vec<Option<With>>,
    /// FROM lists already rewritten, of the selects we are inside of.
    froms: Vec<Vec<TableWithJoins>>,
    /// Select lists already rewritten, of the selects we are inside of.
    projections: Vec<Vec<SelectItem>>,
    /// How many relations stand in front of the relations we are inside of.
    within: Vec<usize>,
    /// Arguments already rewritten, of the calls with a lambda we are inside of.
    calls: Vec<lambdas::Aside>,
    /// What the parameters of their lambdas are.
    parameters: Vec<Vec<Type>>,
    /// The statement names a column SEQ.
    sees_seq: bool,
    /// Whether an alias stands for its column here, and not for its expression.
    keeps_names: bool,
}

impl<'a> DialectWalk<'a> {
    pub(super) fn new(context: Context<'a>, sees_seq: bool) -> Self {
        Self {
            context,
            withs: Vec::new(),
            froms: Vec::new(),
            projections: Vec::new(),
            within: Vec::new(),
            calls: Vec::new(),
            parameters: Vec::new(),
            sees_seq,
            keeps_names: false,
        }
    }

    fn expression(&mut self, expr: &mut Expr) -> Result<(), Error> {
        if !self.keeps_names && aliases::repeat(expr, &mut self.context)? {
            return Ok(());
        }
        if matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_) | Expr::Nested(_)) {
            return Ok(()); // no family rewrites one
        }
        windows::check(expr, &self.context)?;
        limits::check_ours(expr, &mut self.context)?;
        self.context.forget_operands();
        for (_, rewrite) in EXPRESSIONS {
            if rewrite(expr, &mut self.context)? == Done::Yes {
                break;
            }
        }
        self.context.note(expr);
        patterns::check(expr)?;
        if let Expr::Exists { subquery, .. } = expr {
            exists::settle(subquery);
        }
        if self.context.draws {
            drawn::check_query(expr)?;
        }
        limits::check(expr, &mut self.context)?;
        if self.context.draws {
            drawn::bind_once(expr, &self.context)?;
        }
        sums::check(expr, &mut self.context)
    }
}

impl VisitorMut for DialectWalk<'_> {
    type Break = Error;

    /// FROM first, so that the types of its columns are known to the rest of the select; then the select list, whose
    /// aliases its conditions may name.
    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        flow_of(tables::refuse(select))?;
        self.context.scopes.begin();
        let mut from = mem::take(&mut select.from);
        from.visit(self)?;
        self.froms.push(from);
        let mut projection = mem::take(&mut select.projection);
        for item in &mut projection {
            item.visit(self)?;
            if let SelectItem::ExprWithAlias { expr, alias } = item {
                let is_repeated = aliases::is_repeated(expr, &self.context);
                self.context.scopes.define(alias, expr, is_repeated);
            }
        }
        self.projections.push(projection);
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        select.from = self.froms.pop().unwrap_or_default();
        select.projection = self.projections.pop().unwrap_or_default();
        flow_of(windows::check_named(select, &self.context))?;
        if self.context.draws {
            flow_of(drawn::check_select(select))?;
        }
        flow_of(flatten::number(select, self.sees_seq))?;
        flow_of(aliases::into_conditions(select, &mut self.context))?;
        self.context.scopes.end_select(select);
        ControlFlow::Continue(())
    }

    /// WITH first, for the types of its columns.
    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        if !query.locks.is_empty() {
            query.locks.clear();
            self.context.warn(LOCKS);
        }
        let mut with = query.with.take();
        for at in 0..with.as_ref().map_or(0, |with| with.cte_tables.len()) {
            if let Some(with) = &with
                && let Some(cte) = with.cte_tables.get(at)
            {
                self.context.scopes.begin_with(with, cte);
            }
            if let Some(cte) = with.as_mut().and_then(|with| with.cte_tables.get_mut(at)) {
                cte.visit(self)?;
                self.context.scopes.end_with(cte);
            }
        }
        self.context.scopes.begin();
        self.withs.push(with);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        query.with = self.withs.pop().flatten();
        flow_of(order::by_position(query, &mut self.context))?;
        if let Some(arms) = self.context.scopes.arms() {
            united::meet(query, arms);
        }
        self.context.scopes.end_query(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        self.within.push(self.context.scopes.relations());
        flow_of(flatten::gather(factor))
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        flow_of(limits::check_table(factor, &mut self.context))?;
        let within = self.within.pop().unwrap_or_default();
        let is_function = matches!(factor, TableFactor::Function { .. });
        if is_function {
            self.context.scopes.relation(factor, within);
        }
        flow_of(flatten::rewrite(factor, &mut self.context))?;
        flow_of(tables::rewrite(factor))?;
        if !is_function {
            self.context.scopes.relation(factor, within);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_group_by(&mut self, _: &mut GroupByExpr) -> ControlFlow<Error> {
        self.keeps_names = true;
        ControlFlow::Continue(())
    }

    fn post_visit_group_by(&mut self, _: &mut GroupByExpr) -> ControlFlow<Error> {
        self.keeps_names = false;
        ControlFlow::Continue(())
    }

    fn pre_visit_order_by_expr(&mut self, key: &mut OrderByExpr) -> ControlFlow<Error> {
        self.keeps_names |= self.context.scopes.is_behind() && matches!(key.expr, Expr::Identifier(_));
        ControlFlow::Continue(())
    }

    fn post_visit_order_by_expr(&mut self, key: &mut OrderByExpr) -> ControlFlow<Error> {
        self.keeps_names = false;
        flow_of(order::rewrite(key, &mut self.context))
    }

    fn pre_visit_statement(&mut self, statement: &mut Statement) -> ControlFlow<Error> {
        flow_of(writes::rewrite(statement))?;
        self.context.scopes.read(&writes::relations(statement));
        ControlFlow::Continue(())
    }

    fn post_visit_statement(&mut self, statement: &mut Statement) -> ControlFlow<Error> {
        if self.context.draws {
            flow_of(drawn::check_conditions(statement))?;
        }
        flow_of(stored::rewrite(statement, &mut self.context))?;
        flow_of(held::rewrite(statement, &mut self.context))
    }

    /// The other arguments first, so that the types of a lambda's parameters are known.
    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        flow_of(rows::rewrite(expr, &mut self.context))?;
        self.context.note(expr);
        match expr {
            Expr::Function(function) => {
                windows::order_of_rows(function);
                windows::reach(function);
                if let Some(mut aside) = lambdas::aside(function) {
                    aside.iter_mut().try_for_each(|(_, argument)| argument.visit(self))?;
                    self.parameters.push(lambdas::parameters(function, &aside, &self.context));
                    self.calls.push(aside);
                }
            }
            Expr::Lambda(lambda) => {
                let types = self.parameters.last().cloned().unwrap_or_default();
                lambdas::rename(lambda, &types, &mut self.context);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<Error> {
        if matches!(&value.value, Value::SingleQuotedString(text) if text.contains('\\')) {
            self.context.warn(BACKSLASH);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if let Expr::Function(function) = expr
            && lambdas::is_aside(function)
            && let Some(aside) = self.calls.pop()
        {
            self.parameters.pop();
            lambdas::back(function, aside);
        }
        flow_of(self.expression(expr))
    }
}
