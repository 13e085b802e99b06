//! The corpus: `corpus/<construct>/<case>.sql` in the warehouse's dialect, `<case>.expected` beside it with
//! one line of engine SQL, or the refusal, for each statement. `UPDATE_EXPECT=1` writes what came out.

use std::fs;
use std::path::{Path, PathBuf};

use sqlparser::ast::ObjectName;

use crate::bind::scope::{BoundColumn, TableColumns};
use crate::catalog::definition::DefinitionKind;
use crate::{Catalog, Column, Definition, Rules, SessionNames, Table};

/// Written by hand and checked elsewhere: whole queries, not constructs.
const OTHERS: [&str; 1] = ["tpch"];
/// Statements that depend on what there is: they walk the whole way, over [`catalog`].
const WALKED: &str = "statements";

/// The tables of the corpus, as `corpus/setup.sql` makes them.
const TABLES: [(&str, &str); 7] = [
    ("t", "id INTEGER, a INTEGER, b INTEGER, name VARCHAR, d DATE, ts TIMESTAMP, amt DECIMAL(10), g VARCHAR"),
    ("v", "id INTEGER, src JSON"),
    ("m", "id INTEGER, val VARCHAR"),
    ("sales", "emp VARCHAR, q VARCHAR, amount INTEGER"),
    ("wide", "id INTEGER, jan INTEGER, feb INTEGER"),
    ("coded", "code VARCHAR(3), word VARCHAR, n INTEGER"),
    ("visits", "id INTEGER, at TIMESTAMP WITH TIME ZONE, ok BOOLEAN"),
];

fn columns(written: &str) -> impl Iterator<Item = (&str, &str)> {
    written.split(", ").map(|column| column.split_once(' ').unwrap())
}

/// The tables of the corpus by their plain names.
struct PlainTables;

impl TableColumns for PlainTables {
    fn columns(&self, name: &ObjectName) -> Option<Vec<BoundColumn>> {
        let name = name.to_string().to_ascii_lowercase();
        let (_, written) = TABLES.into_iter().find(|(table, _)| *table == name)?;
        Some(columns(written).map(|(name, type_name)| BoundColumn::declared(name, type_name)).collect())
    }

    fn written(&self, name: &ObjectName) -> Option<Vec<BoundColumn>> {
        self.columns(name)
    }
}

fn catalog() -> Catalog {
    let column = |(name, type_name)| Column::new(name, type_name);
    let table = |(name, written)| Table::new("main", name, columns(written).map(column).collect());
    let keyed = |table: Table| match table.name.as_str() {
        "sales" => table.with_primary_key(&["q".to_owned(), "emp".to_owned()]),
        _ => table,
    };
    let mut catalog = Catalog::new(TABLES.map(table).map(keyed));
    for (kind, name, text) in DEFINITIONS {
        let columns = vec![Column::new("id", "INTEGER"), Column::new("twice", "INTEGER")];
        let comment = crate::catalog::definition::comment("main", text);
        catalog.define(Definition::read(kind, "main", name, columns, comment).unwrap());
    }
    catalog
}

/// Views, functions, sequences, stages and file formats of the corpus, by their names in the engine.
const DEFINITIONS: [(DefinitionKind, &str, &str); 6] = [
    (DefinitionKind::View, "doubled", "CREATE SECURE VIEW doubled AS SELECT id, a * 2 AS twice FROM t"),
    (DefinitionKind::Function, "plus_one", "CREATE FUNCTION plus_one(x NUMBER) RETURNS NUMBER AS 'x + 1'"),
    (DefinitionKind::Sequence, "sq", ""),
    (
        DefinitionKind::Function,
        "_svc_stage_loaded",
        r#"CREATE STAGE "loaded" ID = 'q1' FILE_FORMAT = (TYPE = 'CSV' SKIP_HEADER = 1)"#,
    ),
    (
        DefinitionKind::Function,
        "_svc_stage_by_name",
        r#"CREATE STAGE "by_name" ID = 'q2' FILE_FORMAT = (FORMAT_NAME = '"main"."psv"')"#,
    ),
    (
        DefinitionKind::Function,
        "_svc_file_format_psv",
        r#"CREATE FILE FORMAT "psv" TYPE = 'CSV' FIELD_DELIMITER = '|'"#,
    ),
];

pub(crate) fn statements(text: &str) -> impl Iterator<Item = &str> {
    text.split(";\n").filter(|one| !one.trim().is_empty())
}

fn engine(text: &str) -> String {
    statements(text).map(one).collect()
}

fn one(sql: &str) -> String {
    let done = crate::syntax::parse::parse(sql).and_then(|statement| {
        let mut tree = statement.into_admitted()?;
        super::to_engine(&mut tree, &PlainTables)?;
        crate::print::engine(&tree, &[], crate::print::Reading::InPlace, crate::print::ParameterTypes::default())
    });
    done.map_or_else(|error| format!("error: {error}\n"), |printed| format!("{};\n", printed.sql))
}

/// The whole walk, for a caller without rules.
pub(crate) fn walked(sql: &str) -> Result<String, crate::Error> {
    let resolved = crate::resolve(crate::parse(sql)?, &catalog(), &SessionNames::new("demo"))?;
    let made = crate::transpile(crate::govern(resolved, &Rules::default())?)?;
    let steps: Vec<&str> = made.before.iter().map(|step| step.sql.as_str()).chain([made.sql.as_str()]).collect();
    Ok(steps.join(";\n"))
}

fn over_catalog(text: &str) -> String {
    let shown = |sql| walked(sql).map_or_else(|error| format!("error: {error}\n"), |made| format!("{made};\n"));
    statements(text).map(shown).collect()
}

fn corpus() -> PathBuf {
    PathBuf::from("corpus")
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

/// Every `.sql` of the corpus.
pub(crate) fn cases() -> Vec<PathBuf> {
    files().into_iter().filter(|path| path.extension().is_some_and(|e| e == "sql")).collect()
}

fn is_walked(case: &Path) -> bool {
    case.parent().is_some_and(|folder| folder.ends_with(WALKED))
}

fn files() -> Vec<PathBuf> {
    let constructs = entries(&corpus()).into_iter().filter(|path| path.is_dir());
    constructs
        .filter(|path| !OTHERS.iter().any(|other| path.ends_with(other)))
        .flat_map(|path| entries(&path))
        .collect()
}

#[test]
fn every_case_of_the_corpus_becomes_the_engine_sql_beside_it() {
    let mut wrong = Vec::new();
    for case in cases() {
        let text = fs::read_to_string(&case).unwrap();
        let found = if is_walked(&case) { over_catalog(&text) } else { engine(&text) };
        let expected = case.with_extension("expected");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&expected, found).unwrap();
        } else if fs::read_to_string(&expected).unwrap_or_default() != found {
            wrong.push(format!("{}\n{found}", case.display()));
        }
    }
    assert!(wrong.is_empty(), "UPDATE_EXPECT=1 writes these:\n{}", wrong.join("\n"));
}

#[test]
fn what_the_dialect_lets_through_walks_the_whole_way() {
    for case in cases().into_iter().filter(|case| !is_walked(case)) {
        for sql in statements(&fs::read_to_string(&case).unwrap()) {
            let done = walked(sql);
            assert_eq!(done.is_ok(), !one(sql).starts_with("error: "), "{sql}\n{done:?}");
        }
    }
}

#[test]
fn every_file_of_the_corpus_belongs_to_a_case() {
    for file in files() {
        let other = if file.extension().is_some_and(|e| e == "sql") { "expected" } else { "sql" };
        assert!(file.with_extension(other).exists(), "{} stands alone", file.display());
    }
}

#[test]
fn a_rewrite_that_repeats_its_arguments_is_bounded() {
    let nested = (0..24).fold("a".to_owned(), |inner, _| format!("div0({inner}, {inner})"));
    assert!(engine(&format!("SELECT {nested} FROM t")).starts_with("error: "));
}

#[test]
fn a_backslash_in_a_string_is_warned_of_once() {
    let warnings = |sql: &str| {
        let mut tree = crate::parse(sql).unwrap().into_admitted().unwrap();
        super::to_engine(&mut tree, &PlainTables).unwrap().warnings
    };
    assert_eq!(warnings(r"SELECT 'a\nb', 'c\' FROM t WHERE name = 'x\'").len(), 1);
    assert!(warnings("SELECT src:s, INITCAP(name) FROM v, t").is_empty());
}
