//! Expressions that follow the order of rows, over one table.

use super::care;
use crate::ExecutionMode;
use crate::testing::{analyst, engine};

#[test]
fn what_follows_the_order_of_one_tables_rows_is_asked_of_visible_rows_alone() {
    for sql in [
        "SELECT id, 1.5::DOUBLE AS half FROM customers ORDER BY region LIMIT 1",
        "SELECT id FROM (SELECT id FROM customers ORDER BY region LIMIT 1) x",
        "SELECT DISTINCT ON (region) id FROM customers ORDER BY region LIMIT 1",
        "SELECT a.id FROM customers a JOIN customers b ON a.id = b.id LIMIT 1",
        "SELECT arg_min(id, region) FROM customers",
        "SELECT any_value(id) FROM customers",
        "SELECT first(id) FROM customers",
        "SELECT list(id) FROM customers",
        "SELECT listagg(name, ',') FROM customers",
        "SELECT DISTINCT ON (region) id FROM customers",
        "SELECT id, lag(id) OVER (ORDER BY region) FROM customers",
        "SELECT lead(id) OVER (ORDER BY region) FROM customers",
        "SELECT ntile(2) OVER (ORDER BY region) FROM customers",
        "SELECT row_number() OVER (ORDER BY region) FROM customers",
        "SELECT id FROM customers QUALIFY row_number() OVER (PARTITION BY region ORDER BY name) = 1",
        "SELECT sum(CAST(id AS DOUBLE)) FROM customers",
        "SELECT max(name COLLATE nocase) FROM customers",
        "SELECT sum(CASE id WHEN 0 THEN 99999999999999999999999999999999999999 ELSE 0 END) FROM customers",
        "SELECT avg(CAST(id AS DECIMAL(38, 2))) FROM customers",
        "SELECT sum(CAST(id AS HUGEINT)) OVER (PARTITION BY region) FROM customers",
        "SELECT region FROM customers GROUP BY region HAVING sum(CAST(id AS DECIMAL(34, 2))) > 1",
        "SELECT sum(CAST(id AS HUGEINT) * CAST(id AS HUGEINT)) FROM customers",
        "SELECT sum(x) FROM (SELECT CAST(id AS HUGEINT) * 2 AS x FROM customers) y",
        "SELECT sum(CAST(id AS DECIMAL(30, 0)) + 0.0000001) FROM customers",
        "SELECT sum(x) FROM (SELECT id AS x FROM customers UNION ALL SELECT CAST(id AS HUGEINT) FROM orders) y",
        "WITH RECURSIVE r(n) AS (SELECT 1.0 UNION ALL SELECT n * 10 FROM r WHERE n < 100) \
         SELECT sum(n * id) FROM r, customers",
        "SELECT count(*) FROM customers SAMPLE (50)",
        "SELECT count(*) FROM customers TABLESAMPLE SYSTEM (50) SEED (7)",
        "SELECT count(*) FROM (SELECT id FROM customers) x SAMPLE (1 ROWS)",
        "SELECT id FROM (SELECT DISTINCT id FROM customers) LIMIT 1",
        "SELECT id FROM customers UNION ALL SELECT id FROM customers LIMIT 1",
        "WITH q AS (SELECT id FROM customers) SELECT id FROM q LIMIT 1",
    ] {
        assert_eq!(care(sql), ExecutionMode::Materialized, "{sql}");
    }
}

#[test]
fn what_does_not_follow_it_is_asked_once() {
    for sql in [
        "SELECT id FROM customers LIMIT 1",
        "SELECT id, name FROM customers WHERE region = 'EU' LIMIT 10 OFFSET 3",
        "SELECT * FROM (SELECT id, name FROM customers WHERE id = 1) x LIMIT 10",
        "SELECT TOP 3 id FROM customers",
        "SELECT count(*) FROM customers LIMIT 1",
        "SELECT DISTINCT id FROM customers ORDER BY id LIMIT 1",
        "SELECT region, count(*) AS n FROM customers GROUP BY region ORDER BY n DESC, region LIMIT 3",
        "SELECT c.id, c.name FROM customers c ORDER BY c.name, c.id LIMIT 3",
        "SELECT id FROM customers ORDER BY region",
        "SELECT DISTINCT region FROM customers",
        "SELECT max(id), min(name), count(DISTINCT region) FROM customers",
        "SELECT rank() OVER (ORDER BY region) FROM customers",
        "SELECT avg(id) FROM customers",
        "SELECT count(id) OVER (PARTITION BY region) FROM customers",
    ] {
        assert_eq!(care(sql), ExecutionMode::Leakproof, "{sql}");
    }
}

#[test]
fn a_sum_that_stays_in_its_range_follows_no_order() {
    for number in [
        "CASE WHEN region = 'EU' THEN 1 ELSE 0 END",
        "id * 2",
        "id * id + 1",
        "CAST(id AS DECIMAL(15, 2)) * (1 - CAST(id AS DECIMAL(15, 2)))",
        "-(id + 1.5)",
        // of numbers that the engine keeps in 64 bits it makes one of 64 bits
        "CAST(id AS DECIMAL(15, 2)) * (1 - CAST(id AS DECIMAL(15, 2))) * (1 + CAST(id AS DECIMAL(15, 2)))",
    ] {
        for sql in [
            format!("SELECT sum({number}) FROM customers"),
            format!("SELECT sum(CASE WHEN n > 5 THEN n ELSE 0 END) FROM (SELECT {number} AS n FROM customers) x"),
            format!(
                "SELECT sum(n) FROM (SELECT {number} AS n FROM customers UNION ALL SELECT {number} FROM customers) x"
            ),
        ] {
            assert_ne!(care(&sql), ExecutionMode::Materialized, "{sql}");
        }
    }
}

#[test]
fn an_order_that_leaves_ties_is_completed_by_the_columns_of_the_answer() {
    for (sql, order) in [
        ("SELECT id FROM customers ORDER BY region LIMIT 1", "\"region\", 1"),
        ("SELECT id, name FROM customers ORDER BY name DESC LIMIT 1", "\"name\" DESC NULLS FIRST, 1"),
        ("SELECT id AS region, region FROM customers ORDER BY region LIMIT 1", "\"region\", 1, 2"),
        ("SELECT region, count(*) FROM customers GROUP BY region ORDER BY 2 LIMIT 1", "2, 1"),
        ("SELECT DISTINCT id FROM customers LIMIT 1", "1"),
        ("SELECT DISTINCT TOP 1 id FROM customers", "1"),
        ("SELECT id FROM customers GROUP BY id LIMIT 1", "1"),
        ("SELECT * FROM customers ORDER BY name LIMIT 2", "\"name\", 1, 3, 4, 5, 6"),
        ("SELECT a.id FROM customers a JOIN customers b USING (id) ORDER BY b.name LIMIT 2", "\"b\".\"name\", 1"),
    ] {
        assert_eq!(care(sql), ExecutionMode::Leakproof, "{sql}");
        let made = engine(sql, &analyst()).unwrap().sql;
        let found = made.split(" ORDER BY ").last().and_then(|rest| rest.split(" LIMIT ").next());
        assert_eq!(found, Some(order), "{sql}");
    }
}

#[test]
fn an_order_is_completed_for_those_alone_from_whom_rows_are_hidden() {
    let sql = "SELECT id FROM customers ORDER BY region LIMIT 1";
    let made = engine(sql, &crate::Rules::default()).unwrap().sql;
    assert!(made.ends_with("\"region\" LIMIT 1"), "{made}");
}
