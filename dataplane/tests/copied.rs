//! Files of stages in SQL: loaded by COPY INTO, selected in place, by whom, and what a broken one leaves.

use std::io::Write;

use contract::policy::MaskFunction;
use contract::policy::abac::{Action, Condition};
use dataplane::testing::{filtering, masking, owner_id, rule, ruled};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::pgwire::{simple, wired};
use crate::world::{World, world, world_with_disk};

/// Makes a stage; the id that its files are kept by.
pub async fn staged(world: &World, sql: &str) -> String {
    let ask = world.ask(owner_id(), sql);
    let id = ask.query_id.to_string();
    world.whole(ask).await.unwrap();
    id
}

pub fn put(world: &World, stage_id: &str, path: &str, bytes: impl AsRef<[u8]>) {
    let mut writer = world.pipeline.stage_files.writer(stage_id, path).unwrap();
    writer.write(bytes.as_ref()).unwrap();
    writer.finish().unwrap();
}

pub fn packed(text: &str) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

pub async fn ran(world: &World, sql: &str) -> String {
    world.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}")).json
}

pub async fn refused(world: &World, sql: &str) -> String {
    world.run(sql).await.unwrap_err().to_string()
}

pub fn loaded(path: &str, rows: u64) -> String {
    format!(r#"["{path}","LOADED",{rows},{rows},1,0,null,null,null,null]"#)
}

pub const NOTHING: &str = r#"[null,"Copy executed with 0 files processed.",null,null,null,null,null,null,null,null]"#;

const CSV: &str = "create stage s file_format = (type = csv skip_header = 1 field_optionally_enclosed_by = '\"')";

#[tokio::test]
async fn files_of_a_stage_are_loaded_once_and_told_one_by_one() {
    let world = world().await;
    ran(&world, "create table t (id integer, note varchar(10), day date)").await;
    let id = staged(&world, CSV).await;
    put(&world, &id, "in/a.csv", "id,note,day\n1,\"x, y\",2026-01-02\n2,,\n");
    put(&world, &id, "in/b.csv.gz", packed("id,note,day\n3,\\N,2026-01-03\n"));
    put(&world, &id, "other.csv", "nonsense");
    let both = format!("{},{}", loaded("in/a.csv", 2), loaded("in/b.csv.gz", 1));
    assert_eq!(ran(&world, "copy into t from @s/in/").await, both);
    let (started, finished) = world.last();
    assert_eq!(started.sql, "COPY INTO t FROM \"@s\" ?");
    assert_eq!(started.tables_accessed, ["main.t", "main.@s"]);
    let transpiled = started.sql_transpiled.unwrap();
    assert!(transpiled.contains("main.@s/in/b.csv.gz") && !transpiled.contains("spool"), "{transpiled}");
    assert!(finished.micro_credits > 0, "{finished:?}");
    let rows = r#"[1,"x, y","2026-01-02"],[2,null,null],[3,null,"2026-01-03"]"#;
    assert_eq!(ran(&world, "select * from t order by id").await, rows);
    assert_eq!(ran(&world, "copy into t from @s/in/").await, NOTHING);
    ran(&world, "create table made (path varchar, id integer)").await;
    let query = "copy into made from (select metadata$filename, s.$1::integer * 10 from @s/in/ s)";
    assert_eq!(ran(&world, query).await, both);
    assert_eq!(ran(&world, "select path, id from made where id = 30").await, r#"["in/b.csv.gz",30]"#);
    let filtered = "copy into made from (select $2, $1::integer from @s/in/ where $1 = '1') force = true";
    assert!(refused(&world, filtered).await.contains("other than one row of each record"));
    assert_eq!(world.count("select count(*) from raw.main.made").await, 3);
    assert_eq!(ran(&world, "copy into t from @s files = ('in/a.csv') force = true").await, loaded("in/a.csv", 2));
    put(&world, &id, "in/a.csv", "id,note,day\n4,,\n");
    assert_eq!(ran(&world, "copy into t from '@s/in/' pattern = '.*[.]csv'").await, loaded("in/a.csv", 1));
    assert_eq!(world.count("select count(*) from raw.main.t").await, 6);
    ran(&world, "alter table t rename to u").await;
    assert_eq!(ran(&world, "copy into u from @s/in/").await, NOTHING);
    ran(&world, "truncate table u").await;
    assert_eq!(ran(&world, "copy into u (id, note, day) from @s/in/a.csv").await, loaded("in/a.csv", 1));
    ran(&world, "create or replace table u (id integer, note varchar, day varchar)").await;
    assert_eq!(ran(&world, "copy into u from @s/in/a.csv").await, loaded("in/a.csv", 1));
    assert_eq!(std::fs::read_dir(world.spool()).unwrap().count(), 0, "a file is left");
    world.stop().await;
}

#[tokio::test]
async fn a_header_says_which_columns_a_file_has() {
    let world = world().await;
    ran(&world, "create table t (id integer, note varchar, day date)").await;
    let id = staged(&world, "create stage s file_format = (type = csv parse_header = true)").await;
    put(&world, &id, "a.csv", "DAY,rest,ID\n2026-01-02,x,1\n,y,2\n");
    let by_name = "copy into t from @s match_by_column_name = case_insensitive";
    assert_eq!(ran(&world, by_name).await, loaded("a.csv", 2));
    assert_eq!(ran(&world, "select * from t order by id").await, r#"[1,null,"2026-01-02"],[2,null,null]"#);
    put(&world, &id, "b.csv", "id\n7\nx\n");
    assert_eq!(refused(&world, by_name).await, "line 3 of b.csv: column id has a value that is no INTEGER");
    put(&world, &id, "b.csv", "id\n");
    assert_eq!(ran(&world, by_name).await, loaded("b.csv", 0));
    world.stop().await;
}

#[tokio::test]
async fn a_broken_file_is_named_with_its_line_and_nothing_is_loaded() {
    let world = world().await;
    ran(&world, "create table t (id integer, note varchar)").await;
    let id = staged(&world, "create stage s").await;
    put(&world, &id, "a.csv", "1,fine\n");
    for (file, text, told) in [
        ("b.csv", "2,b\nx,c\n", "line 2 of b.csv: column id has a value that is no INTEGER"),
        ("c.csv", "2,b,c\n", "line 1 of c.csv: it has 3 values for 2 columns"),
        ("d.csv", "2,b\n\n3,c\n", "line 2 of d.csv: it is blank: SKIP_BLANK_LINES = TRUE leaves it out"),
        ("e.csv.gz", "2,b\n", "e.csv.gz: it is no whole gzip file"),
    ] {
        put(&world, &id, file, text);
        let files = format!("copy into t from @s files = ('a.csv', '{file}')");
        assert_eq!(refused(&world, &files).await, told);
    }
    assert_eq!(world.count("select count(*) from raw.main.t").await, 0);
    assert_eq!(
        refused(&world, "copy into t from @s files = ('../a.csv')").await,
        "../a.csv: the stage has no such file"
    );
    assert_eq!(ran(&world, "copy into t from @s/../ force = true").await, NOTHING);
    put(&world, &id, "f.csv", "7\n8,h,i,j\n");
    let any = "copy into t from @s/f.csv file_format = (type = csv error_on_column_count_mismatch = false)";
    assert_eq!(ran(&world, any).await, loaded("f.csv", 2));
    assert_eq!(ran(&world, "select * from t order by id").await, r#"[7,null],[8,"h"]"#);
    assert_eq!(ran(&world, "copy into t from @s/a.csv").await, loaded("a.csv", 1));
    world.stop().await;
}

#[tokio::test]
async fn a_file_that_is_alone_is_loaded_as_one_of_several_is() {
    const BY_NAME: &str = "file_format = (type = parquet) match_by_column_name = case_insensitive";
    let world = world().await;
    let table = "create or replace table t (id bigint, note varchar, day date, price double)";
    let id = staged(&world, CSV).await;
    let csv = "id,note,day,price\n0,\"n, 0\",2026-01-01,0\n1,,2026-01-02,0.5\n2,n2,,1\n";
    put(&world, &id, "bad.csv", "id,note,day,price\n1,,,\nx,,,\n");
    let rows = "select i as id, 'n' || i as note, date '2026-01-01' + i::integer as day, i * 0.5::double as price \
                from range(3) r(i)";
    for (name, rows) in [("made", rows), ("bad", "select 'x' as id")] {
        let made = world.spool().join(name);
        world.behind_our_back(&format!("copy ({rows}) to '{}' (format parquet)", made.display())).await;
        let bytes = std::fs::read(&made).unwrap();
        for path in [format!("{name}.parquet"), format!("{name}-2.parquet")] {
            put(&world, &id, &path, &bytes);
        }
    }
    for path in ["made.csv", "made-2.csv"] {
        put(&world, &id, path, csv);
    }
    for (end, format) in [("csv", ""), ("parquet", BY_NAME)] {
        let load = |names: &str| format!("copy into t from @s files = ({names}) {format}");
        let (one, both) = (format!("'made.{end}'"), format!("'made.{end}', 'made-2.{end}'"));
        ran(&world, table).await;
        assert_eq!(ran(&world, &load(&one)).await, loaded(&format!("made.{end}"), 3));
        let alone = ran(&world, "select * from t order by id").await;
        ran(&world, table).await;
        ran(&world, &load(&both)).await;
        assert_eq!(ran(&world, "select distinct * from t order by id").await, alone);
        let bad = format!("'bad.{end}'");
        let fault = refused(&world, &load(&bad)).await;
        assert!(fault.contains(&format!("bad.{end}")), "{fault}");
        let both = load(&format!("{bad}, 'made.{end}'")) + " force = true";
        assert_eq!(refused(&world, &both).await, fault);
        assert_eq!(world.count("select count(*) from raw.main.t").await, 6, "{end}");
    }
    ran(&world, "create or replace table t (id bigint, note varchar(1), day date, price double)").await;
    for files in ["'made.csv'", "'made.csv', 'made-2.csv'"] {
        let long = refused(&world, &format!("copy into t from @s files = ({files})")).await;
        assert!(long.contains("value too long for type character varying(1)"), "{files}: {long}");
    }
    let is_left = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().parse::<u64>().is_ok();
    let left = std::fs::read_dir(world.spool()).unwrap().filter(|entry| is_left(entry.as_ref().unwrap()));
    assert_eq!(left.count(), 0, "files that were read are gone");
    world.stop().await;
}

#[tokio::test]
async fn records_of_json_and_parquet_are_loaded_whole_or_by_their_names() {
    let world = world().await;
    ran(&world, "create table whole (v variant)").await;
    ran(&world, "create table named (id integer, name varchar, more variant)").await;
    let json = staged(&world, "create stage j file_format = (type = json)").await;
    put(&world, &json, "a.json", "{\"ID\": 1, \"name\": \"a\"}\n{\"id\": 2,\n \"more\": {\"x\": [1]}, \"rest\": 0}\n");
    assert_eq!(ran(&world, "copy into whole from @j").await, loaded("a.json", 2));
    assert_eq!(ran(&world, "select v:id::integer from whole order by 1 nulls last").await, "[2],[null]");
    let by_name = "copy into named from @j match_by_column_name = case_insensitive";
    assert_eq!(ran(&world, by_name).await, loaded("a.json", 2));
    assert_eq!(ran(&world, "select id, name, more from named order by id").await, r#"[1,"a",null],[2,null,{"x":[1]}]"#);
    put(&world, &json, "b.json", "[{\"id\": 7}, {\"id\": 8}]");
    let array = "copy into whole from @j/b.json file_format = (type = json strip_outer_array = true)";
    assert_eq!(ran(&world, array).await, loaded("b.json", 2));
    let made = world.spool().join("made.parquet");
    let rows = "select id, name from raw.main.customer";
    world.behind_our_back(&format!("copy ({rows}) to '{}' (format parquet)", made.display())).await;
    let parquet = staged(&world, "create stage p file_format = (type = parquet)").await;
    put(&world, &parquet, "c.parquet", std::fs::read(&made).unwrap());
    std::fs::remove_file(&made).unwrap();
    let by_name = "copy into named from @p match_by_column_name = case_sensitive";
    assert_eq!(ran(&world, by_name).await, loaded("c.parquet", 3));
    assert_eq!(ran(&world, "copy into whole from @p").await, loaded("c.parquet", 3));
    assert_eq!(ran(&world, "select $1:name::varchar from @p where $1:id::integer = 2").await, r#"["Bob"]"#);
    world.stop().await;
}

#[tokio::test]
async fn files_are_selected_in_place_and_no_answer_of_them_is_kept() {
    let world = world().await;
    let id = staged(&world, CSV).await;
    ran(&world, "create file format psv type = csv field_delimiter = '|'").await;
    put(&world, &id, "a.csv", "h\n1,x,y\n2\n");
    put(&world, &id, "b.psv", "3|z\n");
    let read = "select $1, t.$3, metadata$filename, metadata$file_row_number from @s/a t order by 4";
    assert_eq!(ran(&world, read).await, r#"["1","y","a.csv",1],["2",null,"a.csv",2]"#);
    put(&world, &id, "a.csv", "h\n5,x,y\n");
    let again = world.run(read).await.unwrap();
    assert_eq!((again.json.as_str(), again.answer.cache_hit), (r#"["5","y","a.csv",1]"#, false));
    let formatted = "select $2 from @s (file_format => 'psv', pattern => '.*b[.]psv')";
    assert_eq!(ran(&world, formatted).await, r#"["z"]"#);
    let joined = "select c.name from customer c join @s/b.psv (file_format => psv) f on c.id = f.$1::integer";
    assert_eq!(ran(&world, joined).await, r#"["Cleo"]"#);
    ran(&world, "create table made as select $1::integer as id from @s/a.csv").await;
    ran(&world, "insert into made select $1::integer + 1 from @s/a.csv").await;
    assert_eq!(ran(&world, "select id from made order by id").await, "[5],[6]");
    assert_eq!(world.analyst("select $1 from @s/a.csv").await.unwrap().json, r#"["5"]"#);
    let mut bound = world.ask(owner_id(), "select $1 from @s/a.csv");
    bound.params = vec![engine::Value::BigInt(1)];
    let error = world.whole(bound).await.unwrap_err().to_string();
    assert_eq!(error, "a parameter of a statement that reads a stage is not supported");
    world.stop().await;
}

#[tokio::test]
async fn who_may_not_write_or_not_know_of_a_stage_loads_nothing_of_it() {
    let world = world().await;
    ran(&world, "create table t (id integer)").await;
    ran(&world, "create schema more").await;
    let id = staged(&world, "create stage more.s").await;
    put(&world, &id, "a.csv", "1\n");
    let code = async |sql: &str| world.analyst(sql).await.unwrap_err().code().stable();
    assert_eq!(code("copy into t from @more.s").await, "FORBIDDEN");
    assert!(refused(&world, "copy into t from @s").await.contains("stage s does not exist"));
    world.change(|rules| {
        let denied = rule(Condition::TableIs, &["more.@s", "more.@nope"], Action::Deny);
        rules.abac_policies = vec![ruled("stages", vec![denied])];
    });
    for sql in ["copy into t from @more.s", "select $1 from @more.s", "explain select $1 from @more.s"] {
        let told = refused(&world, sql).await;
        assert_eq!(told, refused(&world, &sql.replace("@more.s", "@more.nope")).await.replace("nope", "s"), "{sql}");
    }
    world.change(|rules| rules.abac_policies.clear());
    assert_eq!(ran(&world, "copy into t from @more.s").await, loaded("a.csv", 1));
    world.stop().await;
}

#[tokio::test]
async fn rules_of_the_table_hold_for_what_is_loaded_into_it_and_read_beside_it() {
    let world = world().await;
    let id = staged(&world, "create stage s").await;
    put(&world, &id, "a.csv", "2\n1\n");
    world.change(|rules| {
        rules.policies =
            vec![masking("customer", "ssn", MaskFunction::Full), filtering("customer", "region = '{region}'")];
    });
    let read = "select c.name, c.ssn from @s f join customer c on c.id = f.$1::integer";
    assert_eq!(world.analyst(read).await.unwrap().json, r#"["Ada","***"]"#);
    world.stop().await;
}

#[tokio::test]
async fn a_load_is_part_of_its_clients_transaction() {
    let wired = wired().await;
    let client = wired.owner().await;
    let id = staged(&wired.world, "create stage s").await;
    put(&wired.world, &id, "a.csv", "1\n2\n");
    simple(&client, "create table t (id integer)").await;
    let told = "a.csv|LOADED|2|2|1|0|NULL|NULL|NULL|NULL";
    for end in ["rollback", "commit"] {
        simple(&client, "begin").await;
        assert_eq!(simple(&client, "copy into t from @s").await[0], told);
        assert_eq!(simple(&client, "select count(*) from t").await[0], "2");
        assert_eq!(simple(&client, "select count(*) from @s").await[0], "2");
        simple(&client, end).await;
    }
    assert_eq!(simple(&client, "select count(*) from t").await[0], "2");
    let nothing = "NULL|Copy executed with 0 files processed.|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL";
    assert_eq!(simple(&client, "copy into t from @s").await[0], nothing);
    let rows = client.query("select $1::integer + 1 from @s order by 1", &[]).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.get::<_, i32>(0)).collect::<Vec<_>>(), [2, 3]);
    wired.stop().await;
}

#[tokio::test]
async fn a_savepoint_behind_a_load_is_refused_by_name_and_one_before_it_is_not() {
    let wired = wired().await;
    let client = wired.owner().await;
    let id = staged(&wired.world, "create stage s").await;
    put(&wired.world, &id, "a.csv", "1\n");
    simple(&client, "create table t (id integer)").await;
    simple(&client, "begin; savepoint a; copy into t from @s; rollback to savepoint a").await;
    simple(&client, "copy into t from @s; savepoint b; insert into t values (9)").await;
    let told = crate::pgwire::refused(&client, "rollback to savepoint b").await;
    assert_eq!(told.code().code(), "0A000", "{told:?}");
    assert!(told.message().contains("what it reads of a stage"), "{told:?}");
    simple(&client, "rollback").await;
    assert_eq!(simple(&client, "select count(*) from t").await[0], "0");
    wired.stop().await;
}

#[tokio::test]
async fn files_that_have_no_room_together_are_loaded_one_behind_the_other() {
    let world = world_with_disk(8 << 20).await; // of which files that the engine reads have half
    ran(&world, "create table t (note varchar)").await;
    let id = staged(&world, "create stage s").await;
    let text = format!("{}\n", "x".repeat(1_023)).repeat(1_536);
    for path in ["a.csv", "b.csv", "c.csv"] {
        put(&world, &id, path, &text);
    }
    ran(&world, "copy into t from @s").await;
    assert_eq!(world.count("select count(*) from raw.main.t").await, 3 * 1_536);
    world.stop().await;
}

#[tokio::test]
async fn files_are_loaded_one_behind_the_other_where_others_have_taken_the_room() {
    let world = world_with_disk(8 << 20).await;
    ran(&world, "create table t (note varchar)").await;
    let id = staged(&world, "create stage s").await;
    let text = format!("{}\n", "x".repeat(1_023)).repeat(900);
    for path in ["a.csv", "b.csv"] {
        put(&world, &id, path, &text);
    }
    let _others = world.spooled(5 << 19).await;
    ran(&world, "copy into t from @s").await;
    assert_eq!(world.count("select count(*) from raw.main.t").await, 2 * 900);
    world.stop().await;
}

#[tokio::test]
async fn files_under_a_rule_are_loaded_whole_by_nobody_whom_the_rule_binds() {
    let world = world().await;
    ran(&world, "create table t (id integer, ssn varchar)").await;
    let id = staged(&world, "create stage s file_format = (type = csv)").await;
    put(&world, &id, "a.csv", "1,078-05-1120\n");
    world.change(|rules| rules.members.get_mut(&"u-analyst".into()).unwrap().role = contract::Role::Developer);
    world.change(|rules| rules.policies = vec![masking("main.@s", "x", MaskFunction::Full)]);
    let error = world.analyst("copy into t from @s").await.unwrap_err();
    assert_eq!(error.code().stable(), "SVC_ERR_403_TABLE_DENIED", "{error}");
    assert_eq!(world.count("select count(*) from raw.main.t").await, 0);
    assert_eq!(ran(&world, "copy into t from @s").await, loaded("a.csv", 1));
    world.stop().await;
}
