//! One form of what can be written in several: FROM first, TOP, `ORDER BY ALL`, `LIKE ALL`, hierarchies, `(+)`,
//! parameters.
//!
//! All of it happens before a name is bound, so what is made here is bound and governed like what was written.

mod balance;
mod change_event;
mod counting;
mod grouping;
mod hierarchy;
mod indexed;
mod literals;
mod named;
mod order_all;
mod ordinal;
mod outer_join;
mod searching;
mod set_functions;
mod whole_row;

use std::ops::ControlFlow;

pub use hierarchy::CYCLE;
use sqlparser::ast::{
    ArrayElemTypeDef, CastKind, ColumnDef, CreateTable, CreateTableLikeKind, DataType, Expr, Function,
    FunctionArguments, JoinConstraint, JoinOperator, LimitClause, Query, Select, SelectFlavor, SelectItem, SetExpr,
    Statement, TableAlias, TableAliasColumnDef, TableFactor, TableWithJoins, Top, TopQuantity, Value, ValueWithSpan,
    VisitorMut, WildcardAdditionalOptions,
};

use super::facts::Facts;
use super::walk::FactsWalk;
use crate::ast::call::{call, plain};
use crate::ast::error::{Error, ErrorKind};
use crate::ast::expression::cast;
use crate::ast::names::ours::ROWS;
use crate::ast::{VisitMut, array_text, flow_of, result_of};
use crate::catalog::column_comment::length;
use crate::syntax::label;
use crate::syntax::rewrites::Rewrites;

/// Parameters of one statement, as in the wire protocol.
const PARAMETERS_MAX: usize = 65_535;

/// Gives the tree its normal form, and reads its facts.
pub(super) fn form(tree: &mut Statement, rewrites: Rewrites) -> Result<Facts, Error> {
    if let Statement::CreateTable(create) = tree {
        copy(create)?;
        declared(create)?;
        counting::declared(create)?;
    }
    if matches!(tree, Statement::AlterSession { .. }) {
        return FactsWalk::over(tree); // what it unsets looks like a parameter
    }
    indexed::altered(tree)?;
    named::target(tree)?;
    if rewrites.has(Rewrites::CONSTANTS) {
        label::label(tree, literals::holds)?;
    }
    let is_query = matches!(tree, Statement::Query(_));
    let facts = if is_query { FactsWalk::of_query() } else { FactsWalk::default() };
    let mut form = Form::new(rewrites, facts);
    result_of(tree.visit(&mut form))?;
    if is_query { form.facts.finish() } else { FactsWalk::over(tree) }
}

/// The constants of an expression that stands in no statement yet.
pub(crate) fn expression(expr: &mut Expr) -> Result<(), Error> {
    result_of(expr.visit(&mut Form::new(Rewrites::ALL, FactsWalk::default())))
}

struct Form {
    rewrites: Rewrites,
    questions: usize,
    numbered: bool,
    literals: literals::Literals,
    /// Those of a query are read of each part once it has its normal form.
    facts: FactsWalk,
}

impl Form {
    fn new(rewrites: Rewrites, facts: FactsWalk) -> Self {
        Self { rewrites, questions: 0, numbered: false, literals: literals::Literals::default(), facts }
    }

    fn parameter(&mut self, name: &str) -> Result<usize, Error> {
        if name == "?" {
            self.questions += 1;
        }
        let number = if name == "?" { Some(self.questions) } else { name.strip_prefix('$').and_then(number) };
        self.numbered |= name != "?";
        if self.numbered && self.questions > 0 {
            return Err(Error::syntax("parameters are written $1 or ?, not both in one statement"));
        }
        match number {
            Some(number) if number <= PARAMETERS_MAX => Ok(number),
            Some(_) => {
                Err(Error::new(ErrorKind::TooLarge, format!("a statement may have {PARAMETERS_MAX} parameters")))
            }
            None if names_variable(name) => Err(Error::syntax(format!("the session has no variable {name}"))),
            None => Err(Error::syntax(format!("parameters are written $1 or ?, not {name}"))),
        }
    }
}

fn names_variable(name: &str) -> bool {
    name.strip_prefix('$').is_some_and(|name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

/// `0` is no number of a parameter, nor is `01`.
fn number(digits: &str) -> Option<usize> {
    let plain = !digits.starts_with('0') && digits.chars().all(|c| c.is_ascii_digit());
    if plain { digits.parse().ok() } else { None }
}

impl VisitorMut for Form {
    type Break = Error;

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<Error> {
        if let Value::Placeholder(name) = &value.value {
            match self.parameter(name) {
                Ok(number) => value.value = Value::Placeholder(format!("${number}")),
                Err(error) => return ControlFlow::Break(error.at(value.span.start)),
            }
        }
        if self.rewrites.has(Rewrites::CONSTANTS)
            && let Some(digits) = literals::exact(&value.value)
        {
            value.value = Value::Number(digits, false);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_statement(&mut self, statement: &mut Statement) -> ControlFlow<Error> {
        self.facts.statement(statement);
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        balance::arms(&mut query.body);
        top(query);
        order_all::rewrite(query);
        if let Some(with) = &mut query.with {
            named::recursion(with);
        }
        flow_of(hierarchy::ordered(query))?;
        self.facts.begin(query);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.facts.end();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        if matches!(factor, TableFactor::Table { args: Some(_), .. }) {
            self.rewrites = Rewrites::ALL; // a search becomes a text of ours, which is none of the statement's tokens
        }
        flow_of(named::table(factor).and_then(|()| searching::rewrite(factor)))?;
        self.facts.member(factor);
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        self.facts.factor(factor);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        balance::expression(expr);
        like_all(expr);
        overlay(expr);
        array_text(expr);
        if self.rewrites.has(Rewrites::CONSTANTS) {
            self.literals.begin(expr);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if self.rewrites.has(Rewrites::CONSTANTS) {
            self.literals.end();
        }
        self.facts.expression(expr);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        ordinal::rewrite(select);
        let formed = set_functions::rewrite(select).and_then(|()| grouping::bounded(select));
        flow_of(formed.and_then(|()| rewritten(select, self.rewrites)))?;
        if select.flavor == SelectFlavor::FromFirstNoSelect {
            select.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
        }
        select.flavor = SelectFlavor::Standard;
        self.facts.select(select);
        ControlFlow::Continue(())
    }
}

fn rewritten(select: &mut Select, rewrites: Rewrites) -> Result<(), Error> {
    hierarchy::rewrite(select)?;
    if rewrites.has(Rewrites::OUTER_JOINS) {
        outer_join::rewrite(select)?;
    }
    if rewrites.has(Rewrites::CHANGE_EVENTS) {
        change_event::rewrite(select)?;
    }
    if rewrites.has(Rewrites::WHOLE_ROWS) {
        whole_row::rewrite(select);
    }
    unconditional(select);
    Ok(())
}

/// A join without a condition, `JOIN LATERAL f(…)` too, is of every row with every row in the warehouse. The engine reads
/// none, and has joins of its own whose word would be an alias here: those stay, and are refused.
fn unconditional(select: &mut Select) {
    for table in &mut select.from {
        joined(table);
    }
}

fn joined(table: &mut TableWithJoins) {
    let mut is_another = names_join(&table.relation);
    within(&mut table.relation);
    for join in &mut table.joins {
        within(&mut join.relation);
        let (JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)) = &mut join.join_operator
        else {
            is_another = false;
            continue;
        };
        if !is_another && *constraint == JoinConstraint::None {
            *constraint = JoinConstraint::On(Expr::value(Value::Boolean(true)));
        }
        is_another = names_join(&join.relation);
    }
}

/// The parser crate puts brackets around joins whose conditions it misses.
fn within(factor: &mut TableFactor) {
    if let TableFactor::NestedJoin { table_with_joins, .. } = factor {
        joined(table_with_joins);
    }
}

/// `a POSITIONAL JOIN b`: read as an alias of `a`.
fn names_join(factor: &TableFactor) -> bool {
    let (TableFactor::Table { alias, .. }
    | TableFactor::Derived { alias, .. }
    | TableFactor::TableFunction { alias, .. }
    | TableFactor::Function { alias, .. }) = factor
    else {
        return false;
    };
    alias.as_ref().is_some_and(|TableAlias { explicit, name, .. }| {
        !explicit && name.quote_style.is_none() && name.value.eq_ignore_ascii_case("positional")
    })
}

/// `CREATE TABLE a CLONE b` is `CREATE TABLE a AS SELECT * FROM b`, `… LIKE b` the same without rows.
fn copy(create: &mut CreateTable) -> Result<(), Error> {
    if create.query.is_some() || create.version.is_some() || !create.columns.is_empty() {
        return Ok(());
    }
    let (name, condition) = match (create.clone.take(), create.like.take()) {
        (Some(name), None) => (name, ""),
        (None, Some(CreateTableLikeKind::Plain(like) | CreateTableLikeKind::Parenthesized(like))) => {
            (like.name, " WHERE FALSE")
        }
        _ => return Ok(()),
    };
    let mut query = crate::syntax::parse::query(&format!("SELECT * FROM t{condition}"))?;
    if let SetExpr::Select(select) = query.body.as_mut()
        && let Some(TableFactor::Table { name: copied, .. }) = select.from.first_mut().map(|from| &mut from.relation)
    {
        *copied = name;
    }
    create.query = Some(query);
    Ok(())
}

/// `CREATE TABLE t (a INT, b) AS query` has the query's columns under these names, cast to these types.
fn declared(create: &mut CreateTable) -> Result<(), Error> {
    let plain = create.constraints.is_empty() && create.columns.iter().all(|column| column.options.is_empty());
    if create.columns.is_empty() || !plain {
        return Ok(());
    }
    let Some(source) = create.query.take() else { return Ok(()) };
    let mut query = crate::syntax::parse::query(&format!("SELECT * FROM (SELECT 1) AS \"{ROWS}\""))?;
    if let SetExpr::Select(select) = query.body.as_mut()
        && let Some(TableFactor::Derived { subquery, alias: Some(rows), .. }) =
            select.from.first_mut().map(|from| &mut from.relation)
    {
        *subquery = source;
        rows.columns.extend(
            create.columns.iter().map(|column| TableAliasColumnDef { name: column.name.clone(), data_type: None }),
        );
        select.projection = create.columns.iter().cloned().map(as_declared).collect();
        // a cast would cut what the column does not hold
        create.columns.retain(|column| length(&column.data_type).is_some());
    }
    create.query = Some(query);
    Ok(())
}

fn as_declared(column: ColumnDef) -> SelectItem {
    let value = Expr::Identifier(column.name.clone());
    let expr = match column.data_type {
        DataType::Unspecified => value,
        data_type if length(&data_type).is_some() => cast(value, DataType::Text),
        data_type => cast(value, data_type),
    };
    SelectItem::ExprWithAlias { expr, alias: column.name }
}

/// `SELECT TOP n` is LIMIT.
fn top(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_mut() else {
        return;
    };
    if query.limit_clause.is_some() || query.fetch.is_some() {
        return;
    }
    if let Some(Top { with_ties: false, percent: false, quantity: Some(quantity) }) = select.top.take_if(is_count) {
        let limit = match quantity {
            TopQuantity::Expr(expr) => expr,
            TopQuantity::Constant(count) => Expr::value(Value::Number(count.to_string(), false)),
        };
        query.limit_clause = Some(LimitClause::LimitOffset { limit: Some(limit), offset: None, limit_by: Vec::new() });
    }
}

fn is_count(top: &mut Top) -> bool {
    matches!(top, Top { with_ties: false, percent: false, quantity: Some(_) })
}

/// `OVERLAY(a PLACING b FROM n FOR m)` is the warehouse's INSERT; without FOR as much goes as comes.
fn overlay(expr: &mut Expr) {
    let Expr::Overlay { expr: text, overlay_what, overlay_from, overlay_for } = expr else { return };
    let length = overlay_for.as_deref().cloned().unwrap_or_else(|| call("length", [overlay_what.as_ref().clone()]));
    let [text, what, from] = [text, overlay_what, overlay_from].map(|part| crate::ast::call::take_expr(part));
    *expr = call("insert", [text, from, length, what]);
}

/// `'{1,2}'::int[]`, an array in PostgreSQL's text.
fn array_text(expr: &mut Expr) {
    let Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr: text, data_type, .. } = expr else { return };
    if !matches!(data_type, DataType::Array(ArrayElemTypeDef::SquareBracket(..))) {
        return;
    }
    if let Some(array) = crate::ast::call::literal(text).and_then(array_text::array) {
        array_text::exact(data_type, &array);
        **text = array;
    }
}

/// `x LIKE ALL (a, b)`, which the parser takes for a call, as LIKE of a list.
fn like_all(expr: &mut Expr) {
    let (Expr::Like { any: false, pattern, .. } | Expr::ILike { any: false, pattern, .. }) = expr else {
        return;
    };
    let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = pattern.as_ref() else {
        return;
    };
    if !crate::ast::names::single(name).is_some_and(|name| name.value.eq_ignore_ascii_case("all")) {
        return;
    }
    let patterns = list.args.iter().map(|argument| plain(argument).cloned());
    if let Some(patterns) = patterns.collect::<Option<Vec<_>>>() {
        **pattern = Expr::Tuple(patterns);
    }
}
