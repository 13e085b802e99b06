use super::*;
use crate::syntax::parse::parse;

const MADE: &str = "CREATE EXTERNAL TABLE et1(
  date_part date AS TO_DATE(SPLIT_PART(metadata$filename, '/', 1), 'YYYY-MM-DD'),
  timestamp bigint AS (value:timestamp::bigint), col2 varchar AS ($1:col2::varchar))
  PARTITION BY (date_part) WITH LOCATION = @main.s1/logs AUTO_REFRESH = FALSE FILE_FORMAT = (TYPE = PARQUET)
  PATTERN = '.*[.]parquet' COMMENT = 'logs'";

fn defined(text: &str) -> ExternalDefinition {
    match parse(text).expect(text).kind() {
        StatementKind::ExternalTable(ExternalCommand::Create(definition)) => ExternalDefinition::clone(definition),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn what_is_made_has_its_columns_and_its_files() {
    let made = defined(MADE);
    let columns: Vec<_> = made.columns.iter().map(|column| column.name.value.as_str()).collect();
    assert_eq!(columns, ["date_part", "timestamp", "col2"]);
    assert_eq!((made.stage.to_string().as_str(), made.prefix.as_str()), ("main.@s1", "logs/"));
    assert_eq!((made.pattern.as_deref(), made.comment.as_deref()), (Some(".*[.]parquet"), Some("logs")));
    let partitions: Vec<_> = made.partition_by.iter().map(|name| name.value.as_str()).collect();
    assert_eq!((partitions, made.is_filled), (vec!["date_part"], true));
    let plain = defined("create or replace external table if not exists t location=@s refresh_on_create = false");
    assert_eq!((plain.columns.len(), plain.prefix.as_str(), plain.is_filled), (0, "", false));
}

#[test]
fn the_log_shows_the_statement_without_its_literals() {
    let made = parse("create external table t location = @s/secret pattern = 'secret'").unwrap().redacted();
    assert!(made.starts_with("CREATE EXTERNAL TABLE t AS SELECT ") && !made.contains("secret"), "{made}");
    for (text, redacted) in [
        ("alter external table if exists t refresh 'secret'", "ALTER EXTERNAL TABLE IF EXISTS t REFRESH ?"),
        ("alter external table t add files ('secret/a', 'b')", "ALTER EXTERNAL TABLE t ADD FILES ?"),
        ("alter external table main.t remove files ('secret')", "ALTER EXTERNAL TABLE main.t REMOVE FILES ?"),
        ("drop external table main.t", "DROP EXTERNAL TABLE main.t"),
    ] {
        let statement = parse(text).expect(text);
        assert_eq!(statement.redacted(), redacted, "{text}");
        assert!(statement.is_write() && !statement.answers(), "{text}");
    }
    let shown = parse("show external tables like 'T%'").unwrap();
    assert!(!shown.is_write() && shown.answers() && shown.reads_catalogue());
    assert_eq!(parse("desc external table t type = columns").unwrap().kind(), parse("desc t").unwrap().kind());
}

#[test]
fn the_stage_is_read_by_who_makes_it() {
    let statement = parse(MADE).unwrap();
    let names: Vec<_> = statement.tables().iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names, ["et1", "@s1"]);
}

#[test]
fn anything_else_is_refused() {
    for text in [
        "create external table t",
        "create external table t location = 's3://load/'",
        "create external table t location = @~",
        "create external table t location = @%other",
        "create external table t location = @main.%other/a",
        "create external table t location = @s/../other",
        "create external table t location = '@s/a/./b'",
        "create external table t location = '@s/a//b'",
        "create external table t location = @s auto_refresh = true",
        "create external table t location = @s credentials = (aws_key_id = 'x')",
        "create external table t (a int) location = @s",
        "create external table t (a int as ((select max(x) from other))) location = @s",
        "create external table t (a int as (value:a::int), A int as (value:b::int)) location = @s",
        "create external table t (value int as (value:a::int)) location = @s",
        "create external table t (a int as (value:a::int)) partition by (b) location = @s",
        "create external table t (a int as (value:a::int)) partition by (a) location = @s",
        "create external table t location = @s location = @other",
        "alter external table t refresh '../other'",
        "alter external table t add column x int",
        "alter external table t add files ('a', '../b')",
        "alter external table t add files ()",
        "alter external table t add files ('')",
        "alter external table t remove files (a)",
        "alter external table t remove files ('a') refresh",
        "alter external table t add partition (day = '2026-01-01') location 'a'",
        "drop external table t cascade",
        "describe external table t type = stage",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
}
