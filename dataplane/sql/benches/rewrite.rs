//! From text to the engine's text: a point query, plain and governed, and a query of the benchmark.

use sql::filter::Template;
use sql::{Catalog, Column, Mask, Names, Rules, Table};

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
    rules.mask("main", "customers", "email", Mask::Partial { visible_chars: 4 });
    let filter =
        Template::parse("region = '{region}'").and_then(|filter| filter.bind(&|_| Some("EU".to_owned()), catalog));
    if let Ok(filter) = filter {
        rules.filter("main", "customers", filter);
    }
    rules
}

fn rewrite(text: &str, catalog: &Catalog, session: &Names, rules: &Rules) -> Result<sql::EngineSql, sql::Error> {
    sql::transpile(sql::govern(sql::resolve(sql::parse(text)?, catalog, session)?, rules)?)
}

#[divan::bench]
fn parse_point(bencher: divan::Bencher<'_, '_>) {
    bencher.bench(|| sql::parse(divan::black_box(POINT)));
}

#[divan::bench]
fn point(bencher: divan::Bencher<'_, '_>) {
    let (catalog, session, rules) = (catalog(), Names::new("demo"), Rules::default());
    bencher.bench(|| rewrite(divan::black_box(POINT), &catalog, &session, &rules));
}

#[divan::bench]
fn point_governed(bencher: divan::Bencher<'_, '_>) {
    let (catalog, session) = (catalog(), Names::new("demo"));
    let rules = rules(&catalog);
    bencher.bench(|| rewrite(divan::black_box(POINT), &catalog, &session, &rules));
}
