//! Full names in a filter, so that nothing around it can take their place.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{Expr, Ident, Select, TableFactor, VisitorMut};

use super::OWN;
use crate::ast::error::Error;
use crate::ast::names::ours::{self, FILTER};
use crate::ast::names::{self, TableName};
use crate::ast::{VisitMut, change_expressions, flow_of, result_of};
use crate::catalog::table::Table;
use crate::catalog::tables::Catalog;
use crate::functions::catalogue;

/// Whether it is what a filter calls one of its tables.
pub(crate) fn is_alias(name: &str) -> bool {
    ours::begins(name, FILTER)
}

/// `upper(x)` becomes `system.main."upper"(x)`; words of the grammar have no schema.
pub(super) fn functions(expr: &mut Expr) {
    change_expressions(expr, |expr| {
        if let Expr::Function(function) = expr
            && let Some(name) = names::single(&function.name)
            && catalogue::find(&name.value).is_some_and(catalogue::Function::is_in_catalog)
        {
            let name = name.value.to_ascii_lowercase();
            function.name = vec![names::quoted("system"), names::quoted("main"), names::quoted(&name)].into();
        }
    });
}

/// The names in a filter.
pub(super) struct FilterNames {
    /// Columns of the filter's own table, in lower case.
    pub own: BTreeSet<String>,
    /// Tables of its subqueries, by what they are called in the engine's text.
    pub inner: Vec<(String, Arc<Table>)>,
}

/// Every column gets the table it is of, every table its full name. A column that is of no table of a subquery is one
/// of the filter's own table.
pub(super) fn columns(expr: &mut Expr, catalog: &Catalog) -> Result<FilterNames, Error> {
    let named = FilterNames { own: BTreeSet::new(), inner: Vec::new() };
    let mut look = FilterColumns { catalog, scopes: Vec::new(), named };
    result_of(expr.visit(&mut look))?;
    Ok(look.named)
}

/// A table of a subquery.
struct Inner {
    /// What the filter calls it.
    called: String,
    /// What it is called in the engine's text, where nobody else may call a table so.
    alias: String,
    table: Arc<Table>,
}

struct FilterColumns<'a> {
    catalog: &'a Catalog,
    scopes: Vec<Vec<Inner>>,
    named: FilterNames,
}

impl FilterColumns<'_> {
    fn table(&mut self, factor: &mut TableFactor) -> Result<(), Error> {
        let TableFactor::Table { name, alias, .. } = factor else {
            return Err(Error::invalid_filter("the subquery of a filter reads tables only"));
        };
        let written = TableName::of(name).ok_or_else(|| Error::invalid_filter("a filter cannot read this table"))?;
        let schema = written.schema.as_deref().unwrap_or(names::MAIN_SCHEMA);
        let gone = || Error::invalid_filter(format!("a filter reads {schema}.{}, which is gone", written.name));
        let table = self.catalog.get(schema, &written.name).ok_or_else(gone)?;
        if table.is_external() {
            let message =
                format!("a filter reads {schema}.{}, an external table: its rows are not at hand", written.name);
            return Err(Error::invalid_filter(message));
        }
        if table.attached {
            // whoever changes rows there would change what is seen here
            let message = format!("a filter cannot read {schema}.{} of an attached database", written.name);
            return Err(Error::invalid_filter(message));
        }
        let called = alias.take().map_or_else(|| table.name.clone(), |alias| alias.name.value);
        let ours = format!("{FILTER}{}", self.named.inner.len());
        self.named.inner.push((ours.clone(), Arc::clone(table)));
        *alias = Some(sqlparser::ast::TableAlias {
            explicit: true,
            name: names::quoted(&ours),
            columns: Vec::new(),
            at: None,
        });
        *name = names::qualified(&table.schema, &table.name);
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(Inner { called, alias: ours, table: Arc::clone(table) });
        }
        Ok(())
    }

    fn of_subquery(&self, qualifier: Option<&Ident>, column: &Ident) -> Option<Expr> {
        let tables = self.scopes.iter().rev().flatten();
        let mut named =
            tables.filter(|one| qualifier.is_none_or(|wanted| one.called.eq_ignore_ascii_case(&wanted.value)));
        let (alias, found) = named.find_map(|one| one.table.column(&column.value).map(|found| (&one.alias, found)))?;
        Some(Expr::CompoundIdentifier(vec![names::quoted(alias), names::quoted(&found.name)]))
    }

    fn column(&mut self, qualifier: Option<&Ident>, column: &Ident) -> Expr {
        if let Some(found) = self.of_subquery(qualifier, column) {
            return found;
        }
        self.named.own.insert(column.value.to_ascii_lowercase());
        Expr::CompoundIdentifier(vec![Ident::new(OWN), column.clone()])
    }
}

impl VisitorMut for FilterColumns<'_> {
    type Break = Error;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        self.scopes.push(Vec::new());
        for table in &mut select.from {
            let joined = table.joins.iter_mut().map(|join| &mut join.relation);
            for factor in std::iter::once(&mut table.relation).chain(joined) {
                flow_of(self.table(factor))?;
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<Error> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        let found = match &*expr {
            Expr::Identifier(ident) => self.column(None, &ident.clone()),
            Expr::CompoundIdentifier(path) => match path.as_slice() {
                [own, _] if own.value == OWN => return ControlFlow::Continue(()),
                [table, column] => {
                    let (table, column) = (table.clone(), column.clone());
                    self.column(Some(&table), &column)
                }
                _ => {
                    return ControlFlow::Break(Error::invalid_filter("a column's path has two parts in a filter"));
                }
            },
            _ => return ControlFlow::Continue(()),
        };
        *expr = found;
        ControlFlow::Continue(())
    }
}
