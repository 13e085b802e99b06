//! Records of files that cannot be loaded: left out alone or with their file, and told, as COPY INTO's `ON_ERROR` says.

use crate::copied::{NOTHING, loaded, put, ran, refused, staged};
use crate::pgwire::{simple, wired};
use crate::world::{World, world};

const CSV: &str = "create stage s file_format = (type = csv skip_header = 1 field_optionally_enclosed_by = '\"')";

/// A file of six records, four of which fail.
const MIXED: &str = "id,note,day\n1,fine,2026-01-02\nx,bad,2026-01-02\n2,longer,2026-01-02\n3,none,\n\
                     4,a,2026-01-02,9\n5,\"o\nk\",2026-01-03\n";

async fn mixed(world: &World) {
    ran(world, "create table t (id integer, note varchar(5), day date not null)").await;
    let id = staged(world, CSV).await;
    put(world, &id, "a.csv", MIXED);
    put(world, &id, "b.csv", "id,note,day\n7,b,2026-01-04\n");
}

fn told(path: &str, status: &str, rows: u64, limit: u64) -> String {
    let first = r#""column id has a value that is no INTEGER",3,null,"id""#;
    format!(r#"["{path}","{status}",6,{rows},{limit},4,{first}]"#)
}

#[tokio::test]
async fn records_that_fail_are_left_out_and_the_first_is_told() {
    let world = world().await;
    mixed(&world).await;
    let both =
        format!("{},{}", told("a.csv", "PARTIALLY_LOADED", 2, 6), r#"["b.csv","LOADED",1,1,1,0,null,null,null,null]"#);
    assert_eq!(ran(&world, "copy into t from @s on_error = continue").await, both);
    let rows = r#"[1,"fine","2026-01-02"],[5,"o\nk","2026-01-03"],[7,"b","2026-01-04"]"#;
    assert_eq!(ran(&world, "select * from t order by id").await, rows);
    assert_eq!(ran(&world, "copy into t from @s on_error = continue").await, NOTHING);
    let abort = refused(&world, "copy into t from @s force = true truncatecolumns = true").await;
    assert_eq!(abort, "line 3 of a.csv: column id has a value that is no INTEGER");
    assert_eq!(std::fs::read_dir(world.spool()).unwrap().count(), 0, "a file is left");
    world.stop().await;
}

#[tokio::test]
async fn a_file_of_too_many_records_that_fail_is_skipped_and_may_be_loaded_later() {
    let world = world().await;
    mixed(&world).await;
    let skipped = format!("{},{}", told("a.csv", "LOAD_FAILED", 0, 1), loaded("b.csv", 1));
    assert_eq!(ran(&world, "copy into t from @s on_error = skip_file").await, skipped);
    for (on_error, limit) in [("skip_file_4", 4), ("'skip_file_50%'", 4), ("skip_file", 1)] {
        let answer = ran(&world, &format!("copy into t from @s on_error = {on_error}")).await;
        assert_eq!(answer, told("a.csv", "LOAD_FAILED", 0, limit), "{on_error}");
    }
    assert_eq!(world.count("select count(*) from raw.main.t").await, 1);
    let answer = ran(&world, "copy into t from @s on_error = 'skip_file_70%'").await;
    assert_eq!(answer, told("a.csv", "PARTIALLY_LOADED", 2, 5));
    assert_eq!(ran(&world, "copy into t from @s on_error = skip_file").await, NOTHING);
    world.stop().await;
}

#[tokio::test]
async fn records_that_surely_pass_are_loaded_as_the_others_are() {
    let world = world().await;
    ran(
        &world,
        "create table t (i integer, b bigint, n number(4, 2), f float, k boolean, d date, m timestamp, \
         v varchar(3) not null)",
    )
    .await;
    let id = staged(&world, CSV).await;
    let sure = "-999999999,999999999999999999,-12.25,-1.5,true,2026-02-28,2026-02-28 23:59:59.123456,abc\n\
                007,-0,1,123456789012345.12345678901234567890,false,0001-01-01,0001-01-01T00:00:00,\"a,b\"\n";
    let asked = "2147483648,1,1,1,true,2026-01-01,2026-01-01 00:00:00,x\n\
                 1,1,.5,1e5,TRUE,2024-02-29,2026-02-28,y\n";
    put(&world, &id, "a.csv", format!("h\n{sure}{asked}"));
    put(&world, &id, "b.csv", format!("h\n{sure}"));
    let first = r#""column i has a value that is no INTEGER",4,null,"i""#;
    let both =
        format!(r#"["a.csv","PARTIALLY_LOADED",4,3,4,1,{first}],["b.csv","LOADED",2,2,2,0,null,null,null,null]"#);
    assert_eq!(ran(&world, "copy into t from @s on_error = continue").await, both);
    let rows = "[-999999999],[-999999999],[1],[7],[7]";
    assert_eq!(ran(&world, "select i from t order by i").await, rows);
    let alone = "copy into t from @s files = ('b.csv') force = true on_error = skip_file";
    assert_eq!(ran(&world, alone).await, loaded("b.csv", 2));
    assert_eq!(std::fs::read_dir(world.spool()).unwrap().count(), 0, "a file is left");
    world.stop().await;
}

#[tokio::test]
async fn records_that_surely_pass_are_the_rows_of_a_load_that_looks_at_none() {
    let world = world().await;
    for table in ["t", "u"] {
        ran(&world, &format!("create table {table} (i integer, d date, n number(4, 2), v varchar(5))")).await;
    }
    let id = staged(&world, CSV).await;
    let records = "\"1\",2024-02-29,\\N,\"\"\n2,2026-12-31,-12.25,a\n3,\\N,1,\"a,\"\"b\"\n";
    put(&world, &id, "a.csv", format!("h\n{records}"));
    let whole = r#"["a.csv","LOADED",3,3,3,0,null,null,null,null]"#;
    assert_eq!(ran(&world, "copy into t from @s on_error = continue").await, whole);
    assert_eq!(ran(&world, "copy into u from @s").await, loaded("a.csv", 3));
    let rows = ran(&world, "select * from t order by i").await;
    assert_eq!(rows, ran(&world, "select * from u order by i").await);
    assert_eq!(ran(&world, "select i, v from t where d = date '2024-02-29'").await, r#"[1,""]"#);
    let truncated = "copy into t from @s force = true truncatecolumns = true on_error = continue";
    assert_eq!(ran(&world, truncated).await, whole);
    world.stop().await;
}

#[tokio::test]
async fn records_at_the_ends_of_what_is_sure_are_loaded_as_they_are_written() {
    let world = world().await;
    ran(&world, "create table t (w number(38, 0), p number(38, 10), f double, note varchar(2))").await;
    let id = staged(&world, "create stage s file_format = (type = csv field_optionally_enclosed_by = '\"')").await;
    let (long, part) = ("9".repeat(38), format!("{}.{}", "9".repeat(28), "9".repeat(10)));
    // the mark of UTF-8 first, then a line that ends in two bytes, one that ends in one, and one without an end
    let records = format!("\u{feff}{long},-{part},-0.5,\"a\"\r\n-{long},{part},7,bb\n\\N,0,0,é");
    put(&world, &id, "a.csv", records);
    let told = r#"["a.csv","LOADED",3,3,3,0,null,null,null,null]"#;
    assert_eq!(ran(&world, "copy into t from @s on_error = continue").await, told);
    let rows = ran(&world, "select w::varchar, p::varchar, note from t where w is not null order by f").await;
    assert_eq!(rows, format!(r#"["{long}","-{part}","a"],["-{long}","{part}","bb"]"#));
    assert_eq!(ran(&world, "select note from t where w is null").await, r#"["é"]"#);
    world.stop().await;
}

#[tokio::test]
async fn files_are_looked_at_without_being_loaded() {
    let world = world().await;
    mixed(&world).await;
    let conversion = |reason: &str, line: u64, column: &str| {
        format!(r#"["{reason}","a.csv",{line},null,null,"conversion",null,"22000","{column}",null,{line},null]"#)
    };
    let all = [
        conversion("column id has a value that is no INTEGER", 3, "id"),
        conversion("column note has a value longer than 5 characters", 4, "note"),
        conversion("column day has no value, and needs one", 5, "day"),
        r#"["it has 4 values for 3 columns","a.csv",6,null,null,"parsing",null,"22000",null,null,6,null]"#.to_owned(),
    ];
    let all = all.join(",");
    let errors = "copy into t from @s purge = true validation_mode = return_errors";
    assert_eq!(ran(&world, errors).await, all);
    assert_eq!(world.count("select count(*) from raw.main.t").await, 0);
    ran(&world, "copy into t from @s on_error = continue").await;
    assert_eq!(ran(&world, errors).await, "");
    assert_eq!(ran(&world, "copy into t from @s validation_mode = return_all_errors").await, all);
    assert_eq!(world.count("select count(*) from raw.main.t").await, 3);
    world.stop().await;
}

#[tokio::test]
async fn the_first_rows_are_shown_in_place_of_being_loaded() {
    let world = world().await;
    mixed(&world).await;
    let first = "copy into t from @s purge = true validation_mode = return_1_rows";
    assert_eq!(ran(&world, first).await, r#"[1,"fine","2026-01-02"]"#);
    for on_error in ["", "on_error = continue"] {
        let told = refused(&world, &format!("copy into t from @s {on_error} validation_mode = return_2_rows")).await;
        assert_eq!(told, "line 3 of a.csv: column id has a value that is no INTEGER");
    }
    let all = "copy into t from @s files = ('b.csv') validation_mode = return_5_rows";
    assert_eq!(ran(&world, all).await, r#"[7,"b","2026-01-04"]"#);
    assert_eq!(world.count("select count(*) from raw.main.t").await, 0);
    assert_eq!(ran(&world, "copy into t from @s files = ('b.csv')").await, loaded("b.csv", 1));
    assert_eq!(ran(&world, all).await, "");
    let id = staged(&world, "create stage j file_format = (type = json)").await;
    put(&world, &id, "a.json", "{\"id\": 1, \"day\": \"2026-01-01\"}\n{\"id\": 2, \"day\": \"2026-01-01\"}\n");
    put(&world, &id, "b.json", "{\"id\": 3, \"day\": \"2026-01-01\"}\n{\"id\": \"x\"}\n");
    let shown = "copy into t from @j match_by_column_name = case_insensitive validation_mode = return_3_rows";
    let row = |id: u64| format!(r#"[{id},null,"2026-01-01"]"#);
    assert_eq!(ran(&world, shown).await, [1, 2, 3].map(row).join(","));
    let told = refused(&world, &shown.replace("_3_", "_4_")).await;
    assert_eq!(told, "b.json: record 2: column id has a value that is no INTEGER");
    assert_eq!(std::fs::read_dir(world.spool()).unwrap().count(), 0, "a file is left");
    world.stop().await;
}

#[tokio::test]
async fn rows_that_are_shown_have_the_types_of_their_table() {
    let wired = wired().await;
    let client = wired.owner().await;
    mixed(&wired.world).await;
    let shown = "copy into t from @s files = ('b.csv') validation_mode = return_1_rows";
    let rows = client.query(shown, &[]).await.unwrap();
    let told: Vec<(i32, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(told, [(7, "b".to_owned())]);
    wired.stop().await;
}

#[tokio::test]
async fn a_query_makes_rows_of_the_records_that_can_be_read() {
    let world = world().await;
    ran(&world, "create table made (id integer, place bigint, note varchar)").await;
    let id = staged(&world, CSV).await;
    put(&world, &id, "a.csv", "h\n1,x\n2,\"y\"z\n3,w,more\n");
    let made = "copy into made from (select $1::integer, metadata$file_row_number, $2 from @s) on_error = continue";
    let first = r#""a text stands behind a quote that closes",3,null,null"#;
    assert_eq!(ran(&world, made).await, format!(r#"["a.csv","PARTIALLY_LOADED",3,2,3,1,{first}]"#));
    assert_eq!(ran(&world, "select * from made order by id").await, r#"[1,1,"x"],[3,3,"w"]"#);
    put(&world, &id, "b.csv", "h\nx,y\n");
    assert!(world.run(made).await.is_err(), "what the query makes of a record is no fault of the file");
    let id = staged(&world, "create stage j file_format = (type = json)").await;
    put(&world, &id, "a.json", "{\"id\": 5}\n");
    put(&world, &id, "b.json", "{\"id\": 6}\n{\"id\": \n");
    let made = "copy into made from (select $1:id::integer, metadata$file_row_number, metadata$filename from @j) \
                on_error = skip_file";
    let told = ran(&world, made).await;
    assert!(told.starts_with(&loaded("a.json", 1)), "{told}");
    assert!(told.contains(r#"["b.json","LOAD_FAILED",0,0,1,1,"it is no whole JSON object","#), "{told}");
    assert_eq!(ran(&world, "select * from made where id > 3").await, r#"[5,1,"a.json"]"#);
    world.stop().await;
}

#[tokio::test]
async fn no_more_faults_are_held_than_can_be_told() {
    let world = world().await;
    ran(&world, "create table t (id integer)").await;
    let id = staged(&world, "create stage s").await;
    for file in 0..21 {
        put(&world, &id, &format!("{file}.csv"), "x\n".repeat(1_000));
    }
    let refused = refused(&world, "copy into t from @s validation_mode = return_errors").await;
    assert_eq!(refused, "more than 20000 records fail: name fewer files");
    let told = ran(&world, "copy into t from @s files = ('0.csv') validation_mode = return_errors").await;
    assert_eq!(told.matches("no INTEGER").count(), 1_000);
    world.stop().await;
}

#[tokio::test]
async fn a_longer_text_is_cut_where_that_is_said() {
    let world = world().await;
    ran(&world, "create table t (id integer, note varchar(3))").await;
    let id = staged(&world, "create stage s").await;
    put(&world, &id, "a.csv", "1,äöüß\n2,ab\n");
    assert_eq!(ran(&world, "copy into t from @s enforce_length = false").await, loaded("a.csv", 2));
    assert_eq!(ran(&world, "select * from t order by id").await, r#"[1,"äöü"],[2,"ab"]"#);
    world.stop().await;
}

#[tokio::test]
async fn files_that_cannot_be_read_are_skipped_whole() {
    let world = world().await;
    ran(&world, "create table t (id integer, note varchar)").await;
    let id = staged(&world, "create stage j file_format = (type = json)").await;
    put(&world, &id, "a.json", "{\"id\": 1, \"note\": \"a\"}\n{\"id\": \"x\"}\n");
    put(&world, &id, "b.json", "{\"id\": 2}\n{\"id\": \n");
    let by_name = "match_by_column_name = case_insensitive on_error = continue";
    let answer = ran(&world, &format!("copy into t from @j {by_name}")).await;
    let first =
        r#"["a.json","PARTIALLY_LOADED",2,1,2,1,"record 2: column id has a value that is no INTEGER",null,null,"id"]"#;
    assert!(answer.starts_with(first), "{answer}");
    assert!(answer.contains(r#"["b.json","LOAD_FAILED",0,0,1,1,"it is no whole JSON object","#), "{answer}");
    let id = staged(&world, "create stage p file_format = (type = parquet)").await;
    put(&world, &id, "a.parquet", "no Parquet");
    put(&world, &id, "b.csv.gz", "no gzip");
    let answer = ran(&world, "copy into t from @p match_by_column_name = case_insensitive on_error = skip_file").await;
    assert!(answer.starts_with(r#"["a.parquet","LOAD_FAILED",0,0,1,1,"it is no whole Parquet file","#), "{answer}");
    let csv = "copy into t from @p/b file_format = (type = csv) on_error = skip_file";
    assert!(ran(&world, csv).await.contains("it is no whole gzip file"));
    assert_eq!(ran(&world, "select * from t").await, r#"[1,"a"]"#);
    world.stop().await;
}

#[tokio::test]
async fn a_header_names_the_values_of_records_that_may_fail() {
    let world = world().await;
    ran(&world, "create table t (id integer, note varchar)").await;
    let id = staged(&world, "create stage s file_format = (type = csv parse_header = true null_if = ('#3'))").await;
    put(&world, &id, "a.csv", "NOTE,rest,ID\na,,1\nb,,y\nc\n");
    let answer = ran(&world, "copy into t from @s match_by_column_name = case_insensitive on_error = continue").await;
    let told = r#"["a.csv","PARTIALLY_LOADED",3,1,3,2,"column id has a value that is no INTEGER",3,null,"id"]"#;
    assert_eq!(answer, told);
    assert_eq!(ran(&world, "select * from t").await, r#"[1,"a"]"#);
    world.stop().await;
}

#[tokio::test]
async fn files_that_are_loaded_whole_are_removed_and_no_more_than_the_limit_are_begun() {
    let world = world().await;
    ran(&world, "create table t (id integer)").await;
    let id = staged(&world, "create stage s").await;
    let files = || {
        let listed = world.pipeline.stage_files.list(&id, "").unwrap();
        listed.into_iter().map(|file| file.path).collect::<Vec<_>>().join(" ")
    };
    for (path, text) in [("a.csv", "1\n"), ("b.csv", "2\n"), ("c.csv", "3\n")] {
        put(&world, &id, path, text);
    }
    let limited = format!("{},{}", loaded("a.csv", 1), loaded("b.csv", 1));
    assert_eq!(ran(&world, "copy into t from @s size_limit = 3").await, limited);
    assert_eq!(ran(&world, "copy into t from @s purge = true").await, loaded("c.csv", 1));
    assert_eq!(files(), "a.csv b.csv");
    put(&world, &id, "d.csv", "4\nx\n");
    put(&world, &id, "e.csv", "5\n");
    let continued = "copy into t from @s on_error = continue purge = true return_failed_only = true";
    let told = r#"["d.csv","PARTIALLY_LOADED",2,1,2,1,"column id has a value that is no INTEGER",2,null,"id"]"#;
    assert_eq!(ran(&world, continued).await, told);
    assert_eq!(files(), "a.csv b.csv d.csv");
    put(&world, &id, "f.csv", "6\n");
    assert_eq!(ran(&world, continued).await, "");
    put(&world, &id, "g.csv", "x\n");
    assert!(world.run("copy into t from @s purge = true").await.is_err());
    assert_eq!(files(), "a.csv b.csv d.csv g.csv");
    assert_eq!(ran(&world, "select count(*) from t").await, "[6]");
    world.stop().await;
}

#[tokio::test]
async fn a_file_that_fails_leaves_its_clients_transaction_as_it_is() {
    let wired = wired().await;
    let client = wired.owner().await;
    mixed(&wired.world).await;
    simple(&client, "begin").await;
    let told = crate::pgwire::refused(&client, "copy into t from @s purge = true").await;
    assert!(told.message().contains("PURGE of COPY INTO in a transaction"), "{told:?}");
    simple(&client, "rollback").await;
    simple(&client, "begin; insert into t values (0, 'z', '2026-01-01')").await;
    simple(&client, "copy into t from @s on_error = skip_file").await;
    simple(&client, "commit").await;
    assert_eq!(simple(&client, "select count(*) from t").await[0], "2");
    wired.stop().await;
}
