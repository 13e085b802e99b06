use super::masked;
use crate::Mask;
use crate::testing::engine;

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
        let denied = crate::ast::error::ErrorKind::DeniedColumn { table: "main.payroll".into(), column: "iban".into() };
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
