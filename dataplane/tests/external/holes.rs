//! The engine over a Parquet file with holes: it reads the columns that are there, and of the others no value.

use std::time::{Duration, Instant};

use dataplane::storage::stage_files::parquet_parts::{ColumnParts, footer_place};
use engine::{Error, Outcome, SpoolFile, Statement};
use tokio_util::sync::CancellationToken;

use super::columns::wide;
use crate::world::world;

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap()
}

/// The file without what lies in other columns than this one.
async fn with_one_column(spool: &mut SpoolFile, bytes: &[u8], column: &str) {
    let footer = footer_place(length(bytes), bytes).unwrap();
    let (start, stop) = (usize::try_from(footer.start).unwrap(), usize::try_from(footer.end).unwrap());
    let chosen = ColumnParts::of(&bytes[start..stop], footer.start, |names| {
        names.iter().copied().filter(|name| *name == column).collect()
    });
    spool.stretch(length(bytes)).await.unwrap();
    for piece in chosen.unwrap().pieces(footer.start) {
        let (from, to) = (usize::try_from(piece.start).unwrap(), usize::try_from(piece.end).unwrap());
        spool.write_at(piece.start, &bytes[from..to]).await.unwrap();
    }
    spool.write_at(footer.start, &bytes[start..]).await.unwrap();
    spool.finish().await.unwrap();
}

/// The values of a column, all of them looked at.
async fn looked_at(session: &mut engine::Session, spool: &SpoolFile, column: &str) -> Result<(), Error> {
    let rows = spool.parquet_columns(true, &[column.to_owned()])?;
    let sql = format!("select count(*), bit_xor(hash(looked_at)) from ({rows}) as looked_at");
    let statement = Statement { sql, params: Vec::new(), writes: false };
    let deadline = Instant::now() + Duration::from_secs(20);
    let outcome = session.run(statement, deadline, &CancellationToken::new()).await?;
    let Outcome::Rows(mut rows) = outcome else { panic!("no rows of {column}") };
    rows.next().await.unwrap().map(drop)
}

#[tokio::test]
async fn of_a_hole_the_engine_has_no_value() {
    let (world, bytes) = (world().await, wide());
    let engine = world.pipeline.engine.borrow().clone().unwrap();
    for there in ["id", "nested", "long_3"] {
        let mut spool = engine.file().await.unwrap();
        with_one_column(&mut spool, &bytes, there).await;
        for column in ["id", "note", "nested", "long_0", "long_3", "long_7"] {
            let mut session = engine.session().await.unwrap();
            let read = looked_at(&mut session, &spool, column).await;
            assert_eq!(read.is_ok(), column == there, "{column} where {there} is: {read:?}");
        }
    }
    drop(engine);
    world.stop().await;
}
