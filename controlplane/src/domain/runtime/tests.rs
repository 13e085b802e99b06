//! A world with a runtime, and what holds for all of `/v2`.

use std::ops::Deref;
use std::sync::Arc;

use chrono::Duration;
use platform::provisioner::Unattended;
use serde_json::{Value, json};

use super::sweeper;
use crate::testing::{Answer, TestApp};
use crate::worlds::World;

/// A world whose database keeps the time of the test's clock.
pub struct Runtime {
    world: World,
    /// `Authorization` of a worker: a key with `agent:*` that acts for nobody.
    pub worker: String,
}

impl Deref for Runtime {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl Runtime {
    pub async fn start() -> Self {
        Self::of(World::start().await).await
    }

    pub async fn of(world: World) -> Self {
        let worker = world.key(&["agent:*"]).await;
        let runtime = Self { world, worker };
        runtime.pass(0).await;
        runtime
    }

    /// Lets seconds pass, for the product and for its database.
    pub async fn pass(&self, seconds: i64) {
        self.app.advance(Duration::seconds(seconds));
        let now = self.app.app.now().to_rfc3339();
        let clock = format!(
            "create or replace function svc_runtime.clock() returns timestamptz language sql stable
             as $$ select timestamptz '{now}' $$"
        );
        self.sql(&clock).await;
    }

    pub async fn sweep(&self) {
        self.app.settled().await;
        sweeper::sweep(&self.app.app).await.unwrap();
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.app.get(&format!("/v2/{path}"), &self.worker).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.app.post(&format!("/v2/{path}"), &self.worker, body).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.app.put(&format!("/v2/{path}"), &self.worker, body).await
    }

    /// A task with these fields besides `kind` and `project_id`.
    pub async fn task(&self, fields: Value) -> Value {
        let mut body = json!({"kind": "build", "project_id": "p1"});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.post("runtime/tasks", body).await.expect(200)
    }

    pub async fn read_task(&self, task: &Value) -> Value {
        self.get(&format!("runtime/tasks/{}", id(task))).await.expect(200)
    }

    /// A pending attempt at the task.
    pub async fn attempt(&self, task: &Value) -> Value {
        self.post(&format!("runtime/tasks/{}/attempts", id(task)), json!({"agent_id": "a1"})).await.expect(200)
    }

    /// A running attempt at the task.
    pub async fn running(&self, task: &Value) -> Value {
        self.post(&format!("runtime/tasks/{}/claim", id(task)), json!({"agent_id": "a1"})).await.expect(200)
    }

    /// A request of the attempt's holder: `claim`, `heartbeat` or `complete`.
    pub async fn say(&self, attempt: &Value, what: &str, fields: Value) -> Answer {
        let mut body = json!({"lease_token": attempt["lease_token"]});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.put(&format!("runtime/attempts/{}/{what}", id(attempt)), body).await
    }

    /// Whatever a user of the organization says; `who` is their `Authorization`.
    pub async fn said_by(&self, who: &str, path: &str, body: Value) -> Answer {
        self.app.post(&format!("/v2/{path}"), who, body).await
    }

    /// A key that acts for a new user with this role and these attributes.
    pub async fn member(&self, role: &str, attributes: Value) -> String {
        let email = format!("{role}{}@acme.example", self.app.app.entropy().base62(6).to_lowercase());
        let user_id = self.user(&email, role).await;
        let path = self.org(&format!("users/{user_id}/attributes"));
        self.app.put(&path, &self.owner, attributes).await.expect(200);
        self.key_of(&user_id).await
    }

    /// An artifact of the attempt; `digit` makes its content.
    pub async fn artifact(&self, attempt: &Value, digit: char, fields: Value) -> Value {
        let content_hash = format!("sha256:{}", digit.to_string().repeat(64));
        let mut body =
            json!({"attempt_id": id(attempt), "kind": "report", "content_hash": content_hash, "confidence": 0.9});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.post("runtime/artifacts", body).await.expect(200)
    }

    /// The attempt fails; what that was answered.
    pub async fn fails(&self, attempt: &Value, kind: &str) -> Value {
        let body = json!({"outcome": "failed", "failure_reason": "no luck", "failure_kind": kind});
        self.say(attempt, "complete", body).await.expect(200)
    }

    /// Subscribes a webhook to notices of these types; what it is told is never sent.
    pub async fn notices(&self, types: &[&str]) {
        let body = json!({"url": "https://hooks.example.com/runtime", "secret": "a-secret-of-twenty-four-or-more", "events": types});
        self.app.post("/v1/webhooks", &self.owner, body).await.expect(201);
    }

    /// Types of what webhooks are told, each with the roles that have to hear of it.
    pub async fn notified(&self) -> Vec<(String, Value)> {
        let query = "select event_type, convert_from(body, 'UTF8')::jsonb -> 'notify' from webhook_deliveries
                     order by created_at, event_id";
        sqlx::query_as(query).fetch_all(self.app.app.pool()).await.unwrap()
    }

    /// Numbers and kinds of the events of a task, each with what its payload calls the action.
    pub async fn told(&self, task: &Value) -> Vec<(i64, String, String)> {
        let path = format!("runtime/events?task_id={}&envelope=false", id(task));
        let events = self.get(&path).await.expect(200);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let told = |event: &Value| {
            (event["sequence_num"].as_i64().unwrap(), text(&event["kind"]), text(&event["payload"]["action"]))
        };
        events.as_array().unwrap().iter().map(told).collect()
    }
}

pub fn id(record: &Value) -> &str {
    record["id"].as_str().unwrap()
}

/// Status and `details.reason` of a refusal.
pub fn reason(answer: &Answer) -> (u16, &str) {
    (answer.status.as_u16(), answer.body["error"]["details"]["reason"].as_str().unwrap_or_default())
}

/// Status and `details.field` of a refusal.
pub fn field(answer: &Answer) -> (u16, &str) {
    (answer.status.as_u16(), answer.body["error"]["details"]["field"].as_str().unwrap_or_default())
}

#[tokio::test]
async fn without_its_flag_every_path_of_the_runtime_is_absent() {
    let app = TestApp::with(|config| config.v2_runtime_enabled = false, Arc::new(Unattended)).await;
    let world = World::of(app).await;
    let nowhere = world.app.get("/nowhere", &world.owner).await.expect(404);
    for row in crate::server::endpoints::rows().iter().filter(|row| row.path.starts_with(super::PREFIX)) {
        let answer = world.app.call(row.method.clone(), row.path, &world.owner, Value::Null).await;
        assert_eq!(answer.status, 404, "{} {}", row.method, row.path);
        assert_eq!(answer.body["error"]["code"], nowhere["error"]["code"]);
        assert_eq!(answer.body["error"]["message"], nowhere["error"]["message"]);
    }
}

#[tokio::test]
async fn requests_are_counted_for_the_key_and_for_the_organization() {
    let few = |config: &mut platform::Config| (config.rate_limit_org, config.rate_limit_key) = (5, 3);
    let runtime = Runtime::of(World::of(TestApp::with(few, Arc::new(Unattended)).await).await).await;
    let other = runtime.key(&["agent:*"]).await;
    let mut seen = Vec::new();
    for key in [&runtime.worker, &runtime.worker, &runtime.worker, &runtime.worker, &other, &other, &other] {
        let answer = runtime.app.get("/v2/runtime/tasks", key).await;
        let header = |name: &str| answer.headers[name].to_str().unwrap().parse::<u32>().unwrap();
        seen.push((answer.status.as_u16(), header("ratelimit-limit"), header("ratelimit-remaining")));
        assert!(!answer.headers.contains_key("x-ratelimit-limit") && answer.headers.contains_key("ratelimit-reset"));
    }
    assert_eq!(seen, [(200, 3, 2), (200, 3, 1), (200, 3, 0), (429, 3, 0), (200, 5, 1), (200, 5, 0), (429, 5, 0)]);
}

#[tokio::test]
async fn a_heartbeat_is_not_counted_for_the_key() {
    let few = |config: &mut platform::Config| config.rate_limit_key = 2;
    let runtime = Runtime::of(World::of(TestApp::with(few, Arc::new(Unattended)).await).await).await;
    let attempt = runtime.running(&runtime.task(json!({})).await).await;
    for left in (0..60).rev() {
        let answer = runtime.say(&attempt, "heartbeat", json!({})).await;
        assert_eq!((answer.status.as_u16(), &answer.headers["ratelimit-remaining"]), (200, &left.into()));
    }
    assert_eq!(runtime.say(&attempt, "heartbeat", json!({})).await.code(), (429, "RATE_LIMITED"));
}

#[tokio::test]
async fn a_heartbeat_that_keeps_no_lease_is_counted_for_the_key() {
    let few = |config: &mut platform::Config| config.rate_limit_key = 4;
    let runtime = Runtime::of(World::of(TestApp::with(few, Arc::new(Unattended)).await).await).await;
    let attempt = runtime.running(&runtime.task(json!({})).await).await;
    let beat = async |id: &str, key: &str, token: &str| {
        let path = format!("/v2/runtime/attempts/{id}/heartbeat");
        let answer = runtime.app.put(&path, key, json!({"lease_token": token})).await;
        let left = answer.headers["ratelimit-remaining"].to_str().unwrap().parse::<u32>().unwrap();
        (answer.status.as_u16(), left)
    };
    let other = runtime.key(&["agent:*"]).await;
    let mut seen = Vec::new();
    for (id, token) in [("made-up-1", "x"), ("made-up-2", "x"), (id(&attempt), "not the token"), ("made-up-3", "x")] {
        seen.push(beat(id, &other, token).await);
    }
    assert_eq!(seen, [(404, 3), (404, 2), (409, 1), (404, 0)]);
    assert_eq!(beat("made-up-4", &other, "x").await, (429, 0));
    assert_eq!(runtime.app.get("/v2/runtime/tasks", &other).await.code(), (429, "RATE_LIMITED"));
    let reads = runtime.key(&["query:read"]).await;
    for status in [403, 403, 403, 403, 429] {
        assert_eq!(beat("made-up", &reads, "x").await.0, status, "also who may send none");
    }
    runtime.say(&attempt, "heartbeat", json!({})).await.expect(200);
}

#[tokio::test]
async fn what_belongs_to_another_organization_is_absent() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({})).await;
    let attempt = runtime.attempt(&task).await;
    let stranger = crate::testing::bearer(&runtime.app.signup("sven", "Elsewhere").await);
    let (task_id, attempt_id) = (id(&task), id(&attempt));
    let token = json!({"lease_token": attempt["lease_token"]});
    let done = json!({"lease_token": attempt["lease_token"], "outcome": "succeeded"});
    let event = json!({"attempt_id": attempt_id, "kind": "note"});
    for (method, path, body) in [
        ("GET", format!("tasks/{task_id}"), Value::Null),
        ("GET", format!("tasks/{task_id}/detail"), Value::Null),
        ("POST", format!("tasks/{task_id}/cancel"), Value::Null),
        ("POST", format!("tasks/{task_id}/attempts"), Value::Null),
        ("POST", format!("tasks/{task_id}/claim"), Value::Null),
        ("GET", format!("attempts/{attempt_id}"), Value::Null),
        ("PUT", format!("attempts/{attempt_id}/claim"), token.clone()),
        ("PUT", format!("attempts/{attempt_id}/heartbeat"), token),
        ("PUT", format!("attempts/{attempt_id}/complete"), done),
        ("GET", format!("events?task_id={task_id}"), Value::Null),
        ("POST", "events".to_owned(), event),
    ] {
        let method = method.parse().unwrap();
        let answer = runtime.app.call(method, &format!("/v2/runtime/{path}"), &stranger, body).await;
        assert_eq!(answer.code(), (404, "NOT_FOUND"), "{path}");
    }
    let theirs = runtime.app.get("/v2/runtime/tasks", &stranger).await.expect(200);
    assert_eq!(theirs["pagination"]["total"], 0);
}

#[tokio::test]
async fn what_people_decide_is_absent_for_another_organization() {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({})).await;
    let attempt = runtime.running(&task).await;
    let artifact = runtime.artifact(&attempt, 'a', json!({})).await;
    let review = runtime.post("reviews", json!({"artifact_id": id(&artifact)})).await.expect(200);
    let facts = json!({"project_id": "p1", "facts": {}});
    runtime.post("gates/G3/evaluate", facts.clone()).await.expect(200);
    let release = json!({"artifact_id": id(&artifact), "outcome": "blocked"});
    let made = runtime.said_by(&runtime.owner, "releases", release.clone()).await.expect(200);
    let stranger = crate::testing::bearer(&runtime.app.signup("sven", "Elsewhere").await);
    let recorded = json!({"attempt_id": id(&attempt), "failure_kind": "timeout", "action_type": "retry"});
    let mut of_task = facts.clone();
    of_task["task_id"] = task["id"].clone();
    for (method, path, body) in [
        ("GET", format!("reviews/{}", id(&review)), Value::Null),
        ("POST", format!("reviews/{}/approve", id(&review)), Value::Null),
        ("POST", format!("reviews/{}/reject", id(&review)), json!({"reason": "no"})),
        ("POST", format!("reviews/{}/defer", id(&review)), json!({"until": "2100-01-01T00:00:00Z"})),
        ("PUT", format!("reviews/{}/resolve", id(&review)), json!({"outcome": "approved"})),
        ("POST", "reviews".to_owned(), json!({"artifact_id": id(&artifact)})),
        ("POST", "reviews".to_owned(), json!({"attempt_id": id(&attempt)})),
        ("POST", "gates/G3/evaluate".to_owned(), of_task),
        ("POST", "releases".to_owned(), release),
        ("GET", format!("releases/{}", id(&made)), Value::Null),
        ("POST", "recovery".to_owned(), recorded),
        ("POST", format!("recovery/{}", id(&attempt)), json!({"action": "escalate"})),
        ("GET", format!("explain/{}", id(&attempt)), Value::Null),
        ("GET", format!("explain/{}", id(&artifact)), Value::Null),
        ("GET", format!("lineage/{}/upstream", id(&artifact)), Value::Null),
        ("GET", format!("lineage/{}/downstream", id(&artifact)), Value::Null),
    ] {
        let answer = runtime.app.call(method.parse().unwrap(), &format!("/v2/{path}"), &stranger, body).await;
        assert_eq!(answer.code(), (404, "NOT_FOUND"), "{method} {path}");
    }
    for list in ["reviews", "reviews/pending", "releases", "recovery", "gates/evaluations"] {
        let theirs = runtime.app.get(&format!("/v2/{list}"), &stranger).await.expect(200);
        assert_eq!(theirs["pagination"]["total"], 0, "{list}");
    }
}
