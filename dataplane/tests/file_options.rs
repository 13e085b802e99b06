//! Options of file formats, over files of a stage: the rows are those that the warehouse documents for them.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, ZlibEncoder};

use crate::copied::{loaded, put, ran, refused, staged};
use crate::world::world;

fn zlib(text: &str) -> Vec<u8> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

fn deflate(text: &str) -> Vec<u8> {
    let mut packed = DeflateEncoder::new(Vec::new(), Compression::default());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

#[tokio::test]
async fn files_that_deflate_has_packed_are_read_and_written() {
    let world = world().await;
    ran(&world, "create table t (id integer, note varchar)").await;
    let id = staged(&world, "create stage s").await;
    put(&world, &id, "a.csv.deflate", zlib("1,a\n"));
    put(&world, &id, "b.csv.raw_deflate", deflate("2,b\n"));
    put(&world, &id, "c.data", zlib("3,c\n"));
    let both = format!("{},{}", loaded("a.csv.deflate", 1), loaded("b.csv.raw_deflate", 1));
    assert_eq!(ran(&world, "copy into t from @s pattern = '.*deflate'").await, both);
    let said = "copy into t from @s/c.data file_format = (type = csv compression = deflate)";
    assert_eq!(ran(&world, said).await, loaded("c.data", 1));
    assert_eq!(ran(&world, "select * from t order by id").await, r#"[1,"a"],[2,"b"],[3,"c"]"#);
    assert_eq!(ran(&world, "select $1, $2 from @s/b.csv").await, r#"["2","b"]"#);
    put(&world, &id, "d.csv.deflate", "4,d\n");
    let broken = "d.csv.deflate: it is no whole DEFLATE file, which begins with a zlib header";
    assert_eq!(refused(&world, "copy into t from @s/d.csv").await, broken);
    let unload = "copy into @s/out/ from (select id, note from t) file_format = (type = csv compression = raw_deflate)";
    ran(&world, unload).await;
    assert_eq!(ran(&world, "select count(*), max($1) from @s/out/data_0_0_0.csv.raw_deflate").await, r#"[3,"3"]"#);
    assert_eq!(std::fs::read_dir(world.spool()).unwrap().count(), 0, "a file is left");
    world.stop().await;
}

#[tokio::test]
async fn dates_and_bytes_are_read_by_their_formats_and_others_are_faults() {
    const FORMATS: &str = "date_format = 'DD.MM.YYYY' time_format = 'HH12:MI AM' \
                           timestamp_format = 'YYYY/MM/DD HH24-MI-SS' binary_format = base64";
    let world = world().await;
    ran(&world, "create table t (id integer, day date, clock time, moment timestamp, code binary)").await;
    let id = staged(&world, &format!("create stage s file_format = (type = csv {FORMATS})")).await;
    put(&world, &id, "a.csv", "1,02.01.2026,03:04 PM,2026/01/02 03-04-05,aGk=\n2,,,,\n");
    assert_eq!(ran(&world, "copy into t from @s/a.csv").await, loaded("a.csv", 2));
    let values = "select id, day, to_char(clock, 'HH24:MI:SS'), to_char(moment, 'YYYY-MM-DD HH24:MI:SS'), hex_encode(code) \
                  from t order by id";
    let rows = r#"[1,"2026-01-02","15:04:00","2026-01-02 03:04:05","6869"],[2,null,null,null,null]"#;
    assert_eq!(ran(&world, values).await, rows);
    put(&world, &id, "b.csv", "3,03.01.2026,,,\n4,2026-01-03,,,\n5,,,,%%\n");
    let abort = refused(&world, "copy into t from @s/b.csv").await;
    assert_eq!(abort, "line 2 of b.csv: column day has a value that is no DATE");
    let told = ran(&world, "copy into t from @s/b.csv validation_mode = return_errors").await;
    assert!(told.contains("column day has") && told.contains("column code has a value that is no BLOB"), "{told}");
    let first = r#""column day has a value that is no DATE",2,null,"day""#;
    let partly = format!(r#"["b.csv","PARTIALLY_LOADED",3,1,3,2,{first}]"#);
    assert_eq!(ran(&world, "copy into t from @s/b.csv on_error = continue").await, partly);
    let job = staged(&world, "copy into t from @s/b.csv on_error = continue force = true").await;
    let past = format!("select line, column_name from table(validate(t, job_id => '{job}')) order by line");
    assert_eq!(ran(&world, &past).await, r#"[2,"day"],[3,"code"]"#);
    ran(&world, &format!("create file format f type = csv {FORMATS}")).await;
    let inferred = "select type from table(infer_schema(location => '@s/a.csv', file_format => 'f')) order by order_id";
    let types = r#"["NUMBER(1, 0)"],["DATE"],["TIME"],["TIMESTAMP_NTZ"],["TEXT"]"#;
    assert_eq!(ran(&world, inferred).await, types);
    assert!(refused(&world, "select $2 from @s/a.csv").await.contains("DATE_FORMAT of a query of files"));
    let id = staged(&world, &format!("create stage j file_format = (type = json {FORMATS})")).await;
    put(&world, &id, "a.json", r#"{"id":6,"day":"06.01.2026","code":"aGk="}"#);
    ran(&world, "copy into t from @j match_by_column_name = case_insensitive").await;
    let values = "select day, hex_encode(code) from t where id = 6";
    assert_eq!(ran(&world, values).await, r#"["2026-01-06","6869"]"#);
    assert_eq!(std::fs::read_dir(world.spool()).unwrap().count(), 0, "a file is left");
    world.stop().await;
}

#[tokio::test]
async fn values_and_records_end_as_the_format_says_without_white_space() {
    let world = world().await;
    ran(&world, "create table t (id integer, note varchar, day date)").await;
    let signs = "field_delimiter = '||' record_delimiter = ';' trim_space = true field_optionally_enclosed_by = '\"'";
    let id = staged(&world, &format!("create stage s file_format = (type = csv {signs})")).await;
    let text = "1 || \"a;\"\"b\" ||2026-01-02; 2||c\nd|| \\N ;3|| e ||;";
    put(&world, &id, "a.csv", text);
    let rows = r#"[1,"a;\"b","2026-01-02"],[2,"c\nd",null],[3,"e",null]"#;
    assert_eq!(ran(&world, "copy into t from @s/a.csv").await, loaded("a.csv", 3));
    assert_eq!(ran(&world, "select * from t order by id").await, rows);
    ran(&world, "truncate table t").await;
    let whole = r#"["a.csv","LOADED",3,3,3,0,null,null,null,null]"#;
    assert_eq!(ran(&world, "copy into t from @s/a.csv on_error = continue").await, whole);
    assert_eq!(ran(&world, "select * from t order by id").await, rows);
    let selected = ran(&world, "select $1, $2, $3 from @s/a.csv").await;
    assert_eq!(selected, r#"["1","a;\"b","2026-01-02"],["2","c\nd",null],["3","e",null]"#);
    put(&world, &id, "b.csv", "4||f||2026-01-03;x||g||;5;");
    let first = r#""column id has a value that is no INTEGER",2,null,"id""#;
    let partly = format!(r#"["b.csv","PARTIALLY_LOADED",3,1,3,2,{first}]"#);
    assert_eq!(ran(&world, "copy into t from @s/b.csv on_error = continue").await, partly);
    let made = "create external table e (note varchar as (value:c2::varchar)) location = @s pattern = '.*a.csv'";
    ran(&world, made).await;
    assert_eq!(ran(&world, "select note from e order by note").await, r#"["a;\"b"],["c\nd"],["e"]"#);
    ran(&world, &format!("create file format f type = csv {signs}")).await;
    let inferred = "select type from table(infer_schema(location => '@s/a.csv', file_format => 'f')) order by order_id";
    assert_eq!(ran(&world, inferred).await, r#"["NUMBER(1, 0)"],["TEXT"],["DATE"]"#);
    let lines = "select $1 from @s/lines.txt (file_format => 'whole')";
    ran(&world, "create file format whole type = csv field_delimiter = none escape_unenclosed_field = none").await;
    put(&world, &id, "lines.txt", "a, \"b\" \\c\nd\n");
    assert_eq!(ran(&world, lines).await, r#"["a, \"b\" \\c"],["d"]"#);
    assert_eq!(std::fs::read_dir(world.spool()).unwrap().count(), 0, "a file is left");
    world.stop().await;
}

#[tokio::test]
async fn characters_are_read_by_their_encoding_and_others_are_replaced_or_faults() {
    let world = world().await;
    ran(&world, "create table t (id integer, note varchar)").await;
    let id = staged(&world, "create stage s file_format = (type = csv encoding = 'ISO-8859-1')").await;
    put(&world, &id, "a.csv", b"1,caf\xe9\n");
    assert_eq!(ran(&world, "copy into t from @s/a.csv").await, loaded("a.csv", 1));
    assert_eq!(ran(&world, "select $2 from @s/a.csv").await, r#"["café"]"#);
    put(&world, &id, "b.csv", b"\xff\xfe2\0,\0\xe9\0\n\0");
    let wide = "copy into t from @s/b.csv file_format = (type = csv encoding = 'UTF16')";
    let answered = ran(&world, &format!("{wide} on_error = continue")).await;
    assert_eq!(answered, r#"["b.csv","LOADED",1,1,1,0,null,null,null,null]"#);
    assert_eq!(ran(&world, "select * from t order by id").await, r#"[1,"café"],[2,"é"]"#);
    put(&world, &id, "c.csv", b"3,c\n4,\xff\n");
    let plain = "copy into t from @s/c.csv file_format = (type = csv) validation_mode = return_errors";
    assert!(ran(&world, plain).await.contains("it is not UTF-8"));
    let replacing = "copy into t from @s/c.csv file_format = (type = csv replace_invalid_characters = true)";
    assert_eq!(ran(&world, replacing).await, loaded("c.csv", 2));
    assert_eq!(ran(&world, "select note from t where id = 4").await, "[\"\u{fffd}\"]");
    let id = staged(&world, "create stage j file_format = (type = json ignore_utf8_errors = true)").await;
    put(&world, &id, "a.json", b"{\"a\":\"\xff\"}");
    assert_eq!(ran(&world, "select $1:a::varchar from @j").await, "[\"\u{fffd}\"]");
    assert_eq!(std::fs::read_dir(world.spool()).unwrap().count(), 0, "a file is left");
    world.stop().await;
}

#[tokio::test]
async fn values_that_are_loaded_by_their_names_are_null_and_trimmed_as_the_format_says() {
    const BY_NAME: &str = "match_by_column_name = case_insensitive";
    const OPTIONS: &str = "null_if = ('none', '') trim_space = true";
    let world = world().await;
    ran(&world, "create table t (id integer, note varchar, day date)").await;
    let id = staged(&world, &format!("create stage j file_format = (type = json {OPTIONS})")).await;
    put(&world, &id, "a.json", r#"{"id":" 1 ","note":" none ","day":"2026-01-01"}{"id":2,"note":" x\t","day":"none"}"#);
    assert_eq!(ran(&world, &format!("copy into t from @j {BY_NAME}")).await, loaded("a.json", 2));
    let rows = r#"[1,null,"2026-01-01"],[2,"x",null]"#;
    assert_eq!(ran(&world, "select * from t order by id").await, rows);
    assert_eq!(ran(&world, "select $1:note::varchar from @j where $1:day::varchar = 'none'").await, r#"[" x\t"]"#);
    let id = staged(&world, &format!("create stage p file_format = (type = parquet {OPTIONS})")).await;
    let made = world.spool().join("made.parquet");
    let query = "select 1 as id, ' none ' as note, date '2026-01-01' as day union all select 2, ' x', null";
    world.behind_our_back(&format!("copy ({query}) to '{}' (format parquet)", made.display())).await;
    put(&world, &id, "a.parquet", std::fs::read(&made).unwrap());
    std::fs::remove_file(&made).unwrap();
    for on_error in ["", "on_error = continue"] {
        ran(&world, "truncate table t").await;
        ran(&world, &format!("copy into t from @p {BY_NAME} force = true {on_error}")).await;
        assert_eq!(ran(&world, "select * from t order by id").await, rows, "{on_error}");
    }
    ran(&world, "create table v (id integer, more variant)").await;
    let told = refused(&world, &format!("copy into v from @p {BY_NAME}")).await;
    assert!(told.contains("NULL_IF or TRIM_SPACE of a file with column more"), "{told}");
    world.stop().await;
}

#[tokio::test]
async fn files_that_bzip2_and_zstandard_have_packed_are_read() {
    const BZIP2: &str =
        "425a6839314159265359b0a7114f00000259000010000430003000200021a699a0c002950b0bb9229c2848585388a780";
    const ZSTANDARD: &str = "28b52ffd0458410000312c610a322c620ac4149a93";
    let world = world().await;
    ran(&world, "create table t (id integer, note varchar)").await;
    let id = staged(&world, "create stage s").await;
    let rows = r#"[1,"a"],[2,"b"]"#;
    for (word, end, hex) in [("bz2", "bz2", BZIP2), ("zstd", "zst", ZSTANDARD)] {
        let (by_name, by_format) = (format!("a.csv.{end}"), format!("{word}.data"));
        for path in [&by_name, &by_format] {
            put(&world, &id, path, hex::decode(hex).unwrap());
        }
        for (path, format) in [(&by_name, String::new()), (&by_format, format!("compression = {word}"))] {
            ran(&world, "truncate table t").await;
            let load = format!("copy into t from @s/{path} file_format = (type = csv {format})");
            assert_eq!(ran(&world, &load).await, loaded(path, 2));
            assert_eq!(ran(&world, "select * from t order by id").await, rows, "{path}");
        }
        put(&world, &id, &by_name, "1,a\n");
        let broken = refused(&world, &format!("copy into t from @s/{by_name}")).await;
        assert!(broken.contains("it is no whole"), "{broken}");
    }
    assert_eq!(std::fs::read_dir(world.spool()).unwrap().count(), 0, "a file is left");
    world.stop().await;
}

#[tokio::test]
async fn members_that_are_null_are_left_out_where_the_format_says_so() {
    let world = world().await;
    let id = staged(&world, "create stage j file_format = (type = json strip_null_values = true)").await;
    put(&world, &id, "a.json", r#"{"a":null,"b":{"x":null,"y":88},"c":[{"d":null}]}{"a":1}"#);
    let rows = ran(&world, "select $1::varchar from @j/a.json").await;
    assert_eq!(rows, r#"["{\"b\":{\"y\":88},\"c\":[{}]}"],["{\"a\":1}"]"#);
    ran(&world, "create table v (doc variant)").await;
    ran(&world, "copy into v from @j/a.json on_error = continue").await;
    assert_eq!(ran(&world, "select count(*) from v where doc:b:x is null").await, "[2]");
    put(&world, &id, "b.json", "{\"a\":1}\n{\"a\":[1,null]}");
    let told = refused(&world, "copy into v from @j/b.json").await;
    assert_eq!(told, "line 2 of b.json: STRIP_NULL_VALUES leaves no null in an array, and it has one");
    assert_eq!(std::fs::read_dir(world.spool()).unwrap().count(), 0, "a file is left");
    world.stop().await;
}
