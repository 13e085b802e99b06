//! Sequences, and columns that count by one of their own.

use std::collections::HashSet;
use std::sync::Arc;

use sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, ColumnOption, CreateTable, Expr, Function, Ident,
    IdentityParameters, IdentityPropertyFormatKind, IdentityPropertyKind, ObjectName, ObjectType, SequenceOptions,
    Statement, Value,
};

use sqlparser::dialect::DuckDbDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use crate::ast::call::{call, sole_argument};
use crate::ast::{names, quote};
use crate::catalog::definition::OWNED;
use crate::catalog::table::{Counter, Table};
use crate::catalog::tables::Catalog;

/// The next value of a sequence.
pub(crate) fn next(schema: &str, name: &str) -> Expr {
    asked("nextval", schema, name)
}

/// A function of a sequence, over its whole name.
pub(crate) fn asked(function: &str, schema: &str, name: &str) -> Expr {
    let path = [names::RAW_CATALOG, schema, name].map(quote::name).join(".");
    call(function, [Expr::value(Value::SingleQuotedString(path))])
}

/// The sequence that a call names by a literal, which may be cast.
pub(crate) fn named(function: &Function) -> Option<ObjectName> {
    let mut argument = sole_argument(function)?;
    while let Expr::Cast { expr, .. } | Expr::Nested(expr) = argument {
        argument = expr;
    }
    let Expr::Value(value) = argument else { return None };
    let Value::SingleQuotedString(text) = &value.value else { return None };
    let mut parser = Parser::new(&DuckDbDialect {}).try_with_sql(text).ok()?;
    let name = parser.parse_object_name(false).ok()?;
    (parser.peek_token_ref().token == Token::EOF).then_some(name)
}

/// The name of a column's sequence that no other table counts by: one that was renamed keeps its own.
fn free(catalog: &Catalog, schema: &str, table: &str, column: &str) -> String {
    let own = catalog.get(schema, table);
    let others = catalog.tables().filter(|other| own.is_none_or(|own| !Arc::ptr_eq(own, other)));
    let counters =
        others.flat_map(|other| &other.counters).filter(|counter| counter.schema.eq_ignore_ascii_case(schema));
    let taken: HashSet<String> = counters.map(|counter| counter.sequence.to_ascii_lowercase()).collect();
    let mut name = owned(table, column, 0);
    // each of those that are taken is met once at most
    for number in 1..=taken.len() {
        if !taken.contains(&name.to_ascii_lowercase()) {
            break;
        }
        name = owned(table, column, number);
    }
    name
}

/// With the length of the table's name, or `a_b.c` and `a.b_c` would have one.
fn owned(table: &str, column: &str, number: usize) -> String {
    let number = if number == 0 { String::new() } else { format!("x{number}") };
    format!("{OWNED}{}{number}_{table}_{column}", table.len())
}

/// The sequences of columns that come and go with a statement.
#[derive(Debug, Clone, Default)]
pub(crate) struct Changed {
    /// What makes those of new columns.
    pub made: Vec<Statement>,
    pub ending: Vec<ObjectName>,
}

/// Columns that count get their default.
pub(crate) fn changed(tree: &mut Statement, catalog: &Catalog) -> Changed {
    let made = match tree {
        Statement::CreateTable(create) => of_columns(create, catalog),
        _ => Vec::new(),
    };
    Changed { ending: ending(tree, &made, catalog), made }
}

/// The sequences that nothing counts by once this is done: those of a table that is dropped or replaced, and of a column
/// that is dropped or counts no more.
fn ending(tree: &Statement, made: &[Statement], catalog: &Catalog) -> Vec<ObjectName> {
    let known = |name: &ObjectName| match names::parts(name).as_deref() {
        Some([_, schema, table]) => catalog.get(&schema.value, &table.value),
        _ => None,
    };
    let of = |table: &Table, ends: &dyn Fn(&Counter) -> bool| {
        let ending = table.counters.iter().filter(|counter| ends(counter));
        ending.map(|counter| names::qualified(&counter.schema, &counter.sequence)).collect::<Vec<_>>()
    };
    match tree {
        Statement::Drop { object_type: ObjectType::Table, names, .. } => {
            names.iter().filter_map(known).flat_map(|table| of(table, &|_| true)).collect()
        }
        Statement::CreateTable(create) if create.or_replace => {
            let ends = |counter: &Counter| !made.iter().any(|made| makes(made, counter));
            known(&create.name).map_or_else(Vec::new, |table| of(table, &ends))
        }
        Statement::AlterTable(alter) => {
            known(&alter.name).map_or_else(Vec::new, |table| of(table, &|counter| loses(alter, &counter.column)))
        }
        _ => Vec::new(),
    }
}

/// Whether the statement makes the sequence of this name anew.
fn makes(made: &Statement, counter: &Counter) -> bool {
    let Statement::CreateSequence { name, .. } = made else { return false };
    names::last(name).is_some_and(|name| name.value.eq_ignore_ascii_case(&counter.sequence))
}

/// Whether the column goes, or its default does.
fn loses(alter: &AlterTable, column: &str) -> bool {
    let is_it = |name: &Ident| name.value.eq_ignore_ascii_case(column);
    alter.operations.iter().any(|operation| match operation {
        AlterTableOperation::DropColumn { column_names, .. } => column_names.iter().any(is_it),
        AlterTableOperation::AlterColumn {
            column_name,
            op: AlterColumnOperation::DropDefault | AlterColumnOperation::SetDefault { .. },
        } => is_it(column_name),
        _ => false,
    })
}

/// AUTOINCREMENT columns get their default; answers the statements that make their sequences.
fn of_columns(create: &mut CreateTable, catalog: &Catalog) -> Vec<Statement> {
    let (schema, table) = match names::parts(&create.name).as_deref() {
        Some([_, schema, table]) => (schema.value.clone(), table.value.clone()),
        _ => return Vec::new(),
    };
    let mut made = Vec::new();
    for column in &mut create.columns {
        for option in &mut column.options {
            let ColumnOption::Identity(kind) = &option.option else {
                continue;
            };
            let (IdentityPropertyKind::Autoincrement(property) | IdentityPropertyKind::Identity(property)) = kind;
            let name = free(catalog, &schema, &table, &column.name.value);
            let sequence_options = match &property.parameters {
                None => Vec::new(),
                Some(
                    IdentityPropertyFormatKind::FunctionCall(IdentityParameters { seed, increment })
                    | IdentityPropertyFormatKind::StartAndIncrement(IdentityParameters { seed, increment }),
                ) => vec![
                    SequenceOptions::StartWith(seed.clone(), true),
                    SequenceOptions::IncrementBy(increment.clone(), true),
                ],
            };
            made.push(Statement::CreateSequence {
                temporary: false,
                if_not_exists: create.if_not_exists,
                name: names::qualified(&schema, &name),
                data_type: None,
                sequence_options,
                owned_by: None,
            });
            option.option = ColumnOption::Default(next(&schema, &name));
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use crate::testing::{engine, table};
    use crate::{Catalog, Counter, Rules, SessionNames};

    /// What is run over a table `t` whose columns `a` and `b` count.
    fn steps(sql: &str) -> Vec<String> {
        let counter = |column: &str| Counter {
            column: column.to_owned(),
            schema: "main".to_owned(),
            sequence: super::owned("t", column, 0),
        };
        let known = table("t", &[("a", "INTEGER"), ("b", "INTEGER"), ("c", "INTEGER")]);
        let catalog = Catalog::new([known.with_counters(vec![counter("a"), counter("b")])]);
        let resolved = crate::resolve(crate::parse(sql).expect(sql), &catalog, &SessionNames::new("demo")).expect(sql);
        let made = crate::transpile(crate::govern(resolved, &Rules::default()).expect(sql)).expect(sql);
        made.before.into_iter().map(|step| step.sql).chain([made.sql]).collect()
    }

    #[test]
    fn a_sequence_is_dropped_behind_the_last_that_counts_by_it() {
        let ended = |sql: &str| {
            let steps = steps(sql);
            let first = steps.iter().position(|step| step.starts_with("DROP SEQUENCE")).unwrap_or(steps.len());
            assert!(first > 0, "{sql}: {steps:?}");
            let (_, ended) = steps.split_at(first);
            ended.iter().map(|step| step.rsplit('_').next().unwrap_or_default().replace('"', "")).collect::<Vec<_>>()
        };
        let cases: [(&str, &[&str]); 9] = [
            ("DROP TABLE t", &["a", "b"]),
            ("DROP TABLE IF EXISTS demo.main.T", &["a", "b"]),
            ("DROP TABLE IF EXISTS other", &[]),
            ("CREATE OR REPLACE TABLE t AS SELECT 1 AS a", &["a", "b"]),
            ("CREATE TABLE IF NOT EXISTS t (a INT)", &[]),
            ("ALTER TABLE t DROP COLUMN B, c", &["b"]),
            ("ALTER TABLE t ALTER COLUMN a SET DEFAULT 1", &["a"]),
            ("ALTER TABLE t RENAME COLUMN a TO d", &[]),
            ("TRUNCATE TABLE t", &[]),
        ];
        for (sql, expected) in cases {
            assert_eq!(ended(sql), expected, "{sql}");
        }
        let replaced = steps("CREATE OR REPLACE TABLE t (a INT AUTOINCREMENT)");
        assert_eq!(replaced.last().map(String::as_str), Some(r#"DROP SEQUENCE IF EXISTS "raw"."main"."_svc_1_t_b""#));
    }

    /// The table that was `t` counts on by the sequence of `t`.
    #[test]
    fn a_table_under_the_old_name_of_another_counts_by_a_sequence_of_its_own() {
        let made = |renamed: &[usize], sql: &str| {
            let counter = |number| Counter {
                column: "a".to_owned(),
                schema: "main".to_owned(),
                sequence: super::owned("t", "a", number),
            };
            let counters = renamed.iter().map(|number| counter(*number)).collect();
            let catalog = Catalog::new([table("old", &[("a", "INTEGER")]).with_counters(counters)]);
            let resolved =
                crate::resolve(crate::parse(sql).expect(sql), &catalog, &SessionNames::new("demo")).expect(sql);
            let made = crate::transpile(crate::govern(resolved, &Rules::default()).expect(sql)).expect(sql);
            let made = made.before.into_iter().map(|step| step.sql).find(|step| step.starts_with("CREATE SEQUENCE"));
            made.and_then(|made| made.rsplit('.').next().map(|name| name.trim_matches('"').to_owned()))
        };
        let name = |name: &str| Some(name.to_owned());
        for sql in ["CREATE TABLE t (a INT AUTOINCREMENT)", "CREATE TABLE IF NOT EXISTS t (a INT AUTOINCREMENT)"] {
            assert_eq!(made(&[], sql), name("_svc_1_t_a"), "{sql}");
            assert_eq!(made(&[0], sql), name("_svc_1x1_t_a"), "{sql}");
            assert_eq!(made(&[0, 1], sql), name("_svc_1x2_t_a"), "{sql}");
        }
    }

    #[test]
    fn columns_of_two_tables_never_count_by_one_sequence() {
        let sequence = |sql: &str| {
            let made = engine(sql, &Rules::default()).expect("engine SQL");
            let before = made.before.iter().find(|step| step.sql.starts_with("CREATE SEQUENCE")).expect("a sequence");
            before.sql.clone()
        };
        let one = sequence("CREATE TABLE a_b (c INT AUTOINCREMENT)");
        assert_ne!(one, sequence("CREATE TABLE a (b_c INT AUTOINCREMENT)"));
    }
}
