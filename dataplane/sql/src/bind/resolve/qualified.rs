//! Columns behind a whole path: `schema.table.column` is `table.column`, as the engine knows the table by its name.
//!
//! Only where a table of that schema is read under its own name, and nothing of the statement is called as the schema
//! is: `a.b.c` may be a field of a column too.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident, Select, SelectItem, SelectItemQualifiedWildcardKind, Statement, TableFactor};
use sqlparser::ast::{ObjectName, ObjectNamePart, VisitorMut};

use crate::ast::names::{self, TableName};
use crate::ast::{VisitMut, each_factor};
use crate::catalog::definition::DefinitionKind;
use crate::catalog::tables::{Catalog, SessionNames};

/// Takes the schema, and the database before it, off the columns of the statement.
pub(super) fn shorten(tree: &mut Statement, catalog: &Catalog, session: &SessionNames) {
    let mut found = QualifiedNames { catalog, session, paths: HashSet::new(), called: HashSet::new() };
    each_factor(&*tree, |factor| found.add(factor));
    let ControlFlow::Continue(()) = VisitMut::visit(tree, &mut found);
}

struct QualifiedNames<'a> {
    catalog: &'a Catalog,
    session: &'a SessionNames,
    /// Schema and name of what is read under its own name, in lower case.
    paths: HashSet<(String, String)>,
    /// What the relations of the statement are called.
    called: HashSet<String>,
}

impl QualifiedNames<'_> {
    fn schema(&self, name: &TableName) -> Option<String> {
        if let Some(table) = self.catalog.temporary(name) {
            return Some(table.schema.clone());
        }
        let view = || self.catalog.defined(DefinitionKind::View, name, self.session).map(|view| view.schema.clone());
        self.catalog.table(name, self.session).map(|table| table.schema.clone()).or_else(view)
    }

    /// How many parts of the path stand before the table's name.
    fn before(&self, path: &[&Ident]) -> Option<usize> {
        let lower = |place: usize| path.get(place).map(|part| part.value.to_ascii_lowercase());
        let first = lower(0)?;
        if self.called.contains(&first) {
            return None;
        }
        let is_table = |at: usize| lower(at).zip(lower(at + 1)).is_some_and(|pair| self.paths.contains(&pair));
        let is_database = first.eq_ignore_ascii_case(&self.session.database);
        match path.len() {
            3.. if is_table(0) => Some(1),
            4.. if is_database && is_table(1) => Some(2),
            _ => None,
        }
    }

    /// The names of a member of FROM.
    fn add(&mut self, factor: &TableFactor) {
        if let TableFactor::Table { name, alias, args: None, .. } = factor
            && let Some(written) = TableName::of(name)
        {
            let called = alias.as_ref().map_or(&written.name, |alias| &alias.name.value);
            self.called.insert(called.to_ascii_lowercase());
            if let Some(schema) = self.schema(&written).filter(|_| alias.is_none()) {
                self.paths.insert((schema.to_ascii_lowercase(), written.name.to_ascii_lowercase()));
            }
        } else if let TableFactor::Derived { alias: Some(alias), .. } = factor {
            self.called.insert(alias.name.value.to_ascii_lowercase());
        }
    }
}

impl VisitorMut for QualifiedNames<'_> {
    type Break = std::convert::Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if let Expr::CompoundIdentifier(path) = expr
            && let Some(before) = self.before(&path.iter().collect::<Vec<_>>())
        {
            path.drain(..before);
        }
        ControlFlow::Continue(())
    }

    /// `schema.table.*`: one part more, for the column that is not named.
    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        for item in &mut select.projection {
            if let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) = item {
                self.table(name);
            }
        }
        ControlFlow::Continue(())
    }
}

impl QualifiedNames<'_> {
    fn table(&self, name: &mut ObjectName) {
        let star = names::quoted("*");
        let parts: Option<Vec<&Ident>> = names::parts(name).map(|parts| parts.into_iter().chain([&star]).collect());
        if let Some(before) = parts.and_then(|parts| self.before(&parts)) {
            name.0.drain(..before).for_each(|part: ObjectNamePart| drop(part));
        }
    }
}
