//! A worker of `/v2`, as somebody would write one: it takes whatever waits, says that it lives, and
//! says how it ended; what it cannot be sure was heard it says again. It trusts no clock.
//!
//! It writes down every answer, a line each, before it acts on it.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use contract::Entropy;
use reqwest::Method;
use serde_json::{Value, json};

/// What it is told, by environment variables.
pub mod setting {
    pub const URL: &str = "WORKER_URL";
    pub const AUTHORIZATION: &str = "WORKER_AUTHORIZATION";
    pub const HISTORY: &str = "WORKER_HISTORY";
    pub const SEED: &str = "WORKER_SEED";
}

/// The shortest lease there is.
pub const LEASE_SECS: u32 = 30;
const PATIENCE: Duration = Duration::from_mins(1);

struct Worker {
    url: String,
    authorization: String,
    history: File,
    entropy: Entropy,
    http: reqwest::Client,
}

#[tokio::main(flavor = "current_thread")]
pub async fn main() -> ExitCode {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let told = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} is set"));
    let mut worker = Worker {
        url: told(setting::URL),
        authorization: told(setting::AUTHORIZATION),
        history: OpenOptions::new().create(true).append(true).open(told(setting::HISTORY)).unwrap(),
        entropy: Entropy::seeded(told(setting::SEED).parse().unwrap()),
        http: reqwest::Client::builder().timeout(PATIENCE).build().unwrap(),
    };
    loop {
        worker.turn().await;
    }
}

impl Worker {
    fn dice(&self, sides: u8) -> u8 {
        let [byte] = self.entropy.bytes::<1>();
        byte % sides
    }

    /// One attempt at whatever waits.
    async fn turn(&mut self) {
        let wish =
            json!({"agent_id": format!("worker-{}", std::process::id()), "lease_ttl_secs": LEASE_SECS, "wait_secs": 1});
        let Some((200, attempt)) = self.say(Method::POST, "tasks/claim-next", "claim", None, wish).await else {
            return tokio::time::sleep(Duration::from_millis(50)).await;
        };
        let id = attempt["id"].as_str().unwrap().to_owned();
        let token = &attempt["lease_token"];
        for _ in 0..self.dice(6) {
            tokio::time::sleep(Duration::from_millis(u64::from(self.dice(255)))).await;
            let event = json!({"attempt_id": id, "kind": "step", "lease_token": token});
            self.say(Method::POST, "events", "event", Some(&id), event).await;
            let path = format!("attempts/{id}/heartbeat");
            self.say(Method::PUT, &path, "heartbeat", Some(&id), json!({"lease_token": token})).await;
        }
        let done = match self.dice(16) {
            0 => return, // it forgets what it was doing
            1 | 2 => json!({"lease_token": token, "outcome": "failed", "failure_reason": "bad luck"}),
            _ => json!({"lease_token": token, "outcome": "succeeded", "result": {"by": std::process::id()}}),
        };
        let path = format!("attempts/{id}/complete");
        // Until somebody has said yes or no: the first answer may have been lost.
        while self
            .say(Method::PUT, &path, "complete", Some(&id), done.clone())
            .await
            .is_none_or(|(status, _)| status >= 500)
        {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// One request; `None` when nobody can tell what became of it.
    async fn say(
        &mut self,
        method: Method,
        path: &str,
        what: &str,
        attempt: Option<&str>,
        body: Value,
    ) -> Option<(u16, Value)> {
        let request = self.http.request(method, format!("{}/v2/runtime/{path}", self.url)).json(&body);
        let answered = async {
            let answer = request.header("authorization", &self.authorization).send().await.ok()?;
            let status = answer.status().as_u16();
            let body = answer.bytes().await.ok()?;
            Some((status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
        };
        let answer: Option<(u16, Value)> = answered.await;
        let (status, body) = answer.clone().unwrap_or((0, Value::Null));
        let attempt = attempt.map_or_else(|| body["id"].clone(), Value::from);
        let line =
            json!({"what": what, "attempt": attempt, "status": status, "at": at(what, &body), "ended": body["status"]});
        // One write: a line is whole or absent, whenever it is killed.
        self.history.write_all(format!("{line}\n").as_bytes()).unwrap();
        answer
    }
}

/// When it happened, by the database's clock.
fn at(what: &str, body: &Value) -> Value {
    let name = match what {
        "claim" => "started_at",
        "event" => "created_at",
        "heartbeat" => "server_time",
        _ => "completed_at",
    };
    body[name].clone()
}
