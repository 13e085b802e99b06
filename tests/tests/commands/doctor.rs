//! `sluice doctor`: what is well and what is not, with what to do.

use serde_json::Value;
use tests::World;

use super::{Said, command, run, sluice};

const CHECKS: [&str; 8] =
    ["address", "control plane", "credential", "environment", "query", "lists", "psql", "audit chain"];

/// What was found, also where something is bad.
fn found(said: &Said) -> Vec<Value> {
    let found: Value = serde_json::from_str(said.text()).unwrap();
    found.as_array().unwrap().clone()
}

fn states(found: &[Value]) -> Vec<(&str, &str)> {
    found.iter().map(|one| (one["check"].as_str().unwrap(), one["state"].as_str().unwrap())).collect()
}

/// The columns that are lists, as it tells them.
fn lists(said: &Said) -> String {
    let found = found(said);
    let lists = found.iter().find(|one| one["check"] == "lists").unwrap();
    lists["says"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_platform_that_is_well_is_found_so_and_one_that_is_not_says_what_to_do() {
    let world = World::new().await;
    let said = sluice(&world, &["doctor", "-o", "json"]).await;
    assert_eq!(states(&found(&said)), CHECKS.map(|check| (check, "ok")), "{said:?}");
    assert_eq!(said.code, 0);
    assert_eq!(lists(&said), "no column is a list");
    for made in ["create table numbers (found int[])", "create table texts as select ['a'] as found"] {
        assert_eq!(sluice(&world, &["sql", "-c", made]).await.code, 0, "{made}");
    }
    let said = sluice(&world, &["doctor", "-o", "json"]).await;
    assert_eq!(lists(&said), "counted from 1, not ARRAY from 0: main.numbers.found");
    let wrong = format!("{}x", world.key);
    let said = run(command(&world, &wrong, &["doctor", "-o", "json"]), "").await;
    let findings = found(&said);
    assert_eq!((said.code, states(&findings).last()), (1, Some(&("credential", "bad"))), "{said:?}");
    assert!(findings[2]["fix"].as_str().is_some_and(|fix| !fix.is_empty()), "{said:?}");
    let said = sluice(&world, &["doctor", "--url", "http://127.0.0.1:1", "--key", "k", "-o", "json"]).await;
    assert_eq!((said.code, states(&found(&said))), (1, vec![("address", "bad")]), "{said:?}");
    let analyst = world.user("analyst", serde_json::json!({})).await;
    let said = run(command(&world, &analyst.key, &["doctor"]), "").await;
    assert!(said.code == 0 && said.text().contains("hidden"), "{said:?}");
    world.end().await;
}
