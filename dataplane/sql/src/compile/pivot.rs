//! `PIVOT (… FOR column IN (ANY))` and `IN (SELECT …)`: which values there are is asked first, of the governed tables,
//! and then written out.
//!
//! The engine's own dynamic pivot makes a type and reads the table outside of the statement that was checked, so it
//! is never used. A statement may have one such pivot.

use sqlparser::ast::{
    Distinct, Expr, ExprWithAlias, LimitClause, OrderBy, OrderByExpr, OrderByKind, OrderByOptions, PivotValueSource,
    Query, SelectItem, SetExpr, Statement, TableFactor, TableWithJoins, Value,
};

use crate::ast::error::Error;
use crate::ast::names::ours::VALUES;
use crate::ast::{change_factors, each_factor};
use crate::bind::resolve::Resolved;
use crate::bind::types::{self, Known};
use crate::functions::types::Type;
use crate::govern::Governed;
use crate::syntax::statement;

/// The most columns a pivot may make of values nobody has written.
pub const VALUES_MAX: usize = 500;

impl Governed {
    /// The query of the values that a pivot of this statement needs first, one text in a row; none for most statements.
    pub fn pivot(&self) -> Result<Option<Self>, Error> {
        let Some(Unwritten { column, source }) = find(&self.tree)? else {
            return Ok(None);
        };
        // its values would be names of columns, which everybody sees
        if matches!(self.kind, statement::StatementKind::CreateView) {
            return Err(Error::unsupported("PIVOT of values that are not written out, in a view"));
        }
        kind(&column, &self.known())?;
        let mut query = match source {
            PivotSource::Table(table, order) => distinct(*table, column, order.map(|order| *order))?,
            PivotSource::Query(query) => whole(query)?,
        };
        query.with = match &*self.tree {
            Statement::Query(outer) => outer.with.clone(),
            _ => None,
        };
        let limit = Expr::value(Value::Number((VALUES_MAX + 1).to_string(), false));
        query.limit_clause = Some(LimitClause::LimitOffset { limit: Some(limit), offset: None, limit_by: Vec::new() });
        Ok(Some(self.reading(query)))
    }

    /// The statement with the values written out.
    pub fn pivoted(mut self, values: &[String]) -> Result<Self, Error> {
        if let Some(Unwritten { column, .. }) = find(&self.tree)? {
            let known = self.known().into_owned();
            let kind = kind(&column, &known)?;
            write(&mut self.tree, values, kind)?;
            self.known = Some(known);
        }
        Ok(self)
    }
}

impl Resolved {
    /// The same of the statement as it was before it was governed, for the log.
    pub fn pivoted(mut self, values: &[String]) -> Result<Self, Error> {
        write(&mut self.tree, values, Type::Text)?;
        Ok(self)
    }
}

/// Values are written as literals of these types; others have more than one spelling.
fn kind(column: &Expr, known: &Known) -> Result<Type, Error> {
    match types::type_of(column, known) {
        found @ (Type::Text | Type::Integer) => Ok(found),
        _ => Err(Error::unsupported("PIVOT … IN (ANY) over a column that is neither text nor a whole number")),
    }
}

/// A pivot of values that the statement does not name.
struct Unwritten {
    column: Expr,
    source: PivotSource,
}

/// Where they are.
enum PivotSource {
    /// In the table itself: ANY.
    Table(Box<TableFactor>, Option<Box<OrderByExpr>>),
    Query(Box<Query>),
}

/// The values of the column, each once, in their order unless another is asked for.
fn distinct(table: TableFactor, column: Expr, order: Option<OrderByExpr>) -> Result<Box<Query>, Error> {
    let mut query = crate::syntax::parse::query("SELECT DISTINCT v AS v FROM t WHERE v IS NOT NULL")?;
    let SetExpr::Select(select) = query.body.as_mut() else {
        return Err(Error::unsupported("PIVOT … IN (ANY)"));
    };
    select.distinct = Some(Distinct::Distinct);
    if let Some(SelectItem::ExprWithAlias { expr, .. }) = select.projection.first_mut() {
        *expr = column.clone();
    }
    select.from = vec![TableWithJoins { relation: table, joins: Vec::new() }];
    select.selection = Some(Expr::IsNotNull(Box::new(column.clone())));
    let key = order.unwrap_or(OrderByExpr { expr: column, options: OrderByOptions::default(), with_fill: None });
    query.order_by = Some(OrderBy { kind: OrderByKind::Expressions(vec![key]), interpolate: None });
    Ok(query)
}

/// The rows of the query as it says.
fn whole(asked: Box<Query>) -> Result<Box<Query>, Error> {
    let unexpected = || Error::unsupported("PIVOT … IN (SELECT …) of more than one column");
    let one = matches!(asked.body.as_ref(), SetExpr::Select(select) if matches!(
        select.projection.as_slice(),
        [SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }]
    ));
    let mut query = crate::syntax::parse::query(&format!("SELECT * FROM (SELECT 1) AS \"{VALUES}\""))?;
    let SetExpr::Select(select) = query.body.as_mut() else { return Err(unexpected()) };
    match select.from.first_mut().map(|from| &mut from.relation) {
        Some(TableFactor::Derived { subquery, .. }) if one => *subquery = asked,
        _ => return Err(unexpected()),
    }
    Ok(query)
}

fn find(tree: &Statement) -> Result<Option<Unwritten>, Error> {
    let mut found: Vec<Result<Unwritten, Error>> = Vec::new();
    each_factor(tree, |factor| {
        if let TableFactor::Pivot { table, value_column, value_source, .. } = factor {
            found.extend(read(table, value_column, value_source).transpose());
        }
    });
    if found.len() > 1 {
        return Err(Error::unsupported("more than one PIVOT … IN (ANY) or IN (SELECT …)"));
    }
    found.pop().transpose()
}

fn read(table: &TableFactor, columns: &[Expr], values: &PivotValueSource) -> Result<Option<Unwritten>, Error> {
    let any = |order| PivotSource::Table(Box::new(table.clone()), order);
    let source = match values {
        PivotValueSource::List(_) => return Ok(None),
        PivotValueSource::Subquery(query) => PivotSource::Query(query.clone()),
        PivotValueSource::Any(keys) => match keys.as_slice() {
            [] => any(None),
            [key] if columns == [key.expr.clone()] => any(Some(Box::new(key.clone()))),
            _ => return Err(Error::unsupported("PIVOT … IN (ANY) ordered by something other than its column")),
        },
    };
    match columns {
        [column] => Ok(Some(Unwritten { column: column.clone(), source })),
        _ => Err(Error::unsupported("PIVOT over several columns")),
    }
}

fn write(tree: &mut Statement, values: &[String], kind: Type) -> Result<(), Error> {
    if values.len() > VALUES_MAX {
        return Err(Error::unsupported(format!("PIVOT … IN (ANY) of more than {VALUES_MAX} values")));
    }
    if values.is_empty() {
        return Err(Error::unsupported("PIVOT … IN (ANY) of no values"));
    }
    let literal = |text: &String| match kind {
        Type::Integer => signed(text),
        _ => Ok(Expr::value(Value::SingleQuotedString(text.clone()))),
    };
    let mut list: Vec<ExprWithAlias> = Vec::new();
    for text in values {
        let value = ExprWithAlias { expr: literal(text)?, alias: None };
        if !list.contains(&value) {
            list.push(value);
        }
    }
    change_factors(tree, |factor| {
        if let TableFactor::Pivot { value_source: source, .. } = factor
            && !matches!(source, PivotValueSource::List(_))
        {
            *source = PivotValueSource::List(list.clone());
        }
    });
    Ok(())
}

fn signed(text: &str) -> Result<Expr, Error> {
    let (minus, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Error::unsupported("PIVOT of a whole number by something else"));
    }
    let number = Expr::value(Value::Number(digits.to_owned(), false));
    let negative = |expr| Expr::UnaryOp { op: sqlparser::ast::UnaryOperator::Minus, expr };
    Ok(if minus { negative(Box::new(number)) } else { number })
}
