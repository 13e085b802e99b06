//! The relation that a name in FROM stands for: the table, a view's query, a part of the catalogue.

use sqlparser::ast::{self, Ident, TableFactor};

use super::{Binder, alias_as_named, located};
use crate::ast::error::Error;
use crate::ast::names::TableName;
use crate::ast::scope;
use crate::bind::information_schema;
use crate::catalog::definition::{self, Definition};
use crate::catalog::information_schema::is_relation;
use crate::catalog::tables::SessionNames;
use crate::scan::marker::{self, Marked};
use crate::syntax::label;

impl Binder<'_> {
    /// The query of a view, its names as they were meant where it was made, its tables like any other.
    fn view(&mut self, view: &Definition, numbers: &mut usize) -> Result<(Box<ast::Query>, Vec<Ident>), Error> {
        let expanded = self.expanded.in_view(view)?;
        let ast::Statement::CreateView(create) = view.statement()? else {
            return Err(Error::unsupported("this view"));
        };
        let mut tree = ast::Statement::Query(create.query);
        label::label(&mut tree, |_| true)?;
        let home = SessionNames { search_path: view.homes().map(str::to_owned).collect(), ..self.session.clone() };
        let mut inner = Binder {
            catalog: self.catalog,
            session: &home,
            references: std::mem::take(&mut self.references),
            views: std::mem::take(&mut self.views),
            sequences: Vec::new(),
            makes_view: false,
            expanded,
            stages: std::mem::take(&mut self.stages),
        };
        let walked = scope::walk(&mut tree, &mut inner, numbers);
        self.references = inner.references;
        self.views = inner.views;
        self.stages = inner.stages;
        self.expanded.out_of(inner.expanded);
        walked.map_err(|error| error.meant_in(view.homes().next().unwrap_or_default()))?;
        self.views.push(view.path());
        match tree {
            ast::Statement::Query(query) => Ok((query, create.columns.into_iter().map(|column| column.name).collect())),
            _ => Err(Error::unsupported("this view")),
        }
    }

    /// What stands for a table's name: the table, a view's query, a part of the catalogue.
    pub(super) fn relation(&mut self, factor: &mut TableFactor, numbers: &mut usize) -> Result<(), Error> {
        let TableFactor::Table { name, alias, sample, version, .. } = factor else {
            return Ok(());
        };
        if self.validates(name) {
            return self.past_faults(factor);
        }
        if definition::DefinitionKind::of_name(name) == Some(definition::DefinitionKind::Stage) {
            return self.staged_rows(factor);
        }
        let written = TableName::of(name).ok_or_else(|| Error::unsupported("this form of table name"))?;
        let (subquery, columns) = if is_relation(&written) {
            // what there is to see is narrowed for a statement that asks itself
            if self.is_in_view() {
                return Err(located(Error::unsupported("the catalogue in a view"), name));
            }
            self.expanded.listing()?;
            let query = information_schema::relation(&written, self.catalog, self.session);
            (Box::new(query.map_err(|error| located(error, name))?), Vec::new())
        } else if let Some(table) = self.table(&written).cloned() {
            if table.is_external() && !self.stages.makes_view {
                return self.external_rows(factor, &table);
            }
            self.references.push(table);
            alias_as_named(name, alias);
            *name = marker::name(Marked::Scan(self.references.len() - 1));
            return Ok(());
        } else if let Some(view) = self.view_named(name) {
            if version.is_some() {
                return Err(Error::unsupported("time travel (AT, BEFORE)"));
            }
            self.view(&view, numbers).map_err(|error| located(error, name))?
        } else if is_dual(&written) {
            alias_as_named(name, alias);
            let row = crate::syntax::parse::query("SELECT 'X' AS dummy")?;
            *factor = TableFactor::Derived { lateral: false, subquery: row, alias: alias.take(), sample: None };
            return Ok(());
        } else {
            return Err(located(self.catalog.missing(&written), name));
        };
        alias_as_named(name, alias);
        let mut alias = alias.take();
        if let Some(alias) = &mut alias
            && alias.columns.is_empty()
        {
            let column = |name| ast::TableAliasColumnDef { name, data_type: None };
            alias.columns = columns.into_iter().map(column).collect();
        }
        *factor = TableFactor::Derived { lateral: false, subquery, alias, sample: sample.take() };
        Ok(())
    }
}

/// The table of one row that queries without a table are written over.
fn is_dual(written: &TableName) -> bool {
    written.schema.is_none() && written.name.eq_ignore_ascii_case("dual")
}
