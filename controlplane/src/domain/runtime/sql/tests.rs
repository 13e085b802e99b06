use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use contract::runtime_tables::{ROWS_MAX, Table};
use contract::{EnvId, OrgId};
use platform::provisioner::Unattended;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Postgres, Transaction};
use tokio::sync::mpsc;

use super::{ReadRefusal, is_on, read, stand, switch};
use crate::domain::environments;
use crate::domain::runtime::tests::{Runtime, id};
use crate::testing::TestApp;
use crate::worlds::{World, organization};

const WITHIN: Duration = Duration::from_secs(20);

/// The rows of these tables, as a data plane of the environment gets them.
async fn rows(world: &World, env_id: &EnvId, tables: &[Table]) -> Result<BTreeMap<Table, Vec<Value>>, ReadRefusal> {
    let (pages, mut received) = mpsc::channel(1_000);
    read(&world.app.app, env_id, tables, WITHIN, &pages).await?;
    drop(pages);
    let mut rows = BTreeMap::<_, Vec<Value>>::new();
    while let Some(page) = received.recv().await {
        rows.entry(page.table).or_default().extend(serde_json::from_str::<Vec<Value>>(&page.rows).unwrap());
    }
    Ok(rows)
}

/// A world with something in every table.
async fn filled() -> Runtime {
    let runtime = Runtime::start().await;
    let task = runtime.task(json!({"metadata": {"why": "a test"}})).await;
    let attempt = runtime.running(&task).await;
    let decision = json!({"attempt_id": id(&attempt), "model_id": "m1", "confidence": 0.5});
    let decision = runtime.post("runtime/decisions", decision).await.expect(200);
    let call = json!({"decision_id": id(&decision), "model_id": "m1", "input_tokens": 1, "output_tokens": 2, "cost_usd": 0.5, "latency_ms": 3});
    runtime.post("runtime/invocations", call).await.expect(200);
    let artifact = runtime.artifact(&attempt, 'a', json!({})).await;
    let said = json!({"validator_kind": "lint", "result": "pass"});
    runtime.post(&format!("runtime/artifacts/{}/validations", id(&artifact)), said).await.expect(200);
    runtime.fails(&attempt, "timeout").await;
    runtime
}

/// A transaction as the reader has it, for this organization.
async fn reader<'a>(runtime: &'a Runtime, org_id: Option<&OrgId>) -> Transaction<'a, Postgres> {
    let mut tx = runtime.app.app.pool().begin_with("begin read only").await.unwrap();
    stand(&mut tx, org_id.unwrap_or(&OrgId::from("")), Duration::from_secs(2)).await.unwrap();
    tx
}

async fn told(tx: &mut Transaction<'_, Postgres>, sql: &str) -> Result<i64, String> {
    let count = sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(&mut **tx).await;
    count.map_err(|error| {
        error.as_database_error().and_then(sqlx::error::DatabaseError::code).unwrap_or_default().into_owned()
    })
}

#[tokio::test]
async fn the_views_have_the_columns_that_data_planes_list() {
    let world = World::start().await;
    let found: Vec<(String, String, String)> = sqlx::query_as(
        "select table_name::text, column_name::text, data_type::text from information_schema.columns
         where table_schema = 'svc_runtime_sql' order by table_name, ordinal_position",
    )
    .fetch_all(world.app.app.pool())
    .await
    .unwrap();
    let mut listed: Vec<_> = Table::ALL.iter().map(|table| (table.as_str(), table.columns())).collect();
    listed.sort_unstable_by_key(|(name, _)| *name);
    let wanted: Vec<_> = listed
        .iter()
        .flat_map(|(table, columns)| {
            columns.iter().map(|(name, kind)| ((*table).to_owned(), (*name).to_owned(), kind.postgres().to_owned()))
        })
        .collect();
    assert_eq!(found, wanted);
    assert!(!found.iter().any(|(_, column, _)| column.contains("token") && column.contains("lease")));
}

#[tokio::test]
async fn every_table_is_read_whole_with_its_columns_and_no_other() {
    let runtime = filled().await;
    let rows = rows(&runtime, &runtime.env_id, Table::ALL).await.unwrap();
    for table in Table::ALL {
        let row = &rows[table][0];
        let columns: Vec<_> = table.columns().iter().map(|(name, _)| *name).collect();
        assert_eq!(row.as_object().unwrap().len(), columns.len(), "{table}");
        assert!(columns.iter().all(|name| row.get(name).is_some()), "{table}: {row}");
        assert_eq!(row["org_id"], runtime.org_id.as_str(), "{table}");
    }
    assert_eq!(rows[&Table::Tasks][0]["metadata"], json!({"why": "a test"}));
}

#[tokio::test]
async fn two_organizations_never_meet() {
    let runtime = filled().await;
    let other = organization(&runtime.app, "other", "enterprise").await;
    let seed = environments::EnvironmentSeed { name: "Theirs".to_owned(), slug: "theirs".to_owned(), test_mode: false };
    let theirs = environments::record(&runtime.app.app, &other, &seed).await.unwrap();
    assert!(rows(&runtime, &theirs, Table::ALL).await.unwrap().is_empty());
    for table in Table::ALL {
        for (schema, org_id, sees) in [
            ("svc_runtime_sql", Some(&runtime.org_id), true),
            ("svc_runtime", Some(&runtime.org_id), true),
            ("svc_runtime_sql", Some(&other), false),
            ("svc_runtime", Some(&other), false),
            ("svc_runtime_sql", None, false),
            ("svc_runtime", None, false),
        ] {
            // Of the table itself as well: there the row-level security stands alone.
            let mut tx = reader(&runtime, org_id).await;
            let count = told(&mut tx, &format!("select count(org_id) from {schema}.{table}")).await.unwrap();
            assert_eq!(count > 0, sees, "{schema}.{table} {org_id:?}");
        }
        // The view, of whom row-level security does not hold: where no role can be made, it stands alone.
        for (org_id, sees) in [(runtime.org_id.as_str(), true), (other.as_str(), false), ("", false)] {
            let mut tx = runtime.app.app.pool().begin().await.unwrap();
            told(&mut tx, &format!("select length(set_config('svc_runtime.org_id', '{org_id}', true))::bigint"))
                .await
                .unwrap();
            let count = told(&mut tx, &format!("select count(*) from svc_runtime_sql.{table}")).await.unwrap();
            assert_eq!(count > 0, sees, "{table} {org_id}");
        }
    }
}

/// The attacks that a runtime read by text would have to fear. Whoever reads here could not do them either.
#[tokio::test]
async fn the_reader_can_read_these_columns_and_do_nothing_else() {
    const DENIED: &str = "42501";
    const READ_ONLY: &str = "25006";
    const CANCELED: &str = "57014";
    let runtime = filled().await;
    for (sql, code) in [
        ("select count(*) from public.api_keys", DENIED),
        ("select count(*) from svc_runtime_sql.tasks t join public.api_keys k on true", DENIED),
        ("select count(*) from pg_authid", DENIED),
        ("select count(*) from svc_runtime.review_requests", DENIED),
        ("select count(lease_token_sha256) from svc_runtime.task_attempts", DENIED),
        ("select count(*) from pg_sleep(5)", CANCELED),
        ("select count(query_to_xml('select * from public.accounts', true, false, ''))", DENIED),
        ("with d as (delete from svc_runtime.tasks returning 1) select count(*) from d", READ_ONLY),
        ("with d as (delete from svc_runtime_sql.workflow_events returning 1) select count(*) from d", DENIED),
        (
            "with d as (insert into svc_runtime.workflow_events default values returning 1) select count(*) from d",
            READ_ONLY,
        ),
        ("copy svc_runtime.tasks to program 'cat'", DENIED),
        ("select count(*) from pg_read_file('/etc/passwd')", DENIED),
        ("create table public.mine (n integer)", READ_ONLY),
        ("set transaction read write", "25001"),
        ("select lo_import('/etc/passwd')::bigint", DENIED),
    ] {
        let mut tx = reader(&runtime, Some(&runtime.org_id)).await;
        assert_eq!(told(&mut tx, sql).await, Err(code.to_owned()), "{sql}");
    }
}

/// "Append-only; no UPDATE or DELETE on rows": not even for who owns the table.
#[tokio::test]
async fn workflow_events_cannot_be_changed_by_anybody() {
    let runtime = filled().await;
    for sql in [
        "update svc_runtime.workflow_events set kind = 'x'",
        "delete from svc_runtime.workflow_events",
        "truncate svc_runtime.workflow_events cascade",
        "update svc_runtime_sql.workflow_events set kind = 'x'",
        "delete from svc_runtime_sql.workflow_events",
    ] {
        let error = sqlx::query(AssertSqlSafe(sql)).execute(runtime.app.app.pool()).await.unwrap_err();
        assert_eq!(error.as_database_error().unwrap().code().unwrap(), "42501", "{sql}");
    }
}

#[tokio::test]
async fn a_table_that_is_too_large_is_refused_and_not_cut_off() {
    let runtime = Runtime::start().await;
    let fill = format!(
        "insert into svc_runtime.tasks (id, org_id, project_id, kind, max_retries, created_by, created_at, updated_at)
         select n::text, '{}', 'p', 'k', 0, 'x', now(), now() from generate_series(1, {ROWS_MAX}) n",
        runtime.org_id
    );
    runtime.sql(&fill).await;
    let whole = rows(&runtime, &runtime.env_id, &[Table::Tasks]).await.unwrap();
    assert_eq!(whole[&Table::Tasks].len(), usize::try_from(ROWS_MAX).unwrap());
    runtime.task(json!({})).await;
    let refused = rows(&runtime, &runtime.env_id, &[Table::Tasks]).await.unwrap_err();
    assert!(matches!(refused, ReadRefusal::TooLarge { table: Table::Tasks }), "{refused}");
}

#[tokio::test]
async fn without_its_flag_the_runtime_is_not_read_and_data_planes_are_told() {
    let app = TestApp::with(|config| config.v2_runtime_enabled = false, Arc::new(Unattended)).await;
    let world = World::of(app).await;
    let refused = rows(&world, &world.env_id, &[Table::Tasks]).await.unwrap_err();
    assert!(matches!(refused, ReadRefusal::Absent), "{refused}");
    let mut conn = world.app.app.pool().acquire().await.unwrap();
    assert!(!is_on(&mut conn).await.unwrap());
    let before = world.version().await;
    switch(&world.app.app).await.unwrap();
    assert_eq!(world.version().await, before, "nothing has changed");
    world.sql("update runtime_switch set is_on = true").await;
    assert!(world.version().await > before);
}
