use expect_test::{Expect, expect};

use crate::testing::{analyst, engine, filter, governed, shown};
use crate::{Bind, Care, Mask, Rules};

fn check(sql: &str, expect: &Expect) {
    expect.assert_eq(&shown(sql, &analyst()));
}

/// One mask, so that the text stays short.
fn masked(mask: Mask) -> Rules {
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
        &masked(Mask::Full),
        "SELECT iban FROM payroll",
        &expect![[
            r#"SELECT "iban" FROM (SELECT "payroll"."id", "payroll"."customer_id", '***' AS "iban", "payroll"."bonus" FROM "raw"."main"."payroll" AS "payroll") AS "payroll""#
        ]],
    );
    with(
        &masked(Mask::Partial { visible_chars: 4 }),
        "SELECT iban FROM payroll",
        &expect![[
            r#"SELECT "iban" FROM (SELECT "payroll"."id", "payroll"."customer_id", CASE WHEN system.main."length"(CAST("payroll"."iban" AS VARCHAR)) > 4 THEN system.main."concat"('***', system.main."right"(CAST("payroll"."iban" AS VARCHAR), 4)) ELSE '***' END AS "iban", "payroll"."bonus" FROM "raw"."main"."payroll" AS "payroll") AS "payroll""#
        ]],
    );
    with(
        &masked(Mask::Hash),
        "SELECT iban FROM payroll",
        &expect![[
            r#"SELECT "iban" FROM (SELECT "payroll"."id", "payroll"."customer_id", system.main.sluice_mask_hash(CAST("payroll"."iban" AS VARCHAR)) AS "iban", "payroll"."bonus" FROM "raw"."main"."payroll" AS "payroll") AS "payroll""#
        ]],
    );
    with(
        &masked(Mask::Null),
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
            r#"WITH "_with_0" AS (SELECT 7 AS "id") SELECT "p"."id" FROM (SELECT "payroll"."id", "payroll"."customer_id", "payroll"."iban", "payroll"."bonus" FROM "raw"."main"."payroll" AS "payroll" WHERE ("payroll"."customer_id" IN (SELECT "_filter_0"."id" FROM "raw"."main"."customers" AS "_filter_0"))) AS "p", "_with_0" AS "customers""#
        ]],
    );
}

#[test]
fn the_inner_name_of_a_with_query_is_the_table() {
    with(
        &filtered("id > 0"),
        "WITH payroll AS (SELECT id FROM payroll) SELECT * FROM payroll",
        &expect![[
            r#"WITH "_with_0" AS (SELECT "id" FROM (SELECT "payroll"."id", "payroll"."customer_id", "payroll"."iban", "payroll"."bonus" FROM "raw"."main"."payroll" AS "payroll" WHERE ("payroll"."id" > 0)) AS "payroll") SELECT * FROM "_with_0" AS "payroll""#
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
    rules.mask("main", "payroll", "bonus", Mask::Full);
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
            r#"SELECT "_1" AS "id", "_2" AS "customer_id", "_3" AS "iban", coalesce(CAST("_4" AS VARCHAR), '***') AS "bonus" FROM (SELECT * FROM (SELECT "payroll"."id", "payroll"."customer_id", "payroll"."iban", CAST(NULL AS INTEGER) AS "bonus" FROM "raw"."main"."payroll" AS "payroll") AS "payroll") AS "_answer"("_1", "_2", "_3", "_4")"#
        ]],
    );
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
fn an_answer_is_held_back_when_an_error_could_tell_of_hidden_rows() {
    let care = |sql: &str| governed(sql, &analyst()).expect("a statement").care();
    assert_eq!(care("SELECT name::INT FROM customers"), Care::UntilSure);
    assert_eq!(care("SELECT name FROM customers WHERE name = 5"), Care::UntilSure);
    assert_eq!(care("SELECT 1 / id FROM customers"), Care::UntilSure);
    assert_eq!(care("SELECT name FROM customers WHERE id = 5 AND name IN ('a', 'b') ORDER BY id"), Care::Certain);
    assert_eq!(care("SELECT iban::INT FROM payroll"), Care::None, "no row of it is hidden");
    assert_eq!(care("SELECT id FROM customers WHERE id IN (SELECT id FROM orders)"), Care::Certain);
    assert_eq!(care("SELECT id FROM customers WHERE id = (SELECT max(id) FROM orders)"), Care::Certain);
    assert_eq!(care("SELECT (SELECT id FROM orders) FROM customers"), Care::UntilSure, "it may have two rows");
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
        assert_eq!(care(sql), Care::Visible, "{sql}");
    }
    for sql in [
        "SELECT c.name::INT FROM customers c JOIN orders o ON c.id = o.id WHERE o.id > 1",
        "SELECT sum(c.id * 2) AS s FROM customers c, orders o WHERE c.id = o.id GROUP BY c.name ORDER BY s",
        "SELECT n FROM (SELECT c.name::INT AS n FROM customers c JOIN orders o ON c.id = o.id) GROUP BY n",
        "SELECT id FROM customers WHERE name::INT > 1 AND id > 5",
        "WITH x AS (SELECT name::INT AS n FROM customers) SELECT * FROM x WHERE n > 1",
        "SELECT name::INT FROM customers UNION ALL SELECT id FROM orders",
    ] {
        assert_eq!(care(sql), Care::UntilSure, "{sql}");
    }
    let days = "SELECT c.id FROM customers c JOIN orders o ON c.id = o.id \
                WHERE DATE '1995-02-28' < DATE '1995-01-01' + INTERVAL '3' MONTH AND c.id > -1";
    assert_eq!(care(days), Care::Certain, "such days there are");
}

#[test]
fn only_visible_rows_are_changed_into_visible_rows() {
    let rules = filtered("iban = '{region}'");
    with(
        &rules,
        "DELETE FROM payroll WHERE bonus > 1",
        &expect![[
            r#"DELETE FROM "raw"."main"."payroll" AS "payroll" WHERE "payroll"."rowid" IN (SELECT "payroll"."_rowid" FROM (SELECT "payroll"."id", "payroll"."customer_id", "payroll"."iban", "payroll"."bonus", "payroll".rowid AS "_rowid" FROM "raw"."main"."payroll" AS "payroll" WHERE ("payroll"."iban" = $1)) AS "payroll" WHERE "bonus" > 1)"#
        ]],
    );
    with(
        &rules,
        "UPDATE payroll p SET bonus = bonus + 1 WHERE id = 1",
        &expect![[
            r#"UPDATE "raw"."main"."payroll" AS "p" SET "bonus" = (CAST("_new"."_1" AS INTEGER)) FROM (SELECT "p"."_rowid", "bonus" + 1 AS "_1" FROM (SELECT "payroll"."id", "payroll"."customer_id", "payroll"."iban", "payroll"."bonus", "payroll".rowid AS "_rowid" FROM "raw"."main"."payroll" AS "payroll" WHERE ("payroll"."iban" = $1)) AS "p" WHERE "id" = 1) AS "_new" WHERE "p"."rowid" = "_new"."_rowid""#
        ]],
    );
    with(
        &rules,
        "UPDATE payroll SET iban = 'x', bonus = 1",
        &expect![[
            r#"UPDATE "raw"."main"."payroll" AS "payroll" SET "iban" = CASE WHEN ((CAST("_new"."_1" AS VARCHAR) COLLATE "binary") = $1) THEN (CAST("_new"."_1" AS VARCHAR) COLLATE "binary") ELSE CAST(system.main."error"('sluice: the row does not pass the row filter of its table') AS VARCHAR) END, "bonus" = (CAST("_new"."_2" AS INTEGER)) FROM (SELECT "payroll"."_rowid", 'x' AS "_1", 1 AS "_2" FROM (SELECT "payroll"."id", "payroll"."customer_id", "payroll"."iban", "payroll"."bonus", "payroll".rowid AS "_rowid" FROM "raw"."main"."payroll" AS "payroll" WHERE ("payroll"."iban" = $1)) AS "payroll") AS "_new" WHERE "payroll"."rowid" = "_new"."_rowid""#
        ]],
    );
    with(
        &rules,
        "INSERT INTO payroll (id, iban) SELECT id, name FROM orders_of",
        &expect![[
            r#"TableNotFound { schema: None, name: "orders_of", did_you_mean: Some("main.orders") }: table orders_of does not exist; did you mean main.orders?"#
        ]],
    );
    with(
        &rules,
        "INSERT INTO payroll (id, iban) VALUES (1, 'EU')",
        &expect![[
            r#"INSERT INTO "raw"."main"."payroll" ("id", "iban") SELECT CASE WHEN ((CAST("_new"."iban" AS VARCHAR) COLLATE "binary") = $1) THEN (CAST("_new"."id" AS INTEGER)) ELSE CAST(system.main."error"('sluice: the row does not pass the row filter of its table') AS INTEGER) END AS "id", (CAST("_new"."iban" AS VARCHAR) COLLATE "binary") AS "iban" FROM (VALUES (1, 'EU')) AS "_new"("id", "iban")"#
        ]],
    );
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
            "UPDATE customers SET name = customers._rowid::text WHERE id = 1",
            "a column called _rowid on main.customers is not supported while a policy governs the table for you",
        ),
        (
            "DELETE FROM customers WHERE \"_ROWID\" > 3",
            "a column called _rowid on main.customers is not supported while a policy governs the table for you",
        ),
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
fn what_comes_back_from_a_write_is_masked() {
    check(
        "DELETE FROM customers RETURNING id, ssn AS s",
        &expect![[
            r#"DELETE FROM "raw"."main"."customers" AS "customers" WHERE "customers"."rowid" IN (SELECT "customers"."_rowid" FROM (SELECT "customers"."id", "customers"."name", CASE WHEN system.main."length"(CAST("customers"."email" AS VARCHAR)) > 4 THEN system.main."concat"('***', system.main."right"(CAST("customers"."email" AS VARCHAR), 4)) ELSE '***' END AS "email", '***' AS "ssn", "customers"."region", CAST(NULL AS INTEGER) AS "salary", "customers".rowid AS "_rowid" FROM "raw"."main"."customers" AS "customers" WHERE ("customers"."region" = $1)) AS "customers") RETURNING "id" AS "id", '***' AS "s""#
        ]],
    );
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
fn what_passes_no_filter_is_refused_on_a_filtered_table() {
    let cases = [
        "INSERT OVERWRITE INTO customers SELECT * FROM payroll",
        "INSERT ALL INTO customers (id) VALUES (a) SELECT 1 AS a",
        "INSERT FIRST WHEN a > 1 THEN INTO payroll (id) VALUES (a) ELSE INTO customers (id) VALUES (a) SELECT 1 AS a",
    ];
    for sql in cases {
        let error = crate::testing::engine_with_definitions(sql, &analyst()).map(|made| made.sql).unwrap_err();
        assert!(matches!(error.kind, crate::error::Kind::Ungovernable { .. }), "{sql}: {error}");
    }
}

#[test]
fn a_policy_on_a_view_refuses_rather_than_being_passed_over() {
    let mut rules = Rules::default();
    rules.mask("main", "seen", "ssn", Mask::Full);
    let error = crate::testing::engine_with_definitions("SELECT * FROM seen", &rules).map(|made| made.sql).unwrap_err();
    assert!(matches!(error.kind, crate::error::Kind::Ungovernable { .. }), "{error}");
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

/// An agent that may not touch `payroll.iban`.
#[test]
fn a_statement_that_touches_a_denied_column_is_refused() {
    let rules = masked(Mask::Denied);
    for sql in [
        "SELECT iban FROM payroll",
        "SELECT * FROM payroll",
        "SELECT p.* FROM payroll p",
        "SELECT p FROM payroll p",
        "SELECT upper(IBAN) AS x FROM payroll",
        "SELECT id FROM payroll WHERE iban LIKE 'DE%'",
        "SELECT count(*) FROM payroll GROUP BY iban",
        "SELECT id FROM payroll ORDER BY iban",
        "SELECT id, row_number() OVER (ORDER BY iban) AS n FROM payroll",
        "SELECT id FROM payroll QUALIFY row_number() OVER (PARTITION BY iban ORDER BY id) = 1",
        "SELECT count(*) FILTER (WHERE iban IS NULL) FROM payroll",
        "SELECT id FROM payroll WHERE EXISTS (SELECT 1 FROM orders WHERE note = iban)",
        "SELECT a.id FROM payroll a JOIN payroll b USING (iban)",
        "SELECT a.id FROM payroll a NATURAL JOIN payroll b",
        "SELECT a.id FROM payroll a JOIN payroll b ON a.iban = b.iban",
        "WITH p AS (SELECT * FROM payroll) SELECT id FROM p",
        "SELECT id FROM (SELECT id, iban AS i FROM payroll) q",
        "SELECT note FROM orders UNION ALL SELECT iban FROM payroll",
        "EXPLAIN SELECT iban FROM payroll",
        "CREATE TABLE copied AS SELECT iban FROM payroll",
        "INSERT INTO orders (note) SELECT iban FROM payroll",
        "INSERT INTO payroll VALUES (1, 2, 'x', 3)",
        "INSERT INTO payroll (id, iban) VALUES (1, 'x')",
        "INSERT INTO payroll (id) VALUES (1) RETURNING iban",
        "INSERT INTO payroll (id) VALUES (1) RETURNING *",
        "UPDATE payroll SET iban = 'x'",
        "UPDATE payroll SET bonus = 1 WHERE iban = 'x'",
        "UPDATE orders SET note = p.iban FROM payroll p WHERE p.id = orders.id",
        "MERGE INTO orders o USING payroll p ON o.id = p.id WHEN MATCHED THEN UPDATE SET note = p.iban",
        "MERGE INTO orders o USING payroll p ON o.id = p.id WHEN MATCHED AND p.iban = 'x' THEN DELETE",
        "MERGE INTO orders o USING payroll p ON o.id = p.id WHEN NOT MATCHED THEN INSERT (note) VALUES (p.iban)",
        "DELETE FROM payroll WHERE iban = 'x'",
        "DELETE FROM payroll RETURNING iban",
    ] {
        let error = engine(sql, &rules).unwrap_err();
        let denied = crate::error::Kind::DeniedColumn { table: "main.payroll".into(), column: "iban".into() };
        assert_eq!(error.kind, denied, "{sql}: {error}");
    }
}

#[test]
fn what_stays_clear_of_a_denied_column_runs_and_never_has_it() {
    let rules = masked(Mask::Denied);
    for sql in [
        "SELECT id, bonus FROM payroll",
        "SELECT count(*) FROM payroll",
        "SELECT * EXCLUDE (iban) FROM payroll",
        "SELECT a.id FROM payroll a JOIN payroll b USING (id)",
        "INSERT INTO payroll (id, bonus) VALUES (1, 2)",
        "UPDATE payroll SET bonus = 1 WHERE id = 2",
        "DELETE FROM payroll WHERE id = 1 RETURNING id",
    ] {
        let made = engine(sql, &rules).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert!(!made.sql.contains("\"payroll\".\"iban\""), "{sql}: {}", made.sql);
    }
}

#[test]
fn what_follows_the_order_of_rows_is_asked_of_the_visible_rows_where_tables_meet() {
    let care = |sql: &str| governed(sql, &analyst()).expect("a statement").care();
    let both = "FROM customers c JOIN orders o ON o.id = c.id";
    for taken in [
        format!("SELECT c.id {both} LIMIT 1"),
        format!("SELECT c.id {both} ORDER BY c.region FETCH FIRST 1 ROW ONLY"),
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
        assert_eq!(care(&taken), Care::Visible, "{taken}");
    }
    for set in [
        format!("SELECT c.id {both} ORDER BY c.id"),
        format!("SELECT c.region, count(*), max(o.id) {both} GROUP BY 1"),
        format!("SELECT rank() OVER (ORDER BY c.region) {both}"),
        format!("SELECT count(*) OVER (PARTITION BY c.region) {both}"),
        "SELECT id FROM customers LIMIT 1".to_owned(),
    ] {
        assert_eq!(care(&set), Care::Certain, "{set}");
    }
}
