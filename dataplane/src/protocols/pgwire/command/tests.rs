use super::super::lex;
use super::*;

fn command(text: &str) -> Option<PgCommand> {
    read(&lex::split(text).remove(0).tokens)
}

fn set(name: &str, value: &str) -> PgCommand {
    written(name, value, SetValueForm::Text)
}

fn written(name: &str, value: &str, written: SetValueForm) -> PgCommand {
    reaching(name, value, written, SettingScope::Session)
}

fn reaching(name: &str, value: &str, written: SetValueForm, reach: SettingScope) -> PgCommand {
    PgCommand::Set { name: name.to_owned(), value: Some(value.to_owned()), written, reach }
}

fn modes(read_only: Option<bool>, serializable: bool) -> Modes {
    Modes { read_only, serializable }
}

#[test]
fn an_index_is_dropped_with_a_notice_and_nothing_else_is() {
    for sql in ["DROP INDEX i", "drop index concurrently if exists \"main\".\"i\", j cascade"] {
        let Some(PgCommand::OfNothing { tag: "DROP INDEX", notice: Some(notice) }) = command(sql) else {
            panic!("{sql}");
        };
        assert!(notice.starts_with("an index is not kept"), "{notice}");
    }
    for sql in ["DROP TABLE t", "DROP INDEX", "DROP INDEX i ON t"] {
        assert_eq!(command(sql), None, "{sql}");
    }
}

#[test]
fn what_clients_say_is_understood() {
    let cases = [
        ("SET acme_request_id = 'r 1'", set("acme_request_id", "r 1")),
        ("set search_path = branch_1, \"Main\"", set("search_path", "branch_1, Main")),
        ("SET SESSION x.y TO -1.5", written("x.y", "-1.5", SetValueForm::Number)),
        (
            "SET (a, b) = (1, 'x')",
            PgCommand::SetSeveral(vec![
                ("a".to_owned(), "1".to_owned(), SetValueForm::Number),
                ("b".to_owned(), "x".to_owned(), SetValueForm::Text),
            ]),
        ),
        ("SET CONSTRAINTS ALL DEFERRED", PgCommand::OfNothing { tag: "SET CONSTRAINTS", notice: None }),
        ("set constraints main.\"a\", b immediate", PgCommand::OfNothing { tag: "SET CONSTRAINTS", notice: None }),
        ("SET constraints = 5", written("constraints", "5", SetValueForm::Number)),
        ("UNSET a", PgCommand::Unset("a".to_owned())),
        ("SHOW VARIABLES", PgCommand::ShowVariables),
        ("SET TIME ZONE 'UTC'", set("TimeZone", "UTC")),
        ("ALTER SESSION SET TIMEZONE = 'UTC'", set("TimeZone", "UTC")),
        ("USE SCHEMA demo.staging", set("search_path", "staging")),
        ("SET NAMES 'utf8'", set("client_encoding", "utf8")),
        ("SET ROLE admin", written("role", "admin", SetValueForm::Word)),
        (
            "SET extra_float_digits TO DEFAULT",
            PgCommand::Set {
                name: "extra_float_digits".to_owned(),
                value: None,
                written: SetValueForm::Text,
                reach: SettingScope::Session,
            },
        ),
        ("SET LOCAL x = 1", reaching("x", "1", SetValueForm::Number, SettingScope::Transaction)),
        ("set local time zone 'UTC'", reaching("TimeZone", "UTC", SetValueForm::Text, SettingScope::Transaction)),
        ("RESET ALL", PgCommand::ResetAll),
        ("SHOW TRANSACTION ISOLATION LEVEL", PgCommand::Show("transaction_isolation".to_owned())),
        ("show server_version", PgCommand::Show("server_version".to_owned())),
        ("BEGIN", PgCommand::Begin { modes: modes(None, false), tag: "BEGIN" }),
        ("BEGIN READ ONLY", PgCommand::Begin { modes: modes(Some(true), false), tag: "BEGIN" }),
        (
            "START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE",
            PgCommand::Begin { modes: modes(Some(false), false), tag: "START TRANSACTION" },
        ),
        (
            "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE",
            PgCommand::Begin { modes: modes(Some(true), true), tag: "BEGIN" },
        ),
        (
            "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
            PgCommand::Characteristics { modes: modes(None, false), reach: SettingScope::Session },
        ),
        (
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
            PgCommand::Characteristics { modes: modes(None, true), reach: SettingScope::Transaction },
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(command(text), Some(expected), "{text}");
    }
}

#[test]
fn the_ends_of_transactions_and_cursors_are_understood() {
    let cases = [
        ("end work", PgCommand::Commit),
        ("ROLLBACK", PgCommand::Rollback),
        ("rollback to savepoint a", PgCommand::RollbackTo("a".to_owned())),
        ("ROLLBACK WORK TO \"A\"", PgCommand::RollbackTo("A".to_owned())),
        ("savepoint \"a b\"", PgCommand::Savepoint("a b".to_owned())),
        ("release savepoint a", PgCommand::Release("a".to_owned())),
        ("release savepoint", PgCommand::Release("savepoint".to_owned())),
        ("CLOSE ALL", PgCommand::CloseCursor(None)),
        ("UNLISTEN *", PgCommand::Unlisten),
        ("DISCARD ALL", PgCommand::DiscardAll),
        ("DEALLOCATE PREPARE s1", PgCommand::Deallocate(Some("s1".to_owned()))),
        (
            "FETCH FORWARD 100 FROM \"c 1\"",
            PgCommand::Fetch { name: "c 1".to_owned(), count: Count::Rows(100), moves: false },
        ),
        ("fetch all in c", PgCommand::Fetch { name: "c".to_owned(), count: Count::All, moves: false }),
        (
            "DECLARE c CURSOR WITHOUT HOLD FOR SELECT 1",
            PgCommand::Declare { name: "c".to_owned(), hold: false, statement_at: 6 },
        ),
        (
            "declare \"C\" insensitive no scroll cursor with hold for select 1",
            PgCommand::Declare { name: "C".to_owned(), hold: true, statement_at: 9 },
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(command(text), Some(expected), "{text}");
    }
}

#[test]
fn what_asks_for_data_is_not_a_command() {
    for text in [
        "show stages",
        "show file formats",
        "show tables",
        "SELECT 1",
        "SELECT version() FROM t",
        "SELECT current_user, secret FROM t",
        "SELECT version() UNION SELECT secret FROM t",
        "SELECT current_setting((SELECT secret FROM t))",
        "SELECT version(), (SELECT 1)",
        "SELECT other()",
        "SHOW TABLES",
        "SHOW SEQUENCES",
        "SHOW PRIMARY KEYS",
        "SET x = (SELECT 1)",
        "SET x",
        "SET (a, b) = (1)",
        "SET (a) = (select 1)",
        "BEGIN ISOLATION LEVEL CHAOS",
        "SHOW a b",
        "COMMIT AND CHAIN",
        "COPY t TO '/tmp/file'",
        "COPY INTO t FROM @stage",
    ] {
        assert_eq!(command(text), None, "{text}");
    }
}

#[test]
fn a_copy_names_its_parts() {
    let copied = |text: &str| match command(text) {
        Some(PgCommand::Copy(copy)) => (copy.what, copy.direction),
        other => panic!("{text}: {other:?}"),
    };
    let table = |name, columns| CopySubject::Table { name, columns };
    assert_eq!(copied("COPY (select (1)) TO STDOUT"), (CopySubject::Query { from: 2, to: 6 }, Direction::Out));
    assert_eq!(copied("copy t to stdout (format csv)"), (table((1, 2), None), Direction::Out));
    assert_eq!(copied("copy s.\"T\" (a, b) from stdin with csv"), (table((1, 4), Some((5, 8))), Direction::In));
    assert_eq!(command("copy t to stdout (format parquet)"), Some(PgCommand::Refused("COPY with these options")));
}

#[test]
fn functions_of_the_session_keep_their_columns() {
    let text = "SELECT current_setting('jit') AS cur, pg_catalog.set_config('jit', 'off', false) AS new";
    let Some(PgCommand::Select(calls)) = command(text) else { panic!("a select") };
    let names: Vec<_> = calls.iter().map(|call| (call.function, call.column.as_str(), call.arguments.len())).collect();
    assert_eq!(names, [("current_setting", "cur", 1), ("set_config", "new", 3)]);
}
