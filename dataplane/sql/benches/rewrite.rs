//! From text to the engine's text: a point query, plain and governed, and a query of the benchmark.

use contract::policy::MaskFunction;
use sql::govern::filter::FilterTemplate;
use sql::{Catalog, Column, Mask, Rules, SessionNames, Table};

fn main() {
    divan::main();
}

const POINT: &str = "SELECT name, email FROM customers WHERE id = $1";

fn catalog() -> Catalog {
    let column = |(name, kind): &(&str, &str)| Column::new(*name, *kind);
    let columns = [("id", "INTEGER"), ("name", "VARCHAR"), ("email", "VARCHAR"), ("region", "VARCHAR")];
    Catalog::new([Table::new("main", "customers", columns.iter().map(column).collect())])
}

fn rules(catalog: &Catalog) -> Rules {
    let mut rules = Rules::default();
    rules.mask("main", "customers", "email", Mask::Function { function: MaskFunction::Partial, visible_chars: 4 });
    let filter = FilterTemplate::parse("region = '{region}'")
        .and_then(|filter| filter.bind(&|_| Some("EU".to_owned()), catalog));
    if let Ok(filter) = filter {
        rules.filter("main", "customers", filter);
    }
    rules
}

fn rewrite(text: &str, catalog: &Catalog, session: &SessionNames, rules: &Rules) -> Result<sql::EngineSql, sql::Error> {
    sql::transpile(sql::govern(sql::resolve(sql::parse(text)?, catalog, session)?, rules)?)
}

/// A join of ten tables, each with a mask and a filter: what governing adds to it.
fn joined() -> (Catalog, String, Rules) {
    const TABLES: usize = 10;
    let column = |(name, kind): &(&str, &str)| Column::new(*name, *kind);
    let columns = [("id", "INTEGER"), ("name", "VARCHAR"), ("email", "VARCHAR"), ("region", "VARCHAR")];
    let named = |number: usize| Table::new("main", format!("t{number}"), columns.iter().map(column).collect());
    let catalog = Catalog::new((0..TABLES).map(named));
    let joins = (1..TABLES).fold(String::new(), |joins, n| joins + &format!(" JOIN t{n} ON t{n}.id = t0.id"));
    let mut rules = Rules::default();
    for number in 0..TABLES {
        let table = format!("t{number}");
        rules.mask("main", &table, "email", Mask::Function { function: MaskFunction::Partial, visible_chars: 4 });
        let filter = FilterTemplate::parse("region = '{region}'")
            .and_then(|filter| filter.bind(&|_| Some("EU".to_owned()), &catalog));
        if let Ok(filter) = filter {
            rules.filter("main", &table, filter);
        }
    }
    (catalog, format!("SELECT t0.name, t9.email, count(*) FROM t0{joins} GROUP BY ALL"), rules)
}

#[divan::bench]
fn ten_tables(bencher: divan::Bencher<'_, '_>) {
    let ((catalog, text, _), session) = (joined(), SessionNames::new("demo"));
    bencher.bench(|| rewrite(divan::black_box(&text), &catalog, &session, &Rules::default()));
}

#[divan::bench]
fn ten_tables_governed(bencher: divan::Bencher<'_, '_>) {
    let ((catalog, text, rules), session) = (joined(), SessionNames::new("demo"));
    bencher.bench(|| rewrite(divan::black_box(&text), &catalog, &session, &rules));
}

#[divan::bench]
fn parse_point(bencher: divan::Bencher<'_, '_>) {
    bencher.bench(|| sql::parse(divan::black_box(POINT)));
}

#[divan::bench]
fn point(bencher: divan::Bencher<'_, '_>) {
    let (catalog, session, rules) = (catalog(), SessionNames::new("demo"), Rules::default());
    bencher.bench(|| rewrite(divan::black_box(POINT), &catalog, &session, &rules));
}

#[divan::bench]
fn point_governed(bencher: divan::Bencher<'_, '_>) {
    let (catalog, session) = (catalog(), SessionNames::new("demo"));
    let rules = rules(&catalog);
    bencher.bench(|| rewrite(divan::black_box(POINT), &catalog, &session, &rules));
}
