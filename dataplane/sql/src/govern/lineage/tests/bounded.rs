//! Small statements that stand for much. Each of them took minutes or gigabytes, or would: they are followed, or refused.

use super::care;
use crate::ast::error::ErrorKind;
use crate::testing::{analyst, governed};
use crate::{ExecutionMode, Mask, Rules};

fn refusal(sql: &str, rules: &Rules) -> Option<ErrorKind> {
    governed(sql, rules).err().map(|error| error.kind)
}

/// `query` as the first arm of a recursive query as the first arm of another, and so on.
fn in_first_arms(levels: usize, query: &str) -> String {
    (0..levels).fold(query.to_owned(), |query, level| {
        format!(
            "WITH RECURSIVE r{level}(a) AS (({query}) UNION ALL SELECT a FROM r{level} WHERE false) \
             SELECT a FROM r{level}"
        )
    })
}

/// The same in the second arms, each of which hands a masked column on that the first arm has not.
fn in_second_arms(levels: usize) -> String {
    (0..levels).fold("SELECT ssn AS a FROM customers".to_owned(), |query, level| {
        format!(
            "WITH RECURSIVE r{level}(a) AS (SELECT name FROM customers UNION ALL \
             (SELECT x.a FROM ({query}) x JOIN r{level} ON x.a = r{level}.a)) SELECT a FROM r{level}"
        )
    })
}

/// The same in the WITH queries of a recursive query, which read it too.
fn in_with_queries(levels: usize) -> String {
    (0..levels).fold("SELECT name AS a FROM customers".to_owned(), |query, level| {
        format!(
            "WITH RECURSIVE r{level}(a) AS (WITH s{level} AS (SELECT a FROM ({query}) UNION ALL SELECT a FROM r{level}) \
             SELECT ssn FROM customers UNION ALL SELECT a FROM s{level}) SELECT a FROM r{level}"
        )
    })
}

#[test]
fn queries_that_read_themselves_inside_of_each_other_are_followed_once_each() {
    for sql in [in_first_arms(20, "SELECT ssn AS a FROM customers"), in_second_arms(10), in_with_queries(10)] {
        let made = governed(&sql, &analyst()).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(made.masked_columns(), ["customers.ssn"], "{sql}");
        assert_eq!(made.masked_outputs(), [0], "{sql}");
    }
}

#[test]
fn calls_inside_of_each_other_are_followed_once_each() {
    let called = |levels: usize| format!("SELECT {}id{} FROM customers", "abs(".repeat(levels), ")".repeat(levels));
    assert_eq!(refusal(&called(40), &analyst()), None);
}

#[test]
fn what_is_sorted_inside_of_what_is_sorted_is_followed_once() {
    let mut denied = Rules::default();
    denied.mask("main", "customers", "ssn", Mask::Denied);
    let sorted =
        |inmost: &str| (0..20).fold(inmost.to_owned(), |query, _| format!("SELECT n FROM ({query}) ORDER BY n"));
    assert_eq!(refusal(&sorted("SELECT name AS n FROM customers ORDER BY id"), &denied), None);
    let by_denied = sorted("SELECT name AS n FROM customers ORDER BY ssn");
    assert!(matches!(refusal(&by_denied, &denied), Some(ErrorKind::DeniedColumn { .. })));
}

#[test]
fn columns_that_double_with_every_query_are_refused() {
    let doubled = |levels: usize| {
        let one = |level: usize| format!("c{level} AS (SELECT *, * FROM c{})", level - 1);
        let queries: Vec<String> = (1..=levels).map(one).collect();
        format!("WITH c0 AS (SELECT id, name FROM customers), {} SELECT count(*) FROM c{levels}", queries.join(", "))
    };
    assert_eq!(refusal(&doubled(20), &analyst()), Some(ErrorKind::TooLarge));
    assert_eq!(refusal(&doubled(8), &analyst()), None);
}

#[test]
fn many_values_of_one_family_are_compared_with_what_holds_them_all() {
    let listed = |last: &str| format!("SELECT id, ARRAY[{}{last}] FROM customers", "1, ".repeat(40_000));
    assert_eq!(care(&listed("2")), ExecutionMode::Leakproof);
    assert_ne!(care(&listed("true")), ExecutionMode::Leakproof);
    let whens = "WHEN 1 THEN 2 ".repeat(20_000);
    assert_eq!(care(&format!("SELECT CASE id {whens} END FROM customers")), ExecutionMode::Leakproof);
}

#[test]
fn many_joins_are_followed_without_copies_of_what_they_join() {
    let natural = "NATURAL JOIN customers ".repeat(300);
    assert_eq!(refusal(&format!("SELECT count(*) FROM customers {natural}"), &analyst()), None);
    let columns: Vec<String> = (0..500).map(|i| format!("{i} AS c{i}")).collect();
    let joined: Vec<String> = (1..200).map(|i| format!("JOIN w w{i} ON w{i}.c0 = w{}.c1", i - 1)).collect();
    let (columns, joined) = (columns.join(", "), joined.join(" "));
    let wide = format!("WITH w AS (SELECT {columns}) SELECT w0.c0 FROM w w0 {joined} JOIN customers ON true");
    assert_eq!(refusal(&wide, &analyst()), None);
}

#[test]
fn very_much_is_refused_before_it_is_looked_at() {
    // each of 3,000 names is looked for among 300,000 columns
    let list = |count: usize, one: &dyn Fn(usize) -> String| (0..count).map(one).collect::<Vec<_>>().join(", ");
    let columns = list(3_000, &|i| format!("{i} AS c{i}"));
    let (names, tables) = (list(3_000, &|i| format!("x{i}")), list(100, &|i| format!("w w{i}")));
    let sql = format!("WITH w AS (SELECT {columns}) SELECT {names} FROM {tables}");
    assert_eq!(refusal(&sql, &analyst()), Some(ErrorKind::TooDeep));
}

#[test]
fn many_tables_are_each_found_by_their_name() {
    let tables: Vec<String> = (0..40_000).map(|i| format!("t{i}")).collect();
    let parsed = crate::parse(&format!("SELECT 1 FROM {}, T7, main.t7", tables.join(", "))).expect("a statement");
    assert_eq!(parsed.tables().len(), 40_001);
    assert_eq!(parsed.tables().first().map(|table| table.name.as_str()), Some("t0"));
}

#[test]
fn a_nested_join_leaves_out_what_both_joins_share() {
    let sql = "SELECT * FROM payroll p JOIN (customers c JOIN orders o USING (region)) USING (customer_id)";
    let made = governed(sql, &analyst()).expect("a query");
    // four of p, then id, name, email, ssn, region, salary
    assert_eq!(made.masked_outputs(), [6, 7, 9]);
}
