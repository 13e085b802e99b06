//! The cost of the runtime's requests, through HTTP, on a PostgreSQL that keeps what it acknowledges:
//! each request of a task's life by eight workers at once, then claims alone by thirty-two.
//!
//! Budgets, on two cores: p99 of task create 50 ms, claim 80, heartbeat 30, complete 60; a thousand
//! claims a second. What misses its budget is marked, not failed: other machines are other machines.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench fails loudly, and prints is what it does")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::{Client, Method};
use serde_json::{Value, json};
use tests::runtime::{ControlPlane, Database};
use tokio::task::JoinSet;

const WORKERS: usize = 8;
const LIVES: usize = 150;
const CLAIMERS: usize = 32;
const CLAIMS: usize = 6_000;
const CLAIMS_A_SECOND: f64 = 1_000.0;
/// Request and budget of its p99, in ms.
const BUDGETS: [(&str, u64); 4] = [("task create", 50), ("claim", 80), ("heartbeat", 30), ("complete", 60)];

struct Caller {
    url: String,
    authorization: String,
    http: Client,
}

impl Caller {
    async fn call(&self, method: Method, path: &str, body: Value) -> Option<Value> {
        let request = self.http.request(method, format!("{}/v2/runtime/{path}", self.url)).json(&body);
        let answer = request.header("authorization", &self.authorization).send().await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        assert!(status == 200 || status == 204, "{path}: {status} {text}");
        serde_json::from_str(&text).ok()
    }
}

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        rustls::crypto::ring::default_provider().install_default().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let database = Database::start(folder.path()).await;
        let mut control = ControlPlane::start(&database).await;
        let authorization = control.signup().await;
        let caller = Arc::new(Caller { url: format!("http://{}", control.http), authorization, http: Client::new() });
        let build = if cfg!(debug_assertions) { "with debug assertions: not what is shipped" } else { "optimised" };
        println!(
            "\nBuild: {build}.\n\n| request | rounds | median ms | p99 ms | budget ms | |\n|---|--:|--:|--:|--:|---|"
        );
        lives(&caller).await;
        claims(&caller, &database).await;
        control.kill().await;
        database.stop().await;
    });
}

/// A task's life, over and over, by several workers.
async fn lives(caller: &Arc<Caller>) {
    let mut workers = JoinSet::new();
    for _ in 0..WORKERS {
        let caller = Arc::clone(caller);
        workers.spawn(async move {
            let mut times = Vec::new();
            for _ in 0..LIVES {
                times.push(life(&caller).await);
            }
            times
        });
    }
    let lives: Vec<[Duration; 4]> = workers.join_all().await.into_iter().flatten().collect();
    for (place, (name, budget)) in BUDGETS.iter().enumerate() {
        let mut times: Vec<_> = lives.iter().filter_map(|life| life.get(place)).copied().collect();
        times.sort_unstable();
        let at = |percent: usize| times.get((times.len() * percent).div_ceil(100) - 1).unwrap().as_secs_f64() * 1_000.0;
        let kept = if at(99) <= Duration::from_millis(*budget).as_secs_f64() * 1_000.0 { "kept" } else { "MISSED" };
        println!("| {name} | {} | {:.1} | {:.1} | {budget} | {kept} |", times.len(), at(50), at(99));
    }
}

async fn life(caller: &Caller) -> [Duration; 4] {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let began = Instant::now();
    let task = caller.call(Method::POST, "tasks", json!({"kind": "build", "project_id": "p1"})).await.unwrap();
    let created = began.elapsed();
    let task_id = text(task.get("id").unwrap());
    let began = Instant::now();
    let attempt =
        caller.call(Method::POST, &format!("tasks/{task_id}/claim"), json!({"agent_id": "a1"})).await.unwrap();
    let claimed = began.elapsed();
    let (id, token) = (text(attempt.get("id").unwrap()), attempt.get("lease_token").unwrap());
    let began = Instant::now();
    caller.call(Method::PUT, &format!("attempts/{id}/heartbeat"), json!({"lease_token": token})).await;
    let beaten = began.elapsed();
    let began = Instant::now();
    let done = json!({"lease_token": token, "outcome": "succeeded"});
    caller.call(Method::PUT, &format!("attempts/{id}/complete"), done).await;
    [created, claimed, beaten, began.elapsed()]
}

/// Whatever waits, taken by many.
async fn claims(caller: &Arc<Caller>, database: &Database) {
    let fill = format!(
        "insert into svc_runtime.tasks (id, org_id, project_id, kind, max_retries, created_by, created_at, updated_at)
         select 'bench-' || n, (select min(org_id) from organizations), 'p1', 'claims', 3, 'bench', now(), now()
         from generate_series(1, {CLAIMS}) n"
    );
    database.client().await.batch_execute(&fill).await.unwrap();
    let mut claimers = JoinSet::new();
    let began = Instant::now();
    for n in 0..CLAIMERS {
        let caller = Arc::clone(caller);
        claimers.spawn(async move {
            let wish = json!({"agent_id": format!("a{n}"), "kinds": ["claims"]});
            let mut taken = 0_u32;
            while caller.call(Method::POST, "tasks/claim-next", wish.clone()).await.is_some() {
                taken += 1;
            }
            taken
        });
    }
    let taken: u32 = claimers.join_all().await.into_iter().sum();
    let rate = f64::from(taken) / began.elapsed().as_secs_f64();
    let kept = if rate >= CLAIMS_A_SECOND { "kept" } else { "MISSED" };
    println!("\n{rate:.0} claims a second by {CLAIMERS} workers, of {taken}; budget {CLAIMS_A_SECOND:.0}: {kept}");
}
