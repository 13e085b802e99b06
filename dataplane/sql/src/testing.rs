//! Worlds for this crate's tests: a catalog, rules, and the walk from text to text.

use crate::ast::error::Error;
use crate::catalog::table::{Column, Table};
use crate::catalog::tables::{Catalog, SessionNames};
use crate::govern::Rules;
use crate::govern::filter::FilterTemplate;
use crate::scan::Mask;
use crate::{EngineSql, Governed};
use contract::policy::MaskFunction;

pub(crate) fn table(name: &str, columns: &[(&str, &str)]) -> Table {
    Table::new("main", name, columns.iter().map(|(name, kind)| Column::new(*name, *kind)).collect())
}

/// `customers`, `orders`, `payroll`.
pub(crate) fn catalog() -> Catalog {
    Catalog::new([
        table(
            "customers",
            &[
                ("id", "INTEGER"),
                ("name", "VARCHAR"),
                ("email", "VARCHAR"),
                ("ssn", "VARCHAR"),
                ("region", "VARCHAR"),
                ("salary", "INTEGER"),
            ],
        ),
        table(
            "orders",
            &[
                ("id", "INTEGER"),
                ("customer_id", "INTEGER"),
                ("region", "VARCHAR"),
                ("amount", "DECIMAL(10,2)"),
                ("status", "VARCHAR"),
                ("note", "VARCHAR"),
            ],
        ),
        table("payroll", &[("id", "INTEGER"), ("customer_id", "INTEGER"), ("iban", "VARCHAR"), ("bonus", "INTEGER")]),
    ])
}

pub(crate) fn session() -> SessionNames {
    SessionNames::new("demo")
}

/// An analyst of the EU: ssn full, email partial, salary null, rows of the region.
pub(crate) fn analyst() -> Rules {
    let mut rules = Rules::default();
    rules.mask("main", "customers", "ssn", MaskFunction::Full);
    rules.mask("main", "customers", "email", Mask::Function { function: MaskFunction::Partial, visible_chars: 4 });
    rules.mask("main", "customers", "salary", MaskFunction::Null);
    for table in ["customers", "orders"] {
        rules.filter("main", table, filter("region = '{region}'"));
    }
    rules
}

pub(crate) fn filter(text: &str) -> crate::govern::Filter {
    let value = |name: &str| (name == "region").then(|| "EU".to_owned());
    FilterTemplate::parse(text).expect("a filter").bind(&value, &catalog()).expect("a filter of this catalog")
}

pub(crate) fn governed(sql: &str, rules: &Rules) -> Result<Governed, Error> {
    crate::govern(crate::resolve(crate::parse(sql)?, &catalog(), &session())?, rules)
}

pub(crate) fn engine(sql: &str, rules: &Rules) -> Result<EngineSql, Error> {
    crate::transpile(governed(sql, rules)?.embedded()?)
}

/// The same with views `seen` and `seen_twice` over `customers`, and the functions `plus_one` and, which is strict, `or_none`.
pub(crate) fn engine_with_definitions(sql: &str, rules: &Rules) -> Result<EngineSql, Error> {
    use crate::catalog::definition::DefinitionKind;
    let definitions = [
        (DefinitionKind::View, "seen", "CREATE VIEW seen AS SELECT id, ssn FROM customers"),
        (DefinitionKind::View, "seen_twice", "CREATE VIEW seen_twice (one) AS SELECT ssn FROM seen"),
        (DefinitionKind::Function, "plus_one", "CREATE FUNCTION plus_one(x NUMBER) RETURNS NUMBER AS 'x + 1'"),
        (
            DefinitionKind::Function,
            "or_none",
            "CREATE FUNCTION or_none(x NUMBER, y NUMBER) RETURNS NUMBER STRICT AS 'x / y'",
        ),
    ];
    let definitions = definitions.map(|(kind, name, text)| (kind, name.to_owned(), text.to_owned()));
    engine_defining(&definitions, sql, rules)
}

/// The same with these.
pub(crate) fn engine_defining(
    definitions: &[(crate::catalog::definition::DefinitionKind, String, String)],
    sql: &str,
    rules: &Rules,
) -> Result<EngineSql, Error> {
    use crate::catalog::definition::{Definition, comment};
    let mut catalog = catalog();
    for (kind, name, text) in definitions {
        let comment = comment("main", text);
        catalog.define(Definition::read(*kind, "main", name, Vec::new(), comment).expect("a definition"));
    }
    let resolved = crate::resolve(crate::parse(sql)?, &catalog, &session())?;
    crate::transpile(crate::govern(resolved, rules)?)
}

/// The engine's text, or the refusal.
pub(crate) fn shown(sql: &str, rules: &Rules) -> String {
    match engine(sql, rules) {
        Ok(made) => made.sql,
        Err(error) => format!("{:?}: {error}", error.kind),
    }
}
