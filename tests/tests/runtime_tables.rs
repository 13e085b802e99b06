//! The runtime's tables, read as SQL by every protocol of an environment.

use reqwest::Method;
use serde_json::{Value, json};
use tests::World;

/// A platform where an attempt at a task of project `p1` runs, and one of `p2` waits.
async fn working() -> World {
    let world = World::new().await;
    for project in ["p1", "p2"] {
        let body = json!({"kind": "build", "project_id": project, "metadata": {"tags": [project, "O'Hara"]}});
        let task = world.ok(Method::POST, "/v2/runtime/tasks", &world.owner, body).await;
        if project == "p1" {
            let path = format!("/v2/runtime/tasks/{}/claim", task["id"].as_str().unwrap());
            world.ok(Method::POST, &path, &world.owner, json!({"agent_id": "a1"})).await;
        }
    }
    world
}

fn code(body: &Value) -> &str {
    body["error"]["details"]["stable_code"].as_str().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runtime_is_queried_like_any_table_by_every_protocol() {
    let world = working().await;
    let analyst = world.user("analyst", json!({})).await;
    let cases = [
        ("select count(*) from svc_runtime.tasks", json!([[2]])),
        (
            "select t.project_id, a.status, a.attempt_number from svc_runtime.tasks t
             join svc_runtime.task_attempts a on a.task_id = t.id",
            json!([["p1", "running", 1]]),
        ),
        (
            "with live as (select * from SVC_RUNTIME.Tasks where status in ('pending', 'active'))
             select project_id, metadata:tags[1]::string, created_at <= now() from live order by 1",
            json!([["p1", "O'Hara", true], ["p2", "O'Hara", true]]),
        ),
        ("select count(*) > 2, min(sequence_num) from svc_runtime.workflow_events", json!([[true, 1]])),
        ("select count(*) from svc_runtime.recovery_actions, svc_runtime.model_decisions", json!([[0]])),
    ];
    for (sql, rows) in cases {
        assert_eq!(world.rows(&analyst.key, sql).await, rows, "{sql}");
    }
    let session = world.psql(&analyst.key).await.unwrap();
    let prepared = session.prepare("select project_id, retry_count from svc_runtime.tasks where project_id = $1").await;
    let rows = session.query(&prepared.unwrap(), &[&"p2"]).await.unwrap();
    assert_eq!((rows[0].get::<_, String>(0).as_str(), rows[0].get::<_, i32>(1)), ("p2", 0));
    session.batch_execute("begin; select 1 from customers; select 1 from svc_runtime.tasks; commit").await.unwrap();
    world.end().await;
}

/// The rows are written elsewhere, so no answer of a moment ago is given again.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_runtime_has_done_is_seen_at_once() {
    let world = working().await;
    let open = "select count(*) from svc_runtime.tasks where status = 'pending'";
    assert_eq!(world.rows(&world.key, open).await, json!([[1]]));
    let body = json!({"kind": "build", "project_id": "p3"});
    world.ok(Method::POST, "/v2/runtime/tasks", &world.owner, body).await;
    assert_eq!(world.rows(&world.key, open).await, json!([[2]]));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_organizations_work_is_not_there() {
    let world = working().await;
    let signup = json!({"name": "Other", "email": "other@else.example", "password": "correct horse battery", "org_name": "Else"});
    let stranger = world.ok(Method::POST, "/v1/signup", "", signup).await;
    world.enterprise(stranger["org"]["org_id"].as_str().unwrap()).await;
    let bearer = format!("Bearer {}", stranger["token"].as_str().unwrap());
    let body = json!({"kind": "canary", "project_id": "canary"});
    world.ok(Method::POST, "/v2/runtime/tasks", &bearer, body).await;
    for sql in [
        "select count(*) from svc_runtime.tasks where kind = 'canary'",
        "select count(*) from svc_runtime.tasks t where t.org_id <> (select min(org_id) from svc_runtime.tasks)",
        "select count(*) from svc_runtime.workflow_events e where e.task_id not in (select id from svc_runtime.tasks)",
    ] {
        assert_eq!(world.rows(&world.key, sql).await, json!([[0]]), "{sql}");
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn policies_hold_for_the_runtimes_tables() {
    let world = working().await;
    let analyst = world.user("analyst", json!({"project": "p2"})).await;
    let exempt = json!(["owner"]);
    let filter = json!([{"table": "svc_runtime.tasks", "filter": "project_id = '{project}'", "exempt_roles": exempt}]);
    world.policy("row_level_security", filter).await;
    let mask = |column: &str, function: &str| json!({"table": "svc_runtime.tasks", "column": column, "function": function, "exempt_roles": exempt});
    world.policy("column_masking", json!([mask("kind", "full"), mask("id", "hash"), mask("priority", "null")])).await;
    let seen = "select project_id, kind, length(id), priority from svc_runtime.tasks order by 1";
    assert_eq!(world.rows(&analyst.key, seen).await, json!([["p2", "***", 64, null]]));
    assert_eq!(
        world.rows(&world.key, "select count(*) from svc_runtime.tasks where kind = 'build'").await,
        json!([[2]])
    );
    let leak = "select count(*) from svc_runtime.tasks where case when project_id = 'p1' then 1/0 else 1 end = 1";
    assert_eq!(world.rows(&analyst.key, leak).await, json!([[1]]));
    let deny = json!({"name": "no attempts", "rules": [{"condition": "TableIs", "action": "deny", "values": ["svc_runtime.task_attempts"], "exempt_roles": exempt}], "priority": 1, "enabled": true});
    world.ok(Method::POST, &format!("/v1/environments/{}/abac-policies", world.env_id), &world.owner, deny).await;
    let denied = world.query(&analyst.key, "select * from svc_runtime.task_attempts").await;
    assert_eq!((denied.status, code(&denied.body)), (403, "SVC_ERR_403_TABLE_DENIED"), "{}", denied.body);
    let listed = "select count(*) from information_schema.tables where table_name = 'task_attempts'";
    assert_eq!(world.rows(&analyst.key, listed).await, json!([[0]]));
    assert_eq!(world.rows(&world.key, listed).await, json!([[1]]));
    world.end().await;
}

/// `governance.md`: what a runtime that is read by text has to fear, and what else is no reading of it.
#[tokio::test(flavor = "multi_thread")]
async fn attacks_on_the_runtimes_database_are_refused() {
    const ABSENT: &[u16] = &[404];
    const REFUSED: &[u16] = &[400, 403, 422];
    const UNSUPPORTED: &[u16] = &[422];
    let world = working().await;
    for (sql, statuses) in [
        ("select * from svc_runtime.tasks t, public.api_keys k", ABSENT),
        ("select * from svc_runtime.releases", ABSENT),
        ("select * from svc_runtime.review_requests", ABSENT),
        ("select * from svc_runtime_sql.tasks", ABSENT),
        ("select * from svc_runtime.tasks t, pg_authid a", ABSENT),
        ("select *, pg_sleep(10) from svc_runtime.tasks", REFUSED),
        ("select query_to_xml('select * from public.accounts', true, false, '') from svc_runtime.tasks", REFUSED),
        ("select set_config('svc_runtime.org_id', 'x', false) from svc_runtime.tasks", REFUSED),
        ("select current_setting('svc_runtime.org_id') from svc_runtime.tasks", REFUSED),
        ("copy svc_runtime.tasks to program 'cat'", REFUSED),
        ("with d as (delete from svc_runtime.tasks returning 1) select * from d", REFUSED),
        ("select * from svc_runtime.tasks where kind::integer = 1", REFUSED),
        ("select * from svc_runtime.tasks, customers", UNSUPPORTED),
        ("select * from customers where exists (select 1 from svc_runtime.tasks)", UNSUPPORTED),
        ("select id from customers union all select priority from svc_runtime.tasks", UNSUPPORTED),
        ("delete from svc_runtime.workflow_events", UNSUPPORTED),
        ("update svc_runtime.workflow_events set kind = 'x'", UNSUPPORTED),
        ("insert into svc_runtime.tasks (id) values ('x')", UNSUPPORTED),
        ("insert into customers (name) select kind from svc_runtime.tasks", UNSUPPORTED),
        ("create table mine as select * from svc_runtime.tasks", UNSUPPORTED),
        ("create view mine as select * from svc_runtime.tasks", UNSUPPORTED),
        ("create table svc_runtime.mine (n integer)", UNSUPPORTED),
        ("drop table svc_runtime.tasks", UNSUPPORTED),
        ("alter table svc_runtime.tasks add column n integer", UNSUPPORTED),
        ("truncate table svc_runtime.tasks", UNSUPPORTED),
    ] {
        let reply = world.query(&world.key, sql).await;
        assert!(statuses.contains(&reply.status), "{sql}: {} {}", reply.status, reply.body);
    }
    let filter = json!([{"table": "customers", "filter": "exists (select 1 from svc_runtime.tasks)"}]);
    world.policy("row_level_security", filter).await;
    let mixed = world.query(&world.key, "select count(*) from customers").await;
    assert_eq!(mixed.status, 422, "a filter that reads both: {}", mixed.body);
    assert_eq!(world.rows(&world.key, "select count(*) from svc_runtime.tasks").await, json!([[2]]));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_catalogue_lists_the_runtime_and_explain_tells_of_it() {
    let world = working().await;
    let session = world.psql(&world.key).await.unwrap();
    let listed = "select table_name from information_schema.tables where table_schema = 'svc_runtime' order by 1";
    let names: Vec<String> = session.query(listed, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
    let mut wanted: Vec<_> = contract::runtime_tables::Table::ALL.iter().map(ToString::to_string).collect();
    wanted.sort_unstable();
    assert_eq!(names, wanted);
    let columns = "select count(*) from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
                   join pg_catalog.pg_namespace n on n.oid = c.relnamespace
                   where n.nspname = 'svc_runtime' and c.relname = 'tasks' and a.attnum > 0";
    assert_eq!(session.query_one(columns, &[]).await.unwrap().get::<_, i64>(0), 23);
    let secret = "select count(*) from information_schema.columns where column_name ilike '%lease_token%'";
    assert_eq!(world.rows(&world.key, secret).await, json!([[0]]));
    let plan = world.rows(&world.key, "explain select id from svc_runtime.tasks").await;
    assert!(plan.to_string().contains("svc_runtime"), "{plan}");
    world.end().await;
}
