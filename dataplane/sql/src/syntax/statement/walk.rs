//! The one walk that reads the facts of a statement, and refuses what the engine would refuse whatever tables there are.
//!
//! It knows which names WITH has taken, by the rules of [`crate::ast::scope`]; nothing is changed here, so no query is
//! taken out of the tree for it.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use sqlparser::ast::{Expr, Ident, ObjectName, Query, Select, Statement, TableFactor, Value, Visitor};

use super::facts::{Facts, done_by, operations, reads_beside, targets};
use super::{Operation, TableUse, refused};
use crate::ast::error::Error;
use crate::ast::names::{self, TableName};
use crate::ast::{Visit, flow_of, result_of};
use crate::catalog::information_schema;
use crate::functions::catalogue::{self, Class};

/// Names of the functions that write.
static WRITES: LazyLock<Vec<&str>> =
    LazyLock::new(|| catalogue::all().filter(|known| known.class == Class::Write).map(|known| known.name).collect());

/// As many tables are searched one by one sooner than in a map.
const LISTED_MAX: usize = 8;

/// A visitor that gathers facts.
#[derive(Default)]
pub(super) struct FactsWalk {
    facts: Facts,
    part: FactsPart,
    /// Where a table stands among those of the facts, by its name in lower case; of a few tables it is empty.
    places: HashMap<(Option<String>, String), usize>,
    /// The WITH queries of the queries around the place, innermost last.
    scopes: Vec<WithScope>,
    /// Why a relation is refused, if nothing else is.
    refused: Option<Error>,
}

/// The facts that a walk reads.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum FactsPart {
    #[default]
    All,
    /// What is done and what is refused.
    Statements,
    /// Tables, functions and parameters.
    Relations,
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
    pub(super) fn over(tree: &Statement) -> Result<Facts, Error> {
        let mut walk = Self::default();
        for (name, operation) in targets(tree) {
            walk.table(&name, operation);
        }
        result_of(walk.read(tree))?;
        let mut facts = walk.facts;
        facts.calls_write = WRITES.iter().any(|name| facts.functions.contains(*name));
        walk.refused.map_or(Ok(facts), Err)
    }

    /// The table that a write writes to is none that it reads: its parts that read are walked by themselves.
    fn read(&mut self, tree: &Statement) -> ControlFlow<Error> {
        use Statement as S;
        if !matches!(tree, S::Insert(_) | S::Update(_) | S::Delete(_) | S::Merge(_)) {
            return tree.visit(self);
        }
        self.part = FactsPart::Statements;
        tree.visit(self)?;
        self.part = FactsPart::Relations;
        match tree {
            S::Insert(insert) => {
                insert.source.visit(self)?;
                insert.multi_table_into_clauses.visit(self)?;
                insert.multi_table_when_clauses.visit(self)?;
                insert.multi_table_else_clause.visit(self)?;
                insert.on.visit(self)?;
                insert.returning.visit(self)
            }
            S::Update(update) => {
                update.assignments.visit(self)?;
                update.from.visit(self)?;
                update.selection.visit(self)?;
                update.returning.visit(self)
            }
            S::Delete(delete) => {
                delete.using.visit(self)?;
                delete.selection.visit(self)?;
                delete.returning.visit(self)
            }
            S::Merge(merge) => {
                merge.source.visit(self)?;
                merge.on.visit(self)?;
                merge.clauses.visit(self)
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn is_with_query(&self, name: &ObjectName) -> bool {
        let is_taken = |wanted: &Ident| {
            let mut taken = self.scopes.iter().flat_map(WithScope::taken);
            taken.any(|name| name.eq_ignore_ascii_case(&wanted.value))
        };
        names::single(name).is_some_and(is_taken)
    }

    fn table(&mut self, name: &ObjectName, operation: Operation) {
        if let Some(name) = TableName::of(name) {
            self.used(name, operation);
        }
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

    fn factor(&mut self, factor: &TableFactor) {
        match factor {
            TableFactor::Table { name, args: Some(_), .. } | TableFactor::Function { name, .. } => self.call(name),
            TableFactor::Table { name, .. } if !self.is_with_query(name) => match TableName::of(name) {
                None => _ = self.refused.get_or_insert_with(|| Error::unsupported("this form of table name")),
                Some(name) if information_schema::is_relation(&name) => self.facts.reads_catalogue = true,
                Some(name) => self.used(name, Operation::Select),
            },
            TableFactor::UNNEST { .. } => {
                self.facts.functions.insert("unnest".to_owned());
            }
            _ => {}
        }
    }

    fn expression(&mut self, expr: &Expr) {
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
    type Break = Error;

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<Error> {
        if self.part == FactsPart::Relations {
            return ControlFlow::Continue(());
        }
        let done = &mut self.facts.operations;
        if let Statement::Merge(merge) = statement {
            done.extend(merge.clauses.iter().map(|clause| done_by(&clause.action)));
        }
        done.extend(operations(statement));
        if reads_beside(statement) {
            done.insert(Operation::Select);
        }
        flow_of(refused::statement(statement))
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Error> {
        if self.part == FactsPart::Relations {
            return ControlFlow::Continue(());
        }
        self.facts.operations.insert(Operation::Select);
        flow_of(refused::select(select))
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Error> {
        // the first queries that the walk comes to in a query are those of its WITH
        if let Some(around) = self.scopes.last_mut()
            && around.begun < around.names.len()
        {
            around.begun += 1;
        }
        self.scopes.push(WithScope::of(query));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<Error> {
        self.scopes.pop();
        if let Some(around) = self.scopes.last_mut() {
            around.ended = around.begun;
        }
        ControlFlow::Continue(())
    }

    /// A write that reads, reads.
    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Error> {
        if self.part != FactsPart::Relations && matches!(factor, TableFactor::Derived { .. }) {
            self.facts.operations.insert(Operation::Select);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Error> {
        if self.part != FactsPart::Statements {
            self.factor(factor);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Error> {
        if self.part != FactsPart::Statements {
            self.expression(expr);
        }
        if self.part == FactsPart::Relations { ControlFlow::Continue(()) } else { flow_of(refused::number(expr)) }
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
