//! kill -9 under writes: nothing that was acknowledged is lost, neither rows nor audit nor usage.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::header::AUTHORIZATION;
use reqwest::{Body, RequestBuilder};
use serde_json::{Value, json};
use tests::postgres::Database;
use tests::world::{connect, json_of, program};
use tokio::process::{Child, Command};

const WRITERS: usize = 4;
const ACKNOWLEDGED_BEFORE_THE_KILL: usize = 120;

/// A platform in a process of its own, as `sluice up` starts it.
struct Process {
    child: Child,
    env: HashMap<String, String>,
}

impl Process {
    async fn start(state: &Path, database: &Database) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default(); // for our own requests
        let env_file = state.join("env");
        let _ = std::fs::remove_file(&env_file);
        let child = Command::new(program())
            .args(["up", "--no-data"])
            .env("SLUICE_STATE", state)
            .env("DATABASE_URL", &database.url)
            .env("RUST_LOG", "warn")
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let written = async {
            loop {
                if let Ok(text) = std::fs::read_to_string(&env_file) {
                    return text;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let text = tokio::time::timeout(Duration::from_mins(3), written).await.expect("the platform came up");
        let pair = |line: &str| {
            line.split_once('=').map(|(name, value)| (name.to_owned(), value.trim_matches('\'').to_owned()))
        };
        Self { child, env: text.lines().filter_map(pair).collect() }
    }

    async fn psql(&self) -> tokio_postgres::Client {
        connect(&self.env["SLUICE_PSQL"].parse().unwrap()).await.unwrap()
    }

    async fn get(&self, path: &str) -> Value {
        let request = reqwest::Client::new().get(format!("{}{path}", self.env["SLUICE_URL"]));
        json_of(request.header(AUTHORIZATION, format!("ApiKey {}", self.env["SLUICE_KEY"])).send().await.unwrap()).await
    }

    /// A file that is loaded into the table `loaded`.
    fn load(&self, operation_id: &str, body: Body) -> RequestBuilder {
        let (url, env_id) = (&self.env["SLUICE_URL"], &self.env["SLUICE_ENV_ID"]);
        let path = format!("{url}/v1/environments/{env_id}/tables/loaded/load?mode=append&format=csv");
        let request =
            reqwest::Client::new().post(path).header(AUTHORIZATION, format!("ApiKey {}", self.env["SLUICE_KEY"]));
        request.header("sluice-operation", operation_id).header("content-type", "text/csv").body(body)
    }

    /// Whether rows of a load have come.
    async fn has_begun(&self, operation_id: &str) -> bool {
        let path = format!("{}/v1/operations/{operation_id}", self.env["SLUICE_URL"]);
        let request =
            reqwest::Client::new().get(path).header(AUTHORIZATION, format!("ApiKey {}", self.env["SLUICE_KEY"]));
        let told: Value = request.send().await.unwrap().json().await.unwrap();
        told["progress"]["rows"].as_i64() > Some(0)
    }

    /// Rows of the table `loaded`.
    async fn loaded(&self) -> i64 {
        self.psql().await.query_one("select count(*) from loaded", &[]).await.unwrap().get(0)
    }

    /// Every entry of the query audit, newest first.
    async fn audit(&self) -> Vec<Value> {
        let (mut entries, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = self
                .get(&format!("/v1/environments/{}/audit/queries?limit=200{cursor}", self.env["SLUICE_ENV_ID"]))
                .await;
            entries.extend(page["data"].as_array().unwrap().iter().cloned());
            match page["pagination"]["cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return entries,
            }
        }
    }
}

/// Inserts numbers one by one until the connection breaks; notes each that was acknowledged.
async fn write(client: tokio_postgres::Client, next: Arc<AtomicI64>, acknowledged: Arc<Mutex<BTreeSet<i64>>>) {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if client.execute("insert into ledger values ($1)", &[&number]).await.is_err() {
            return;
        }
        acknowledged.lock().unwrap().insert(number);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_data_plane_has_lost_nothing_it_acknowledged() {
    let database = Database::fresh(&format!("killed_{}", std::process::id())).await;
    let state: PathBuf = tempfile::tempdir().unwrap().keep();
    let mut first = Process::start(&state, &database).await;
    first.psql().await.batch_execute("create table ledger (n bigint)").await.unwrap();
    let (next, acknowledged) = (Arc::new(AtomicI64::new(1)), Arc::new(Mutex::new(BTreeSet::new())));
    let mut writers = tokio::task::JoinSet::new();
    for _ in 0..WRITERS {
        writers.spawn(write(first.psql().await, next.clone(), acknowledged.clone()));
    }
    while acknowledged.lock().unwrap().len() < ACKNOWLEDGED_BEFORE_THE_KILL {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    first.child.kill().await.unwrap(); // SIGKILL
    writers.join_all().await;
    let acknowledged = acknowledged.lock().unwrap().clone();

    let second = Process::start(&state, &database).await;
    let rows = second.psql().await.query("select n from ledger", &[]).await.unwrap();
    let kept: BTreeSet<i64> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(kept.len(), rows.len(), "a row was written twice");
    assert!(acknowledged.is_subset(&kept), "lost rows: {:?}", acknowledged.difference(&kept));

    let inserts = |entries: &[Value]| {
        let wrote = |entry: &&Value| entry["sql"].as_str().is_some_and(|sql| sql.to_lowercase().starts_with("insert"));
        entries.iter().filter(wrote).map(|entry| entry["query_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let reported = async {
        loop {
            let entries = second.audit().await;
            let usage = second.get(&format!("/v1/organizations/{}/billing/usage", second.env["SLUICE_ORG_ID"])).await;
            let billed: f64 = entries.iter().filter_map(|entry| entry["credits_consumed"].as_f64()).sum();
            let used = usage["credits"]["used"].as_f64().unwrap();
            let settled = entries.iter().all(|entry| entry["outcome"] != "running");
            if settled && inserts(&entries).len() >= acknowledged.len() && (used - billed).abs() < 1e-6 {
                return (entries, used);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let reported = tokio::time::timeout(Duration::from_secs(90), reported).await;
    let (entries, used) = reported.expect("every insert is in the audit log, and usage is what the log adds up to");
    let ids = inserts(&entries);
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "an entry stands twice");
    let at_least = 2.0 * f64::from(u32::try_from(acknowledged.len()).unwrap());
    assert!(used >= at_least, "{used} credits for {} inserts", acknowledged.len());
    drop(second);
    database.dropped().await;
    std::fs::remove_dir_all(state).unwrap();
}

async fn post(env: HashMap<String, String>, path: String, body: Value) -> reqwest::Result<Value> {
    let request = reqwest::Client::new().post(format!("{}{path}", env["SLUICE_URL"])).json(&body);
    request.header(AUTHORIZATION, format!("ApiKey {}", env["SLUICE_KEY"])).send().await?.json().await
}

/// Rows that the merge changes, so that it can be met halfway.
const MERGED_ROWS: i64 = 100_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_merge_leaves_the_mainline_as_it_was_or_wholly_merged() {
    let database = Database::fresh(&format!("merged_{}", std::process::id())).await;
    let state: PathBuf = tempfile::tempdir().unwrap().keep();
    let mut process = Process::start(&state, &database).await;
    let wide = format!("create table wide as select i as id, 0 as n from range({MERGED_ROWS}) t(i)");
    process.psql().await.batch_execute(&wide).await.unwrap();
    let branches = format!("/v1/organizations/{}/branches", process.env["SLUICE_ORG_ID"]);
    let mut sum = 0;
    for pause in [1, 30, 150] {
        let new = json!({"agent_id": "clerk", "tables": ["wide"]});
        let made = post(process.env.clone(), branches.clone(), new).await.unwrap();
        let change = format!("set search_path = {}; update wide set n = n + 1", made["schema_name"].as_str().unwrap());
        process.psql().await.batch_execute(&change).await.unwrap();
        let one = format!("{branches}/{}", made["id"].as_str().unwrap());
        let mut merging = Box::pin(post(process.env.clone(), format!("{one}/merge"), json!({})));
        let _ = tokio::time::timeout(Duration::from_millis(pause), &mut merging).await;
        process.child.kill().await.unwrap(); // SIGKILL, while it is still asked for
        drop(merging);
        process = Process::start(&state, &database).await;
        let row = process.psql().await.query_one("select sum(n)::bigint, count(*) from wide", &[]).await.unwrap();
        let (found, rows): (i64, i64) = (row.get(0), row.get(1));
        let is_merged = process.get(&one).await["status"] == "merged";
        sum += if is_merged { MERGED_ROWS } else { 0 };
        assert_eq!((found, rows), (sum, MERGED_ROWS), "after {pause} ms, merged: {is_merged}");
    }
    drop(process);
    database.dropped().await;
    std::fs::remove_dir_all(state).unwrap();
}

/// Rows of a file that is loaded.
const LOADED_ROWS: i64 = 200_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_load_under_which_the_data_plane_is_killed_is_whole_or_not_there() {
    let database = Database::fresh(&format!("loaded_{}", std::process::id())).await;
    let state: PathBuf = tempfile::tempdir().unwrap().keep();
    let mut process = Process::start(&state, &database).await;
    process.psql().await.batch_execute("create table loaded (n bigint)").await.unwrap();
    let numbers: Vec<String> = (0..LOADED_ROWS).map(|number| number.to_string()).collect();
    let file = format!("n\n{}\n", numbers.join("\n"));

    // half of the file has come
    let (sender, pieces) = futures::channel::mpsc::unbounded::<std::io::Result<String>>();
    sender.unbounded_send(Ok(file[..file.len() / 2].to_owned())).unwrap();
    let mut loading = tokio::task::JoinSet::new();
    loading.spawn(process.load("half", Body::wrap_stream(pieces)).send());
    let begun = async {
        let mut looks = tokio::time::interval(Duration::from_millis(100));
        while !process.has_begun("half").await {
            looks.tick().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(90), begun).await.expect("rows of it have come");
    process.child.kill().await.unwrap(); // SIGKILL
    drop(sender);
    assert!(loading.join_next().await.unwrap().unwrap().is_err(), "nobody says that it was loaded");
    process = Process::start(&state, &database).await;
    assert_eq!(process.loaded().await, 0, "nothing of it is there");

    // all of it has come, or nearly
    let mut loading = Box::pin(process.load("nearly", Body::from(file.clone())).send());
    let answered = tokio::time::timeout(Duration::from_millis(100), &mut loading).await;
    process.child.kill().await.unwrap();
    drop(loading);
    process = Process::start(&state, &database).await;
    let before = process.loaded().await;
    let is_told = answered.is_ok_and(|sent| sent.unwrap().status().is_success());
    assert!(before == LOADED_ROWS || (before == 0 && !is_told), "{before} rows, told: {is_told}");

    let loaded = json_of(process.load("whole", Body::from(file)).send().await.unwrap()).await;
    assert_eq!((&loaded["rows_loaded"], process.loaded().await), (&json!(LOADED_ROWS), before + LOADED_ROWS));
    drop(process);
    database.dropped().await;
    std::fs::remove_dir_all(state).unwrap();
}
