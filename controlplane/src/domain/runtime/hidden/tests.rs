//! `/v2` tells nobody what a policy or a grant hides from them.

use axum::http::Method;
use chrono::Duration;
use contract::runtime_tables::Table;
use serde_json::{Value, json};

use super::told;
use crate::domain::runtime::tests::{Runtime, id, reason};
use crate::testing::bearer;

const HIDDEN: (u16, &str) = (403, "hidden_by_policy");

async fn policy(runtime: &Runtime, kind: &str, rules: Value) {
    let body = json!({"name": kind, "type": kind, "enabled": true, "rules": rules});
    runtime.app.post(&runtime.env("policies"), &runtime.owner, body).await.expect(201);
}

async fn reads(runtime: &Runtime, who: &str, paths: &[&str]) -> Vec<u16> {
    let mut statuses = Vec::new();
    for path in paths {
        let answer = runtime.app.get(&format!("/v2/{path}"), who).await;
        assert!(answer.status == 200 || reason(&answer) == HIDDEN, "{path}: {} {}", answer.status, answer.body);
        statuses.push(answer.status.as_u16());
    }
    statuses
}

const PATHS: [&str; 4] =
    ["runtime/tasks", "runtime/artifacts?project_id=p", "runtime/views/invocation-costs", "routing/signals"];

#[test]
fn the_paths_that_tell_of_few_tables_exist() {
    let rows = crate::server::endpoints::rows();
    let reads = rows.iter().filter(|row| row.path.starts_with("/v2/") && row.method == Method::GET);
    let narrow: Vec<_> =
        reads.filter(|row| told(&row.method, row.path).len() < Table::ALL.len()).map(|row| row.path).collect();
    assert_eq!(narrow.len(), 11, "{narrow:?}");
}

#[tokio::test]
async fn a_mask_a_filter_and_a_denied_table_close_what_tells_of_their_table() {
    const FILTER: &str = "row_level_security";
    let exempt = json!(["owner", "service_account"]);
    let filter = json!([{"table": "SVC_Runtime.tasks", "filter": "project_id = 'p'", "exempt_roles": exempt}]);
    let mask = json!([{"table": "svc_runtime.llm_invocations", "column": "cost_usd", "function": "null", "exempt_roles": exempt}]);
    let other = json!([{"table": "tasks", "column": "id", "function": "null", "exempt_roles": []}]);
    let denied = json!([{"condition": "TableIs", "values": ["svc_runtime.artifact*"], "action": "deny", "exempt_roles": exempt}]);
    for (kind, rules, expected) in [
        (FILTER, filter, [403, 200, 403, 403]),
        ("column_masking", mask, [200, 200, 403, 403]),
        ("column_masking", other, [200, 200, 200, 200]),
        ("abac", denied, [200, 403, 403, 403]),
    ] {
        let runtime = Runtime::start().await;
        let analyst = runtime.member("analyst", json!({})).await;
        assert_eq!(reads(&runtime, &analyst, &PATHS).await, [200; 4]);
        match kind {
            "abac" => {
                let body = json!({"name": "closed", "priority": 1, "enabled": true, "rules": rules});
                runtime.app.post(&runtime.env("abac-policies"), &runtime.owner, body).await.expect(201);
            }
            kind => policy(&runtime, kind, rules.clone()).await,
        }
        assert_eq!(reads(&runtime, &analyst, &PATHS).await, expected, "{rules}");
        for exempt in [&runtime.owner, &runtime.worker] {
            assert_eq!(reads(&runtime, exempt, &PATHS).await, [200; 4], "{rules}");
        }
        let elsewhere = runtime.elsewhere().await;
        assert_eq!(reads(&runtime, &elsewhere, &PATHS).await, [200; 4], "another environment's key: {rules}");
        let policies = "update policies set enabled = false; update abac_policies set enabled = false";
        runtime.sql(policies).await;
        assert_eq!(reads(&runtime, &analyst, &PATHS).await, [200; 4], "switched off: {rules}");
    }
}

#[tokio::test]
async fn a_session_is_held_to_the_rules_of_every_environment() {
    let runtime = Runtime::start().await;
    let invite = json!({"email": "ann@acme.example", "role": "analyst"});
    let invited = runtime.app.post(&runtime.org("users/invite"), &runtime.owner, invite).await.expect(201);
    let body = json!({"token": invited["invitation_token"], "password": runtime.app.password(), "name": "Ann"});
    let signed_in = bearer(&runtime.app.post("/v1/auth/accept-invitation", "", body).await.expect(200));
    assert_eq!(reads(&runtime, &signed_in, &PATHS).await, [200; 4]);
    let mask =
        json!([{"table": "svc_runtime.tasks", "column": "metadata", "function": "full", "exempt_roles": ["owner"]}]);
    policy(&runtime, "column_masking", mask).await;
    assert_eq!(reads(&runtime, &signed_in, &PATHS).await, [403, 200, 403, 403]);
}

#[tokio::test]
async fn an_agent_with_grants_reads_what_they_reach_and_works_as_before() {
    let runtime = Runtime::start().await;
    let made = runtime.create_key(json!({"name": "bound", "scopes": ["agent:*"], "agent_id": "bot"})).await;
    let bound = format!("ApiKey {}", made["key"].as_str().unwrap());
    assert_eq!(reads(&runtime, &bound, &PATHS).await, [200; 4], "an agent without grants is not confined");
    let grant = async |tables: &[&str], denied: Value| {
        let capabilities =
            json!({"allowed_tables": tables, "allowed_operations": ["select"], "column_restrictions": denied});
        let expires_at = runtime.app.app.now() + Duration::hours(1);
        let body = json!({"agent_id": "bot", "capabilities": capabilities, "expires_at": expires_at});
        runtime.app.post(&runtime.env("agent-capabilities"), &runtime.owner, body).await.expect(201);
    };
    let task = runtime.task(json!({})).await;
    let claimed = runtime.said_by(&bound, &format!("runtime/tasks/{}/claim", id(&task)), json!({})).await.expect(200);
    grant(&["main.orders"], json!({})).await;
    assert_eq!(reads(&runtime, &bound, &PATHS).await, [403; 4]);
    let beat = format!("/v2/runtime/attempts/{}/heartbeat", id(&claimed));
    runtime.app.put(&beat, &bound, json!({"lease_token": claimed["lease_token"]})).await.expect(200);
    grant(&["svc_runtime.tasks", "svc_runtime.task_attempts"], json!({})).await;
    assert_eq!(reads(&runtime, &bound, &PATHS).await, [200, 403, 403, 403]);
    grant(&["svc_runtime.tasks"], json!({"svc_runtime.tasks": {"denied_columns": ["metadata"]}})).await;
    assert_eq!(reads(&runtime, &bound, &PATHS).await, [403; 4]);
}

/// What is asked of them changes nothing: it would only tell.
#[tokio::test]
async fn what_is_known_already_is_told_to_nobody_from_whom_it_is_hidden() {
    let runtime = Runtime::start().await;
    let developer = runtime.member("developer", json!({})).await;
    let work = json!({"kind": "build", "project_id": "p", "work_item_key": "k", "metadata": {"secret": 7}});
    let task = runtime.task(work.clone()).await;
    let claim = format!("runtime/tasks/{}/claim", id(&task));
    let attempt = runtime.said_by(&runtime.worker, &claim, json!({})).await.expect(200);
    let artifact = runtime.artifact(&attempt, 'a', json!({"lease_token": attempt["lease_token"]})).await;
    let asked =
        [("runtime/tasks".to_owned(), work), (format!("runtime/artifacts/{}/promote", id(&artifact)), json!({}))];
    for (path, body) in &asked {
        runtime.said_by(&developer, path, body.clone()).await.expect(200);
    }
    let exempt = json!(["owner", "service_account"]);
    let masks = ["tasks", "artifact_instances"].map(|table| {
        let table = format!("svc_runtime.{table}");
        json!({"table": table, "column": "metadata", "function": "full", "exempt_roles": exempt})
    });
    policy(&runtime, "column_masking", json!(masks)).await;
    for (path, body) in &asked {
        assert_eq!(reason(&runtime.said_by(&developer, path, body.clone()).await), HIDDEN, "{path}");
        runtime.said_by(&runtime.worker, path, body.clone()).await.expect(200);
    }
    let other = json!({"kind": "build", "project_id": "p", "work_item_key": "another"});
    runtime.said_by(&developer, "runtime/tasks", other).await.expect(200);
}

/// A change of what others have made is answered with it.
#[tokio::test]
async fn who_may_not_be_told_of_a_task_neither_ends_nor_moves_it() {
    let runtime = Runtime::start().await;
    let developer = runtime.member("developer", json!({})).await;
    let task = runtime.task(json!({"metadata": {"secret": 7}})).await;
    let claim = format!("runtime/tasks/{}/claim", id(&task));
    let attempt = runtime.said_by(&runtime.worker, &claim, json!({})).await.expect(200);
    let exempt = json!(["owner", "service_account"]);
    let mask =
        json!([{"table": "svc_runtime.tasks", "column": "metadata", "function": "full", "exempt_roles": exempt}]);
    policy(&runtime, "column_masking", mask).await;
    let block = json!({"action": "block", "override_reason": "late"});
    let recovery = format!("recovery/{}", id(&attempt));
    let cancel = format!("runtime/tasks/{}/cancel", id(&task));
    for (path, body) in [(&recovery, block.clone()), (&cancel, json!({}))] {
        assert_eq!(reason(&runtime.said_by(&developer, path, body).await), HIDDEN, "{path}");
    }
    let seen = runtime.app.get(&format!("/v2/runtime/tasks/{}", id(&task)), &runtime.owner).await.expect(200);
    assert_eq!(seen["status"], "active");
    for (path, body) in [(&recovery, block), (&cancel, json!({}))] {
        runtime.said_by(&runtime.owner, path, body).await.expect(200);
    }
}

#[tokio::test]
async fn an_environment_that_is_gone_hides_nothing() {
    let runtime = Runtime::start().await;
    let mask = json!([{"table": "svc_runtime.tasks", "column": "metadata", "function": "full", "exempt_roles": []}]);
    policy(&runtime, "column_masking", mask).await;
    let rules = json!([{"condition": "TableIs", "values": ["svc_runtime.tasks"], "action": "deny"}]);
    let denied = json!({"name": "closed", "priority": 1, "enabled": true, "rules": rules});
    runtime.app.post(&runtime.env("abac-policies"), &runtime.owner, denied).await.expect(201);
    let mut conn = runtime.app.app.pool().acquire().await.unwrap();
    let org = (&runtime.org_id, None);
    for (gone, count) in [("null", 1), ("now()", 0)] {
        runtime.sql(&format!("update environments set removed_at = {gone}")).await;
        let standard = crate::domain::policies::naming(&mut conn, org, "svc_runtime").await.unwrap();
        let abac = crate::domain::abac_policies::by_table(&mut conn, org).await.unwrap();
        assert_eq!((standard.len(), abac.len()), (count, count), "{gone}");
    }
}
