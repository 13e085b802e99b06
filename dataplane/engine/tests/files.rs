//! Files that the engine may read: their types, their faults, their end.

use engine::{Config, Engine, Error, FileColumn, FileFault, FileFormat, Kind, Session, SpoolFile};

use crate::world::{World, answer, config, never, soon, world, write};

async fn file(world: &World, content: &[u8]) -> SpoolFile {
    let mut file = world.file().await.unwrap();
    file.write(content).await.unwrap();
    file.finish().await.unwrap();
    file
}

fn names(header: &str) -> Vec<String> {
    header.split(',').map(str::to_owned).filter(|name| !name.is_empty()).collect()
}

/// The columns of a file, as `name type`.
async fn columns(session: &mut Session, file: &SpoolFile, format: FileFormat, header: &str) -> Result<String, Error> {
    let told = session.file_columns((file, format), &names(header), soon(), &never()).await?;
    let told: Vec<_> = told.iter().map(|FileColumn { name, type_name }| format!("{name} {type_name}")).collect();
    Ok(told.join(", "))
}

/// What comes of reading a file into columns of these types.
async fn read(world: &World, content: &str, format: FileFormat, typed: &[(&str, &str)]) -> Result<String, Error> {
    let file = file(world, content.as_bytes()).await;
    let column = |(name, kind): &(&str, &str)| FileColumn { name: (*name).to_owned(), type_name: (*kind).to_owned() };
    let columns: Vec<_> = typed.iter().map(column).collect();
    answer(&mut world.session().await?, &file.query(format, &columns)?, &[]).await
}

#[tokio::test]
async fn csv_is_typed_by_all_of_its_values() {
    let world = world().await;
    let header = "whole,exact,part,day,moment,zoned,truth,zip,none,late";
    let mut content = format!("{header}\n");
    let first = "1,12345678901234567890,1.5,2024-01-02,2024-01-02 03:04:05,2024-01-02T03:04:05Z,true,00123,,1\n";
    (0..3_000).for_each(|_| content.push_str(first));
    content.push_str("3,,,,,,,,,\n");
    content.push_str("-2,1,2e3,2024-02-29,2024-01-02T03:04:05.25,2024-01-02 03:04:05+02:00,FALSE,1,,x\n");
    let file = file(&world, content.as_bytes()).await;
    let mut session = world.session().await.unwrap();
    let told = columns(&mut session, &file, FileFormat::Csv, header).await.unwrap();
    let expected = "whole BIGINT, exact VARCHAR, part DOUBLE, day DATE, moment TIMESTAMP, \
                    zoned TIMESTAMP WITH TIME ZONE, truth BOOLEAN, zip VARCHAR, none VARCHAR, late VARCHAR";
    assert_eq!(told, expected);
}

#[tokio::test]
async fn nothing_of_a_csv_file_is_skipped_in_silence() {
    let world = world().await;
    let two = [("a", "BIGINT"), ("b", "VARCHAR")];
    for (content, rows) in [
        ("a,b\n1,x\n2,\"y\nz\"\n", "1 x\n2 y\nz"),
        ("a,b\r\n1,x\r\n2,y", "1 x\n2 y"),
        ("a,b\n1,\"\"\n2,\n3,\"it \"\"is\"\"\"\n", "1 \n2 \n3 it \"is\""),
        ("a,b\n", ""),
    ] {
        assert_eq!(read(&world, content, FileFormat::Csv, &two).await.as_deref(), Ok(rows), "{content}");
    }
    for (content, line, reason) in [
        ("a,b\n1,x\n2,y,z\n", 3, "it has 3 values for 2 columns"),
        ("a,b\n1,x\n\n2\n", 4, "it has 1 values for 2 columns"),
        ("a,b\n1,x\nabc,y\n", 3, "column a has a value that is no BIGINT"),
        ("a,b\n1,\"x\n", 2, "a quote is not closed"),
    ] {
        let error = read(&world, content, FileFormat::Csv, &two).await.unwrap_err();
        let fault = FileFault::of(&error).unwrap_or_else(|| panic!("{content}: {error}"));
        assert_eq!((fault.line, fault.reason.as_str()), (Some(line), reason), "{content}");
    }
}

#[tokio::test]
async fn json_lines_say_their_own_types_and_their_faults() {
    let world = world().await;
    let content = "{\"id\": 1, \"name\": \"x\", \"tags\": [\"a\"], \"more\": {\"deep\": {\"er\": 1}}}\n\
                   {\"id\": 2.5, \"day\": \"2024-01-02\", \"ok\": true}\n";
    let file = file(&world, content.as_bytes()).await;
    let mut session = world.session().await.unwrap();
    let told = columns(&mut session, &file, FileFormat::JsonLines, "").await.unwrap();
    assert_eq!(told, "id DOUBLE, name VARCHAR, tags VARCHAR[], more JSON, day DATE, ok BOOLEAN");
    let typed = [("id", "BIGINT"), ("n", "VARCHAR")];
    let rows = read(&world, "{\"id\":1}\n\n{\"n\":\"x\"}", FileFormat::JsonLines, &typed).await;
    assert_eq!(rows.as_deref(), Ok("1 \n x"));
    for (content, line) in [("{\"id\":1}\n{\"id\":\n", 3), ("{\"id\":1}\n{\"id\":\"x\"}\n", 2)] {
        let error = read(&world, content, FileFormat::JsonLines, &typed).await.unwrap_err();
        assert_eq!(FileFault::of(&error).and_then(|fault| fault.line), Some(line), "{content}: {error}");
    }
}

#[tokio::test]
async fn parquet_is_read_by_its_schema_and_a_part_of_it_refused() {
    let world = world().await;
    let mut session = world.session().await.unwrap();
    let made = world.path().join("run/spool/made.parquet");
    let sql = "select 1::tinyint as a, 1.5::decimal(12,2) as d, [1.5::float] as l, {'x': 1} as s, 'it''s' as t";
    write(&mut session, &format!("copy ({sql}) to '{}' (format parquet)", made.display())).await.unwrap();
    let content = std::fs::read(&made).unwrap();
    let whole = file(&world, &content).await;
    let told = columns(&mut session, &whole, FileFormat::Parquet, "").await.unwrap();
    assert_eq!(told, "a TINYINT, d DECIMAL(12,2), l FLOAT[], s JSON, t VARCHAR");
    let typed = session.file_columns((&whole, FileFormat::Parquet), &[], soon(), &never()).await.unwrap();
    let rows = whole.query(FileFormat::Parquet, &typed).unwrap();
    assert_eq!(answer(&mut session, &rows, &[]).await.unwrap(), "1 1.50 [1.5] {\"x\":1} it's");
    for part in [&content[..content.len() - 9], &content[..3], b"PAR1 nonsense"] {
        let part = file(&world, part).await;
        let error = columns(&mut session, &part, FileFormat::Parquet, "").await.unwrap_err();
        let fault = FileFault::of(&error).unwrap_or_else(|| panic!("{error}"));
        assert_eq!(fault.reason, "it is no whole Parquet file");
    }
}

#[tokio::test]
async fn an_open_file_is_a_temporary_table_of_its_session_alone() {
    let world = world().await.made(&["create table t(a bigint, b varchar)"]).await;
    let file = file(&world, b"a,b\n1,x\n2,y\n").await;
    let typed = |kind: &str| FileColumn { name: "a".to_owned(), type_name: kind.to_owned() };
    let columns = [typed("BIGINT"), FileColumn { name: "b".to_owned(), ..typed("VARCHAR") }];
    let mut session = world.session().await.unwrap();
    session.begin().await.unwrap();
    let rows = file.query(FileFormat::Csv, &columns).unwrap();
    session.open_file("loaded", &rows, soon(), &never()).await.unwrap();
    let catalog = session.catalog().await.unwrap();
    let known = catalog.table("pg_temp", "loaded").unwrap();
    let known: Vec<_> = known.columns.iter().map(|column| column.type_name.as_str()).collect();
    assert_eq!(known, ["BIGINT", "VARCHAR"]);
    assert_eq!(write(&mut session, "insert into raw.main.t select * from temp.main.loaded").await, Ok(2));
    session.commit().await.unwrap();
    assert_eq!(world.answer("select count(*), max(b) from t").await.as_deref(), Ok("2 y"));
    assert!(world.catalog().await.unwrap().table("pg_temp", "loaded").is_none());
    drop(file);
    assert_eq!(std::fs::read_dir(world.path().join("run/spool")).unwrap().count(), 0);
}

#[tokio::test]
async fn files_together_take_no_more_than_their_room() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::start(Config { temp_limit_bytes: 200, ..config(&folder) }).await.unwrap();
    let (mut one, mut other) = (engine.file().await.unwrap(), engine.file().await.unwrap());
    one.write(&[b'x'; 60]).await.unwrap();
    assert_eq!(other.write(&[b'x'; 60]).await.unwrap_err().kind, Kind::TempSpace);
    drop(one);
    other.write(&[b'x'; 60]).await.unwrap();
    assert_eq!(other.bytes(), 60);
    drop(other);
    engine.stop().await;
}
