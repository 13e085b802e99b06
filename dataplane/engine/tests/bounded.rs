//! Where visible rows have no long number, the question for one finds none, and nothing that is calculated then fails.
//!
//! The extremes within each bound are put into queries that the compiler runs where the rows are, behind that question.

use engine::{Session, Statement, Value};
use sql::govern::filter::FilterTemplate;
use sql::{Bind, Catalog, Column, EngineSql, ExecutionMode, Rules, SessionNames, Table};

use crate::world::{answer, never, soon, world, write};

/// Types, with digits before the point and behind it of which each number fits.
const TYPES: [(&str, usize, usize); 9] = [
    ("DECIMAL(10,2)", 8, 2),
    ("DECIMAL(15,2)", 13, 2),
    ("DECIMAL(18,6)", 12, 6),
    ("DECIMAL(19,2)", 17, 2),
    ("DECIMAL(38,2)", 36, 2),
    ("DECIMAL(38,12)", 26, 12),
    ("INTEGER", 9, 0),
    ("BIGINT", 18, 0),
    ("HUGEINT", 38, 0),
];

/// Conditions on two columns and literals.
const CONDITIONS: [&str; 5] = [
    "X * Y > 0.5",
    "(X + 0.5) * Y > 0.5",
    "X * (1 - Y) > 0.5",
    "0.001 * X * Y > 0.5",
    "CASE WHEN X > Y THEN X ELSE 1 END * Y > 0.5",
];

/// The same on groups.
const OF_GROUPS: [&str; 4] =
    ["sum(X * Y) > 0.5", "0.5 * sum(X) > max(Y)", "sum(X * 2) - max(Y) > 0.5", "sum(X) > 0.00000001 * sum(Y)"];

/// Two rows of the greatest numbers, and the least, that have no more digits before the point.
fn rows(seen: &str, whole_max: usize) -> String {
    let number = |(_, whole, scale): &(&str, usize, usize)| {
        let point = if *scale > 0 { "." } else { "" };
        format!("{}{point}{}", "9".repeat(whole_max.min(*whole)), "9".repeat(*scale))
    };
    let row = |sign: &str| {
        let values: Vec<String> = TYPES.iter().map(|column| format!("'{sign}{}'", number(column))).collect();
        format!("({}, '{seen}')", values.join(", "))
    };
    format!("insert into numbers values {}, {}", row(""), row("-"))
}

/// The queries that ask visible rows first, with their texts.
fn asking() -> Vec<(String, EngineSql)> {
    let columns = TYPES.iter().enumerate().map(|(place, (name, ..))| Column::new(format!("c{place}"), *name));
    let columns = columns.chain([Column::new("seen", "VARCHAR")]).collect();
    let catalog = Catalog::new([Table::new("main", "numbers", columns)]);
    let filter = FilterTemplate::parse("seen = '{region}'").unwrap();
    let mut rules = Rules::default();
    rules.filter("main", "numbers", filter.bind(&|_| Some("yes".to_owned()), &catalog).unwrap());
    let mut found = Vec::new();
    for (behind, conditions) in [("WHERE", &CONDITIONS[..]), ("GROUP BY a.seen HAVING", &OF_GROUPS[..])] {
        for (condition, place) in
            conditions.iter().flat_map(|one| (0..TYPES.len().pow(2)).map(move |place| (one, place)))
        {
            let (left, right) = (place / TYPES.len(), place % TYPES.len());
            let condition = condition.replace('X', &format!("a.c{left}")).replace('Y', &format!("b.c{right}"));
            let text = format!("SELECT a.seen FROM numbers a JOIN numbers b ON a.seen = b.seen {behind} {condition}");
            let resolved = sql::resolve(sql::parse(&text).unwrap(), &catalog, &SessionNames::new("demo")).unwrap();
            let governed = sql::govern(resolved, &rules).unwrap();
            let is_held_back = governed.care() == ExecutionMode::Speculative;
            let made = sql::transpile(governed).unwrap();
            found.extend((is_held_back && !made.before.is_empty()).then_some((text, made)));
        }
    }
    found
}

fn values(binds: &[Bind], seen: &str) -> Vec<Value> {
    let value = |bind: &Bind| match bind {
        Bind::Text(_) => Value::Text(seen.to_owned()),
        other => panic!("{other:?}"),
    };
    binds.iter().map(value).collect()
}

/// Whether the question of a query finds no long number in the rows that are seen so.
async fn has_none(session: &mut Session, made: &EngineSql, seen: &str) -> bool {
    for step in &made.before {
        let statement = Statement { sql: step.sql.clone(), params: values(&step.binds, seen), writes: false };
        if session.keep(statement, soon(), &never()).await.is_err() {
            return false;
        }
    }
    true
}

#[tokio::test]
async fn no_extreme_fails_where_no_long_number_is_found() {
    let columns: Vec<String> = (0..).zip(TYPES).map(|(place, (name, ..))| format!("c{place} {name}")).collect();
    let made = format!("create table numbers ({}, seen VARCHAR)", columns.join(", "));
    let world = world().await.made(&[&made, &rows("six", 6), &rows("nine", 9)]).await;
    let mut session = world.session().await.unwrap();
    let asking = asking();
    assert!(asking.len() > 100, "{}", asking.len());
    for (text, made) in &asking {
        for seen in ["six", "nine"] {
            if has_none(&mut session, made, seen).await {
                let got = answer(&mut session, &made.sql, &values(&made.binds, seen)).await;
                assert!(got.is_ok(), "{seen}: {text}: {got:?}");
            } else {
                assert_eq!(seen, "nine", "{text}: a number is called long that is not");
            }
        }
    }
    write(&mut session, &rows("long", usize::MAX)).await.unwrap();
    let mut found = 0;
    for (text, made) in &asking {
        assert!(has_none(&mut session, made, "six").await, "{text}: a hidden number is found");
        found += usize::from(!has_none(&mut session, made, "long").await);
    }
    assert!(found > 100, "{found}");
    drop(session);
    world.stopped().await;
}
