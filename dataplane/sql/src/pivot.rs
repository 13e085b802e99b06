//! `PIVOT (… FOR column IN (ANY))`: which values there are is asked first, of the governed table, and then written out.
//!
//! The engine's own dynamic pivot makes a type and reads the table outside of the statement that was checked, so it
//! is never used. A statement may have one such pivot.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Distinct, Expr, ExprWithAlias, LimitClause, OrderBy, OrderByExpr, OrderByKind, OrderByOptions, PivotValueSource,
    SelectItem, SetExpr, Statement, TableFactor, TableWithJoins, Value, Visit, VisitMut, Visitor, VisitorMut,
};

use crate::error::Error;
use crate::govern::Governed;
use crate::resolve::Resolved;
use crate::types::{self, Type};

/// The most columns a pivot may make of values nobody has written.
pub const VALUES_MAX: usize = 500;

impl Governed {
    /// The query of the values that a pivot of this statement needs first, one text in a row; none for most statements.
    pub fn pivot(&self) -> Result<Option<Self>, Error> {
        let Some(Any { table, column, order }) = find(&self.tree)? else {
            return Ok(None);
        };
        kind(&column, self)?;
        let mut query = crate::parse::query("SELECT DISTINCT v AS v FROM t WHERE v IS NOT NULL")?;
        query.with = match &self.tree {
            Statement::Query(outer) => outer.with.clone(),
            _ => None,
        };
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
        let limit = Expr::value(Value::Number((VALUES_MAX + 1).to_string(), false));
        query.limit_clause = Some(LimitClause::LimitOffset { limit: Some(limit), offset: None, limit_by: Vec::new() });
        Ok(Some(self.reading(query)))
    }

    /// The statement with the values written out.
    pub fn pivoted(mut self, values: &[String]) -> Result<Self, Error> {
        if let Some(Any { column, .. }) = find(&self.tree)? {
            let kind = kind(&column, &self)?;
            write(&mut self.tree, values, kind)?;
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
fn kind(column: &Expr, governed: &Governed) -> Result<Type, Error> {
    match types::type_of(column, &governed.known) {
        found @ (Type::Text | Type::Integer) => Ok(found),
        _ => Err(Error::unsupported("PIVOT … IN (ANY) over a column that is neither text nor a whole number")),
    }
}

struct Any {
    table: TableFactor,
    column: Expr,
    order: Option<OrderByExpr>,
}

fn find(tree: &Statement) -> Result<Option<Any>, Error> {
    struct Find(Vec<Result<Any, Error>>);
    impl Visitor for Find {
        type Break = ();
        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            if let TableFactor::Pivot { table, value_column, value_source: PivotValueSource::Any(keys), .. } = factor {
                self.0.push(read(table, value_column, keys));
            }
            ControlFlow::Continue(())
        }
    }
    let mut find = Find(Vec::new());
    let _: ControlFlow<()> = tree.visit(&mut find);
    if find.0.len() > 1 {
        return Err(Error::unsupported("more than one PIVOT … IN (ANY)"));
    }
    find.0.pop().transpose()
}

fn read(table: &TableFactor, columns: &[Expr], keys: &[OrderByExpr]) -> Result<Any, Error> {
    let [column] = columns else {
        return Err(Error::unsupported("PIVOT over several columns"));
    };
    let order = match keys {
        [] => None,
        [key] if key.expr == *column => Some(key.clone()),
        _ => return Err(Error::unsupported("PIVOT … IN (ANY) ordered by something other than its column")),
    };
    Ok(Any { table: table.clone(), column: column.clone(), order })
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
        _ => Expr::value(Value::SingleQuotedString(text.clone())),
    };
    let list = values.iter().map(|text| ExprWithAlias { expr: literal(text), alias: None }).collect();
    let ControlFlow::Continue(()) = VisitMut::visit(tree, &mut Write(list));
    Ok(())
}

fn signed(text: &str) -> Expr {
    let digits = |digits: &str| Expr::value(Value::Number(digits.to_owned(), false));
    match text.strip_prefix('-') {
        None => digits(text),
        Some(rest) => Expr::UnaryOp { op: sqlparser::ast::UnaryOperator::Minus, expr: Box::new(digits(rest)) },
    }
}

/// Puts the values in their place.
struct Write(Vec<ExprWithAlias>);

impl VisitorMut for Write {
    type Break = std::convert::Infallible;
    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        if let TableFactor::Pivot { value_source: source @ PivotValueSource::Any(_), .. } = factor {
            *source = PivotValueSource::List(self.0.clone());
        }
        ControlFlow::Continue(())
    }
}
