mod bounded;
mod calculated;
mod ordered;

use crate::testing::{analyst, engine, governed};
use crate::{ExecutionMode, Rules};

fn masked(sql: &str) -> (String, String) {
    let governed = governed(sql, &analyst()).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let places: Vec<String> = governed.masked_outputs().iter().map(usize::to_string).collect();
    (governed.masked_columns().join(" "), places.join(" "))
}

fn care(sql: &str) -> ExecutionMode {
    governed(sql, &analyst()).unwrap_or_else(|error| panic!("{sql}: {error}")).care()
}

#[test]
fn a_name_in_on_is_the_column_of_a_function_in_from_before_it_is_an_alias() {
    let cases = [
        ("SELECT c.id * 2 AS range FROM (SELECT * FROM range(3)) r JOIN customers c ON range = c.id", "range"),
        (
            "WITH r AS (SELECT * FROM generate_series(1, 3)) SELECT 2 AS generate_series FROM r \
          JOIN customers c ON generate_series = c.id",
            "generate_series",
        ),
        (
            "SELECT c.id * 2 AS fullkey FROM (SELECT * FROM json_each('[1]')) r JOIN customers c ON fullkey = c.name",
            "fullkey",
        ),
        (
            "SELECT o.id + 1 AS value FROM customers c, LATERAL FLATTEN(PARSE_JSON(c.name)) f JOIN orders o ON value = o.note",
            "value",
        ),
        ("SELECT 1 AS x FROM range(3) AS r(x) JOIN customers c ON x = c.id", "x"),
        // nobody knows what a PIVOT answers: the engine does
        (
            "SELECT c.id * 2 AS one FROM (SELECT * FROM orders PIVOT(sum(amount) FOR status IN ('one'))) p \
          JOIN customers c ON one = c.id",
            "one",
        ),
        (
            "SELECT c.id * 2 AS one FROM orders o JOIN customers c ON o.id IN \
          (SELECT one FROM (SELECT * FROM orders PIVOT(sum(amount) FOR status IN ('one'))))",
            "one",
        ),
    ];
    for (sql, column) in cases {
        let made = engine(sql, &Rules::default()).unwrap_or_else(|error| panic!("{sql}: {error}")).sql;
        let condition = made.rsplit_once(" ON ").expect("a condition").1;
        assert!(condition.contains(&format!("\"{column}\"")), "{made}");
        assert!(
            !condition.contains("* 2") && !condition.contains("+ 1)") && !condition.starts_with(['1', '2']),
            "{made}"
        );
    }
    let meant = "SELECT c.id * 2 AS total FROM range(3) r JOIN customers c ON total = r.range";
    let made = engine(meant, &Rules::default()).expect("engine SQL").sql;
    assert!(made.contains(r#"ON ("c"."id" * 2) = "#), "{made}");
}

#[test]
fn what_a_function_in_from_answers_is_counted_and_what_it_hides_is_made_of_its_argument() {
    let every = "customers.email customers.ssn customers.salary";
    let starred = "SELECT * FROM range(2), customers";
    assert_eq!(masked(starred), (every.to_owned(), "3 4 6".to_owned()));
    assert_eq!(masked("SELECT j.json FROM customers c, json_each(c.ssn) j").0, "customers.ssn");
    assert_eq!(
        masked("SELECT j.*, c.ssn FROM customers c, json_each('[1]') j"),
        ("customers.ssn".to_owned(), "8".to_owned())
    );
}

#[test]
fn a_recursive_query_hands_masked_columns_on_in_every_round() {
    let wander = "WITH RECURSIVE r(a, b, c, n) AS (SELECT name, email, ssn, 1 FROM customers UNION ALL \
                  SELECT b, c, c, n + 1 FROM r WHERE n < 5) SELECT a FROM r";
    assert_eq!(masked(wander), ("customers.email customers.ssn".to_owned(), "0".to_owned()));
    let through_another = "WITH RECURSIVE r(a, b) AS (SELECT name, ssn FROM customers UNION ALL \
                           (WITH s AS (SELECT b AS x, a AS y FROM r) SELECT x, y FROM s)) SELECT a FROM r";
    assert_eq!(masked(through_another), ("customers.ssn".to_owned(), "0".to_owned()));
}

#[test]
fn values_of_two_types_in_one_column_can_fail() {
    for sql in [
        "SELECT DATE '2020-01-01' FROM customers UNION ALL SELECT DATE '2020-01-01' + INTERVAL '1' HOUR FROM orders",
        "SELECT id FROM customers UNION ALL SELECT [id] FROM orders",
        "SELECT avg(x.v) FROM customers c, (VALUES (170141183460469231731687303715884105727)) x(v)",
        "SELECT extract(week FROM span) FROM (SELECT id, INTERVAL '1' DAY AS span FROM customers)",
    ] {
        assert_ne!(care(sql), ExecutionMode::Leakproof, "{sql}");
    }
    for sql in [
        "SELECT (SELECT max(c.id) FROM orders) FROM customers c",
        "SELECT (SELECT (SELECT max(id) FROM payroll) FROM orders) FROM customers",
        "SELECT INTERVAL '1.2.3' DAY FROM customers",
    ] {
        assert_ne!(care(sql), ExecutionMode::Leakproof, "{sql}");
    }
    assert_eq!(
        care("SELECT (SELECT max(id) FROM payroll), (SELECT count(*) FROM payroll) FROM customers"),
        ExecutionMode::Leakproof
    );
    let cast_to_the_first = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT c.name FROM customers c JOIN r ON c.id = 1) \
                             SELECT n FROM r";
    assert_eq!(care(cast_to_the_first), ExecutionMode::Materialized);
    for sql in [
        "SELECT name FROM customers UNION ALL SELECT note FROM orders",
        "SELECT id FROM customers UNION ALL SELECT note FROM orders",
        "SELECT id, NULL FROM customers UNION ALL SELECT id, note FROM orders",
        "SELECT avg(amount) FROM orders",
        "WITH RECURSIVE r(n) AS (SELECT id FROM customers UNION ALL SELECT c.id FROM customers c JOIN r ON c.id = r.n) \
         SELECT n FROM r",
    ] {
        assert_eq!(care(sql), ExecutionMode::Leakproof, "{sql}");
    }
}

#[test]
fn a_literal_beyond_what_is_exact_is_of_no_type_that_is_sure() {
    let compared = |literal: &str| care(&format!("SELECT id FROM orders WHERE amount < {literal}"));
    for literal in ["9", "12345.678", "1e3"] {
        assert_eq!(compared(literal), ExecutionMode::Leakproof, "{literal}");
    }
    for literal in [
        "0.0000000000000000000000000000000000001",
        "170141183460469231731687303715884105727",
        "INTERVAL '3 days' YEAR",
        "INTERVAL '.5 day'",
        "base64('\\xZZ')",
    ] {
        assert_ne!(compared(literal), ExecutionMode::Leakproof, "{literal}");
    }
    for span in ["'1 day' SECOND", "'3 days' DAY", "'.5 years'"] {
        assert_ne!(care(&format!("SELECT INTERVAL {span} FROM customers")), ExecutionMode::Leakproof, "{span}");
    }
    assert_eq!(care("SELECT DATE '2000-01-01' + INTERVAL '1' YEAR FROM customers"), ExecutionMode::Leakproof);
    assert_ne!(care("SELECT DATE '2000-01-01' + INTERVAL '9999' CENTURY FROM customers"), ExecutionMode::Leakproof);
}

#[test]
fn a_function_in_from_can_fail_by_what_it_is_given() {
    assert_ne!(care("SELECT r.* FROM customers c, range(0, 10, c.id) r"), ExecutionMode::Leakproof);
    assert_eq!(care("SELECT r.* FROM customers c, range(0, 10, 2) r"), ExecutionMode::Leakproof);
    assert_ne!(care("SELECT id FROM customers LIMIT 1e30"), ExecutionMode::Leakproof);
}

#[test]
fn a_window_whose_end_is_told_by_a_value_can_fail() {
    let framed =
        |end: &str| format!("SELECT count(*) OVER (ORDER BY id RANGE BETWEEN {end} AND CURRENT ROW) FROM customers");
    assert_eq!(care(&framed("UNBOUNDED PRECEDING")), ExecutionMode::Leakproof);
    assert_eq!(care(&framed("3 PRECEDING")), ExecutionMode::Speculative, "the least number has none three before it");
    assert_ne!(care(&framed("3 PRECEDING").replace("RANGE", "ROWS")), ExecutionMode::Speculative);
    assert_eq!(care(&framed("id PRECEDING")), ExecutionMode::Speculative);
    let named =
        "SELECT count(*) OVER w FROM customers WINDOW w AS (ORDER BY id RANGE BETWEEN id PRECEDING AND CURRENT ROW)";
    assert_ne!(care(named), ExecutionMode::Leakproof);
}

#[test]
fn what_follows_the_order_of_joined_rows_is_asked_of_visible_rows_alone() {
    let joined = "FROM customers c JOIN orders o ON c.id = o.customer_id";
    let span = "CASE WHEN c.id = 1 THEN INTERVAL '1 month' ELSE INTERVAL '30 days' END";
    let double = "CASE WHEN c.id = 1 THEN 1e16::DOUBLE ELSE -1e16::DOUBLE END";
    for sql in [
        format!("SELECT seq4(), c.id {joined}"),
        format!("SELECT sum({double}) {joined}"),
        format!("SELECT avg({double}) {joined}"),
        format!("SELECT stddev(c.id) {joined}"),
        format!("SELECT corr(c.id, o.id) {joined}"),
        format!("SELECT max({span}) {joined}"),
        format!("SELECT max(v) FROM (SELECT coalesce({double}, 0) AS v {joined})"),
        format!("SELECT DISTINCT {span} AS span {joined}"),
        format!("SELECT {span} AS span, count(*) {joined} GROUP BY 1"),
        format!("SELECT {span} AS span, count(*) {joined} GROUP BY ALL"),
        format!("SELECT {span} AS span, count(*) {joined} GROUP BY span"),
        format!("SELECT {span} AS span {joined} UNION SELECT {span} AS span {joined}"),
        format!("SELECT max(c.name COLLATE nocase) {joined}"),
        format!("SELECT f.seq FROM (SELECT c.name AS n {joined}) x, LATERAL FLATTEN(x.n) f"),
        "SELECT o.id FROM customers c ASOF JOIN orders o MATCH_CONDITION (c.id >= o.id)".to_owned(),
        "SELECT count(*) FROM customers TABLESAMPLE SYSTEM (50)".to_owned(),
    ] {
        assert_eq!(care(&sql), ExecutionMode::Materialized, "{sql}");
    }
    for sql in [
        format!("SELECT max(c.id), min(c.name), c.region {joined} GROUP BY c.region"),
        format!("SELECT DISTINCT c.name {joined}"),
        format!("SELECT count(*), c.id {joined} GROUP BY 2"),
        format!("SELECT max(coalesce(c.name, o.note)) {joined}"),
    ] {
        assert_ne!(care(&sql), ExecutionMode::Materialized, "{sql}");
    }
}

#[test]
fn what_follows_the_order_of_rows_is_asked_of_the_visible_rows_where_tables_meet() {
    let care = |sql: &str| governed(sql, &analyst()).expect("a statement").care();
    let both = "FROM customers c JOIN orders o ON o.id = c.id";
    for taken in [
        format!("SELECT c.id {both} LIMIT 1"),
        format!("SELECT c.id FROM (SELECT c.id {both} ORDER BY c.region FETCH FIRST 1 ROW ONLY) c"),
        format!("SELECT TOP 1 c.id {both}"),
        format!("SELECT DISTINCT ON (c.region) c.id {both}"),
        format!("SELECT any_value(c.id) {both}"),
        format!("SELECT c.region, mode(c.id) {both} GROUP BY 1"),
        format!("SELECT row_number() OVER (ORDER BY c.region) {both}"),
        format!("SELECT first_value(c.id) OVER (PARTITION BY c.region) {both}"),
        format!("SELECT sum(c.id) OVER (ORDER BY c.region ROWS UNBOUNDED PRECEDING) {both}"),
        format!("SELECT c.id {both} QUALIFY lag(c.id) OVER (ORDER BY c.region) IS NULL"),
        format!("CREATE TABLE t AS SELECT c.id {both} LIMIT 1"),
        "SELECT id FROM customers WHERE id IN (SELECT id FROM orders LIMIT 1)".to_owned(),
    ] {
        assert_eq!(care(&taken), ExecutionMode::Materialized, "{taken}");
    }
    for set in [
        format!("SELECT c.id {both} ORDER BY c.id"),
        format!("SELECT c.id {both} ORDER BY c.region FETCH FIRST 1 ROW ONLY"),
        format!("SELECT c.region, count(*), max(o.id) {both} GROUP BY 1"),
        format!("SELECT rank() OVER (ORDER BY c.region) {both}"),
        format!("SELECT count(*) OVER (PARTITION BY c.region) {both}"),
        "SELECT id FROM customers LIMIT 1".to_owned(),
    ] {
        assert_eq!(care(&set), ExecutionMode::Leakproof, "{set}");
    }
}

/// The engine stops where it has enough, and hidden rows count among those that it has read by then.
#[test]
fn what_can_fail_before_a_limit_is_asked_of_the_visible_rows() {
    let care = |sql: &str| governed(sql, &analyst()).expect("a statement").care();
    for cut in [
        "SELECT id FROM customers WHERE 1 / (id - 5) > 0 LIMIT 1",
        "SELECT TOP 1 id FROM customers WHERE 1 / (id - 5) > 0",
        "SELECT id FROM customers WHERE 1 / (id - 5) > 0 FETCH FIRST 3 ROWS ONLY",
        "SELECT id, 1 / (id - 5) FROM customers ORDER BY id LIMIT 1",
        "SELECT count(*) FROM (SELECT id FROM customers WHERE name::INT > 0 ORDER BY id LIMIT 1)",
        "SELECT id, max(name::INT) m FROM customers GROUP BY id ORDER BY id, m LIMIT 1",
    ] {
        assert_eq!(care(cut), ExecutionMode::Materialized, "{cut}");
    }
    assert_eq!(care("SELECT id FROM customers WHERE 1 / (id - 5) > 0"), ExecutionMode::Speculative);
    assert_eq!(care("SELECT count(1 / (id - 5)) FROM customers LIMIT 1"), ExecutionMode::Speculative);
    assert_eq!(
        care("SELECT id, max(name::INT) m FROM customers GROUP BY id ORDER BY m, id LIMIT 1"),
        ExecutionMode::Speculative
    );
    assert_eq!(care("SELECT id FROM customers WHERE id > 5 ORDER BY id LIMIT 1"), ExecutionMode::Leakproof);
}

#[test]
fn a_key_that_the_answer_does_not_have_decides_nothing() {
    let care = |sql: &str| governed(sql, &analyst()).expect("a statement").care();
    let both = "FROM customers c JOIN orders o ON o.id = c.id";
    for open in [
        format!("SELECT DISTINCT c.region {both} ORDER BY o.id, c.region LIMIT 1"),
        format!("SELECT DISTINCT c.region {both} ORDER BY c.id LIMIT 1"),
        format!(
            "SELECT * FROM (SELECT upper(a) FROM (SELECT o.note a, c.region AS \"upper(a)\" {both}) t ORDER BY \"upper(a)\" LIMIT 1) x"
        ),
    ] {
        assert_eq!(care(&open), ExecutionMode::Materialized, "{open}");
    }
    assert_eq!(care(&format!("SELECT DISTINCT c.region r {both} ORDER BY r LIMIT 1")), ExecutionMode::Leakproof);
}

#[test]
fn errors_of_several_classes_are_told_from_those_of_one() {
    let several =
        |sql: &str| governed(sql, &analyst()).unwrap_or_else(|error| panic!("{sql}: {error}")).fails_in_several_ways();
    for sql in [
        "SELECT id FROM customers",
        "SELECT name::INT FROM customers",
        "SELECT name::INT, region::DATE FROM customers WHERE name::DOUBLE > 1",
        "SELECT 1 / id FROM customers",
    ] {
        assert!(!several(sql), "{sql}");
    }
    for sql in [
        "SELECT name::INT / id FROM customers",
        "SELECT 1 / id, 1 / salary FROM customers",
        "SELECT name::INT FROM customers UNION ALL SELECT to_date(note, 'YYYY-MM-DD')::INT FROM orders",
        "SELECT (SELECT id FROM orders) FROM customers WHERE name::INT > 1",
    ] {
        assert!(several(sql), "{sql}");
    }
}
