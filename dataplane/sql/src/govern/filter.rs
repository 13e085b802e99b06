//! Row filters as policies write them.
//!
//! A filter is one boolean expression of the warehouse's dialect. `{name}` in it stands for something
//! the caller carries, with or without quotes around it, and becomes a bound value, never text. Its
//! tables are named in full and its functions by the engine's own schema, so nothing a caller defines
//! can take their place. A filter that asks for something the caller lacks is false.

mod admission;
mod listed;
mod placeholder;
mod qualify;
mod truth;
mod uncaught;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use contract::policy::FILTER_BYTES_MAX;
use sqlparser::ast::{self, Expr, SelectItem, SetExpr, Value};

use crate::ast::error::{Error, ErrorKind};
use crate::ast::{VisitMut, change_expressions, flow_of, names, outer_first, result_of};
use crate::catalog::table::Table;
use crate::catalog::tables::Catalog;
use crate::scan::marker::{self, GeneratedExpr};
use placeholder::LiteralPart;
pub(crate) use qualify::is_alias;

/// The facts that a filter asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilterFacts {
    /// Names in braces.
    pub placeholders: BTreeSet<String>,
    /// Columns of the table it is on. Without a catalog: every column named outside of subqueries.
    pub columns: BTreeSet<String>,
    /// Tables its subqueries read.
    pub tables: BTreeSet<String>,
}

/// Whether a filter may become a policy; `known` says which names in braces there are.
pub fn admit(text: &str, known: &dyn Fn(&str) -> bool) -> Result<FilterFacts, Error> {
    let template = FilterTemplate::parse(text)?;
    if let Some(name) = template.facts.placeholders.iter().find(|name| !known(name)) {
        return Err(Error::invalid_filter(format!("nothing is known by the name {{{name}}}")));
    }
    Ok(template.facts)
}

/// A filter that was read, for every caller.
#[derive(Debug, Clone)]
pub struct FilterTemplate {
    expr: Arc<Expr>,
    literals: Vec<Vec<LiteralPart>>,
    facts: FilterFacts,
}

impl FilterTemplate {
    /// Reads a filter; refuses what could not be one.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let read = Self::read(text);
        read.map_err(|error| {
            let error = error.within(text);
            // What is not even an expression stays a syntax error.
            let kind = if error.kind == ErrorKind::Syntax { ErrorKind::Syntax } else { ErrorKind::InvalidFilter };
            Error { kind, ..error }
        })
    }

    fn read(text: &str) -> Result<Self, Error> {
        if text.len() > FILTER_BYTES_MAX {
            return Err(Error::invalid_filter(format!("a filter may be {FILTER_BYTES_MAX} bytes long")));
        }
        let tokens = crate::syntax::lex::tokens(text)?;
        names::ours::refuse(&tokens)?;
        let (tokens, literals) = placeholder::replaced(tokens);
        let mut statement = crate::syntax::parse::selected(tokens)?;
        crate::print::admit(&statement)?;
        listed::as_in(sole(&mut statement)?)?;
        let mut facts = admission::check(sole(&mut statement)?)?;
        let placeholders = literals.iter().flatten().filter_map(LiteralPart::name);
        facts.placeholders = placeholders.map(str::to_owned).collect();
        crate::dialect::to_engine(&mut statement, &Vec::<crate::scan::Scan>::new())?;
        let mut expr = sole(&mut statement)?.clone();
        uncaught::refuse(&expr)?;
        qualify::functions(&mut expr);
        Ok(Self { expr: Arc::new(expr), literals, facts })
    }

    pub fn facts(&self) -> &FilterFacts {
        &self.facts
    }

    /// The filter of one caller. `value` says what the caller carries by a name; `catalog` is the
    /// engine's whole one, for the tables of subqueries.
    pub fn bind(&self, value: &dyn Fn(&str) -> Option<String>, catalog: &Catalog) -> Result<Filter, Error> {
        let values: Option<Vec<String>> = self.literals.iter().map(|parts| placeholder::text(parts, value)).collect();
        let Some(values) = values else {
            return Ok(Filter { expr: None, columns: BTreeSet::new(), inner: Vec::new() });
        };
        let mut expr = self.expr.as_ref().clone();
        change_expressions(&mut expr, |expr| {
            if let Expr::Value(value) = expr
                && let Value::Placeholder(name) = &value.value
                && let Some(text) = placeholder::number(name).and_then(|number| values.get(number))
            {
                *expr = marker::expr(GeneratedExpr::Bound(text));
            }
        });
        let qualify::FilterNames { own, inner } = qualify::columns(&mut expr, catalog)?;
        Ok(Filter { expr: Some(Arc::new(expr)), columns: own, inner })
    }
}

/// The one expression of `SELECT <expr>`.
fn sole(statement: &mut ast::Statement) -> Result<&mut Expr, Error> {
    let ast::Statement::Query(query) = statement else {
        return Err(not_one());
    };
    let is_bare =
        query.with.is_none() && query.order_by.is_none() && query.limit_clause.is_none() && query.fetch.is_none();
    let SetExpr::Select(select) = query.body.as_mut() else {
        return Err(not_one());
    };
    let is_plain = select.from.is_empty()
        && select.selection.is_none()
        && select.having.is_none()
        && select.qualify.is_none()
        && select.distinct.is_none()
        && select.named_window.is_empty()
        && matches!(&select.group_by, ast::GroupByExpr::Expressions(exprs, modifiers) if exprs.is_empty() && modifiers.is_empty());
    match select.projection.as_mut_slice() {
        [SelectItem::UnnamedExpr(expr)] if is_bare && is_plain => Ok(expr),
        _ => Err(not_one()),
    }
}

fn not_one() -> Error {
    Error::invalid_filter("a filter is one boolean expression")
}

/// A filter with the caller's values in it.
#[derive(Debug, Clone)]
pub struct Filter {
    /// None: false, because the caller lacks something it asks for.
    expr: Option<Arc<Expr>>,
    columns: BTreeSet<String>,
    inner: Vec<(String, Arc<Table>)>,
}

impl Filter {
    /// Columns of its table, in lower case.
    pub fn columns(&self) -> &BTreeSet<String> {
        &self.columns
    }

    /// Tables of its subqueries, by what they are called in the engine's text.
    pub(crate) fn inner(&self) -> &[(String, Arc<Table>)] {
        &self.inner
    }

    /// The filter on the rows of a table.
    pub(crate) fn on(&self, table: &Table) -> Result<Expr, Error> {
        let name = names::quoted(&table.name);
        self.over(table, &|column| Ok(Expr::CompoundIdentifier(vec![name.clone(), names::quoted(column)])))
    }

    /// The filter with each of the table's columns standing somewhere else.
    pub(crate) fn over(&self, table: &Table, place: &dyn Fn(&str) -> Result<Expr, Error>) -> Result<Expr, Error> {
        let Some(expr) = &self.expr else {
            return Ok(Expr::Value(Value::Boolean(false).into()));
        };
        let mut expr = expr.as_ref().clone();
        result_of(expr.visit(&mut outer_first(|expr| {
            let Expr::CompoundIdentifier(path) = expr else { return ControlFlow::Continue(()) };
            let [own, column] = path.as_slice() else { return ControlFlow::Continue(()) };
            if own.value != OWN {
                return ControlFlow::Continue(());
            }
            let gone =
                || Error::ungovernable("any statement: a row filter names a column that is gone,", &table.path());
            let found = table.column(&column.value).ok_or_else(gone).and_then(|column| place(&column.name));
            flow_of(found.map(|found| *expr = found))
        })))?;
        Ok(expr)
    }
}

/// What stands before a column of the filter's own table until it is known where that is read.
pub(crate) const OWN: &str = "\0own";

#[cfg(test)]
mod tests;
