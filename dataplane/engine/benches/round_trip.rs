//! The cost of the hop to the child: a statement, a session, a transaction, and rows in bulk.
//!
//! Figures compare two runs on one idle machine; they are no promises.

#![expect(clippy::unwrap_used, reason = "a bench that fails has nothing to say")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use divan::Bencher;
use divan::counter::ItemsCount;
use engine::{Config, Engine, Outcome, Session, Statement};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

const ROWS: usize = 5_000_000;

fn main() {
    divan::main();
}

struct World {
    runtime: Runtime,
    engine: Engine,
    _folder: tempfile::TempDir,
}

fn world() -> World {
    let runtime = Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let config = Config {
        program: PathBuf::from(env!("CARGO_BIN_EXE_engine")),
        arguments: Vec::new(),
        data: Some(folder.path().join("data")),
        run: folder.path().join("run"),
        memory_limit_bytes: 1 << 30,
        temp_limit_bytes: 1 << 30,
        threads: 2,
        address_space_bytes: 16 << 30,
        sessions_max: 16,
        kept_statements: 16,
        mask_key: [7; 32],
    };
    let engine = runtime.block_on(Engine::start(config)).unwrap();
    World { runtime, engine, _folder: folder }
}

async fn drained(session: &mut Session, sql: &str) -> usize {
    let statement = Statement { sql: sql.to_owned(), params: Vec::new(), writes: false };
    let deadline = Instant::now() + Duration::from_mins(1);
    let Outcome::Rows(mut rows) = session.run(statement, deadline, &CancellationToken::new()).await.unwrap() else {
        return 0;
    };
    let mut count = 0;
    while let Some(batch) = rows.next().await {
        count += batch.unwrap().num_rows();
    }
    count
}

#[divan::bench]
fn select_42(bencher: Bencher) {
    let world = world();
    let mut session = world.runtime.block_on(world.engine.session()).unwrap();
    bencher.bench_local(|| world.runtime.block_on(drained(&mut session, "select 42")));
}

#[divan::bench]
fn select_42_on_a_new_session(bencher: Bencher) {
    let world = world();
    bencher.bench_local(|| {
        world.runtime.block_on(async {
            let mut session = world.engine.session().await.unwrap();
            drained(&mut session, "select 42").await
        })
    });
}

#[divan::bench]
fn a_transaction_around_select_42(bencher: Bencher) {
    let world = world();
    let mut session = world.runtime.block_on(world.engine.session()).unwrap();
    bencher.bench_local(|| {
        world.runtime.block_on(async {
            session.begin().await.unwrap();
            let count = drained(&mut session, "select 42").await;
            session.commit().await.unwrap();
            count
        })
    });
}

#[divan::bench]
fn the_parser_check(bencher: Bencher) {
    let world = world();
    let mut session = world.runtime.block_on(world.engine.session()).unwrap();
    let (deadline, never) = (Instant::now() + Duration::from_hours(1), CancellationToken::new());
    let sql = "select upper('a') from range(3)";
    bencher.bench_local(|| world.runtime.block_on(session.parsed(sql, deadline, &never)).unwrap());
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn five_million_rows_of_three_columns(bencher: Bencher) {
    let world = world();
    let mut session = world.runtime.block_on(world.engine.session()).unwrap();
    let sql = format!("select i, i * 2 as j, i::double as d from range({ROWS}) t(i)");
    bencher
        .counter(ItemsCount::new(ROWS))
        .bench_local(|| assert_eq!(world.runtime.block_on(drained(&mut session, &sql)), ROWS));
}
