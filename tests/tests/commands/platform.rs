//! Keys, environments, policies, branches and the audit trail from a terminal.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tests::World;
use tests::postgres::Database;
use tests::world::program;
use tokio::process::Command;

use super::{command, run, sluice};
use crate::agents::{tool, url};

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_made_used_listed_and_revoked() {
    let world = World::new().await;
    let made = sluice(&world, &["keys", "create", "nightly", "--scope", "query:read", "-o", "json"]).await.json();
    let (key, key_id) = (made["key"].as_str().unwrap(), made["key_id"].as_str().unwrap());
    let asked = async || run(command(&world, key, &["sql", "-c", "select 1 as a", "-o", "csv"]), "").await;
    assert_eq!(asked().await.ok(), "a\r\n1\r\n");
    let listed = sluice(&world, &["keys", "list"]).await.ok();
    let row = listed.lines().find(|line| line.contains("nightly")).unwrap();
    assert!(row.starts_with(key_id) && row.contains("active") && !listed.contains(key), "{listed}");
    let refused = run(command(&world, key, &["keys", "list"]), "").await;
    assert!(refused.code == 3 && refused.err.contains("SVC_ERR_403_SCOPE_VIOLATION"), "{refused:?}");
    let revoked = sluice(&world, &["keys", "revoke", key_id, "-o", "csv"]).await.ok();
    assert!(revoked.starts_with("key_id,name,revoked_at,revoked_by\r\n"), "{revoked}");
    assert_eq!(asked().await.code, 3);
    let wrong = sluice(&world, &["keys", "create", "x", "--scope", "query:fly"]).await;
    assert!(wrong.code == 2 && wrong.err.contains("SVC_ERR_400_INVALID_PARAMS"), "{wrong:?}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn environments_are_listed_and_the_keys_own_is_shown() {
    let world = World::bare().await;
    world.environment("other").await;
    let listed = sluice(&world, &["env", "list", "-o", "json"]).await.json();
    let mut slugs: Vec<_> = listed.as_array().unwrap().iter().map(|row| row["slug"].as_str().unwrap()).collect();
    slugs.sort_unstable();
    assert_eq!(slugs, ["main", "other"]);
    let shown = sluice(&world, &["env", "show"]).await.ok();
    assert!(shown.contains(&format!("{}\n", world.env_id)) && shown.contains("active"), "{shown}");
    let absent = sluice(&world, &["env", "show", "none"]).await;
    assert!(absent.code == 3 && absent.err.contains("SVC_ERR_403_ENV_MISMATCH"), "{absent:?}");
    world.end().await;
}

fn file(folder: &Path, enabled: bool) -> String {
    let path = folder.join("policies.yaml");
    let text = format!(
        "- name: ssn\n  type: column_masking\n  enabled: {enabled}\n  rules:\n    - {{table: customers, column: ssn, function: full}}\n"
    );
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_policies_is_made_to_hold() {
    let world = World::new().await;
    let folder = tempfile::tempdir().unwrap();
    let applied = async |enabled: bool, more: &[&str]| {
        let file = file(folder.path(), enabled);
        let said = sluice(&world, &[&["policies", "apply", "-f", &file, "-o", "json"], more].concat()).await.json();
        said[0]["change"].as_str().unwrap().to_owned()
    };
    assert_eq!(applied(true, &["--dry-run"]).await, "created");
    assert_eq!(sluice(&world, &["policies", "list", "-o", "json"]).await.json(), json!([]));
    assert_eq!(applied(true, &[]).await, "created");
    assert_eq!(applied(true, &[]).await, "unchanged");
    let tested = sluice(&world, &["policies", "test", "select ssn from customers", "--role", "analyst"]).await.ok();
    assert!(tested.starts_with("-- allowed\n-- mask on main.customers.ssn: full (ssn)\n"), "{tested}");
    assert_eq!(applied(false, &[]).await, "changed");
    let shown = sluice(&world, &["policies", "show", "ssn", "-o", "json"]).await.json();
    assert_eq!((&shown["enabled"], &shown["rules"][0]["column"]), (&json!(false), &json!("ssn")));
    let absent = sluice(&world, &["policies", "show", "phones"]).await;
    assert!(absent.code == 1 && absent.err.contains("there is no policy \"phones\""), "{absent:?}");
    let wrong = folder.path().join("wrong.yaml");
    let text = "- {name: new, type: column_masking, rules: [{table: customers, column: email, function: full}]}\n\
        - {name: typo, type: column_masking, rules: [{table: customers, column: snn, function: full}]}\n";
    std::fs::write(&wrong, text).unwrap();
    let apply = ["policies", "apply", "-f", wrong.to_str().unwrap()];
    for more in [&["--dry-run"][..], &[]] {
        let refused = sluice(&world, &[&apply[..], more].concat()).await;
        assert!(refused.code != 0 && refused.err.contains("main.customers.snn"), "{refused:?}");
    }
    let listed = sluice(&world, &["policies", "list"]).await.ok();
    assert!(!listed.contains("new") && listed.contains("bound"), "all of a file, or nothing of it: {listed}");
    let kept = sluice(&world, &[&apply[..], &["--accept-missing"]].concat()).await.ok();
    assert!(kept.lines().any(|line| line.contains("typo") && line.contains("rules_nothing")), "{kept}");
    let unread = sluice(&world, &["policies", "apply", "-f", "/nowhere"]).await;
    assert!(unread.code == 2 && unread.err.contains("/nowhere"), "{unread:?}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_is_made_merged_or_given_up() {
    let world = World::bare().await;
    for sql in ["create table stock (sku integer primary key, amount integer)", "insert into stock values (1, 10)"] {
        sluice(&world, &["sql", "-c", sql]).await.ok();
    }
    let create = ["branch", "create", "stock", "--agent-id", "clerk", "-o", "json"];
    let made = sluice(&world, &create).await.json();
    let id = made["id"].as_str().unwrap();
    let on = json!({"branch_id": id, "sql": "update stock set amount = 11"});
    tool(&url(&world).await, &world.key, "branch_query", on).await;
    sluice(&world, &["sql", "-c", "update stock set amount = 12"]).await.ok();
    let refused = sluice(&world, &["branch", "merge", id]).await;
    assert_eq!(refused.code, 1, "it begins with fail_on_conflict: {refused:?}");
    assert!(refused.err.contains("nothing is merged: there are 1 conflicts"), "{}", refused.err);
    let merged = sluice(&world, &["branch", "merge", id, "--strategy", "main_wins", "-o", "json"]).await.json();
    assert_eq!(merged["status"], "merged");
    let other = sluice(&world, &create).await.json();
    let other = other["id"].as_str().unwrap();
    assert!(sluice(&world, &["branch", "list"]).await.ok().contains(other));
    assert!(sluice(&world, &["branch", "discard", other]).await.ok().contains("true"));
    let listed = sluice(&world, &["branch", "list", "--status", "all", "-o", "json"]).await.json();
    let statuses: Vec<_> = listed.as_array().unwrap().iter().map(|branch| &branch["status"]).collect();
    assert_eq!(statuses, ["discarded", "merged"]);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_of_all_tables_warns_of_those_without_a_key_and_takes_keys() {
    let world = World::bare().await;
    for sql in ["create table stock (sku integer, place varchar)", "create table note (text varchar primary key)"] {
        sluice(&world, &["sql", "-c", sql]).await.ok();
    }
    let create = ["branch", "create", "--agent-id", "clerk", "-o", "json"];
    let made = sluice(&world, &create).await;
    assert!(made.err.contains("warning: no key tells the rows of main.stock apart"), "{}", made.err);
    let tables = made.json()["tables"].to_string();
    assert!(tables.contains("main.stock") && tables.contains("main.note"), "{tables}");
    let made = sluice(&world, &[&create[..], &["--row-key", "stock=sku,place"]].concat()).await;
    assert!(!made.err.contains("warning"), "{}", made.err);
    assert_eq!(made.json()["warnings"], json!([]));
    let wrong = sluice(&world, &[&create[..], &["--row-key", "stock"]].concat()).await;
    assert!(wrong.code == 2 && wrong.err.contains("stock=sku,place"), "{wrong:?}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_that_was_touched_is_a_failure() {
    let world = World::bare().await;
    let verified = sluice(&world, &["audit", "verify"]).await.ok();
    assert!(verified.contains("chain_valid         true\n"), "{verified}");
    let client = world.database().client().await;
    let touch =
        "alter table iam_events disable trigger all; update iam_events set actor_id = 'somebody' where sequence = 1";
    client.batch_execute(touch).await.unwrap();
    let broken = sluice(&world, &["audit", "verify", "-o", "json"]).await;
    assert_eq!(broken.code, 1, "{broken:?}");
    let record: Value = serde_json::from_slice(&broken.out).unwrap();
    assert_eq!(record["chain_valid"], false);
    assert!(broken.err.contains("the chain is broken"), "{}", broken.err);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_is_waited_for() {
    let world = World::bare().await;
    let export = ["audit", "export", "admin", "--from", "2026-01-01", "--to", "2026-01-31", "-o", "json"];
    let export = sluice(&world, &export).await.json();
    assert_eq!((&export["status"], &export["type"]), (&json!("completed"), &json!("admin")), "{export}");
    assert!(export["manifest"]["sha256"].is_string(), "{export}");
    let backwards = sluice(&world, &["audit", "export", "query", "--from", "2026-02-01", "--to", "2026-01-01"]).await;
    assert!(backwards.code == 2 && backwards.err.contains("INVALID_DATE_RANGE"), "{backwards:?}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_is_brought_to_this_version_however_often_it_is_asked() {
    let database = Database::fresh(&format!("migrated_{}", std::process::id())).await;
    let migrate = async |url: &str| {
        let mut command = Command::new(program());
        command.args(["migrate", "--database-url", url]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        run(command, "").await
    };
    for _ in 0..2 {
        assert!(migrate(&database.url).await.ok().contains("this version's"));
    }
    let tables = database.client().await.query_one("select count(*) from organizations", &[]).await.unwrap();
    assert_eq!(tables.get::<_, i64>(0), 0);
    let refused = migrate("mysql://somewhere/else").await;
    assert!(refused.code == 2 && refused.err.contains("postgresql://"), "{refused:?}");
    database.dropped().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_printed_needs_no_platform() {
    let world = World::bare().await;
    let explained = sluice(&world, &["explain", "svc_err_403_table_denied"]).await.ok();
    assert!(explained.contains("403") && explained.contains("4 (policy)") && explained.contains("ask an admin"));
    assert_eq!(sluice(&world, &["explain", "nothing"]).await.code, 2);
    assert!(sluice(&world, &["crds"]).await.ok().contains("kind: CustomResourceDefinition"));
    assert!(sluice(&world, &["completions", "bash"]).await.ok().contains("policies"));
    world.end().await;
}
