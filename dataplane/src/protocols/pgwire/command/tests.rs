use super::super::lex;
use super::*;

fn command(text: &str) -> Option<Command> {
    read(&lex::split(text).remove(0).tokens)
}

fn set(name: &str, value: &str) -> Command {
    written(name, value, Written::Text)
}

fn written(name: &str, value: &str, written: Written) -> Command {
    reaching(name, value, written, Reach::Session)
}

fn reaching(name: &str, value: &str, written: Written, reach: Reach) -> Command {
    Command::Set { name: name.to_owned(), value: Some(value.to_owned()), written, reach }
}

fn modes(read_only: Option<bool>, serializable: bool) -> Modes {
    Modes { read_only, serializable }
}

#[test]
fn what_clients_say_is_understood() {
    let cases = [
        ("SET acme_request_id = 'r 1'", set("acme_request_id", "r 1")),
        ("set search_path = branch_1, \"Main\"", set("search_path", "branch_1, Main")),
        ("SET SESSION x.y TO -1.5", written("x.y", "-1.5", Written::Number)),
        (
            "SET (a, b) = (1, 'x')",
            Command::SetSeveral(vec![
                ("a".to_owned(), "1".to_owned(), Written::Number),
                ("b".to_owned(), "x".to_owned(), Written::Text),
            ]),
        ),
        ("UNSET a", Command::Unset("a".to_owned())),
        ("SHOW VARIABLES", Command::ShowVariables),
        ("SET TIME ZONE 'UTC'", set("TimeZone", "UTC")),
        ("ALTER SESSION SET TIMEZONE = 'UTC'", set("TimeZone", "UTC")),
        ("USE SCHEMA demo.staging", set("search_path", "staging")),
        ("SET NAMES 'utf8'", set("client_encoding", "utf8")),
        ("SET ROLE admin", written("role", "admin", Written::Word)),
        (
            "SET extra_float_digits TO DEFAULT",
            Command::Set {
                name: "extra_float_digits".to_owned(),
                value: None,
                written: Written::Text,
                reach: Reach::Session,
            },
        ),
        ("SET LOCAL x = 1", reaching("x", "1", Written::Number, Reach::Transaction)),
        ("set local time zone 'UTC'", reaching("TimeZone", "UTC", Written::Text, Reach::Transaction)),
        ("RESET ALL", Command::ResetAll),
        ("SHOW TRANSACTION ISOLATION LEVEL", Command::Show("transaction_isolation".to_owned())),
        ("show server_version", Command::Show("server_version".to_owned())),
        ("BEGIN", Command::Begin { modes: modes(None, false), tag: "BEGIN" }),
        ("BEGIN READ ONLY", Command::Begin { modes: modes(Some(true), false), tag: "BEGIN" }),
        (
            "START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE",
            Command::Begin { modes: modes(Some(false), false), tag: "START TRANSACTION" },
        ),
        (
            "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE",
            Command::Begin { modes: modes(Some(true), true), tag: "BEGIN" },
        ),
        (
            "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
            Command::Characteristics { modes: modes(None, false), reach: Reach::Session },
        ),
        (
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
            Command::Characteristics { modes: modes(None, true), reach: Reach::Transaction },
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(command(text), Some(expected), "{text}");
    }
}

#[test]
fn the_ends_of_transactions_and_cursors_are_understood() {
    let cases = [
        ("end work", Command::Commit),
        ("ROLLBACK", Command::Rollback),
        ("rollback to savepoint a", Command::RollbackTo("a".to_owned())),
        ("ROLLBACK WORK TO \"A\"", Command::RollbackTo("A".to_owned())),
        ("savepoint \"a b\"", Command::Savepoint("a b".to_owned())),
        ("release savepoint a", Command::Release("a".to_owned())),
        ("release savepoint", Command::Release("savepoint".to_owned())),
        ("CLOSE ALL", Command::CloseCursor(None)),
        ("UNLISTEN *", Command::Unlisten),
        ("DISCARD ALL", Command::DiscardAll),
        ("DEALLOCATE PREPARE s1", Command::Deallocate(Some("s1".to_owned()))),
        (
            "FETCH FORWARD 100 FROM \"c 1\"",
            Command::Fetch { name: "c 1".to_owned(), count: Count::Rows(100), moves: false },
        ),
        ("fetch all in c", Command::Fetch { name: "c".to_owned(), count: Count::All, moves: false }),
        (
            "DECLARE c CURSOR WITHOUT HOLD FOR SELECT 1",
            Command::Declare { name: "c".to_owned(), hold: false, statement_at: 6 },
        ),
        (
            "declare \"C\" insensitive no scroll cursor with hold for select 1",
            Command::Declare { name: "C".to_owned(), hold: true, statement_at: 9 },
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(command(text), Some(expected), "{text}");
    }
}

#[test]
fn what_asks_for_data_is_not_a_command() {
    for text in [
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
        Some(Command::Copy(copy)) => (copy.what, copy.direction),
        other => panic!("{text}: {other:?}"),
    };
    let table = |name, columns| What::Table { name, columns };
    assert_eq!(copied("COPY (select (1)) TO STDOUT"), (What::Query { from: 2, to: 6 }, Direction::Out));
    assert_eq!(copied("copy t to stdout (format csv)"), (table((1, 2), None), Direction::Out));
    assert_eq!(copied("copy s.\"T\" (a, b) from stdin with csv"), (table((1, 4), Some((5, 8))), Direction::In));
    assert_eq!(command("copy t to stdout (format parquet)"), Some(Command::Refused("COPY with these options")));
}

#[test]
fn functions_of_the_session_keep_their_columns() {
    let text = "SELECT current_setting('jit') AS cur, pg_catalog.set_config('jit', 'off', false) AS new";
    let Some(Command::Select(calls)) = command(text) else { panic!("a select") };
    let names: Vec<_> = calls.iter().map(|call| (call.function, call.column.as_str(), call.arguments.len())).collect();
    assert_eq!(names, [("current_setting", "cur", 1), ("set_config", "new", 3)]);
}
