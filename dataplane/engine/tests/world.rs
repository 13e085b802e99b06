//! An engine on an empty folder, and the few words the tests use.

use std::ops::Deref;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, RecordBatch, make_array};
use arrow::datatypes::DataType;
use arrow::util::display::array_value_to_string;
use engine::{Config, Engine, Error, Outcome, Rows, Session, Statement, Value};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub struct World {
    engine: Engine,
    folder: TempDir,
}

impl Deref for World {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.engine
    }
}

pub async fn world() -> World {
    in_folder(tempfile::tempdir().unwrap()).await
}

pub async fn in_folder(folder: TempDir) -> World {
    World { engine: Engine::start(config(&folder)).await.unwrap(), folder }
}

pub fn config(folder: &TempDir) -> Config {
    Config {
        program: PathBuf::from(env!("CARGO_BIN_EXE_engine")),
        arguments: Vec::new(),
        data: Some(folder.path().join("data")),
        run: folder.path().join("run"),
        memory_limit_bytes: 512 << 20,
        temp_limit_bytes: 64 << 20,
        threads: 2,
        address_space_bytes: 8 << 30,
        sessions_max: 16,
        kept_statements: 16,
        mask_key: [7; 32],
    }
}

impl World {
    pub async fn stopped(self) -> TempDir {
        self.engine.stop().await;
        self.folder
    }

    /// Lets go of the engine without a word.
    pub fn dropped(self) -> TempDir {
        self.folder
    }

    pub fn path(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Which child serves: another after a restart.
    pub async fn incarnation(&self) -> String {
        loop {
            // A session may fall into the moment of a restart.
            if let Ok(snapshot) = self.session().await.unwrap().begin().await {
                return snapshot.as_str().split('-').next().unwrap().to_owned();
            }
        }
    }

    /// Waits until another child than this serves. A minute is enough on any machine; one that goes on fails.
    pub async fn restarted(&self, before: &str) {
        let another = async { while self.incarnation().await == before {} };
        tokio::time::timeout(Duration::from_mins(1), another).await.expect("the process goes on");
    }

    /// Runs writes, one session for all.
    pub async fn made(self, statements: &[&str]) -> Self {
        let mut session = self.session().await.unwrap();
        for sql in statements {
            write(&mut session, sql).await.unwrap();
        }
        self
    }

    /// The rows of a query on a session of its own, a line each, columns parted by spaces.
    pub async fn answer(&self, sql: &str) -> Result<String, Error> {
        answer(&mut self.session().await?, sql, &[]).await
    }
}

pub fn soon() -> Instant {
    Instant::now() + Duration::from_mins(3)
}

/// Of what nobody gives up.
pub fn never() -> CancellationToken {
    CancellationToken::new()
}

pub fn read(sql: &str) -> Statement {
    Statement { sql: sql.to_owned(), params: Vec::new(), writes: false }
}

pub async fn write(session: &mut Session, sql: &str) -> Result<u64, Error> {
    let statement = Statement { writes: true, ..read(sql) };
    match session.run(statement, soon(), &CancellationToken::new()).await? {
        Outcome::Changed { rows, .. } => Ok(rows),
        Outcome::Rows(_) => panic!("rows from {sql}"),
    }
}

pub async fn answer(session: &mut Session, sql: &str, params: &[Value]) -> Result<String, Error> {
    let statement = Statement { params: params.to_vec(), ..read(sql) };
    let outcome = session.run(statement, soon(), &CancellationToken::new()).await?;
    let Outcome::Rows(rows) = outcome else {
        return Ok(String::new());
    };
    lines(rows).await
}

/// The same of a query that has its transaction for itself.
pub async fn queried(session: &mut Session, sql: &str) -> Result<String, Error> {
    let rows = session.query(read(sql), None, soon(), &never()).await?;
    lines(rows.expect("no tables are asked for")).await
}

pub async fn lines(mut rows: Rows) -> Result<String, Error> {
    let mut lines = Vec::new();
    while let Some(batch) = rows.next().await {
        lines.extend(shown(&batch?));
    }
    Ok(lines.join("\n"))
}

pub fn shown(batch: &RecordBatch) -> Vec<String> {
    let line = |row| batch.columns().iter().map(|column| cell(column, row)).collect::<Vec<_>>().join(" ");
    (0..batch.num_rows()).map(line).collect()
}

/// Arrow prints no time in a named zone; ours are all UTC.
pub fn cell(column: &ArrayRef, row: usize) -> String {
    let DataType::Timestamp(unit, Some(zone)) = column.data_type() else {
        return array_value_to_string(column, row).unwrap();
    };
    let bare = column.to_data().into_builder().data_type(DataType::Timestamp(*unit, None)).build().unwrap();
    format!("{} {zone}", array_value_to_string(&make_array(bare), row).unwrap())
}
