use crate::ast::error::ErrorKind;
use crate::testing::engine;
use crate::{Rules, parse, resolve};

fn refusal(sql: &str) -> ErrorKind {
    match engine(sql, &Rules::default()) {
        Ok(made) => panic!("{sql} runs: {}", made.sql),
        Err(error) => error.kind,
    }
}

/// Classes of the catalogue of attacks that end here.
#[test]
fn tables_the_engine_keeps_for_itself_do_not_exist() {
    let cases = [
        "SELECT * FROM raw.main.customers",
        "SELECT * FROM RAW.customers",
        "SELECT * FROM memory.main.payroll",
        "SELECT * FROM system.main.x",
        "SELECT * FROM temp.x",
        "SELECT * FROM information_schema.table_privileges",
        "SELECT * FROM other.information_schema.tables",
        "SELECT * FROM pg_catalog.pg_class",
        "SELECT sql FROM sqlite_master",
        "SELECT * FROM duckdb_tables",
        "SELECT * FROM _svc_dirty.changes",
        "SELECT * FROM other.main.customers",
        "FROM 'data.parquet'",
        "FROM 'http://169.254.169.254/latest/meta-data/'",
        "SELECT * FROM \"/etc/passwd\"",
    ];
    for sql in cases {
        assert!(matches!(refusal(sql), ErrorKind::TableNotFound { .. }), "{sql}");
    }
}

#[test]
fn functions_that_look_outside_are_refused() {
    let cases = [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT content FROM read_blob('x')",
        "SELECT * FROM query('SELECT 1')",
        "SELECT * FROM query_table(['customers'])",
        "SELECT * FROM duckdb_settings()",
        "SELECT * FROM glob('/*')",
        "SELECT current_setting('x')",
        "SELECT stats(name) FROM customers",
        "SELECT error(name) FROM customers",
        "SELECT sleep_ms(1)",
        "SELECT nobody_knows_this(1)",
        "SELECT system.main.upper('a')",
        "SELECT id FROM customers ORDER BY getvariable('x')",
        "SELECT id FROM customers WHERE id IN (SELECT current_setting('x'))",
    ];
    for sql in cases {
        let refused = matches!(refusal(sql), ErrorKind::UnsupportedFunction { .. } | ErrorKind::DeniedFunction { .. });
        assert!(refused, "{sql}: {:?}", refusal(sql));
    }
}

#[test]
fn statements_off_the_list_are_refused() {
    let cases = [
        "COPY customers TO '/tmp/x'",
        "COPY (SELECT 1) TO STDOUT",
        "ATTACH ':memory:' AS m",
        "DETACH raw",
        "PRAGMA storage_info('customers')",
        "INSTALL httpfs",
        "LOAD httpfs",
        "CALL truncate_duckdb_logs()",
        "EXPLAIN ANALYZE SELECT * FROM customers",
        "EXPLAIN SELECT read_csv('/etc/passwd')",
        "EXPLAIN SELECT * FROM customers FOR UPDATE SKIP LOCKED",
        "EXPLAIN ANALYZE DELETE FROM customers",
        "CREATE MATERIALIZED VIEW v AS SELECT 1",
        "CREATE TEMPORARY VIEW v AS SELECT 1",
        "CREATE VIEW v AS SELECT * FROM nobody",
        "CREATE VIEW v AS SELECT read_blob('x')",
        "CREATE LOCAL TEMPORARY TABLE t (a INT)",
        "CREATE TEMPORARY SEQUENCE s",
        "CREATE FUNCTION f() RETURNS INT AS '(SELECT 1)'",
        "CREATE FUNCTION f() RETURNS INT AS $$ read_csv('x') $$",
        "SET VARIABLE v = 1",
        "SELECT * FROM customers FOR UPDATE SKIP LOCKED",
        "WITH d AS (DELETE FROM orders RETURNING *) SELECT * FROM d",
        "SELECT ssn INTO x FROM customers",
    ];
    for sql in cases {
        assert!(engine(sql, &Rules::default()).is_err(), "{sql}");
    }
}

/// It would show its readers what they may not see, or write for who only reads.
#[test]
fn a_view_neither_asks_the_catalogue_nor_moves_a_sequence() {
    for sql in [
        "CREATE VIEW v AS SELECT * FROM information_schema.tables",
        "CREATE VIEW v AS SELECT (SELECT max(table_name) FROM information_schema.tables) AS t",
        "CREATE VIEW v AS SELECT nextval('s') AS n",
        "SELECT nextval('raw.main._svc_orders_id')",
        "SELECT currval('_SVC_orders_id')",
    ] {
        assert!(matches!(refusal(sql), ErrorKind::Unsupported { .. }), "{sql}");
    }
}

#[test]
fn what_grows_with_an_argument_is_bounded() {
    for sql in [
        "SELECT repeat('x', 4000000000)",
        "SELECT * FROM range(10000000000)",
        "SELECT * FROM range($1)",
        "SELECT list(range($1))",
    ] {
        assert!(matches!(refusal(sql), ErrorKind::Unsupported { .. }), "{sql}");
    }
    assert!(engine("SELECT * FROM range(10)", &Rules::default()).is_ok());
}

#[test]
fn names_match_without_regard_to_case() {
    for sql in [
        "SELECT * FROM \"PayRoll\"",
        "SELECT * FROM MAIN.payroll",
        "SELECT * FROM Demo.Main.PAYROLL",
        "SELECT * FROM demo.payroll",
    ] {
        let made = engine(sql, &Rules::default()).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(made.tables, ["raw.main.payroll"], "{sql}");
    }
}

#[test]
fn a_missing_table_is_told_where_and_what_may_be_meant() {
    let error = engine("SELECT *\nFROM custmers", &Rules::default()).expect_err("no such table");
    assert_eq!(error.message, "table custmers does not exist; did you mean main.customers?");
    assert_eq!(error.position.map(|position| (position.line, position.column)), Some((2, 6)));
}

#[test]
fn labels_are_the_words_of_the_statement() {
    let made =
        engine("SELECT NVL(note, 'x'), id, count(*) FROM orders GROUP BY ALL", &Rules::default()).expect("engine SQL");
    assert!(made.sql.contains(r#"AS "NVL(note, 'x')", "id", count(*) AS "count(*)""#), "{}", made.sql);
}

#[test]
fn a_subquery_without_a_name_has_its_words_as_label() {
    assert!(
        engine("SELECT (SELECT max(id) FROM customers), EXISTS (SELECT 1 FROM orders) FROM payroll", &Rules::default())
            .is_ok()
    );
}

#[test]
fn facts_need_no_catalog() {
    let statement = parse("WITH a AS (SELECT * FROM s.t) INSERT INTO x SELECT * FROM a, b").map(|s| s.tables().len());
    assert!(statement.is_ok());
    let statement = parse("INSERT INTO x SELECT upper(b.n) FROM a JOIN S.b ON a.i = $3 WHERE a.j IN (SELECT i FROM c)")
        .expect("a statement");
    let tables: Vec<_> = statement.tables().iter().map(|table| table.name.as_str()).collect();
    assert_eq!(tables, ["x", "a", "b", "c"]);
    assert_eq!(statement.parameters(), 3);
    assert!(statement.is_write());
    assert!(statement.functions().contains("upper"));
    assert!(resolve(statement, &crate::Catalog::default(), &crate::SessionNames::new("d")).is_err());
}

#[test]
fn nothing_of_a_literal_is_in_the_log() {
    let sql = "SELECT 'secret', 4711, $$secret$$, INTERVAL '4711 days', DATE '4711-01-01', x'ABCD' FROM t WHERE a IN ('secret') LIMIT 4711 -- secret";
    let redacted = parse(sql).expect("a statement").redacted();
    for hidden in ["secret", "4711", "ABCD"] {
        assert!(!redacted.contains(hidden), "{redacted}");
    }
    assert!(parse("SET x = 'secret'").expect("a statement").redacted().starts_with("SET"));
    assert!(!parse("COPY t TO 'secret'").expect("a statement").redacted().contains("secret"));
}

#[test]
fn a_copy_of_a_file_says_what_to_do_instead_and_repeats_no_literal() {
    for (sql, instead) in [
        ("COPY customers FROM '/tmp/secret'", "COPY … FROM STDIN"),
        ("COPY customers (id) FROM '/tmp/secret' WITH (FORMAT csv, HEADER)", "COPY … FROM STDIN"),
        ("COPY customers FROM PROGRAM 'cat secret'", "COPY … FROM STDIN"),
        ("COPY customers TO '/tmp/secret'", "COPY … TO STDOUT"),
        ("COPY (SELECT 'secret') TO '/tmp/secret'", "COPY … TO STDOUT"),
        ("COPY customers TO STDOUT", "the PostgreSQL wire"),
    ] {
        let statement = parse(sql).expect("a statement");
        assert!(!statement.redacted().contains("secret"), "{sql}");
        let error = resolve(statement, &crate::Catalog::default(), &crate::SessionNames::new("d")).expect_err(sql);
        assert!(matches!(error.kind, ErrorKind::Unsupported { .. }), "{sql}");
        let message = error.to_string();
        assert!(message.contains(instead) && !message.contains("secret"), "{sql}: {message}");
    }
}

/// Paths are `schema.name`: `"a.b".copy` would be taken for what is not there, and no policy could name it.
#[test]
fn a_name_with_a_dot_is_no_name_of_a_table() {
    for sql in [
        "CREATE SCHEMA \"a.b\"",
        "CREATE TABLE \"pay.roll\" (id INTEGER)",
        "CREATE TABLE IF NOT EXISTS \"pay.roll\" (id INTEGER)",
        "CREATE TABLE \"pay.roll\" AS SELECT 1 AS a",
        "CREATE TEMPORARY TABLE \"pay.roll\" (id INTEGER)",
        "CREATE VIEW \"pay.roll\" AS SELECT 1 AS a",
        "ALTER TABLE payroll RENAME TO \"pay.roll\"",
    ] {
        assert_eq!(refusal(sql), ErrorKind::InvalidName, "{sql}");
    }
    let columns = vec![crate::Column::new("id", "INTEGER")];
    let dotted =
        [("a.b", "copy"), ("main", "pay.roll")].map(|(schema, name)| crate::Table::new(schema, name, columns.clone()));
    let catalog = crate::Catalog::new(dotted);
    assert_eq!((catalog.tables().count(), catalog.has_schema("a.b")), (0, false));
    let made = engine("SELECT 1 AS \"a.b\"", &Rules::default());
    assert!(made.is_ok(), "columns may be called so");
}

#[test]
fn schemas_that_mean_something_else_are_not_made() {
    for sql in
        ["CREATE SCHEMA pg_temp", "CREATE SCHEMA PG_toast", "CREATE SCHEMA svc_runtime", "CREATE SCHEMA Svc_Memory"]
    {
        assert!(matches!(refusal(sql), ErrorKind::Unsupported { .. }), "{sql}");
    }
}

#[test]
fn a_schema_that_is_not_there_is_dropped_if_it_exists() {
    let made = engine("DROP SCHEMA IF EXISTS nowhere CASCADE", &Rules::default()).unwrap();
    assert!(made.sql.starts_with("DROP SCHEMA IF EXISTS") && !made.sql.contains("CASCADE"), "{}", made.sql);
    let made = engine("DROP SCHEMA IF EXISTS main CASCADE", &Rules::default()).unwrap();
    assert!(made.sql.ends_with(" CASCADE"), "{}", made.sql);
    assert!(matches!(refusal("DROP SCHEMA nowhere CASCADE"), ErrorKind::TableNotFound { .. }));
    assert!(matches!(refusal("DROP SCHEMA IF EXISTS _svc_memory CASCADE"), ErrorKind::Unsupported { .. }));
}
