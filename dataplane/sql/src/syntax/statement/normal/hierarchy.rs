//! `START WITH … CONNECT BY …` as a recursive WITH query, before anything is bound.
//!
//! `FROM t START WITH s CONNECT BY c` becomes `FROM (WITH RECURSIVE hierarchy AS (SELECT t.*, 1 AS level
//! FROM t WHERE s UNION ALL SELECT t.*, hierarchy.level + 1 FROM t JOIN hierarchy ON c) SELECT * FROM
//! hierarchy) AS t`, by names that no caller can write: WHERE is asked of the finished tree, as the warehouse has it.
//! `PRIOR x` is the column of the parent.

mod below;
mod cycles;
mod words;

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, ConnectByKind, Expr, Ident, ObjectName, OrderBy, Query, Select, SelectItem, SetExpr, TableAlias,
    TableFactor, TableWithJoins, VisitorMut, WildcardAdditionalOptions,
};

use crate::ast::call::call;
use crate::ast::error::{Error, ErrorKind};
use crate::ast::expression::{binary, number};
use crate::ast::names::ours::{HIERARCHY, LEVEL, PATH, ROWS, TABLE};
use crate::ast::{VisitMut, each_select, names, result_of, star};

use below::Below;
pub use cycles::CYCLE;
use cycles::Cycles;
use words::{Carried, Tree, over_outputs};

/// What a hierarchy reads is written several times, so that each one inside of another multiplies.
const NESTED_MAX: usize = 1;
/// Conditions of one CONNECT BY, which become a chain.
const CONDITIONS_MAX: usize = 100;

/// How many hierarchies stand in what is read.
fn hierarchies(from: &[TableWithJoins]) -> usize {
    let mut count = 0;
    for table in from {
        each_select(table, |select| count += usize::from(!select.connect_by.is_empty()));
    }
    count
}

/// Rewrites the query's select, if it has the clause, with the query's ORDER BY.
pub(super) fn ordered(query: &mut Query) -> Result<(), Error> {
    let SetExpr::Select(select) = query.body.as_mut() else {
        return Ok(());
    };
    rewritten(select, query.order_by.as_mut())
}

/// The same of a select that is no query's whole body.
pub(super) fn rewrite(select: &mut Select) -> Result<(), Error> {
    rewritten(select, None)
}

fn rewritten(select: &mut Select, order: Option<&mut OrderBy>) -> Result<(), Error> {
    if select.connect_by.is_empty() {
        return Ok(());
    }
    let Clauses { start, condition, nocycle } = clauses(std::mem::take(&mut select.connect_by))?;
    if hierarchies(&select.from) > NESTED_MAX {
        return Err(Error::new(ErrorKind::TooDeep, "a CONNECT BY may have one other in what it reads"));
    }
    let [table] = select.from.as_mut_slice() else {
        return Err(Error::unsupported("CONNECT BY over several tables"));
    };
    if !table.joins.is_empty() {
        return Err(Error::unsupported("CONNECT BY over a join"));
    }
    let alias = alias_of(&mut table.relation)?;
    let mut tree = Tree::new(alias.clone());
    over_outputs(select, order, &mut tree)?;
    let Tree { made, below, .. } = tree;
    let [table] = select.from.as_mut_slice() else {
        return Err(Error::unsupported("CONNECT BY over several tables"));
    };
    let cycles = Cycles::of(&condition, &alias, nocycle);
    let condition = joined(condition, &alias)?;
    let mut query = recursive(&table.relation, &alias, start, &condition, &made, cycles.as_ref())?;
    below.look(&mut query, &table.relation, &condition, cycles.as_ref())?;
    let name = TableAlias { explicit: true, name: alias, columns: Vec::new(), at: None };
    table.relation =
        TableFactor::Derived { lateral: false, subquery: Box::new(query), alias: Some(name), sample: None };
    hide(&mut select.projection, &made, cycles.is_some(), &below);
    Ok(())
}

struct Clauses {
    start: Option<Expr>,
    condition: Expr,
    nocycle: bool,
}

fn clauses(kinds: Vec<ConnectByKind>) -> Result<Clauses, Error> {
    let (mut start, mut condition, mut ends) = (None, None, false);
    for kind in kinds {
        match kind {
            ConnectByKind::StartWith { condition, .. } => start = Some(*condition),
            ConnectByKind::ConnectBy { relationships, nocycle, .. } => {
                ends = nocycle;
                if relationships.len() > CONDITIONS_MAX {
                    return Err(Error::new(ErrorKind::TooDeep, "a CONNECT BY may have 100 conditions"));
                }
                condition = relationships.into_iter().reduce(|one, next| binary(one, BinaryOperator::And, next));
            }
        }
    }
    let condition = condition.ok_or_else(|| Error::unsupported("START WITH without CONNECT BY"))?;
    Ok(Clauses { start, condition, nocycle: ends })
}

fn alias_of(factor: &mut TableFactor) -> Result<Ident, Error> {
    let (alias, named) = match factor {
        TableFactor::Table { name, alias, args: None, .. } => (alias, names::last(name).cloned()),
        TableFactor::Derived { lateral: false, alias, .. } => (alias, Some(names::quoted(ROWS))),
        _ => return Err(Error::unsupported("CONNECT BY over something other than a table")),
    };
    if alias.is_none() {
        let name = named.ok_or_else(|| Error::unsupported("this form of table name"))?;
        *alias = Some(TableAlias { explicit: true, name, columns: Vec::new(), at: None });
    }
    alias.as_ref().map(|alias| alias.name.clone()).ok_or_else(|| Error::unsupported("CONNECT BY"))
}

fn recursive(
    table: &TableFactor,
    alias: &Ident,
    start: Option<Expr>,
    condition: &Expr,
    made: &[Carried],
    cycles: Option<&Cycles>,
) -> Result<Query, Error> {
    let condition = children(condition, cycles);
    let skeleton = format!(
        "WITH RECURSIVE \"{HIERARCHY}\" AS (SELECT 1 AS \"{LEVEL}\" FROM \"{TABLE}\" UNION ALL \
         SELECT \"{HIERARCHY}\".\"{LEVEL}\" + 1 AS \"{LEVEL}\" FROM \"{TABLE}\" JOIN \"{HIERARCHY}\" ON TRUE) SELECT * FROM \"{HIERARCHY}\""
    );
    let mut query = *crate::syntax::parse::query(&skeleton)?;
    let unexpected = || Error::unsupported("CONNECT BY");
    let cte = query.with.as_mut().and_then(|with| with.cte_tables.first_mut()).ok_or_else(unexpected)?;
    let SetExpr::SetOperation { left, right, .. } = cte.query.body.as_mut() else {
        return Err(unexpected());
    };
    let (SetExpr::Select(roots), SetExpr::Select(rows)) = (left.as_mut(), right.as_mut()) else {
        return Err(unexpected());
    };
    fill(roots, table, alias, made, |carried| &carried.root);
    fill(rows, table, alias, made, |carried| &carried.below);
    if let Some(cycles) = cycles {
        cycles.carry(roots, rows)?;
    }
    roots.selection = start;
    let join = rows.from.first_mut().and_then(|from| from.joins.first_mut()).ok_or_else(unexpected)?;
    join.join_operator = sqlparser::ast::JoinOperator::Join(sqlparser::ast::JoinConstraint::On(condition));
    Ok(query)
}

/// The condition of the columns of a parent and a row.
fn joined(mut condition: Expr, alias: &Ident) -> Result<Expr, Error> {
    let mut joined = Joined { alias: alias.clone(), depth: 0 };
    result_of(condition.visit(&mut joined))?;
    Ok(condition)
}

/// Which rows stand below their parent: with NOCYCLE, none that stands above it.
fn children(condition: &Expr, cycles: Option<&Cycles>) -> Expr {
    let Some(cycles) = cycles.filter(|cycles| cycles.nocycle) else {
        return condition.clone();
    };
    let unseen = Expr::UnaryOp { op: sqlparser::ast::UnaryOperator::Not, expr: Box::new(cycles.seen()) };
    binary(Expr::Nested(Box::new(condition.clone())), BinaryOperator::And, unseen)
}

/// `SELECT alias.*, <level>, <carried> … FROM table`.
fn fill(select: &mut Select, table: &TableFactor, alias: &Ident, made: &[Carried], of: impl Fn(&Carried) -> &Expr) {
    let all = sqlparser::ast::SelectItemQualifiedWildcardKind::ObjectName(ObjectName::from(vec![alias.clone()]));
    select.projection.insert(0, SelectItem::QualifiedWildcard(all, WildcardAdditionalOptions::default()));
    select.projection.extend(
        made.iter().map(|carried| SelectItem::ExprWithAlias {
            expr: of(carried).clone(),
            alias: names::quoted(&carried.name),
        }),
    );
    if let Some(from) = select.from.first_mut() {
        from.relation = table.clone();
    }
}

/// Columns in the condition: those under PRIOR are the parent's, the others the table's.
struct Joined {
    alias: Ident,
    depth: usize,
}

impl VisitorMut for Joined {
    type Break = Error;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        ControlFlow::Break(Error::unsupported("a subquery in CONNECT BY"))
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        match expr {
            Expr::Prior(_) => self.depth += 1,
            Expr::Identifier(ident) if is_word(ident, "level") && self.depth == 0 => {
                // the level of the row that would be added
                *expr = binary(parent(&names::quoted(LEVEL)), BinaryOperator::Plus, number(1));
            }
            Expr::Identifier(ident) if self.depth > 0 => *expr = parent(ident),
            Expr::Identifier(ident) => *expr = Expr::CompoundIdentifier(vec![self.alias.clone(), ident.clone()]),
            Expr::CompoundIdentifier(path) if self.depth > 0 => {
                if let [.., column] = path.as_slice() {
                    *expr = parent(column);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if let Expr::Prior(inner) = expr {
            self.depth -= 1;
            *expr = Expr::Nested(inner.clone());
        }
        ControlFlow::Continue(())
    }
}

/// Every column of the expression as the parent's.
fn of_parent(expr: &mut Expr) -> Result<(), Error> {
    let mut prior = Expr::Prior(Box::new(expr.clone()));
    let mut joined = Joined { alias: names::quoted(HIERARCHY), depth: 0 };
    result_of(prior.visit(&mut joined))?;
    *expr = prior;
    Ok(())
}

/// Bare columns as the table's own: beside the parent's they would be ambiguous.
fn own(mut expr: Expr, alias: &Ident) -> Expr {
    let mut joined = Joined { alias: alias.clone(), depth: 0 };
    let _: ControlFlow<Error> = expr.visit(&mut joined);
    expr
}

/// `*` shows the columns of the table alone.
fn hide(projection: &mut [SelectItem], made: &[Carried], has_path: bool, below: &Below) {
    let fixed = std::iter::once(LEVEL).chain(has_path.then_some(PATH)).chain(below.columns()).map(names::quoted);
    let carried = made.iter().map(|carried| names::quoted(&carried.name));
    let hidden: Vec<Ident> = fixed.chain(carried).collect();
    for item in projection {
        let (SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options)) = item else {
            continue;
        };
        star::leave_out(options, hidden.iter().cloned());
    }
}

fn parent(column: &Ident) -> Expr {
    Expr::CompoundIdentifier(vec![names::quoted(HIERARCHY), column.clone()])
}

fn is_word(ident: &Ident, word: &str) -> bool {
    ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case(word)
}
