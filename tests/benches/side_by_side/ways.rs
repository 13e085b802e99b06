//! The five ways to the same rows, opened once and used in turn.

use std::time::{Duration, Instant};

use arrow::ipc::reader::StreamReader;
use engine::{Engine, Outcome, Session, Statement};
use futures::TryStreamExt;
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;
use tests::World;
use tests::world::program;
use tokio_util::sync::CancellationToken;

use crate::{POINTS, WIDE};

#[derive(Debug, Clone, Copy)]
pub enum Way {
    /// The library in this process.
    Direct,
    /// The engine's child process through its client: no policy, no dialect, no credential.
    Engine,
    /// The PostgreSQL wire of a whole platform.
    Pgwire,
    /// The control plane's REST, which asks the data plane's: JSON.
    RestJson,
    /// The same, answered as an Arrow stream.
    RestArrow,
}

pub const WAYS: [Way; 5] = [Way::Direct, Way::Engine, Way::Pgwire, Way::RestJson, Way::RestArrow];

impl Way {
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Engine => "engine process",
            Self::Pgwire => "governed, pgwire",
            Self::RestJson => "governed, REST JSON",
            Self::RestArrow => "governed, REST Arrow",
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub enum Caller {
    /// Policies exist, and exempt this one.
    Owner,
    /// A filter and a mask apply.
    Analyst,
}

/// What came, as it came: counting is not part of the measured time.
pub enum Answer {
    Counted(u64),
    Json(Vec<u8>),
    Arrow(Vec<u8>),
}

impl Answer {
    pub fn rows(&self) -> u64 {
        match self {
            Self::Counted(rows) => *rows,
            Self::Json(body) => serde_json::from_slice::<Totals>(body).unwrap().row_count,
            Self::Arrow(body) => {
                let batches = StreamReader::try_new(body.as_slice(), None).unwrap();
                batches.map(|batch| batch.unwrap().num_rows() as u64).sum()
            }
        }
    }
}

/// What stands after the rows.
#[derive(Deserialize)]
struct Totals {
    row_count: u64,
}

struct Client {
    key: String,
    pgwire: tokio_postgres::Client,
}

pub struct Ways {
    direct: duckdb::Connection,
    engine: Engine,
    session: Session,
    world: World,
    owner: Client,
    analyst: Client,
    http: reqwest::Client,
    _folder: tempfile::TempDir,
}

impl Ways {
    /// The same tables by the same statements everywhere, each in a file of its own.
    pub async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let direct = duckdb::Connection::open(folder.path().join("direct.duckdb")).unwrap();
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        direct.execute_batch(&format!("set threads = {threads}; set memory_limit = '4GB'")).unwrap();
        let engine = engine(folder.path(), threads).await;
        let mut session = engine.session().await.unwrap();
        let world = World::bare().await;
        uncached(&world).await;
        for sql in tables() {
            direct.execute_batch(&sql).unwrap();
            ran(&mut session, &sql, true).await;
            world.rows(&world.key, &sql).await;
        }
        let analyst = governed(&world).await;
        let analyst = Client { pgwire: world.psql(&analyst).await.unwrap(), key: analyst };
        let owner = Client { pgwire: world.psql(&world.key).await.unwrap(), key: world.key.clone() };
        Self { direct, engine, session, world, owner, analyst, http: reqwest::Client::new(), _folder: folder }
    }

    pub async fn run(&mut self, way: Way, caller: Caller, sql: &str) -> Answer {
        let client = match caller {
            Caller::Owner => &self.owner,
            Caller::Analyst => &self.analyst,
        };
        match way {
            Way::Direct => Answer::Counted(straight(&self.direct, sql)),
            Way::Engine => Answer::Counted(ran(&mut self.session, sql, false).await),
            Way::Pgwire => Answer::Counted(wired(&client.pgwire, sql).await),
            Way::RestJson => Answer::Json(self.posted(&client.key, sql, "json").await),
            Way::RestArrow => Answer::Arrow(self.posted(&client.key, sql, "arrow").await),
        }
    }

    async fn posted(&self, key: &str, sql: &str, format: &str) -> Vec<u8> {
        let url = format!("{}/v1/environments/{}/query", self.world.url, self.world.env_id);
        let request = self.http.post(url).header("authorization", format!("ApiKey {key}"));
        let mut answer = request.json(&json!({"sql": sql, "format": format})).send().await.unwrap();
        let mut body = Vec::new();
        while let Some(piece) = answer.chunk().await.unwrap() {
            body.extend_from_slice(&piece);
        }
        assert!(answer.status().is_success(), "{sql}: {}", String::from_utf8_lossy(&body));
        body
    }

    pub async fn close(self) {
        drop((self.owner, self.analyst, self.session));
        self.engine.stop().await;
        self.world.end().await;
    }
}

/// What was asked before must be made again: the cache is not what is measured.
async fn uncached(world: &World) {
    let path = format!("/v1/organizations/{}/environments/{}", world.org_id, world.env_id);
    world.ok(Method::PUT, &path, &world.owner, json!({"settings": {"cache_enabled": false}})).await;
}

fn tables() -> [String; 2] {
    [
        format!(
            "create table points as select i as id, 'name ' || i as name, i * 0.25::double as amount, \
             case when i % 2 = 0 then 'EU' else 'US' end as region from range({POINTS}) t(i)"
        ),
        format!(
            "create table wide as select i as id, 'name ' || i as name, i * 0.25::double as amount \
             from range({WIDE}) t(i)"
        ),
    ]
}

/// An engine as a data plane starts it.
async fn engine(folder: &std::path::Path, threads: usize) -> Engine {
    let config = engine::Config {
        program: program(),
        arguments: vec!["engine".into()],
        data: Some(folder.join("data")),
        run: folder.join("run"),
        memory_limit_bytes: 4 << 30,
        temp_limit_bytes: 16 << 30,
        threads: u16::try_from(threads).unwrap(),
        address_space_bytes: 32 << 30,
        sessions_max: 16,
        mask_key: [7; 32],
    };
    Engine::start(config).await.unwrap()
}

/// A filter and a mask on `points`, and the key of somebody they are in force for.
async fn governed(world: &World) -> String {
    let analyst = world.user("analyst", json!({"region": "EU"})).await;
    let filter = json!([{"table": "points", "filter": "region = '{region}'", "exempt_roles": ["owner"]}]);
    world.policy("row_level_security", filter).await;
    let mask = json!([{"table": "points", "column": "name", "function": "full", "exempt_roles": ["owner"]}]);
    world.policy("column_masking", mask).await;
    let probe = "select count(*), min(name), max(name) from points";
    world
        .until(async || {
            let rows = world.rows(&analyst.key, probe).await;
            (rows == json!([[POINTS / 2, "***", "***"]])).then_some(())
        })
        .await;
    analyst.key
}

fn straight(direct: &duckdb::Connection, sql: &str) -> u64 {
    let mut statement = direct.prepare(sql).unwrap();
    let batches = statement.stream_arrow([]).unwrap();
    batches.map(|batch| batch.num_rows() as u64).sum()
}

async fn ran(session: &mut Session, sql: &str, writes: bool) -> u64 {
    let statement = Statement { sql: sql.to_owned(), params: Vec::new(), writes };
    let deadline = Instant::now() + Duration::from_mins(1);
    let mut count = 0;
    match session.run(statement, deadline, &CancellationToken::new()).await.unwrap() {
        Outcome::Rows(mut rows) => {
            while let Some(batch) = rows.next().await {
                count += batch.unwrap().num_rows() as u64;
            }
        }
        Outcome::Changed { rows, .. } => count = rows,
    }
    count
}

async fn wired(client: &tokio_postgres::Client, sql: &str) -> u64 {
    let none: [(&(dyn tokio_postgres::types::ToSql + Sync), tokio_postgres::types::Type); 0] = [];
    let rows = client.query_typed_raw(sql, none).await.unwrap();
    rows.try_fold(0, async |count, _| Ok(count + 1)).await.unwrap()
}
