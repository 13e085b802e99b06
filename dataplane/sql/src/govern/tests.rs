mod denied;
mod keys;
mod written;

use contract::policy::MaskFunction;
use expect_test::{Expect, expect};

use crate::testing::{analyst, engine, filter, governed, shown};
use crate::{Bind, ExecutionMode, Mask, Rules};

fn check(sql: &str, expect: &Expect) {
    expect.assert_eq(&shown(sql, &analyst()));
}

/// One mask, so that the text stays short.
fn masked(mask: impl Into<Mask>) -> Rules {
    let mut rules = Rules::default();
    rules.mask("MAIN", "Payroll", "IBAN", mask);
    rules
}

fn filtered(text: &str) -> Rules {
    let mut rules = Rules::default();
    rules.filter("main", "payroll", filter(text));
    rules
}

fn with(rules: &Rules, sql: &str, expect: &Expect) {
    expect.assert_eq(&shown(sql, rules));
}

#[test]
fn a_table_without_rules_is_named_in_full() {
    check("SELECT iban FROM payroll p", &expect![[r#"SELECT "iban" FROM "raw"."main"."payroll" AS "p""#]]);
}

#[test]
fn a_governed_table_is_read_through_its_masks_and_filters() {
    check(
        "SELECT name FROM customers WHERE ssn LIKE '1%'",
        &expect![[
            r#"SELECT "name" FROM (SELECT "customers"."id", "customers"."name", CASE WHEN system.main."length"(CAST("customers"."email" AS VARCHAR)) > 4 THEN system.main."concat"('***', system.main."right"(CAST("customers"."email" AS VARCHAR), 4)) ELSE '***' END AS "email", '***' AS "ssn", "customers"."region", CAST(NULL AS INTEGER) AS "salary" FROM "raw"."main"."customers" AS "customers" WHERE ("customers"."region" = $1)) AS "customers" WHERE "ssn" LIKE '1%'"#
        ]],
    );
}

#[test]
fn each_mask_has_its_text() {
    with(
        &masked(MaskFunction::Full),
        "SELECT iban FROM payroll",
        &expect![[
            r#"SELECT "iban" FROM (SELECT "payroll"."id", "payroll"."customer_id", '***' AS "iban", "payroll"."bonus" FROM "raw"."main"."payroll" AS "payroll") AS "payroll""#
        ]],
    );
    with(
        &masked(Mask::Function { function: MaskFunction::Partial, visible_chars: 4 }),
        "SELECT iban FROM payroll",
        &expect![[
            r#"SELECT "iban" FROM (SELECT "payroll"."id", "payroll"."customer_id", CASE WHEN system.main."length"(CAST("payroll"."iban" AS VARCHAR)) > 4 THEN system.main."concat"('***', system.main."right"(CAST("payroll"."iban" AS VARCHAR), 4)) ELSE '***' END AS "iban", "payroll"."bonus" FROM "raw"."main"."payroll" AS "payroll") AS "payroll""#
        ]],
    );
    with(
        &masked(MaskFunction::Hash),
        "SELECT iban FROM payroll",
        &expect![[
            r#"SELECT "iban" FROM (SELECT "payroll"."id", "payroll"."customer_id", system.main.sluice_mask_hash(CAST("payroll"."iban" AS VARCHAR)) AS "iban", "payroll"."bonus" FROM "raw"."main"."payroll" AS "payroll") AS "payroll""#
        ]],
    );
    with(
        &masked(MaskFunction::Null),
        "SELECT iban FROM payroll",
        &expect![[
            r#"SELECT "iban" FROM (SELECT "payroll"."id", "payroll"."customer_id", CAST(NULL AS VARCHAR) AS "iban", "payroll"."bonus" FROM "raw"."main"."payroll" AS "payroll") AS "payroll""#
        ]],
    );
}

#[test]
fn filters_of_several_policies_all_hold() {
    let mut rules = filtered("bonus > 1 OR bonus < 0");
    rules.filter("main", "payroll", filter("iban = '{region}'"));
    with(
        &rules,
        "SELECT id FROM payroll",
        &expect![[
            r#"SELECT "id" FROM (SELECT "payroll"."id", "payroll"."customer_id", "payroll"."iban", "payroll"."bonus" FROM "raw"."main"."payroll" AS "payroll" WHERE (("payroll"."bonus" > 1) OR ("payroll"."bonus" < 0)) AND ("payroll"."iban" = $1)) AS "payroll""#
        ]],
    );
}

#[test]
fn a_filter_that_asks_for_what_the_caller_lacks_is_false() {
    with(
        &filtered("iban = '{department}'"),
        "SELECT id FROM payroll",
        &expect![[
            r#"SELECT "id" FROM (SELECT "payroll"."id", "payroll"."customer_id", "payroll"."iban", "payroll"."bonus" FROM "raw"."main"."payroll" AS "payroll" WHERE (FALSE)) AS "payroll""#
        ]],
    );
}

#[test]
fn a_with_query_named_as_a_table_captures_nothing() {
    let rules = filtered("customer_id IN (SELECT id FROM customers)");
    with(
        &rules,
        "WITH customers AS (SELECT 7 AS id) SELECT p.id FROM payroll p, customers",
        &expect![[
            r#"WITH "_sluice_with_0" AS (SELECT 7 AS "id") SELECT "p"."id" FROM (SELECT "payroll"."id", "payroll"."customer_id", "payroll"."iban", "payroll"."bonus" FROM "raw"."main"."payroll" AS "payroll" WHERE ("payroll"."customer_id" IN (SELECT "_sluice_filter_0"."id" FROM "raw"."main"."customers" AS "_sluice_filter_0"))) AS "p", "_sluice_with_0" AS "customers""#
        ]],
    );
}

#[test]
fn the_inner_name_of_a_with_query_is_the_table() {
    with(
        &filtered("id > 0"),
        "WITH payroll AS (SELECT id FROM payroll) SELECT * FROM payroll",
        &expect![[
            r#"WITH "_sluice_with_0" AS (SELECT "id" FROM (SELECT "payroll"."id", "payroll"."customer_id", "payroll"."iban", "payroll"."bonus" FROM "raw"."main"."payroll" AS "payroll" WHERE ("payroll"."id" > 0)) AS "payroll") SELECT * FROM "_sluice_with_0" AS "payroll""#
        ]],
    );
}

#[test]
fn values_are_bound_and_numbered_once() {
    let made =
        engine("SELECT id FROM customers WHERE id = $2 AND name = $1 AND id <> $2", &analyst()).expect("engine SQL");
    assert_eq!(made.binds, [Bind::Text("EU".to_owned()), Bind::Caller(2), Bind::Caller(1)]);
    assert!(made.sql.ends_with(r#"WHERE ("id" = $2) AND ("name" = $3) AND ("id" <> $2)"#), "{}", made.sql);
}

/// A masked number is a typed NULL inside and text in the answer.
#[test]
fn a_masked_number_is_text_in_the_answer() {
    let mut rules = Rules::default();
    rules.mask("main", "payroll", "bonus", MaskFunction::Full);
    with(
        &rules,
        "SELECT id, bonus FROM payroll",
        &expect![[
            r#"SELECT "id", coalesce(CAST("bonus" AS VARCHAR), '***') AS "bonus" FROM (SELECT "payroll"."id", "payroll"."customer_id", "payroll"."iban", CAST(NULL AS INTEGER) AS "bonus" FROM "raw"."main"."payroll" AS "payroll") AS "payroll""#
        ]],
    );
    with(
        &rules,
        "SELECT max(bonus) AS m FROM payroll",
        &expect![[
            r#"SELECT coalesce(CAST(max("bonus") AS VARCHAR), '***') AS "m" FROM (SELECT "payroll"."id", "payroll"."customer_id", "payroll"."iban", CAST(NULL AS INTEGER) AS "bonus" FROM "raw"."main"."payroll" AS "payroll") AS "payroll""#
        ]],
    );
    with(
        &rules,
        "SELECT * FROM payroll",
        &expect![[
            r#"SELECT "_sluice_1" AS "id", "_sluice_2" AS "customer_id", "_sluice_3" AS "iban", coalesce(CAST("_sluice_4" AS VARCHAR), '***') AS "bonus" FROM (SELECT * FROM (SELECT "payroll"."id", "payroll"."customer_id", "payroll"."iban", CAST(NULL AS INTEGER) AS "bonus" FROM "raw"."main"."payroll" AS "payroll") AS "payroll") AS "_sluice_answer"("_sluice_1", "_sluice_2", "_sluice_3", "_sluice_4")"#
        ]],
    );
    with(
        &rules,
        "SELECT * ILIKE '%S' FROM payroll",
        &expect![[
            r#"SELECT coalesce(CAST("_sluice_1" AS VARCHAR), '***') AS "bonus" FROM (SELECT * ILIKE '%S' FROM (SELECT "payroll"."id", "payroll"."customer_id", "payroll"."iban", CAST(NULL AS INTEGER) AS "bonus" FROM "raw"."main"."payroll" AS "payroll") AS "payroll") AS "_sluice_answer"("_sluice_1")"#
        ]],
    );
}

#[test]
fn a_masked_number_that_is_named_again_becomes_text_around_the_query() {
    let around = |sql: &str| engine(sql, &analyst()).expect(sql).sql.contains(crate::ast::names::ours::ANSWER);
    for sql in [
        "SELECT salary AS s FROM customers WHERE s IS NULL",
        "SELECT max(salary) AS m FROM customers HAVING m IS NULL",
        "SELECT salary AS s, s + 1 AS t FROM customers",
        "SELECT salary AS s FROM customers ORDER BY abs(s)",
        "SELECT salary FROM customers ORDER BY 1",
    ] {
        assert!(around(sql), "{sql}");
    }
    for sql in ["SELECT salary AS s, id FROM customers WHERE id = 1 ORDER BY id", "SELECT salary FROM customers"] {
        assert!(!around(sql), "{sql}");
    }
}

#[test]
fn masked_columns_are_found_through_every_way_round() {
    let cases = [
        ("SELECT name FROM customers WHERE ssn = '1'", "", ""),
        ("SELECT ssn AS name, name AS ssn FROM customers", "customers.ssn", "0"),
        ("SELECT upper(ssn) FROM customers", "customers.ssn", ""),
        ("SELECT v FROM (SELECT ssn AS v FROM customers) t", "customers.ssn", "0"),
        ("WITH a(x) AS (SELECT ssn FROM customers) SELECT x FROM a", "customers.ssn", "0"),
        ("SELECT 'a' UNION ALL SELECT ssn FROM customers", "customers.ssn", "0"),
        ("SELECT (SELECT max(ssn) FROM customers) AS s", "customers.ssn", ""),
        ("SELECT c FROM customers c", "customers.email customers.ssn customers.salary", ""),
        ("SELECT to_json(c) FROM customers c", "customers.email customers.ssn customers.salary", ""),
        ("SELECT unnest([ssn]) FROM customers", "customers.ssn", ""),
        ("SELECT * EXCLUDE (ssn, email) FROM customers", "customers.salary", "3"),
        (
            "SELECT c.* FROM orders o JOIN customers c USING (id)",
            "customers.email customers.ssn customers.salary",
            "2 3 5",
        ),
        ("SELECT x.s FROM customers c, LATERAL (SELECT c.ssn AS s) x", "customers.ssn", "0"),
        ("SELECT avg(salary) FROM customers", "customers.salary", "0"),
        ("SELECT count(*) FROM customers", "", ""),
        ("FROM customers SELECT email", "customers.email", "0"),
    ];
    for (sql, columns, outputs) in cases {
        let governed = governed(sql, &analyst()).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(governed.masked_columns().join(" "), columns, "{sql}");
        let places: Vec<String> = governed.masked_outputs().iter().map(usize::to_string).collect();
        assert_eq!(places.join(" "), outputs, "{sql}");
    }
}

#[test]
fn masked_columns_that_conditions_compare_are_found_wherever_they_stand() {
    let cases = [
        ("SELECT name FROM customers WHERE ssn = '1'", "customers.ssn"),
        ("SELECT ssn FROM customers WHERE id = 1", ""),
        ("SELECT count(*) FROM customers WHERE id = 1 AND (name = 'x' OR upper(email) LIKE 'A%')", "customers.email"),
        ("SELECT region FROM customers GROUP BY region HAVING max(salary) > '1'", "customers.salary"),
        ("SELECT id FROM customers QUALIFY row_number() OVER (ORDER BY ssn) = 1", "customers.ssn"),
        ("SELECT a.id FROM customers a JOIN customers b ON a.ssn = b.email", "customers.ssn customers.email"),
        ("SELECT a.id FROM customers a JOIN customers b USING (ssn)", "customers.ssn"),
        ("SELECT id FROM orders WHERE id IN (SELECT id FROM customers WHERE ssn = '1')", "customers.ssn"),
        (
            "SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM customers c WHERE c.email = o.region)",
            "customers.email",
        ),
        ("SELECT v FROM (SELECT ssn AS v, id FROM customers) t WHERE v = 'x'", "customers.ssn"),
        ("WITH a(x) AS (SELECT ssn FROM customers) SELECT count(*) FROM a WHERE x = '1'", "customers.ssn"),
        ("SELECT id FROM (SELECT * FROM customers) t", ""),
    ];
    for (sql, columns) in cases {
        let governed = governed(sql, &analyst()).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(governed.masked_conditions().join(" "), columns, "{sql}");
    }
}

#[test]
fn an_answer_is_held_back_when_an_error_could_tell_of_hidden_rows() {
    let care = |sql: &str| governed(sql, &analyst()).expect("a statement").care();
    assert_eq!(care("SELECT name::INT FROM customers"), ExecutionMode::Speculative);
    assert_eq!(care("SELECT name FROM customers WHERE name = 5"), ExecutionMode::Speculative);
    assert_eq!(care("SELECT 1 / id FROM customers"), ExecutionMode::Speculative);
    assert_eq!(
        care("SELECT name FROM customers WHERE id = 5 AND name IN ('a', 'b') ORDER BY id"),
        ExecutionMode::Leakproof
    );
    assert_eq!(care("SELECT iban::INT FROM payroll"), ExecutionMode::Direct, "no row of it is hidden");
    assert_eq!(care("SELECT id FROM customers WHERE id IN (SELECT id FROM orders)"), ExecutionMode::Leakproof);
    assert_eq!(care("SELECT id FROM customers WHERE id = (SELECT max(id) FROM orders)"), ExecutionMode::Leakproof);
    assert_eq!(
        care("SELECT (SELECT id FROM orders) FROM customers"),
        ExecutionMode::Speculative,
        "it may have two rows"
    );
}

#[test]
fn under_a_strict_filter_every_statement_is_asked_of_visible_rows_alone() {
    let mut rules = filtered("bonus > 1");
    rules.strictly("main", "payroll");
    let care = |sql: &str| governed(sql, &rules).expect("a statement").care();
    assert_eq!(care("SELECT id FROM payroll"), ExecutionMode::Materialized);
    assert_eq!(
        care("SELECT c.id FROM customers c WHERE c.id IN (SELECT p.id FROM payroll p)"),
        ExecutionMode::Materialized
    );
    assert_eq!(care("UPDATE payroll SET bonus = 3 WHERE id = 1"), ExecutionMode::Materialized);
    assert_eq!(care("SELECT id FROM customers"), ExecutionMode::Direct, "no strict filter hides rows of it");
}

#[test]
fn what_is_stored_in_another_order_than_its_tables_is_asked_of_visible_rows_alone() {
    let care = |sql: &str| governed(sql, &analyst()).expect("a statement").care();
    for sql in [
        "CREATE TABLE made AS SELECT DISTINCT region FROM customers",
        "CREATE TABLE made AS SELECT region, count(*) n FROM customers GROUP BY region",
        "CREATE TABLE made AS SELECT id, row_number() OVER (ORDER BY region) n FROM customers",
        "CREATE TABLE made AS SELECT id FROM customers UNION ALL SELECT id FROM orders",
        "CREATE TABLE made AS SELECT * FROM (SELECT DISTINCT region FROM customers)",
        "INSERT INTO payroll (iban) SELECT DISTINCT region FROM customers",
    ] {
        assert_eq!(care(sql), ExecutionMode::Materialized, "{sql}");
    }
    assert_eq!(care("CREATE TABLE made AS SELECT id, region FROM customers WHERE id > 1"), ExecutionMode::Leakproof);
    for sql in [
        "INSERT INTO payroll (id, iban) SELECT id, region FROM customers",
        "INSERT INTO orders (id, region) VALUES (1, 'EU')",
    ] {
        assert_eq!(care(sql), ExecutionMode::Speculative, "{sql}");
    }
}

#[test]
fn what_fails_by_the_engines_plan_is_asked_of_visible_rows_alone() {
    let care = |sql: &str| governed(sql, &analyst()).expect("a statement").care();
    for sql in [
        "SELECT c.id FROM customers c JOIN orders o ON c.name::INT = o.id",
        "SELECT c.id FROM customers c, orders o WHERE c.name::INT = 1 AND o.id = 2",
        "SELECT id FROM customers WHERE name::INT = 1 AND EXISTS (SELECT 1 FROM orders)",
        "SELECT id FROM customers WHERE name IN (SELECT id FROM orders)",
        "SELECT id FROM customers WHERE id = (SELECT id FROM orders)",
        "SELECT x.n FROM (SELECT name::INT AS n FROM customers) x JOIN orders o ON o.id = x.n",
        "SELECT n FROM (SELECT c.name::INT AS n FROM customers c JOIN orders o ON c.id = o.id) WHERE n > 1",
        "SELECT c.name::INT AS n FROM customers c JOIN orders o ON c.id = o.id WHERE n > 1",
        "SELECT c.name::INT AS n FROM customers c JOIN orders o ON c.id = o.id QUALIFY row_number() OVER (ORDER BY n) = 1",
        "WITH x AS (SELECT name::INT AS n FROM customers) SELECT * FROM x JOIN orders o ON o.id = x.n",
        "SELECT name::INT FROM customers EXCEPT SELECT id FROM orders",
        "SELECT c.id FROM customers c JOIN orders o ON c.id = o.id GROUP BY c.id, c.name HAVING c.name::INT > 1",
    ] {
        assert_eq!(care(sql), ExecutionMode::Materialized, "{sql}");
    }
    for sql in [
        "SELECT c.name::INT FROM customers c JOIN orders o ON c.id = o.id WHERE o.id > 1",
        "SELECT sum(c.id * 2) AS s FROM customers c, orders o WHERE c.id = o.id GROUP BY c.name ORDER BY s",
        "SELECT n FROM (SELECT c.name::INT AS n FROM customers c JOIN orders o ON c.id = o.id) GROUP BY n",
        "SELECT id FROM customers WHERE name::INT > 1 AND id > 5",
        "WITH x AS (SELECT name::INT AS n FROM customers) SELECT * FROM x WHERE n > 1",
        "SELECT name::INT FROM customers UNION ALL SELECT id FROM orders",
    ] {
        assert_eq!(care(sql), ExecutionMode::Speculative, "{sql}");
    }
    let days = "SELECT c.id FROM customers c JOIN orders o ON c.id = o.id \
                WHERE DATE '1995-02-28' < DATE '1995-01-01' + INTERVAL '3' MONTH AND c.id > -1";
    assert_eq!(care(days), ExecutionMode::Leakproof, "such days there are");
}

#[test]
fn what_cannot_be_governed_is_refused() {
    let cases = [
        ("UPDATE customers SET ssn = 'x'", "column ssn of main.customers is masked for you: it cannot be set"),
        ("INSERT INTO customers (id) VALUES (1)", "a row filter of main.customers asks for column region: set it"),
        ("TRUNCATE customers", "TRUNCATE on main.customers is not supported while a policy governs the table for you"),
        (
            "DELETE FROM customers RETURNING upper(ssn)",
            "RETURNING of an expression on main.customers is not supported while a policy governs the table for you",
        ),
        (
            "DELETE FROM customers RETURNING customers",
            "RETURNING of an expression on main.customers is not supported while a policy governs the table for you",
        ),
        (
            "UPDATE customers SET name = customers._sluice_rowid::text WHERE id = 1",
            "the name _sluice_rowid begins as only ours do",
        ),
        ("DELETE FROM customers WHERE \"_SLUICE_ROWID\" > 3", "the name _SLUICE_ROWID begins as only ours do"),
        (
            "MERGE INTO customers USING orders o ON customers.id = o.id WHEN MATCHED THEN DELETE",
            "MERGE on main.customers is not supported while a policy governs the table for you",
        ),
        (
            "INSERT INTO customers VALUES (1, 'n', 'e', 's', 'EU', 1) ON CONFLICT (id) DO UPDATE SET name = ssn",
            "ON CONFLICT DO UPDATE on main.customers is not supported while a policy governs the table for you",
        ),
    ];
    for (sql, message) in cases {
        let error = engine(sql, &analyst()).expect_err(sql);
        assert_eq!(error.message, message, "{sql}");
    }
}

/// The engine would read `POSITIONAL` as a join of its own, we as an alias.
#[test]
fn a_join_of_the_engines_own_without_a_condition_is_refused() {
    for join in ["POSITIONAL JOIN", "positional LEFT JOIN", "SEMI JOIN"] {
        let sql = format!("SELECT 1 FROM customers {join} orders");
        let error = engine(&sql, &analyst()).expect_err(&sql);
        assert_eq!(error.message, "JOIN without a condition is not supported", "{sql}");
    }
    for join in ["CROSS JOIN", "JOIN", "LEFT JOIN", "AS positional JOIN"] {
        engine(&format!("SELECT 1 FROM customers {join} orders"), &analyst()).expect(join);
    }
}

#[test]
fn the_log_shows_the_governed_statement() {
    let governed = governed("SELECT id FROM payroll", &filtered("iban = {region}")).expect("a statement");
    expect![[r#"SELECT id FROM (SELECT "payroll"."id", "payroll"."customer_id", "payroll"."iban", "payroll"."bonus" FROM "raw"."main"."payroll" AS "payroll" WHERE ("payroll"."iban" = 'EU')) AS payroll"#]].assert_eq(&governed.text().expect("text"));
}

/// Statements and constructs that read `customers` by other ways than a plain FROM.
const DETOURS: &[&str] = &[
    "SELECT id, LEVEL FROM customers START WITH id = 1 CONNECT BY PRIOR id = id - 1",
    "SELECT o.id, c.ssn FROM orders o, customers c WHERE o.customer_id = c.id (+)",
    "SELECT o.id, c.ssn FROM orders o ASOF JOIN customers c MATCH_CONDITION (o.id >= c.id)",
    "SELECT CONDITIONAL_CHANGE_EVENT(ssn) OVER (ORDER BY id) FROM customers WHERE id > 0",
    "SELECT * FROM customers, LATERAL FLATTEN(INPUT => SPLIT(email, '@')) f",
    "SELECT f.seq FROM customers c, LATERAL SPLIT_TO_TABLE(c.ssn, '-') f",
    "SELECT * FROM customers PIVOT (count(id) FOR region IN ('EU', 'US'))",
    "SELECT * FROM customers UNPIVOT (v FOR k IN (name, ssn))",
    "SELECT TOP 1 ssn FROM customers",
    "SELECT TRANSFORM(ARRAY_AGG(ssn), x -> UPPER(x::VARCHAR)) FROM customers",
    "SELECT * FROM seen",
    "SELECT s.one FROM seen_twice s WHERE s.one LIKE '1%'",
    "WITH customers AS (SELECT 1 AS id) SELECT * FROM customers, seen",
    "SELECT plus_one((SELECT max(salary) FROM customers))",
    "CREATE TABLE copy CLONE customers",
    "CREATE TABLE copy LIKE customers",
    "INSERT OVERWRITE INTO payroll (iban) SELECT ssn FROM customers",
    "INSERT ALL INTO payroll (iban) VALUES (s) SELECT ssn AS s FROM customers",
    "INSERT ALL WHEN (SELECT count(*) FROM customers) > 0 THEN INTO payroll (id) VALUES (a) SELECT 1 AS a",
];

#[test]
fn no_detour_reads_a_governed_table_raw() {
    let rules = analyst();
    for sql in DETOURS {
        let made =
            crate::testing::engine_with_definitions(sql, &rules).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let texts = made.before.iter().map(|step| &step.sql).chain([&made.sql]);
        let all: String = texts.map(String::as_str).collect::<Vec<_>>().join("\n");
        let reads = all.matches(r#""raw"."main"."customers""#).count();
        let governed =
            all.matches(r#" FROM "raw"."main"."customers" AS "customers" WHERE ("customers"."region" = $"#).count();
        assert!(reads > 0 && reads == governed, "{sql}\n{all}");
        assert!(!all.contains(r#""customers"."ssn" FROM"#) && all.contains("'***' AS \"ssn\""), "{sql}\n{all}");
    }
}

#[test]
fn a_policy_on_a_view_refuses_rather_than_being_passed_over() {
    let mut rules = Rules::default();
    rules.mask("main", "seen", "ssn", MaskFunction::Full);
    let error = crate::testing::engine_with_definitions("SELECT * FROM seen", &rules).map(|made| made.sql).unwrap_err();
    assert!(matches!(error.kind, crate::ast::error::ErrorKind::Ungovernable { .. }), "{error}");
}

#[test]
fn a_definition_holds_no_value_of_who_made_it() {
    let made =
        crate::testing::engine_with_definitions("CREATE VIEW v AS SELECT ssn FROM customers", &analyst()).unwrap();
    let view = made.before.first().unwrap();
    assert!(view.binds.is_empty() && !view.sql.contains("***"), "{}", view.sql);
}

#[test]
fn explain_tells_what_is_governed_and_nothing_of_the_rules() {
    let shown = shown("EXPLAIN SELECT ssn FROM customers", &analyst());
    assert!(shown.contains("'main.customers'") && shown.contains("'filtered'"), "{shown}");
    assert!(!shown.contains("region") && !shown.contains("EU"), "{shown}");
}

#[test]
fn the_values_of_a_pivot_are_asked_of_the_governed_table() {
    let sql = "SELECT * FROM customers PIVOT (count(id) FOR region IN (ANY ORDER BY region))";
    let governed = governed(sql, &analyst()).unwrap();
    let asked = crate::transpile(governed.pivot().unwrap().unwrap()).unwrap();
    assert!(asked.sql.contains(r#"WHERE ("customers"."region" = $1)"#), "{}", asked.sql);
    let made = crate::transpile(governed.pivoted(&["EU".to_owned(), "it's".to_owned()]).unwrap()).unwrap();
    assert!(made.sql.contains(r#"IN ('EU' AS "'EU'", 'it''s' AS "'it's'")"#), "{}", made.sql);
}
