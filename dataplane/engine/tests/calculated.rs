//! What is taken for calculated without an error fails on no value: else an error could tell of a row that a filter hides.
//!
//! The extremes of each type of exact numbers are put into what the compiler says cannot leave its range.

use engine::{Session, Value};
use sql::govern::filter::FilterTemplate;
use sql::{Bind, Catalog, Column, EngineSql, ExecutionMode, Rules, SessionNames, Table};

use crate::world::{answer, world};

/// Types with their least and greatest value.
const TYPES: [(&str, &str, &str); 10] = [
    ("DECIMAL(4,1)", "-999.9", "999.9"),
    ("DECIMAL(9,4)", "-99999.9999", "99999.9999"),
    ("DECIMAL(10,2)", "-99999999.99", "99999999.99"),
    ("DECIMAL(15,2)", "-9999999999999.99", "9999999999999.99"),
    ("DECIMAL(18,6)", "-999999999999.999999", "999999999999.999999"),
    ("DECIMAL(19,2)", "-99999999999999999.99", "99999999999999999.99"),
    ("DECIMAL(38,2)", "-999999999999999999999999999999999999.99", "999999999999999999999999999999999999.99"),
    ("SMALLINT", "-32768", "32767"),
    ("INTEGER", "-2147483648", "2147483647"),
    ("BIGINT", "-9223372036854775808", "9223372036854775807"),
];

/// What is calculated of two columns and literals.
const FORMS: [&str; 12] = [
    "X + Y",
    "X - Y",
    "X * Y",
    "X * (1 - Y)",
    "(X + 0.5) * Y",
    "X * 99999999 - Y",
    "0.001 * X * Y",
    "CASE WHEN X > Y THEN X ELSE 1 END * Y",
    "0.5 * sum(X)",
    "sum(X * 2) - max(Y)",
    "sum(X) > 0.00000001 * sum(Y)",
    "0.5 * X = 0.00000001 * Y",
];

/// The tables' rules, and how a statement over them is run.
struct Compiler {
    catalog: Catalog,
    rules: Rules,
}

impl Compiler {
    fn new() -> Self {
        let columns = TYPES.iter().enumerate().map(|(place, (name, ..))| Column::new(format!("c{place}"), *name));
        let columns = columns.chain([Column::new("seen", "VARCHAR")]).collect();
        let catalog = Catalog::new([Table::new("main", "numbers", columns)]);
        let filter = FilterTemplate::parse("seen = '{region}'").unwrap();
        let mut rules = Rules::default();
        rules.filter("main", "numbers", filter.bind(&|_| Some("yes".to_owned()), &catalog).unwrap());
        Self { catalog, rules }
    }

    /// The statement for the engine, where no error of it is expected.
    fn leakproof(&self, text: &str) -> Option<EngineSql> {
        let resolved = sql::resolve(sql::parse(text).unwrap(), &self.catalog, &SessionNames::new("demo")).unwrap();
        let governed = sql::govern(resolved, &self.rules).unwrap();
        (governed.care() == ExecutionMode::Leakproof).then(|| sql::transpile(governed).unwrap())
    }
}

async fn ran(session: &mut Session, made: &EngineSql) -> Result<String, engine::Error> {
    let value = |bind: &Bind| match bind {
        Bind::Text(text) => Value::Text(text.clone()),
        other => panic!("{other:?}"),
    };
    let params: Vec<Value> = made.binds.iter().map(value).collect();
    answer(session, &made.sql, &params).await
}

#[tokio::test]
async fn no_extreme_fails_in_what_stays_in_its_range() {
    let columns: Vec<String> = (0..).zip(TYPES).map(|(place, (name, ..))| format!("c{place} {name}")).collect();
    let least: Vec<String> = TYPES.iter().map(|(_, least, _)| format!("'{least}'")).collect();
    let greatest: Vec<String> = TYPES.iter().map(|(.., greatest)| format!("'{greatest}'")).collect();
    let made = format!("create table numbers ({}, seen VARCHAR)", columns.join(", "));
    let (least, greatest) = (least.join(", "), greatest.join(", "));
    let filled = format!("insert into numbers values ({least}, 'yes'), ({greatest}, 'yes')");
    let world = world().await.made(&[&made, &filled]).await;
    let mut session = world.session().await.unwrap();
    let compiler = Compiler::new();
    let mut asked = 0;
    for form in FORMS {
        for one in 0..TYPES.len() {
            for other in 0..TYPES.len() {
                let calculated = form.replace('X', &format!("a.c{one}")).replace('Y', &format!("b.c{other}"));
                let text = format!("SELECT {calculated} FROM numbers a, numbers b");
                let Some(made) = compiler.leakproof(&text) else { continue };
                asked += 1;
                let got = ran(&mut session, &made).await;
                assert!(got.is_ok(), "{text}: {got:?}");
            }
        }
    }
    assert!(asked > 100, "{asked}");
    drop(session);
    world.stopped().await;
}

#[tokio::test]
async fn a_product_of_numbers_of_64_bits_has_64_bits() {
    let world = world().await;
    let typed = "select typeof(a * (1 - b) * (1 + b)), typeof(a * n), typeof(0.5 * sum(a)) \
                 from (select 1::DECIMAL(15,2) a, 1::DECIMAL(15,2) b, 1::BIGINT n) group by a, b, n";
    assert_eq!(world.answer(typed).await.unwrap(), "DECIMAL(18,6) DECIMAL(34,2) DECIMAL(38,3)");
    world.stopped().await;
}
