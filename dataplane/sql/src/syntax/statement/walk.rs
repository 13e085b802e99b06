//! The walk that reads the facts of a statement, and refuses what the engine would refuse whatever tables there are.
//!
//! Of a query it is the walk that gives the tree its normal form. It knows which names WITH has taken, by the rules of
//! [`crate::ast::scope`]; nothing is changed here, so no query is taken out of the tree for it.

use std::collections::HashMap;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use sqlparser::ast::{Expr, Ident, ObjectName, Query, Select, Statement, TableFactor, Value, Visitor};

use super::facts::{Facts, done_by, operations, reads_beside, targets};
use super::{Operation, TableUse, refused};
use crate::ast::Visit;
use crate::ast::error::Error;
use crate::ast::names::{self, TableName};
use crate::catalog::information_schema;
use crate::functions::catalogue::{self, Class};

/// Names of the functions that write.
static WRITES: LazyLock<Vec<&str>> =
    LazyLock::new(|| catalogue::all().filter(|known| known.class == Class::Write).map(|known| known.name).collect());

/// As many tables are searched one by one sooner than in a map.
const LISTED_MAX: usize = 8;

/// The facts that a walk has gathered so far. By itself it gathers none.
#[derive(Default)]
pub(super) struct FactsWalk {
    facts: Facts,
    /// Whether operations and refusals are read.
    statements: bool,
    /// Whether tables, functions and parameters are read.
    relations: bool,
    /// Where a table stands among those of the facts, by its name in lower case; of a few tables it is empty.
    places: HashMap<(Option<String>, String), usize>,
    /// The WITH queries of the queries around the place, innermost last.
    scopes: Vec<WithScope>,
    /// Why the statement is refused, and why a relation is: of two errors the one of the statement is told.
    refused: Option<Error>,
    refused_relation: Option<Error>,
}

/// The names that WITH takes for one query, as far as the walk is.
#[derive(Default)]
struct WithScope {
    names: Vec<String>,
    is_recursive: bool,
    /// How many of their queries the walk has come to, and how many it has left.
    begun: usize,
    ended: usize,
}

impl WithScope {
    fn of(query: &Query) -> Self {
        let Some(with) = &query.with else { return Self::default() };
        let names = with.cte_tables.iter().map(|cte| cte.alias.name.value.clone()).collect();
        Self { names, is_recursive: with.recursive, begun: 0, ended: 0 }
    }

    /// The names that stand for a query where the walk is.
    fn taken(&self) -> &[String] {
        let count = if self.is_recursive { self.begun } else { self.ended };
        self.names.get(..count).unwrap_or_default()
    }
}

impl FactsWalk {
    /// A walk over a query.
    pub(super) fn of_query() -> Self {
        Self { statements: true, relations: true, ..Self::default() }
    }

    /// The facts of any statement: of a query no table is written to or defined.
    pub(super) fn over(tree: &Statement) -> Result<Facts, Error> {
        let mut walk = Self::of_query();
        for (name, operation) in targets(tree) {
            if let Some(name) = TableName::of(&name) {
                walk.used(name, operation);
            }
        }
        let is_write =
            matches!(tree, Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) | Statement::Merge(_));
        walk.relations = !is_write;
        let ControlFlow::Continue(()) = tree.visit(&mut walk);
        (walk.statements, walk.relations) = (false, true);
        let ControlFlow::Continue(()) = walk.read(tree);
        walk.finish()
    }

    /// The table that a write writes to is none that it reads: its other parts are walked by themselves.
    fn read(&mut self, write: &Statement) -> ControlFlow<Infallible> {
        match write {
            Statement::Insert(insert) => {
                insert.source.visit(self)?;
                insert.multi_table_into_clauses.visit(self)?;
                insert.multi_table_when_clauses.visit(self)?;
                insert.multi_table_else_clause.visit(self)?;
                insert.on.visit(self)?;
                insert.returning.visit(self)
            }
            Statement::Update(update) => {
                update.assignments.visit(self)?;
                update.from.visit(self)?;
                update.selection.visit(self)?;
                update.returning.visit(self)
            }
            Statement::Delete(delete) => {
                delete.using.visit(self)?;
                delete.selection.visit(self)?;
                delete.returning.visit(self)
            }
            Statement::Merge(merge) => {
                merge.source.visit(self)?;
                merge.on.visit(self)?;
                merge.clauses.visit(self)
            }
            _ => ControlFlow::Continue(()),
        }
    }

    /// The facts behind the end of the walk.
    pub(super) fn finish(self) -> Result<Facts, Error> {
        if let Some(error) = self.refused.or(self.refused_relation) {
            return Err(error);
        }
        let mut facts = self.facts;
        facts.calls_write = WRITES.iter().any(|name| facts.functions.contains(*name));
        Ok(facts)
    }

    fn refuse(&mut self, said: Result<(), Error>) {
        if self.refused.is_none() {
            self.refused = said.err();
        }
    }

    /// A statement, before what it holds.
    pub(super) fn statement(&mut self, statement: &Statement) {
        if !self.statements {
            return;
        }
        let done = &mut self.facts.operations;
        if let Statement::Merge(merge) = statement {
            done.extend(merge.clauses.iter().map(|clause| done_by(&clause.action)));
        }
        done.extend(operations(statement));
        if reads_beside(statement) {
            done.insert(Operation::Select);
        }
        self.refuse(refused::statement(statement));
    }

    /// A select, before what it holds.
    pub(super) fn select(&mut self, select: &Select) {
        if self.statements {
            self.facts.operations.insert(Operation::Select);
            self.refuse(refused::select(select));
        }
    }

    /// A query, before what it holds.
    pub(super) fn begin(&mut self, query: &Query) {
        if !self.relations {
            return;
        }
        // the first queries that the walk comes to in a query are those of its WITH
        if let Some(around) = self.scopes.last_mut()
            && around.begun < around.names.len()
        {
            around.begun += 1;
        }
        self.scopes.push(WithScope::of(query));
    }

    /// The end of a query.
    pub(super) fn end(&mut self) {
        self.scopes.pop();
        if let Some(around) = self.scopes.last_mut() {
            around.ended = around.begun;
        }
    }

    /// A member of FROM, before what it holds: a write that reads, reads.
    pub(super) fn member(&mut self, factor: &TableFactor) {
        if self.statements && matches!(factor, TableFactor::Derived { .. }) {
            self.facts.operations.insert(Operation::Select);
        }
    }

    fn is_with_query(&self, name: &ObjectName) -> bool {
        let is_taken = |wanted: &Ident| {
            let mut taken = self.scopes.iter().flat_map(WithScope::taken);
            taken.any(|name| name.eq_ignore_ascii_case(&wanted.value))
        };
        names::single(name).is_some_and(is_taken)
    }

    fn used(&mut self, TableName { database: _, schema, name }: TableName, operation: Operation) {
        let place = self.place(schema.as_deref(), &name);
        match self.facts.tables.get_mut(place) {
            Some(known) => {
                known.operations.insert(operation);
            }
            None => self.facts.tables.push(TableUse { schema, name, operations: [operation].into() }),
        }
    }

    /// Where the table stands among those of the facts, or will stand.
    fn place(&mut self, schema: Option<&str>, name: &str) -> usize {
        let tables = &self.facts.tables;
        if tables.len() < LISTED_MAX {
            let is_one = |known: &TableUse| {
                let has_schema = match (known.schema.as_deref(), schema) {
                    (Some(known), Some(schema)) => known.eq_ignore_ascii_case(schema),
                    (known, schema) => known == schema,
                };
                has_schema && known.name.eq_ignore_ascii_case(name)
            };
            return tables.iter().position(is_one).unwrap_or(tables.len());
        }
        if self.places.is_empty() {
            let names = tables.iter().map(|known| lowered(known.schema.as_deref(), &known.name));
            self.places = names.zip(0..).collect();
        }
        *self.places.entry(lowered(schema, name)).or_insert(tables.len())
    }

    fn call(&mut self, name: &ObjectName) {
        if let Some(Ident { value, .. }) = names::last(name) {
            self.facts.functions.insert(value.to_ascii_lowercase());
        }
    }

    /// A member of FROM, behind what it holds.
    pub(super) fn factor(&mut self, factor: &TableFactor) {
        if !self.relations {
            return;
        }
        match factor {
            TableFactor::Table { name, args: Some(_), .. } | TableFactor::Function { name, .. } => self.call(name),
            TableFactor::Table { name, .. } if !self.is_with_query(name) => match TableName::of(name) {
                None => _ = self.refused_relation.get_or_insert_with(|| Error::unsupported("this form of table name")),
                Some(name) if information_schema::is_relation(&name) => self.facts.reads_catalogue = true,
                Some(name) => self.used(name, Operation::Select),
            },
            TableFactor::UNNEST { .. } => {
                self.facts.functions.insert("unnest".to_owned());
            }
            _ => {}
        }
    }

    /// An expression, as it stands in the normal form.
    pub(super) fn expression(&mut self, expr: &Expr) {
        if self.statements {
            self.refuse(refused::number(expr));
        }
        if !self.relations {
            return;
        }
        match expr {
            Expr::Function(function) => self.call(&function.name),
            Expr::CompoundIdentifier(path)
                if path.last().is_some_and(|last| last.value.eq_ignore_ascii_case("nextval")) =>
            {
                self.facts.functions.insert("nextval".to_owned());
            }
            Expr::Value(value) => {
                if let Value::Placeholder(name) = &value.value {
                    let number = name.trim_start_matches('$').parse().unwrap_or(0);
                    self.facts.parameters = self.facts.parameters.max(number);
                }
            }
            _ => {}
        }
    }
}

fn lowered(schema: Option<&str>, name: &str) -> (Option<String>, String) {
    (schema.map(str::to_ascii_lowercase), name.to_ascii_lowercase())
}

impl Visitor for FactsWalk {
    type Break = Infallible;

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<Infallible> {
        self.statement(statement);
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Infallible> {
        self.begin(query);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<Infallible> {
        self.end();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Infallible> {
        self.select(select);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Infallible> {
        self.member(factor);
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Infallible> {
        self.factor(factor);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Infallible> {
        self.expression(expr);
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use crate::parse;

    fn tables(sql: &str) -> Vec<String> {
        let statement = parse(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        statement.tables().iter().map(|used| used.name.clone()).collect()
    }

    #[test]
    fn a_name_stands_for_a_with_query_where_that_is_in_scope_alone() {
        for (sql, read) in [
            ("WITH a AS (SELECT 1 FROM t) SELECT * FROM A", vec!["t"]),
            ("WITH a AS (SELECT * FROM a) SELECT * FROM a", vec!["a"]),
            ("WITH a AS (SELECT * FROM b), b AS (SELECT * FROM a) SELECT * FROM a, b", vec!["b"]),
            ("WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT 2 FROM a) SELECT * FROM a", vec![]),
            ("SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a) AS q, a", vec!["a"]),
            ("WITH a AS (WITH b AS (SELECT 1) SELECT * FROM b) SELECT * FROM a, b", vec!["b"]),
            ("WITH a AS (SELECT 1), b AS (SELECT (SELECT 2 FROM b) FROM a) SELECT * FROM b, s.a", vec!["b", "a"]),
            ("WITH a AS (SELECT 1) SELECT 1 WHERE EXISTS (SELECT 1 FROM a WHERE 1 IN (SELECT 1 FROM c))", vec!["c"]),
            ("INSERT INTO a WITH a AS (SELECT 1) SELECT * FROM a, c", vec!["a", "c"]),
            ("UPDATE t SET a = (WITH t AS (SELECT 1) SELECT * FROM t, u)", vec!["t", "u"]),
        ] {
            assert_eq!(tables(sql), read, "{sql}");
        }
    }

    #[test]
    fn a_table_is_listed_once_however_many_there_are() {
        let names = |case: fn(usize) -> String| (0..20).map(case).collect::<Vec<_>>().join(", ");
        let (lower, upper) = (names(|at| format!("s.t{at}")), names(|at| format!("S.T{at}")));
        let found = tables(&format!("SELECT 1 FROM {lower}, {upper}, t19, T19, T20"));
        let expected: Vec<String> = (0..20).map(|at| format!("t{at}")).chain(["t19".into(), "T20".into()]).collect();
        assert_eq!(found, expected);
    }
}
