//! The engine alone and a whole platform over the same tables, opened once and used in turn.

use std::path::Path;
use std::time::{Duration, Instant};

use arrow_flight::sql::client::FlightSqlServiceClient;
use engine::{Engine, Session};
use reqwest::Method;
use serde_json::json;
use tests::World;
use tests::world::program;
use tonic::transport::{Channel, Endpoint};

use crate::amounts::Amounts;
use crate::ways::{self, Way};

#[derive(Debug, Clone, Copy)]
pub enum Caller {
    /// Policies exist, and exempt this one.
    Owner,
    /// A filter and a mask apply.
    Analyst,
}

struct Client {
    key: String,
    pgwire: tokio_postgres::Client,
}

pub struct Sides {
    pub direct: duckdb::Connection,
    pub world: World,
    pub flight: FlightSqlServiceClient<Channel>,
    pub http: reqwest::Client,
    engine: Engine,
    session: Session,
    owner: Client,
    analyst: Client,
    _folder: tempfile::TempDir,
}

/// Another key each time; even ones are in the region that the analyst may see.
pub fn key(points: u64, round: u64) -> u64 {
    (round * 7_919 * 2) % points
}

pub fn point(points: u64, round: u64) -> String {
    format!("select id, name, amount from points where id = {}", key(points, round))
}

impl Sides {
    /// The same tables by the same statements everywhere, each in a file of its own.
    pub async fn open(amounts: &Amounts) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let direct = alone(&folder.path().join("direct.duckdb"));
        let engine = engine(folder.path()).await;
        let mut session = engine.session().await.unwrap();
        let world = World::bare().await;
        uncached(&world).await;
        for sql in tables(amounts) {
            direct.execute_batch(&sql).unwrap();
            ways::engine(&mut session, &sql, true).await;
            world.rows(&world.key, &sql).await;
        }
        let analyst = governed(&world, amounts).await;
        let analyst = Client { pgwire: world.psql(&analyst).await.unwrap(), key: analyst };
        let owner = Client { pgwire: world.psql(&world.key).await.unwrap(), key: world.key.clone() };
        let flight = flight(&world).await;
        Self { direct, world, flight, http: reqwest::Client::new(), engine, session, owner, analyst, _folder: folder }
    }

    /// How many rows came, and how long that took; they are counted afterwards.
    pub async fn run(&mut self, way: Way, caller: Caller, sql: &str) -> (u64, Duration) {
        let client = match caller {
            Caller::Owner => &self.owner,
            Caller::Analyst => &self.analyst,
        };
        let began = Instant::now();
        match way {
            Way::Direct => (ways::direct(&self.direct, sql), began.elapsed()),
            Way::Engine => (ways::engine(&mut self.session, sql, false).await, began.elapsed()),
            Way::Pgwire => (ways::binary(&client.pgwire, sql).await, began.elapsed()),
            Way::RestJson => {
                let body = ways::whole(self.rest(&client.key, sql, "json")).await;
                let took = began.elapsed();
                (ways::rows_of_json(&body), took)
            }
            Way::RestArrow => {
                let body = ways::whole(self.rest(&client.key, sql, "arrow")).await;
                let took = began.elapsed();
                (ways::rows_of_arrow(body), took)
            }
        }
    }

    fn rest(&self, key: &str, sql: &str, format: &str) -> reqwest::RequestBuilder {
        let url = format!("{}/v1/environments/{}/query", self.world.url, self.world.env_id);
        self.http
            .post(url)
            .header("authorization", format!("ApiKey {key}"))
            .json(&json!({"sql": sql, "format": format}))
    }

    /// Has this text answered from the cache, or made again each time, from here on.
    pub async fn cached(&self, sql: &str, is_on: bool) {
        cache(&self.world, is_on).await;
        let is_hit = async || self.world.query(&self.world.key, sql).await.body.get("cache_hit") == Some(&is_on.into());
        self.world.until(async || is_hit().await.then_some(())).await;
    }

    /// The caller's session on the PostgreSQL wire.
    pub fn pgwire(&self, caller: Caller) -> &tokio_postgres::Client {
        &self.client(caller).pgwire
    }

    pub fn key(&self, caller: Caller) -> &str {
        &self.client(caller).key
    }

    fn client(&self, caller: Caller) -> &Client {
        match caller {
            Caller::Owner => &self.owner,
            Caller::Analyst => &self.analyst,
        }
    }

    pub async fn close(self) {
        drop((self.owner, self.analyst, self.session, self.flight));
        self.engine.stop().await;
        self.world.end().await;
    }
}

pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

/// The engine's library in this process, with what a data plane's engine has to itself on this machine.
pub fn alone(file: &Path) -> duckdb::Connection {
    let direct = duckdb::Connection::open(file).unwrap();
    direct.execute_batch(&format!("set threads = {}; set memory_limit = '4GB'", threads())).unwrap();
    direct
}

/// What was asked before must be made again: the cache is not what is measured, but for one row of `alone`.
pub async fn uncached(world: &World) {
    cache(world, false).await;
}

async fn cache(world: &World, is_on: bool) {
    let path = format!("/v1/organizations/{}/environments/{}", world.org_id, world.env_id);
    world.ok(Method::PUT, &path, &world.owner, json!({"settings": {"cache_enabled": is_on}})).await;
}

const COLUMNS: &str = "i as id, 'name ' || i as name, i * 0.25::double as amount";

/// What is looked up by its primary key.
pub fn points(amounts: &Amounts) -> [String; 2] {
    [
        "create table points (id bigint primary key, name varchar, amount double, region varchar)".to_owned(),
        format!(
            "insert into points select {COLUMNS}, case when i % 2 = 0 then 'EU' else 'US' end as region \
             from range({}) t(i)",
            amounts.points
        ),
    ]
}

fn tables(amounts: &Amounts) -> [String; 3] {
    let [table, rows] = points(amounts);
    [table, rows, format!("create table wide as select {COLUMNS} from range({}) t(i)", amounts.wide)]
}

/// An engine as a data plane starts it.
async fn engine(folder: &Path) -> Engine {
    let config = engine::Config {
        program: program(),
        arguments: vec!["engine".into()],
        data: Some(folder.join("data")),
        run: folder.join("run"),
        memory_limit_bytes: 4 << 30,
        temp_limit_bytes: 16 << 30,
        threads: u16::try_from(threads()).unwrap(),
        address_space_bytes: 32 << 30,
        sessions_max: 16,
        kept_statements: 16,
        mask_key: [7; 32],
    };
    Engine::start(config).await.unwrap()
}

/// A filter and a mask on `points`, and the key of somebody they are in force for.
async fn governed(world: &World, amounts: &Amounts) -> String {
    let analyst = world.user("analyst", json!({"region": "EU"})).await;
    let filter = json!([{"table": "points", "filter": "region = '{region}'", "exempt_roles": ["owner"]}]);
    world.policy("row_level_security", filter).await;
    let mask = json!([{"table": "points", "column": "name", "function": "full", "exempt_roles": ["owner"]}]);
    world.policy("column_masking", mask).await;
    let probe = "select count(*), min(name), max(name) from points";
    world
        .until(async || {
            let rows = world.rows(&analyst.key, probe).await;
            (rows == json!([[amounts.points / 2, "***", "***"]])).then_some(())
        })
        .await;
    analyst.key
}

/// How far the server may send ahead, and how much in one frame of HTTP/2, as clients in C++ ask for.
///
/// A client that asks for nothing gets frames of 16 KiB, each of which is a call of the system on both sides.
const AHEAD_BYTES: u32 = 4 << 20;
const FRAME_BYTES: u32 = 1 << 20;

/// The owner's client of Flight, which takes large answers.
async fn flight(world: &World) -> FlightSqlServiceClient<Channel> {
    let env_id = world.env_id.as_str().into();
    let address = world.platform().environments.tools(&env_id).await.unwrap();
    let endpoint = Endpoint::try_from(format!("http://{address}"))
        .unwrap()
        .initial_stream_window_size(AHEAD_BYTES)
        .initial_connection_window_size(AHEAD_BYTES)
        .max_frame_size(FRAME_BYTES);
    let mut client = FlightSqlServiceClient::new(endpoint.connect().await.unwrap());
    client.set_token(world.key.clone());
    client
}
