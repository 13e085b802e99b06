//! Errors that say the next step: which scope is lacking, until when a quota lasts, what a branch has.

use std::sync::Arc;

use contract::{Code, TestClock, Timestamp};
use dataplane::testing::demo_key;
use serde_json::json;

use crate::agents_router::{called, router, tool};
use crate::memory::done;
use crate::world::{world, world_at};

#[tokio::test]
async fn a_scope_that_is_lacking_is_named_with_who_can_give_it() {
    let world = world().await;
    let scopes = contract::Scopes::try_from(vec!["query:read".to_owned()]).unwrap();
    world.change(|rules| rules.keys.iter_mut().for_each(|key| key.scopes = scopes.clone()));
    let router = router(&world);
    for (name, arguments, scope) in [
        ("run_sql", json!({"sql": "delete from customer"}), "query:write"),
        ("search_memory", json!({"query": "anything"}), "agent:*"),
    ] {
        let (refused, is_error) = tool(&router, demo_key(), name, arguments).await;
        let error = &refused["error"];
        assert!(is_error && error["code"] == "SVC_ERR_403_SCOPE_VIOLATION", "{name}: {refused}");
        assert_eq!(error["details"], json!({"given_by": ["owner", "admin"], "scope": scope}), "{name}");
        assert!(error["message"].as_str().unwrap().contains(&format!("no scope `{scope}`")), "{error}");
    }
    let refused = world.run("delete from customer").await.unwrap_err();
    assert_eq!((refused.code(), &refused.problem().details["scope"]), (Code::ScopeViolation, &json!("query:write")));
    world.stop().await;
}

#[tokio::test]
async fn a_quota_that_is_used_up_says_until_when() {
    let now: Timestamp = "2026-11-27T02:30:00Z".parse().unwrap();
    let world = world_at(Arc::new(TestClock::at(now))).await;
    world.change(|rules| rules.organization.limits.monthly_credit_limit = Some(1_000));
    let refused = world.run("select 1").await.unwrap_err().problem();
    assert_eq!((refused.code, &refused.details["until"]), (Code::QuotaExceeded, &json!("2026-12-01T00:00:00Z")));
    assert!(
        refused.message.contains("2026-12-01T00:00:00Z") && refused.message.contains("owner"),
        "{}",
        refused.message
    );
    world.stop().await;
}

#[tokio::test]
async fn a_table_that_stayed_on_the_mainline_is_said_to_be_there() {
    let world = world().await;
    world.run("create table stock (sku integer primary key)").await.unwrap();
    let router = router(&world);
    let branch_id = done(&router, "create_branch", json!({"tables": ["stock"]})).await["branch_id"].clone();
    let asked = async |sql: &'static str| {
        called(&router, demo_key(), "branch_query", json!({"branch_id": branch_id, "sql": sql})).await
    };
    for sql in ["select * from customer", "update customer set name = 'x'"] {
        let (_, texts) = asked(sql).await;
        let told = "table main.customer is not on this branch, which has main.stock: ask for it without the branch, or \
                    make a branch that has it";
        assert_eq!(texts[0], told, "{sql}");
        let error: serde_json::Value = serde_json::from_str(texts.last().unwrap()).unwrap();
        let details = json!({"reason": "branch", "table": "main.customer", "tables": ["main.stock"]});
        assert_eq!((&error["error"]["details"], &error["error"]["status"]), (&details, &json!(404)));
    }
    let (_, texts) = asked("select * from nowhere").await;
    assert!(texts[0].starts_with("table nowhere does not exist"), "{}", texts[0]);
    assert_eq!(texts[1], format!("next: {}", Code::TableNotFound.advice()));
    world.stop().await;
}
