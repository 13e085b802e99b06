//! Every type of the engine arrives, under the engine's own name for it.

use engine::{Kind, Outcome, Statement};
use expect_test::expect_file;
use tokio_util::sync::CancellationToken;

use crate::world::{cell, read, soon, world};

#[tokio::test]
async fn every_type_arrives() {
    let world = world().await;
    let mut session = world.session().await.unwrap();
    let sql = "select * exclude (medium_enum, large_enum, timestamptz_array, hugeint) from test_all_types()";
    let outcome = session.run(read(sql), soon(), &CancellationToken::new()).await.unwrap();
    let Outcome::Rows(mut rows) = outcome else { panic!("no rows") };
    let batch = rows.next().await.unwrap().unwrap();
    let mut lines = Vec::new();
    for (index, column) in rows.columns.iter().enumerate() {
        // The engine's extremes are beyond what Arrow's printer shows as a date.
        let cell = Some(cell(batch.column(index), 0)).filter(|cell| !cell.starts_with("ERROR")).unwrap_or_default();
        let form = batch.column(index).data_type().to_string();
        lines.push(format!("{} | {} | {form} | {cell}", column.name, column.type_name));
    }
    expect_file!["./types.txt"].assert_eq(&lines.join("\n"));
}

#[tokio::test]
async fn a_number_that_arrow_cuts_is_refused_and_not_sent_wrong() {
    let world = world().await;
    let nines = "9".repeat(38);
    assert_eq!(world.answer(&format!("select -{nines}::hugeint")).await, Ok(format!("-{nines}")));
    let error = world.answer(&format!("select {nines}::hugeint + 1")).await.unwrap_err();
    assert_eq!(error.kind, Kind::OutOfRange);
}

#[tokio::test]
async fn what_arrow_cannot_carry_arrives_as_text_and_a_write_refuses_to_return_it() {
    let world =
        world().await.made(&["create type mood as enum ('ok', 'sad')", "create table t(m mood, u uhugeint)"]).await;
    let mut session = world.session().await.unwrap();
    let sql = "insert into t values ('sad', 340282366920938463463374607431768211455)";
    let returning = Statement { writes: true, ..read(&format!("{sql} returning u")) };
    let error = session.run(returning, soon(), &CancellationToken::new()).await.err().unwrap();
    assert_eq!(error.kind, Kind::NotImplemented);
    assert_eq!(world.answer("select count(*) from t").await.as_deref(), Ok("0"), "it was refused before it ran");
    crate::world::write(&mut session, sql).await.unwrap();
    let rows = world.answer("select m, u, [m], 1 as m from t order by m").await;
    assert_eq!(rows.as_deref(), Ok("sad 340282366920938463463374607431768211455 [sad] 1"));
}

#[tokio::test]
async fn a_structure_without_names_arrives() {
    let world = world().await;
    let made = "select struct_values({'a': '[1]'::json, 'b': 1}), {'a': '[2]'::json}, [row('1'::bit, 2)]";
    assert_eq!(world.answer(made).await.as_deref(), Ok("{: [1], : 1} {a: [2]} [(1, 2)]"));
}
