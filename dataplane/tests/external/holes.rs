//! The engine over a Parquet file with holes: it reads the columns that are there, and of the others no value.

use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use dataplane::storage::stage_files::parquet_parts::{ColumnParts, footer_place};
use engine::{Error, Outcome, SpoolFile, Statement};
use tokio_util::sync::CancellationToken;

use super::columns::wide;
use crate::world::world;

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap()
}

/// The file without what lies in other columns than this one, which the footer alone has too where it `is_alone`.
async fn with_one_column(spool: &mut SpoolFile, bytes: &[u8], (column, is_alone): (&str, bool)) {
    let footer = footer_place(length(bytes), bytes).unwrap();
    let (start, stop) = (usize::try_from(footer.start).unwrap(), usize::try_from(footer.end).unwrap());
    let chosen = ColumnParts::of(&bytes[start..stop], footer.start, |names| {
        names.iter().copied().filter(|name| *name == column).collect()
    });
    let chosen = chosen.unwrap();
    let ending = if is_alone { chosen.ending().unwrap() } else { bytes[start..].to_vec() };
    spool.stretch(footer.start + length(&ending)).await.unwrap();
    for piece in chosen.pieces(footer.start) {
        let (from, to) = (usize::try_from(piece.start).unwrap(), usize::try_from(piece.end).unwrap());
        spool.write_at(piece.start, &bytes[from..to]).await.unwrap();
    }
    spool.write_at(footer.start, &ending).await.unwrap();
    spool.finish().await.unwrap();
}

/// How many values a column has, and the sum of all of them.
async fn looked_at(session: &mut engine::Session, spool: &SpoolFile, column: &str) -> Result<RecordBatch, Error> {
    let rows = spool.parquet_columns(true, &[column.to_owned()])?;
    let sql = format!("select count(*), bit_xor(hash(looked_at)) from ({rows}) as looked_at");
    let statement = Statement { sql, params: Vec::new(), writes: false };
    let deadline = Instant::now() + Duration::from_mins(1);
    let outcome = session.run(statement, deadline, &CancellationToken::new()).await?;
    let Outcome::Rows(mut rows) = outcome else { panic!("no rows of {column}") };
    rows.next().await.unwrap()
}

#[tokio::test]
async fn of_a_hole_the_engine_has_no_value() {
    let (world, bytes) = (world().await, wide());
    let engine = world.pipeline.engine.borrow().clone().unwrap();
    for there in ["id", "nested", "long_3"] {
        let mut spool = engine.file().await.unwrap();
        with_one_column(&mut spool, &bytes, (there, false)).await;
        for column in ["id", "note", "nested", "long_0", "long_3", "long_7"] {
            let mut session = engine.session().await.unwrap();
            let read = looked_at(&mut session, &spool, column).await;
            assert_eq!(read.is_ok(), column == there, "{column} where {there} is: {read:?}");
        }
    }
    drop(engine);
    world.stop().await;
}

#[tokio::test]
async fn of_a_footer_of_one_column_the_engine_has_that_column_alone() {
    let (world, bytes) = (world().await, wide());
    let engine = world.pipeline.engine.borrow().clone().unwrap();
    let mut whole = engine.file().await.unwrap();
    whole.write(&bytes).await.unwrap();
    whole.finish().await.unwrap();
    for there in ["id", "nested", "long_3"] {
        let mut spool = engine.file().await.unwrap();
        with_one_column(&mut spool, &bytes, (there, true)).await;
        let mut session = engine.session().await.unwrap();
        let (all, deadline) = (spool.parquet_table(true).unwrap(), Instant::now() + Duration::from_secs(20));
        let described = session.describe(&all, deadline, &CancellationToken::new()).await.unwrap();
        let names: Vec<&str> = described.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, [there]);
        let alone = looked_at(&mut session, &spool, there).await.unwrap();
        assert_eq!(alone, looked_at(&mut session, &whole, there).await.unwrap(), "{there}");
    }
    drop(engine);
    world.stop().await;
}
