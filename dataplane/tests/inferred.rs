//! `INFER_SCHEMA`: the columns of staged files, and who is told of them.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use contract::policy::MaskFunction;
use contract::policy::abac::{Action, Condition};
use contract::report::Body;
use dataplane::testing::{masking, rule, ruled};
use parquet::arrow::ArrowWriter;

use crate::copied::{packed, put, ran, refused, staged};
use crate::pgwire::{simple, wired};
use crate::world::{World, world};

/// The columns of the files below a folder of a stage, by a format of the same name.
fn inferred(format: &str, said: &str) -> String {
    let call = format!("infer_schema(location => '@{format}/in/', file_format => '{format}'{said})");
    format!("select * from table({call}) order by order_id")
}

fn row(name: &str, type_name: &str, files: &str, order: usize) -> String {
    format!(r#"["{name}","{type_name}",true,"$1:{name}::{type_name}","{files}",{order}]"#)
}

/// A stage and a format of one name; the id that its files are kept by.
async fn formatted(world: &World, format: &str, options: &str) -> String {
    ran(world, &format!("create file format {format} {options}")).await;
    staged(world, &format!("create stage {format}")).await
}

#[tokio::test]
async fn the_columns_of_csv_hold_all_of_its_values() {
    let world = world().await;
    let id = formatted(&world, "headed", "type = csv parse_header = true field_optionally_enclosed_by = '\"'").await;
    let first = "Id,price,day,at,ok,note,code,none\n\
                 1,1.5,2026-01-02,2026-01-02 03:04:05,true,x,007,\n\
                 22,-10.25,2026-01-03,2026-01-03,FALSE,\"2, 3\",8,\n";
    put(&world, &id, "in/a.csv", first);
    put(&world, &id, "in/b.csv.gz", packed("Id,more\n300,1e5\n"));
    put(&world, &id, "other.csv", "nonsense\n1\n");
    let both = "in/a.csv, in/b.csv.gz";
    let all = [
        row("Id", "NUMBER(3, 0)", both, 0),
        row("price", "NUMBER(4, 2)", "in/a.csv", 1),
        row("day", "DATE", "in/a.csv", 2),
        row("at", "TIMESTAMP_NTZ", "in/a.csv", 3),
        row("ok", "BOOLEAN", "in/a.csv", 4),
        row("note", "TEXT", "in/a.csv", 5),
        row("code", "TEXT", "in/a.csv", 6),
        row("none", "TEXT", "in/a.csv", 7),
        row("more", "REAL", "in/b.csv.gz", 8),
    ];
    assert_eq!(ran(&world, &inferred("headed", "")).await, all.join(","));
    let (started, finished) = world.last();
    assert_eq!(started.tables_accessed, ["main.@headed"]);
    let transpiled = started.sql_transpiled.unwrap();
    assert!(transpiled.contains("main.@headed/in/b.csv.gz") && !transpiled.contains("spool"), "{transpiled}");
    assert!(finished.micro_credits > 0, "{finished:?}");
    let second = ran(&world, &inferred("headed", ", files => ('b.csv.gz'), ignore_case => true")).await;
    let expected = r#"["ID","NUMBER(3, 0)",true,"GET_IGNORE_CASE ($1, ID)::NUMBER(3, 0)","in/b.csv.gz",0]"#;
    assert!(second.starts_with(expected), "{second}");
    let limited = ran(&world, &inferred("headed", ", max_file_count => 1, max_records_per_file => 1")).await;
    assert!(limited.starts_with(&row("Id", "NUMBER(1, 0)", "in/a.csv", 0)), "{limited}");
    assert!(!limited.contains("more"), "{limited}");
    let counted = "select count(*) from customer c join table(infer_schema(location => '@headed', \
                   file_format => 'headed')) f on f.column_name = c.name";
    assert_eq!(ran(&world, counted).await, "[0]");
    assert_eq!(std::fs::read_dir(world.spool()).unwrap().count(), 0, "a file is left");
    world.stop().await;
}

#[tokio::test]
async fn csv_without_a_header_has_numbered_columns() {
    let world = world().await;
    let id = formatted(&world, "plain", "type = csv skip_header = 1").await;
    put(&world, &id, "in/a.csv", "x,y\n1,2026-01-02\n2\n");
    let all = [row("c1", "NUMBER(1, 0)", "in/a.csv", 0), row("c2", "DATE", "in/a.csv", 1)];
    assert_eq!(ran(&world, &inferred("plain", "")).await, all.join(","));
    let id = formatted(&world, "headed", "type = csv parse_header = true").await;
    put(&world, &id, "in/a.csv", "id,name\n");
    let all = [row("id", "TEXT", "in/a.csv", 0), row("name", "TEXT", "in/a.csv", 1)];
    assert_eq!(ran(&world, &inferred("headed", "")).await, all.join(","));
    put(&world, &id, "in/b.csv", "id,id\n1,2\n");
    assert_eq!(refused(&world, &inferred("headed", "")).await, "in/b.csv: its header names the column id twice");
    assert_eq!(ran(&world, &inferred("headed", "").replace("/in/", "/none/")).await, "");
    world.stop().await;
}

#[tokio::test]
async fn members_of_json_and_columns_of_parquet_are_told() {
    let world = world().await;
    let id = formatted(&world, "j", "type = json").await;
    let records = r#"{"id": 1, "name": "7", "day": "2026-01-02", "more": {"x": 1}, "n": null, "ok": true}
                     {"id": 2.5, "name": null, "list": [1], "mixed": 1}
                     {"mixed": "a"}"#;
    put(&world, &id, "in/a.json", records);
    let told = [
        ("id", "NUMBER(2, 1)"),
        ("name", "TEXT"),
        ("day", "DATE"),
        ("more", "VARIANT"),
        ("n", "TEXT"),
        ("ok", "BOOLEAN"),
        ("list", "VARIANT"),
        ("mixed", "VARIANT"),
    ];
    let told = told.iter().enumerate().map(|(at, (name, kind))| row(name, kind, "in/a.json", at));
    assert_eq!(ran(&world, &inferred("j", "")).await, told.collect::<Vec<_>>().join(","));
    let made = world.spool().join("made.parquet");
    let rows = "select 1 as id, 'a' as name, 1.5::decimal(5,2) as price, [1] as list, timestamptz '2026-01-02' as at";
    world.behind_our_back(&format!("copy ({rows}) to '{}' (format parquet)", made.display())).await;
    let id = formatted(&world, "p", "type = parquet").await;
    put(&world, &id, "in/a.parquet", std::fs::read(&made).unwrap());
    std::fs::remove_file(&made).unwrap();
    let told = [
        ("id", "NUMBER(38, 0)"),
        ("name", "TEXT"),
        ("price", "NUMBER(5, 2)"),
        ("list", "VARIANT"),
        ("at", "TIMESTAMP_NTZ"),
    ];
    let told = told.iter().enumerate().map(|(at, (name, kind))| row(name, kind, "in/a.parquet", at));
    assert_eq!(ran(&world, &inferred("p", "")).await, told.collect::<Vec<_>>().join(","));
    put(&world, &id, "in/b.parquet", "no Parquet");
    assert!(refused(&world, &inferred("p", "")).await.starts_with("in/b.parquet: it is no whole Parquet file"));
    world.stop().await;
}

/// A Parquet file of numbers, whose columns may have no value or need one.
fn parquet(columns: &[(&str, bool)], rows: i64) -> Vec<u8> {
    let field = |(name, nullable): &(&str, bool)| Field::new(*name, DataType::Int64, *nullable);
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    // apart from each other, so that they do not pack well
    let values = || Arc::new((0..rows).map(|row| Some(row * row * 7_919)).collect::<Int64Array>()) as ArrayRef;
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns.iter().map(|_| values()).collect()).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), schema, None).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

#[tokio::test]
async fn a_column_that_parquet_requires_in_each_file_is_not_nullable() {
    let world = world().await;
    let id = formatted(&world, "p", "type = parquet").await;
    let first = parquet(&[("id", false), ("note", false), ("alone", false)], 100_000);
    assert!(first.len() > 512 << 10, "of which the footer alone is read: {}", first.len());
    put(&world, &id, "in/a.parquet", first);
    put(&world, &id, "in/b.parquet", parquet(&[("id", false), ("note", true)], 2));
    let column = |name: &str, nullable: bool, files: &str, order: usize| {
        row(name, "NUMBER(38, 0)", files, order).replacen("true", &nullable.to_string(), 1)
    };
    let both = "in/a.parquet, in/b.parquet";
    let told = [
        column("id", false, both, 0),
        column("note", true, both, 1),
        column("alone", true, "in/a.parquet", 2), // rows of the other file have none
    ];
    assert_eq!(ran(&world, &inferred("p", "")).await, told.join(","));
    let template = "select array_agg(object_construct(*)) within group (order by order_id) \
                    from table(infer_schema(location => '@p/in/', file_format => 'p'))";
    let described = template.replacen("array_agg", "generate_column_description(array_agg", 1);
    let described = described.replacen("order_id) ", "order_id), 'table') ", 1);
    let columns = r#"["\"id\" NUMBER(38, 0) NOT NULL,\n\"note\" NUMBER(38, 0),\n\"alone\" NUMBER(38, 0)"]"#;
    assert_eq!(ran(&world, &described).await, columns);
    ran(&world, &made(template)).await;
    assert!(world.run("insert into made (note) values (1)").await.is_err());
    ran(&world, "insert into made (id) values (1)").await;
    assert_eq!(std::fs::read_dir(world.spool()).unwrap().count(), 0, "a file is left");
    world.stop().await;
}

#[tokio::test]
async fn columns_are_told_to_whom_the_files_are_open_whole() {
    let world = world().await;
    let id = formatted(&world, "s", "type = csv").await;
    put(&world, &id, "in/a.csv", "1\n");
    let sql = inferred("s", "");
    assert_eq!(world.analyst(&sql).await.unwrap().json, row("c1", "NUMBER(1, 0)", "in/a.csv", 0));
    world.change(|rules| rules.policies = vec![masking("main.@s", "x", MaskFunction::Full)]);
    let error = world.analyst(&sql).await.unwrap_err();
    assert_eq!(error.code().stable(), "SVC_ERR_403_TABLE_DENIED", "{error}");
    world.change(|rules| {
        rules.policies.clear();
        let denied = rule(Condition::TableIs, &["main.@s", "main.@nope"], Action::Deny);
        rules.abac_policies = vec![ruled("stages", vec![denied])];
    });
    let told = refused(&world, &sql).await;
    assert_eq!(told, refused(&world, &sql.replace("'@s/", "'@nope/")).await.replace("nope", "s"));
    world.change(|rules| rules.abac_policies.clear());
    let view = "create view v as select * from table(infer_schema(location => '@s', file_format => 's'))";
    assert!(refused(&world, view).await.contains("a stage in a view"));
    world.stop().await;
}

/// A statement that makes a table of what a query answers.
fn made(query: &str) -> String {
    format!("create table made using template ({query})")
}

const TEMPLATE: &str = "select array_agg(object_construct(*)) within group (order by order_id) \
                        from table(infer_schema(location => '@headed/in/', file_format => 'headed'))";

#[tokio::test]
async fn a_table_is_made_of_the_columns_of_files() {
    let world = world().await;
    let id = formatted(&world, "headed", "type = csv parse_header = true").await;
    put(&world, &id, "in/a.csv", "Id,day,my note\n1,2026-01-02,x\n22,2026-01-03,\n");
    assert_eq!(world.analyst(&made(TEMPLATE)).await.unwrap_err().code().stable(), "FORBIDDEN");
    ran(&world, &made(TEMPLATE)).await;
    let (started, _) = world.last();
    assert!(started.sql.starts_with("CREATE TABLE made ("), "{}", started.sql);
    let ends = world.entries().into_iter().filter_map(|entry| match entry.body {
        Body::Finished(finished) => Some(finished.outcome.as_str().to_owned()),
        _ => None,
    });
    let ends: Vec<String> = ends.collect();
    assert_eq!(ends[ends.len() - 2..], ["completed", "completed"], "of the query and of the table: {ends:?}");
    let load = "copy into made from @headed file_format = headed match_by_column_name = case_sensitive";
    ran(&world, load).await;
    assert_eq!(
        ran(&world, "select id, day, \"my note\" from made order by id").await,
        r#"[1,"2026-01-02","x"],[22,"2026-01-03",null]"#
    );
    assert!(world.run(&made(TEMPLATE)).await.is_err(), "it is there");
    ran(&world, &made(TEMPLATE).replace("create table", "create or replace table")).await;
    assert_eq!(ran(&world, "select count(*) from made").await, "[0]");
    world.stop().await;
}

#[tokio::test]
async fn an_answer_that_says_no_columns_makes_no_table() {
    let world = world().await;
    let column = |members: &str| format!("select array_agg(object_construct({members}))");
    for (query, words) in [
        ("select 1".to_owned(), "is no array"),
        ("select 1, 2".to_owned(), "other than one row of one column"),
        ("select array_construct(1)".to_owned(), "a column that is no object"),
        ("select array_construct()".to_owned(), "has no column"),
        (column("'COLUMN_NAME', 'a'"), "a column without TYPE"),
        (column("'COLUMN_NAME', 'a', 'TYPE', 'NOPE'"), "not supported"),
        (column("'COLUMN_NAME', 'a', 'TYPE', 'INT); drop table customer; --'"), "not supported"),
        ("delete from customer".to_owned(), "USING TEMPLATE of something other than a query is not supported"),
        ("select nope from customer".to_owned(), "nope"),
    ] {
        let told = refused(&world, &made(&query)).await;
        assert!(told.contains(words), "{query}: {told}");
    }
    ran(&world, &made(&column("'COLUMN_NAME', 'a\" INT); --', 'TYPE', 'TEXT', 'NULLABLE', false"))).await;
    assert!(world.run("insert into made values (null)").await.is_err());
    assert_eq!(ran(&world, "select count(*) from customer").await, "[3]");
    world.stop().await;
}

#[tokio::test]
async fn what_a_rule_keeps_from_others_becomes_no_name_of_a_column() {
    let world = world().await;
    world.change(|rules| rules.policies = vec![masking("customer", "ssn", MaskFunction::Full)]);
    let query = "select array_agg(object_construct('COLUMN_NAME', ssn, 'TYPE', 'TEXT')) from customer";
    let told = refused(&world, &made(query)).await;
    assert!(told.contains("under rules that your role is exempt from"), "{told}");
    assert!(world.run("select * from made").await.is_err());
    world.stop().await;
}

#[tokio::test]
async fn a_table_of_a_template_is_part_of_its_clients_transaction() {
    let wired = wired().await;
    let client = wired.owner().await;
    let id = formatted(&wired.world, "headed", "type = csv parse_header = true").await;
    put(&wired.world, &id, "in/a.csv", "id,name\n1,x\n");
    for (end, there) in [("rollback", 0), ("commit", 1)] {
        simple(&client, "begin").await;
        simple(&client, &made(TEMPLATE)).await;
        simple(&client, "insert into made values (2, 'y')").await;
        simple(&client, end).await;
        let count = "select count(*) from duckdb_tables() where table_name = 'made'";
        assert_eq!(wired.world.count(count).await, there, "{end}");
    }
    assert!(client.query("select id, name from made", &[]).await.unwrap().len() == 1);
    wired.stop().await;
}
