use expect_test::expect;

use super::{check, filtered, with};
use crate::testing::{analyst, shown};

#[test]
fn only_visible_rows_are_changed_into_visible_rows() {
    let rules = filtered("iban = '{region}'");
    with(
        &rules,
        "DELETE FROM payroll WHERE bonus > 1",
        &expect![[
            r#"DELETE FROM "raw"."main"."payroll" AS "payroll" WHERE "payroll"."rowid" IN (SELECT "payroll"."_sluice_rowid" FROM (SELECT "payroll"."id", "payroll"."customer_id", "payroll"."iban", "payroll"."bonus", "payroll".rowid AS "_sluice_rowid" FROM "raw"."main"."payroll" AS "payroll" WHERE ("payroll"."iban" = $1)) AS "payroll" WHERE "bonus" > 1)"#
        ]],
    );
    with(
        &rules,
        "UPDATE payroll p SET bonus = bonus + 1 WHERE id = 1",
        &expect![[
            r#"UPDATE "raw"."main"."payroll" AS "p" SET "bonus" = (CAST("_sluice_new"."_sluice_1" AS INTEGER)) FROM (SELECT "p"."_sluice_rowid", "bonus" + 1 AS "_sluice_1" FROM (SELECT "payroll"."id", "payroll"."customer_id", "payroll"."iban", "payroll"."bonus", "payroll".rowid AS "_sluice_rowid" FROM "raw"."main"."payroll" AS "payroll" WHERE ("payroll"."iban" = $1)) AS "p" WHERE "id" = 1) AS "_sluice_new" WHERE "p"."rowid" = "_sluice_new"."_sluice_rowid""#
        ]],
    );
    with(
        &rules,
        "UPDATE payroll SET iban = 'x', bonus = 1",
        &expect![[
            r#"UPDATE "raw"."main"."payroll" AS "payroll" SET "iban" = CASE WHEN ((CAST("_sluice_new"."_sluice_1" AS VARCHAR) COLLATE "binary") = $1) THEN (CAST("_sluice_new"."_sluice_1" AS VARCHAR) COLLATE "binary") ELSE CAST(system.main."error"('sluice: the row does not pass the row filter of its table') AS VARCHAR) END, "bonus" = (CAST("_sluice_new"."_sluice_2" AS INTEGER)) FROM (SELECT "payroll"."_sluice_rowid", 'x' AS "_sluice_1", 1 AS "_sluice_2" FROM (SELECT "payroll"."id", "payroll"."customer_id", "payroll"."iban", "payroll"."bonus", "payroll".rowid AS "_sluice_rowid" FROM "raw"."main"."payroll" AS "payroll" WHERE ("payroll"."iban" = $1)) AS "payroll") AS "_sluice_new" WHERE "payroll"."rowid" = "_sluice_new"."_sluice_rowid""#
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
            r#"INSERT INTO "raw"."main"."payroll" ("id", "iban") SELECT CASE WHEN ((CAST("_sluice_new"."iban" AS VARCHAR) COLLATE "binary") = $1) THEN (CAST("_sluice_new"."id" AS INTEGER)) ELSE CAST(system.main."error"('sluice: the row does not pass the row filter of its table') AS INTEGER) END AS "id", (CAST("_sluice_new"."iban" AS VARCHAR) COLLATE "binary") AS "iban" FROM (VALUES (1, 'EU')) AS "_sluice_new"("id", "iban")"#
        ]],
    );
}

/// Read from a query of ours, values too many would be dropped and those of one column would have to be of one type.
#[test]
fn rows_are_given_as_many_values_as_columns_are_filled() {
    let rules = filtered("iban = '{region}'");
    for sql in [
        "INSERT INTO payroll (id, iban) VALUES (1, 'EU', 3)",
        "INSERT INTO payroll (id, iban) VALUES (1, 'EU'), (2)",
        "INSERT INTO payroll (id, iban) SELECT id, name, region FROM customers",
        "INSERT INTO payroll (id, iban, bonus) SELECT id, name FROM customers",
        "INSERT INTO payroll SELECT * FROM customers",
    ] {
        let refused = shown(sql, &rules);
        assert!(refused.starts_with("Syntax: INSERT fills"), "{sql}: {refused}");
    }
    let given = |sql: &str| {
        let text = shown(sql, &rules);
        text.split_once("FROM (").map(|(_, behind)| behind.to_owned()).unwrap_or(text)
    };
    for (sql, rows) in [
        (
            "INSERT INTO payroll (id, iban, bonus) VALUES (1, 'EU', '5'), (2, 3, 6), (3, NULL, 7)",
            r#"VALUES (1, CAST('EU' AS VARCHAR), CAST('5' AS INTEGER)), (2, CAST(3 AS VARCHAR), CAST(6 AS INTEGER)), (3, CAST(NULL AS VARCHAR), CAST(7 AS INTEGER))) AS "_sluice_new"("id", "iban", "bonus")"#,
        ),
        (
            "INSERT INTO payroll (id, bonus, iban) VALUES (1, DEFAULT, 'EU'), (2, default, 'EU')",
            r#"VALUES (1, 'EU'), (2, 'EU')) AS "_sluice_new"("id", "iban")"#,
        ),
    ] {
        assert_eq!(given(sql), rows, "{sql}");
    }
    for (sql, part) in [
        ("INSERT INTO payroll (id, bonus, iban) VALUES (1, DEFAULT, 'EU'), (2, 3, 'EU')", "DEFAULT beside values"),
        ("INSERT INTO payroll (id, iban) VALUES (1, DEFAULT)", "asks for column iban"),
    ] {
        assert!(given(sql).contains(part), "{sql}: {}", given(sql));
    }
}

#[test]
fn what_comes_back_from_a_write_is_masked() {
    check(
        "DELETE FROM customers RETURNING id, ssn AS s",
        &expect![[
            r#"DELETE FROM "raw"."main"."customers" AS "customers" WHERE "customers"."rowid" IN (SELECT "customers"."_sluice_rowid" FROM (SELECT "customers"."id", "customers"."name", CASE WHEN system.main."length"(CAST("customers"."email" AS VARCHAR)) > 4 THEN system.main."concat"('***', system.main."right"(CAST("customers"."email" AS VARCHAR), 4)) ELSE '***' END AS "email", '***' AS "ssn", "customers"."region", CAST(NULL AS INTEGER) AS "salary", "customers".rowid AS "_sluice_rowid" FROM "raw"."main"."customers" AS "customers" WHERE ("customers"."region" = $1)) AS "customers") RETURNING "id" AS "id", '***' AS "s""#
        ]],
    );
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
        assert!(matches!(error.kind, crate::ast::error::ErrorKind::Ungovernable { .. }), "{sql}: {error}");
    }
}

/// The engine's number of a row tells how many hidden ones lie before it.
#[test]
fn the_number_that_rows_are_found_by_is_reached_by_no_name() {
    let refused = |sql: &str| crate::testing::engine_with_definitions(sql, &analyst()).map(|made| made.sql);
    for sql in [
        "UPDATE customers c SET name = c::VARCHAR",
        "UPDATE customers SET name = struct_extract_at(CUSTOMERS, 7)",
        "UPDATE customers c SET name = (SELECT max(h::VARCHAR) FROM (SELECT c h))",
        "UPDATE customers c SET name = l.v::VARCHAR FROM LATERAL (SELECT c AS v) l",
        "UPDATE customers c SET name = 'x' WHERE hash(\"C\") > 1",
        "UPDATE customers c SET name = (c).name",
        "DELETE FROM customers c WHERE struct_extract_at(c, 7) = 4",
        "DELETE FROM customers c USING (SELECT 1) AS one WHERE to_json(c) IS NULL",
        "DELETE FROM customers WHERE rowid > 1000000",
        "DELETE FROM customers c WHERE c.rowid > 1000000",
        "DELETE FROM customers c WHERE EXISTS (SELECT 1 FROM orders WHERE orders.id = c.rowid)",
    ] {
        assert!(refused(sql).is_err(), "{sql}: {:?}", refused(sql));
    }
    for sql in [
        "UPDATE customers c SET name = c.name || c.region WHERE c.id = 1",
        "DELETE FROM customers c WHERE c.id IN (SELECT o.id FROM orders o)",
    ] {
        assert!(refused(sql).is_ok(), "{sql}: {:?}", refused(sql));
    }
}

#[test]
fn what_comes_back_is_named_by_the_table_that_is_written_to() {
    let made = |sql: &str| crate::testing::engine_with_definitions(sql, &analyst()).map(|made| made.sql);
    for (sql, fits) in [
        ("UPDATE customers SET name = 'x' RETURNING customers.name", true),
        ("UPDATE customers c SET name = 'x' RETURNING C.name, id", true),
        ("UPDATE customers SET name = 'x' RETURNING old.name", false),
        ("DELETE FROM customers RETURNING nonsense.name", false),
        ("INSERT INTO customers (id, region) VALUES (1, 'EU') RETURNING customers.id", true),
        ("INSERT INTO customers (id, region) VALUES (1, 'EU') RETURNING other.id", false),
    ] {
        assert_eq!(made(sql).is_ok(), fits, "{sql}: {:?}", made(sql));
    }
}
