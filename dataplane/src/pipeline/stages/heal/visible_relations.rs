//! The tables and columns that a caller may see, as text: names and types, nothing else.
//!
//! The same that the catalogue shows them: no table that a policy or the agent's grants keep from them, no denied
//! column, a masked one as the text it is for them. What the statement names comes first; the rest as far as it fits.

use std::collections::BTreeMap;
use std::sync::Arc;

use contract::Governance;

use super::super::policy;
use crate::pipeline::authorization::visible_catalog;
use crate::pipeline::catalog_snapshot::CatalogSnapshot;
use crate::pipeline::{Pipeline, Query, Result};

const TABLES_MAX: usize = 64;
const COLUMNS_MAX: usize = 128;
const BYTES_MAX: usize = 16 * 1024;

/// The relations that one caller may see: tables and views with their columns.
pub(super) struct VisibleRelations {
    relations: Vec<Relation>,
    /// Where names without a schema are looked for.
    home: String,
}

struct Relation {
    schema: String,
    name: String,
    columns: Vec<sql::Column>,
}

impl Relation {
    fn path(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }

    fn is_at(&self, schema: &str, name: &str) -> bool {
        self.schema.eq_ignore_ascii_case(schema) && self.name.eq_ignore_ascii_case(name)
    }
}

impl VisibleRelations {
    pub async fn of(pipeline: &Pipeline, query: &Query, rules: &Governance) -> Result<Self> {
        let who = policy::caller(pipeline, query, rules)?;
        let CatalogSnapshot { known, stages, .. } =
            pipeline.remembered.tables.of(&pipeline.engine()?, query, rules).await?;
        let there = match policy::branch(pipeline, query, &who.agent, &[]).await? {
            Some(branch) => Arc::new(known.with_tables(branch.tables())),
            None => known,
        };
        let mut names = policy::names(query, rules);
        let asked = who.asks(rules, (&query.ask).into(), false).over(&stages);
        let seen = visible_catalog::seen(&asked, &there);
        visible_catalog::narrow(&mut names, &asked, &there);
        let relation = |schema: &str, name: &str, columns: &[sql::Column]| Relation {
            columns: names.shown(schema, name, columns),
            schema: schema.to_owned(),
            name: name.to_owned(),
        };
        let tables = seen.tables().map(|table| relation(&table.schema, &table.name, &table.columns));
        let views =
            seen.definitions().into_iter().filter(|one| one.kind == sql::catalog::definition::DefinitionKind::View);
        let views = views.map(|view| relation(&view.schema, &view.name, &view.columns));
        Ok(Self { relations: tables.chain(views).collect(), home: query.ask.names.schema.clone() })
    }

    /// A line for each table and view: `"main"."customer" ("id" INTEGER, "name" VARCHAR)`.
    pub fn lines(&self, mentioned: &[String]) -> Vec<String> {
        let told = |one: &Relation| (one.path(), line(&one.schema, &one.name, &one.columns));
        fitting(self.relations.iter().map(told).collect(), mentioned)
    }

    /// The names of what is in a schema.
    pub fn tables_in(&self, schema: &str) -> Vec<String> {
        let within = self.relations.iter().filter(|one| one.schema.eq_ignore_ascii_case(schema));
        within.map(|one| one.name.clone()).collect()
    }

    /// The columns of the tables and views that a statement names, in its order.
    pub fn columns(&self, named: &[sql::TableUse]) -> Vec<String> {
        let of = |table: &sql::TableUse| self.columns_of(table.schema.as_deref().unwrap_or(&self.home), &table.name);
        named.iter().flat_map(of).collect()
    }

    pub fn columns_of(&self, schema: &str, name: &str) -> Vec<String> {
        let found = self.relations.iter().find(|one| one.is_at(schema, name));
        found.map(|one| one.columns.iter().map(|column| column.name.clone()).collect()).unwrap_or_default()
    }
}

fn line(schema: &str, name: &str, columns: &[sql::Column]) -> String {
    let column = |column: &sql::Column| format!("{} {}", sql::ast::quote::name(&column.name), column.type_name);
    let columns: Vec<_> = columns.iter().take(COLUMNS_MAX).map(column).collect();
    format!("{}.{} ({})", sql::ast::quote::name(schema), sql::ast::quote::name(name), columns.join(", "))
}

/// Those that are named first, then the others by their paths, as many as fit.
fn fitting(lines: BTreeMap<String, String>, named: &[String]) -> Vec<String> {
    let is_named = |path: &str| named.iter().any(|named| named.eq_ignore_ascii_case(path));
    let (first, rest): (Vec<_>, Vec<_>) = lines.into_iter().partition(|(path, _)| is_named(path));
    let mut left = BYTES_MAX;
    let mut fits = |line: &String| {
        let fits = line.len() <= left;
        left = left.saturating_sub(line.len());
        fits
    };
    first.into_iter().chain(rest).map(|(_, line)| line).take(TABLES_MAX).take_while(|line| fits(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_comes_first_and_the_rest_as_far_as_it_fits() {
        let lines = |count: usize, bytes: usize| -> BTreeMap<String, String> {
            (0..count).map(|at| (format!("main.t{at:03}"), format!("{at:0bytes$}"))).collect()
        };
        let few = fitting(lines(3, 1), &["MAIN.t002".to_owned()]);
        assert_eq!(few, ["2", "0", "1"]);
        assert_eq!(fitting(lines(100, 3), &[]).len(), TABLES_MAX);
        assert_eq!(fitting(lines(20, BYTES_MAX / 4), &[]).len(), 4);
        assert!(fitting(lines(1, BYTES_MAX + 1), &[]).is_empty());
    }

    #[test]
    fn a_line_has_names_and_types_and_no_more_columns_than_there_may_be() {
        let columns = vec![sql::Column::new("id", "INTEGER"), sql::Column::new("a \"b\"", "VARCHAR")];
        assert_eq!(line("main", "t", &columns), r#""main"."t" ("id" INTEGER, "a ""b""" VARCHAR)"#);
        let many: Vec<_> = (0..500).map(|at| sql::Column::new(format!("c{at}"), "INTEGER")).collect();
        assert_eq!(line("main", "t", &many).matches("INTEGER").count(), COLUMNS_MAX);
    }
}
