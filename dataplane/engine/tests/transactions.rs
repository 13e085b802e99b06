//! Snapshots, commits, conflicts, and the log of changes.

use engine::{Change, Kind, Outcome, Statement};
use tokio_util::sync::CancellationToken;

use crate::world::{answer, in_folder, never, queried, read, soon, world, write};

#[tokio::test]
async fn a_transaction_sees_what_was_there_when_it_began() {
    let world = world().await.made(&["create table t(i int)"]).await;
    let mut reader = world.session().await.unwrap();
    reader.begin().await.unwrap();
    world.session().await.unwrap();
    let mut writer = world.session().await.unwrap();
    assert_eq!(write(&mut writer, "insert into t values (1), (2)").await, Ok(2));
    assert_eq!(answer(&mut reader, "select count(*) from t", &[]).await.as_deref(), Ok("0"));
    reader.commit().await.unwrap();
    assert_eq!(answer(&mut reader, "select count(*) from t", &[]).await.as_deref(), Ok("2"));
}

#[tokio::test]
async fn snapshots_have_different_names_also_after_a_restart() {
    let world = world().await;
    let mut session = world.session().await.unwrap();
    let first = session.begin().await.unwrap();
    session.rollback().await.unwrap();
    let second = session.begin().await.unwrap();
    drop(session);
    let world = in_folder(world.stopped().await).await;
    let third = world.session().await.unwrap().begin().await.unwrap();
    assert!(first != second && second != third && first != third);
}

#[tokio::test]
async fn a_query_has_its_transaction_for_itself_and_changes_nothing() {
    let world = world().await.made(&["create table t(i int)"]).await;
    let mut session = world.session().await.unwrap();
    session.begin().await.unwrap();
    assert_eq!(queried(&mut session, "select 1").await.unwrap_err().kind, Kind::InvalidInput);
    session.rollback().await.unwrap();
    let first = session.next_snapshot().await.unwrap();
    assert_ne!(first, session.next_snapshot().await.unwrap());
    // whatever somebody takes for a read
    for sql in ["insert into t values (1)", "create table made as select 1 as x", "drop table t"] {
        let _ = queried(&mut session, sql).await;
    }
    assert_eq!(world.answer("select count(*) from t").await.as_deref(), Ok("0"));
    assert_eq!(world.answer("select * from made").await.unwrap_err().kind, Kind::CatalogMissing);
    write(&mut world.session().await.unwrap(), "insert into t values (7)").await.unwrap();
    assert_eq!(queried(&mut session, "select i from t").await.as_deref(), Ok("7"));
    // its transaction is over, also where it failed
    assert!(queried(&mut session, "select error('x')").await.is_err());
    session.begin().await.unwrap();
    write(&mut session, "insert into t values (8)").await.unwrap();
    session.commit().await.unwrap();
    assert_eq!(queried(&mut session, "select sum(i) from t").await.as_deref(), Ok("15"));
}

#[tokio::test]
async fn a_transaction_is_opened_by_a_write() {
    let world = world().await.made(&["create table t(i int primary key)"]).await;
    let mut session = world.session().await.unwrap();
    let by = |sql: &str| Statement { writes: true, ..read(sql) };
    let opened = session.begin_by(by("insert into t values (1), (2)"), None, soon(), &never()).await.unwrap();
    assert!(matches!(opened, Some(Outcome::Changed { rows: 2, returning: None, .. })));
    assert_eq!(world.answer("select count(*) from t").await.as_deref(), Ok("0"), "it is not committed");
    assert!(
        session.begin_by(by("insert into t values (3)"), None, soon(), &never()).await.is_err(),
        "one is open already"
    );
    session.commit().await.unwrap();
    let again = session.begin_by(by("insert into t values (1)"), None, soon(), &never()).await.err().unwrap();
    assert_eq!(again.kind, Kind::Constraint);
    assert_eq!(session.commit().await.unwrap_err().kind, Kind::InvalidInput, "none is open");
    let opened = session.begin_by(by("insert into t values (3) returning i"), None, soon(), &never()).await.unwrap();
    let Some(Outcome::Changed { returning: Some(held), .. }) = opened else { panic!("nothing returned") };
    assert_eq!(held.rows(), 1);
    session.rollback().await.unwrap();
    assert_eq!(answer(&mut session, "select count(*) from t", &[]).await.as_deref(), Ok("2"));
}

#[tokio::test]
async fn an_insert_runs_only_if_the_parser_finds_what_is_said_of_it() {
    let world = world().await.made(&["create table t(i int)", "create table u as select 7 as i"]).await;
    let mut session = world.session().await.unwrap();
    let by = |sql: &str| Statement { writes: true, ..read(sql) };
    for (sql, said) in [
        ("insert into t values (1)", vec![]),
        ("INSERT INTO raw.main.t SELECT i FROM raw.main.u", vec!["raw.main.u"]),
        ("insert into t select i from u where i not in (select i from t)", vec!["t", "u"]),
    ] {
        let mut said: Vec<_> = said.into_iter().map(str::to_owned).collect();
        let parsed = world.parsed(sql, soon(), &never()).await.unwrap().tables;
        let (mut found, mut told) = (parsed.clone().unwrap(), said.clone());
        found.sort();
        told.sort();
        assert_eq!(found, told, "{sql}");
        said = parsed.unwrap(); // in their order
        let others = [said.clone(), vec!["raw.main.other".to_owned()]].concat();
        let ran = session.begin_by(by(sql), Some(&others), soon(), &never()).await.unwrap();
        assert!(ran.is_none(), "{sql}");
        assert_eq!(session.commit().await.unwrap_err().kind, Kind::InvalidInput, "none is open: {sql}");
        let ran = session.begin_by(by(sql), Some(&said), soon(), &never()).await.unwrap();
        assert!(ran.is_some(), "{sql}");
        session.rollback().await.unwrap();
    }
    // of these it is not sure
    for sql in ["delete from t", "update t set i = 2", "create table made as select 1 as x", "select 1", "inser"] {
        for said in [vec![], vec!["t".to_owned()]] {
            let ran = session.begin_by(by(sql), Some(&said), soon(), &never()).await.unwrap();
            assert!(ran.is_none(), "{sql}");
        }
    }
    // and some are not run although it can
    for sql in ["insert into nothing_there values (1)", "insert into t values (1); delete from t"] {
        let ran = session.begin_by(by(sql), Some(&[]), soon(), &never()).await;
        assert!(!matches!(ran, Ok(Some(_))), "{sql}");
    }
    assert_eq!(world.answer("select count(*) from t").await.as_deref(), Ok("0"));
}

/// The engine of these tests takes a text for what is said of it where the tables are those.
#[tokio::test]
async fn a_query_runs_only_if_the_parser_finds_what_is_said_of_it() {
    let world = world().await.made(&["create table t(i int)", "insert into t values (7)"]).await;
    let mut session = world.session().await.unwrap();
    for (sql, said) in [
        ("select i from t", vec!["t"]),
        ("select i from raw.main.t", vec!["raw.main.t"]),
        ("with t as (select 7 as i) select i from t", vec![]),
        ("select i from (select 7 as i), (select count(*) from t)", vec!["t"]),
    ] {
        let said: Vec<_> = said.into_iter().map(str::to_owned).collect();
        let rows = session.query(read(sql), Some(&said), soon(), &never()).await.unwrap();
        assert!(rows.is_some(), "{sql}");
        drop(rows);
        let others = ["t".to_owned(), "raw.main.other".to_owned()];
        let rows = session.query(read(sql), Some(&others), soon(), &never()).await.unwrap();
        assert!(rows.is_none(), "{sql}");
    }
    // of these it cannot tell
    for sql in ["insert into t values (8)", "delete from t", "create table made as select 1 as x", "selec"] {
        for said in [vec![], vec!["t".to_owned()]] {
            let rows = session.query(read(sql), Some(&said), soon(), &never()).await.unwrap();
            assert!(rows.is_none(), "{sql}");
        }
    }
    // and some are not run although it can
    for sql in ["", "select 1; select 2", "select nothing_there"] {
        assert!(session.query(read(sql), Some(&[]), soon(), &never()).await.is_err(), "{sql}");
    }
    assert_eq!(queried(&mut session, "select i from t").await.as_deref(), Ok("7"));
}

#[tokio::test]
async fn the_rows_of_a_query_are_of_one_state() {
    let world = world().await.made(&["create table t as select i from range(200000) r(i)"]).await;
    let mut session = world.session().await.unwrap();
    let mut rows = session.query(read("select i from t"), None, soon(), &never()).await.unwrap().unwrap();
    let mut count = rows.next().await.unwrap().unwrap().num_rows();
    write(&mut world.session().await.unwrap(), "delete from t").await.unwrap();
    while let Some(batch) = rows.next().await {
        count += batch.unwrap().num_rows();
    }
    assert_eq!(count, 200_000);
    assert_eq!(queried(&mut session, "select count(*) from t").await.as_deref(), Ok("0"));
}

#[tokio::test]
async fn two_writers_of_one_row_conflict() {
    let world = world().await.made(&["create table t(i int)", "insert into t values (1)"]).await;
    let (mut one, mut two) = (world.session().await.unwrap(), world.session().await.unwrap());
    one.begin().await.unwrap();
    two.begin().await.unwrap();
    write(&mut one, "update t set i = 2").await.unwrap();
    let error = write(&mut two, "update t set i = 3").await.unwrap_err();
    assert_eq!(error.kind, Kind::WriteConflict);
    let aborted = write(&mut two, "update t set i = 4").await.unwrap_err();
    assert_eq!(aborted.kind, Kind::TransactionAborted);
    two.rollback().await.unwrap();
    one.commit().await.unwrap();
    assert_eq!(answer(&mut two, "select i from t", &[]).await.as_deref(), Ok("2"));
}

#[tokio::test]
async fn a_write_returns_rows_that_are_held() {
    let world = world().await.made(&["create table t(i int, j varchar)"]).await;
    let mut session = world.session().await.unwrap();
    let sql = "insert into t select i, 'x' || i from range(5000) r(i) returning j as \"Count\"";
    let statement = Statement { writes: true, ..read(sql) };
    session.begin().await.unwrap();
    let outcome = session.run(statement, soon(), &CancellationToken::new()).await.unwrap();
    let Outcome::Changed { rows, returning: Some(held), .. } = outcome else { panic!("not held") };
    assert_eq!((rows, held.rows(), held.columns[0].name.as_str()), (5000, 5000, "Count"));
    session.commit().await.unwrap();
    assert_eq!(answer(&mut session, "select count(*) from t", &[]).await.as_deref(), Ok("5000"));
}

#[tokio::test]
async fn changes_are_logged_with_the_write_or_not_at_all() {
    let world = world().await.made(&["create table t(i int)"]).await;
    let mut session = world.session().await.unwrap();
    let change = |query: &str, snapshot: &str| Change {
        query_id: query.to_owned(),
        table: "main.t".to_owned(),
        operation: "insert".to_owned(),
        rows: 1,
        snapshot: snapshot.to_owned(),
        at_micros: 1_000_000,
    };
    for (query, keep) in [("lost", false), ("kept", true)] {
        let snapshot = session.begin().await.unwrap();
        write(&mut session, "insert into t values (1)").await.unwrap();
        session.track(&[change(query, snapshot.as_str())]).await.unwrap();
        if keep { session.commit().await } else { session.rollback().await }.unwrap();
    }
    let snapshot = session.begin().await.unwrap();
    write(&mut session, "insert into t values (2)").await.unwrap();
    session.commit_then(vec![change("with", snapshot.as_str())], || ()).await.unwrap();
    let logged =
        "select query_id, table_name, operation, rows, epoch_us(\"at\") from raw._svc_dirty.changes order by 1";
    assert_eq!(world.answer(logged).await.as_deref(), Ok("kept main.t insert 1 1000000\nwith main.t insert 1 1000000"));
    assert_eq!(world.answer("select count(*) from t").await.as_deref(), Ok("2"));
}

#[tokio::test]
async fn nothing_is_tracked_or_committed_outside_a_transaction() {
    let world = world().await;
    let mut session = world.session().await.unwrap();
    assert_eq!(session.track(&[]).await.unwrap_err().kind, Kind::InvalidInput);
    assert_eq!(session.commit().await.unwrap_err().kind, Kind::InvalidInput);
    session.rollback().await.unwrap();
    session.begin().await.unwrap();
    assert_eq!(session.begin().await.unwrap_err().kind, Kind::InvalidInput);
}

#[tokio::test]
async fn what_was_committed_is_there_after_a_stop() {
    let world = world().await.made(&["create table t(i int)", "insert into t values (1)"]).await;
    let folder = world.stopped().await;
    assert!(!folder.path().join("data/raw.duckdb.wal").exists(), "a stop leaves nothing to replay");
    let world = in_folder(folder).await;
    assert_eq!(world.answer("select i from t").await.as_deref(), Ok("1"));
}

#[tokio::test]
async fn a_session_gets_nothing_of_another() {
    let world = world().await;
    let mut first = world.session().await.unwrap();
    write(&mut first, "create temp table secret(i int)").await.unwrap();
    drop(first);
    let mut second = world.session().await.unwrap();
    let error = answer(&mut second, "select * from secret", &[]).await.unwrap_err();
    assert_eq!(error.kind, Kind::CatalogMissing);
}

#[tokio::test]
async fn rows_that_are_kept_are_of_the_snapshot_and_no_definition() {
    let world = world().await.made(&["create table t as select i from range(10) r(i)"]).await;
    let version = world.schema_version();
    let mut session = world.session().await.unwrap();
    session.begin().await.unwrap();
    write(&mut world.session().await.unwrap(), "delete from t").await.unwrap();
    let keep = read("create or replace temp table kept as select i from t where i > $1");
    let keep = Statement { params: vec![engine::Value::BigInt(6)], ..keep };
    session.keep(keep.clone(), soon(), &CancellationToken::new()).await.unwrap();
    session.keep(keep, soon(), &CancellationToken::new()).await.unwrap();
    assert_eq!(answer(&mut session, "select count(*) from kept", &[]).await.as_deref(), Ok("3"));
    session.commit().await.unwrap();
    assert_eq!(world.schema_version(), version);
    let broken = read("create temp table more as select 'x'::int");
    let error = session.keep(broken, soon(), &CancellationToken::new()).await.unwrap_err();
    assert_eq!(error.kind, Kind::Conversion);
}

#[tokio::test]
async fn sessions_are_bounded() {
    let world = world().await;
    let mut open = Vec::new();
    let error = loop {
        match world.session().await {
            Ok(session) => open.push(session),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind, Kind::Unavailable);
    drop(open);
    assert!(world.session().await.is_ok());
}

/// The engine leaves out whole groups of rows for an OFFSET, which it counts as it plans.
#[tokio::test]
async fn an_offset_is_counted_in_the_rows_that_the_query_sees() {
    let world = world().await.made(&["create table t as select 300000 - i as id from range(300000) r(i)"]).await;
    let sql = "select (select id from raw.main.t order by id limit 1 offset 200000) - (select min(id) from raw.main.t)";
    let (mut reading, mut writing) = (world.session().await.unwrap(), world.session().await.unwrap());
    let reads = async {
        for _ in 0..40 {
            assert_eq!(queried(&mut reading, sql).await.as_deref(), Ok("200000"));
        }
    };
    let writes = async {
        for id in 1..=200 {
            write(&mut writing, &format!("insert into t values (1 - {id})")).await.unwrap();
        }
    };
    tokio::join!(reads, writes);
    world.stopped().await;
}
