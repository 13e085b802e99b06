//! A thousand authenticated reads a second: how long each takes at a rate that does not wait for answers.
//!
//! "1,000 authenticated control-plane reads/s p99 ≤ 50 ms." Requests set out on a timetable, each when it
//! is due, and its time runs from then: a server that falls behind shows it in every request that
//! waits. They ask under several keys, since one key may ask ten thousand times a minute.
//!
//! It needs what the integration tests need (`SLUICE_TEST_POSTGRES`) and takes half a minute.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench fails loudly, and prints is what it does")]

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, Method};
use serde_json::{Value, json};
use tests::World;
use tokio::task::JoinSet;
use tokio::time::Instant;

const RATE: u32 = 1_000;
const WARM_UP: Duration = Duration::from_secs(3);
const MEASURED: Duration = Duration::from_secs(20);
const KEYS: usize = 16;

/// What is read: a record, a list, and who the caller is.
fn paths(world: &World) -> [String; 3] {
    let (org_id, env_id) = (&world.org_id, &world.env_id);
    [
        format!("/v1/environments/{env_id}/policies"),
        format!("/v1/organizations/{org_id}/environments/{env_id}"),
        "/v1/auth/me".to_owned(),
    ]
}

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let world = World::bare().await;
        world.rows(&world.key, "create table t (c integer)").await;
        let rules = json!([{"table": "t", "column": "c", "function": "null", "exempt_roles": []}]);
        for _ in 0..20 {
            world.policy("column_masking", rules.clone()).await;
        }
        let asker = Arc::new(Asker::new(&world).await);
        at_rate(&asker, WARM_UP).await;
        report(at_rate(&asker, MEASURED).await);
        world.end().await;
    });
}

struct Asker {
    client: Client,
    urls: Vec<String>,
    keys: Vec<String>,
}

impl Asker {
    /// Each key is used once: the first use of a key costs its slow hash.
    async fn new(world: &World) -> Self {
        let mut keys = Vec::with_capacity(KEYS);
        for _ in 0..KEYS {
            let wanted = json!({"scopes": ["policy:read", "environment:read"]});
            let key = format!("ApiKey {}", world.key_for(&world.env_id, wanted).await.key);
            world.ok(Method::GET, "/v1/auth/me", &key, Value::Null).await;
            keys.push(key);
        }
        let urls = paths(world).iter().map(|path| format!("{}{path}", world.url)).collect();
        Self { client: Client::new(), urls, keys }
    }

    async fn ask(&self, number: usize) {
        let url = self.urls.iter().cycle().nth(number % self.urls.len()).unwrap();
        let key = self.keys.iter().cycle().nth(number % self.keys.len()).unwrap();
        let answer = self.client.get(url).header("authorization", key).send().await.unwrap();
        assert!(answer.status().is_success(), "{url}: {}", answer.status());
        answer.bytes().await.unwrap();
    }
}

/// The time of every request that was due, from when it was.
async fn at_rate(asker: &Arc<Asker>, duration: Duration) -> Vec<Duration> {
    let began = Instant::now();
    let mut times = JoinSet::new();
    let every = Duration::from_secs(1) / RATE;
    for number in 0.. {
        let due = began + every * number;
        if due - began >= duration {
            break;
        }
        tokio::time::sleep_until(due).await;
        let asker = Arc::clone(asker);
        times.spawn(async move {
            asker.ask(number as usize).await;
            due.elapsed()
        });
    }
    times.join_all().await
}

fn report(mut times: Vec<Duration>) {
    times.sort_unstable();
    let build = if cfg!(debug_assertions) { "with debug assertions: not what is shipped" } else { "optimised" };
    println!("\nBuild: {build}. {} reads at {RATE}/s, times in ms from when each was due.\n", times.len());
    println!("| p50 | p90 | p99 | longest |\n|--:|--:|--:|--:|");
    let cells = [50, 90, 99, 100].map(|percent| {
        let rank = (times.len() * percent).div_ceil(100).max(1);
        times.get(rank - 1).map_or(f64::NAN, |time| time.as_secs_f64() * 1_000.0)
    });
    println!("| {} |", cells.map(|cell| format!("{cell:.1}")).join(" | "));
}
