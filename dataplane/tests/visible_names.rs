//! Names are told to whoever may know them: tables of branches, and columns that are denied to agents.

use contract::capability::{Capabilities, ColumnRestriction, Grant};
use contract::{Code, Role, Timestamp};
use dataplane::DeclaredAgent;
use dataplane::testing::{analyst_key, demo_key, denying, filtering, owner_id};
use serde_json::{Value, json};

use crate::agents_router::{router, tool, tool_as};
use crate::memory::done;
use crate::world::{World, world};

fn granted(world: &World, tables: &[&str], denied: &[&str]) {
    let text = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let denied = ColumnRestriction { denied_columns: text(denied) };
    let capabilities = Capabilities {
        allowed_tables: text(tables),
        allowed_operations: text(&["select", "merge", "insert", "update", "delete"]),
        max_queries_per_hour: None,
        max_rows_per_query: None,
        column_restrictions: [("customer".to_owned(), denied)].into(),
    };
    let grant = Grant { grant_id: "g".into(), capabilities, expires_at: Timestamp::MAX_UTC };
    world.change(|rules| drop(rules.agent_capabilities.insert("bot".to_owned(), vec![grant])));
}

#[tokio::test]
async fn a_branch_tells_of_the_tables_that_one_may_see_and_of_none_that_has_none() {
    let world = world().await;
    world.run("create table payroll (id integer)").await.unwrap();
    let router = router(&world);
    let mixed = done(&router, "create_branch", json!({"tables": ["customer", "payroll"]})).await["branch_id"].clone();
    let hidden = done(&router, "create_branch", json!({"tables": ["payroll"]})).await["branch_id"].clone();
    let tables = |branch: &Value| branch["tables"].clone();
    let seen = async |who: (&str, Option<&str>), reason: &str| {
        let (listed, _) = tool_as(&router, who, "branch_list", json!({})).await;
        let listed: Vec<_> = listed["branches"].as_array().unwrap().iter().map(tables).collect();
        assert_eq!(listed, [json!(["main.customer"])], "{reason}");
        let (one, _) = tool_as(&router, who, "branch_get", json!({"branch_id": mixed})).await;
        assert_eq!(tables(&one), json!(["main.customer"]), "{reason}: {one}");
        let (absent, _) = tool_as(&router, who, "branch_get", json!({"branch_id": hidden})).await;
        assert_eq!(absent["error"]["code"], "SVC_ERR_404_BRANCH_NOT_FOUND", "{reason}: {absent}");
        for (name, asked) in [
            ("branch_diff", json!({"branch_id": mixed})),
            ("branch_changes", json!({"branch_id": mixed, "table": "customer"})),
            ("branch_changes", json!({"branch_id": mixed, "table": "elsewhere"})),
            ("merge_branch", json!({"branch_id": mixed, "dry_run": true})),
        ] {
            let (refused, is_error) = tool_as(&router, who, name, asked).await;
            assert!(is_error && !refused.to_string().contains("payroll"), "{reason}, {name}: {refused}");
            assert_eq!(refused["error"]["code"], "SVC_ERR_403_TABLE_DENIED", "{reason}, {name}: {refused}");
        }
    };
    granted(&world, &["customer"], &[]);
    seen((demo_key(), Some("bot")), "outside of the grant").await;
    world.change(|rules| rules.abac_policies = vec![denying("payroll", &[Role::Owner])]);
    seen((analyst_key(), None), "denied by policy").await;
    let all = done(&router, "branch_list", json!({})).await;
    assert_eq!(all["branches"].as_array().unwrap().len(), 2, "the owner: {all}");
    world.stop().await;
}

#[tokio::test]
async fn a_branch_does_not_tell_of_a_table_that_its_origin_closes() {
    let world = world().await;
    world.change(|rules| rules.policies = vec![filtering("customer", "id = 1")]);
    world.run("create table made as select * from customer").await.unwrap();
    let router = router(&world);
    let branch = done(&router, "create_branch", json!({"tables": ["made", "customer"]})).await["branch_id"].clone();
    let (one, _) = tool(&router, analyst_key(), "branch_get", json!({"branch_id": branch})).await;
    assert_eq!(one["tables"], json!(["main.customer"]), "{one}");
    let (listed, _) = tool(&router, analyst_key(), "branch_list", json!({})).await;
    assert_eq!(listed["branches"][0]["tables"], json!(["main.customer"]), "{listed}");
    world.stop().await;
}

async fn asked(world: &World, sql: &str) -> Result<String, dataplane::Error> {
    let mut ask = world.ask(owner_id(), sql);
    ask.agent = DeclaredAgent::told(("agent_id", Some("bot".to_owned())), ("framework", None)).unwrap();
    world.whole(ask).await.map(|got| got.json)
}

#[tokio::test]
async fn no_catalogue_lists_a_column_that_is_denied_to_the_agent() {
    let world = world().await;
    for sql in [
        "create table keyed (ssn varchar primary key, id integer)",
        "create view seen as select id, ssn as ssn from customer",
        "create view above as select * from seen",
    ] {
        world.run(sql).await.unwrap();
    }
    granted(&world, &["customer", "keyed", "seen", "above"], &["ssn"]);
    world.change(|rules| {
        for grant in rules.agent_capabilities.values_mut().flatten() {
            let denied = grant.capabilities.column_restrictions["customer"].clone();
            grant.capabilities.column_restrictions.insert("main.keyed".to_owned(), denied);
        }
    });
    for sql in [
        "select table_name, column_name from information_schema.columns",
        "describe customer",
        "describe table keyed",
        "describe view seen",
        "describe view above",
        "show columns",
        "show columns in table customer",
        "show primary keys",
        "select table_name, view_definition from information_schema.views",
        "select attname from pg_attribute",
        "select attname from pg_catalog.pg_attribute where attrelid = 'customer'::regclass",
        "select indexdef from pg_indexes",
        "select column_name from information_schema.key_column_usage",
        "explain select id from customer",
        "select column_name from information_schema.columns c join pg_class p on p.relname = c.table_name",
    ] {
        match asked(&world, sql).await {
            Ok(listed) => assert!(!listed.contains("ssn"), "{sql}: {listed}"),
            Err(error) => panic!("{sql}: {error}"),
        }
    }
    let listed =
        asked(&world, "select column_name from information_schema.columns where table_name = 'customer'").await;
    let named: Vec<&str> = listed.as_deref().unwrap().split(',').collect();
    assert_eq!(named, [r#"["id"]"#, r#"["name"]"#, r#"["region"]"#, r#"["balance"]"#]);
    assert!(world.run("describe customer").await.unwrap().json.contains("ssn"), "nobody's agent");
    world.stop().await;
}

#[tokio::test]
async fn a_denied_column_is_told_of_by_name_to_who_has_named_it() {
    let world = world().await;
    granted(&world, &["customer"], &["ssn"]);
    for (sql, is_named) in [
        ("select ssn from customer", true),
        ("select * from customer", false),
        ("table customer", false),
        ("select c from customer c", false),
        ("select snn from customer", false), // nothing is healed to it
    ] {
        let error = asked(&world, sql).await.expect_err(sql);
        let told = format!("{error} {:?}", error.problem());
        assert_eq!(told.contains("ssn"), is_named, "{sql}: {told}");
        assert!(matches!(error.code(), Code::PolicyDenied | Code::UndefinedColumn), "{sql}: {error}");
    }
    assert!(asked(&world, "select id, name, region, balance from customer").await.is_ok());
    world.stop().await;
}

#[tokio::test]
async fn the_list_of_tables_has_no_denied_column() {
    let world = world().await;
    granted(&world, &["customer"], &["ssn"]);
    let router = router(&world);
    let bot = (demo_key(), Some("bot"));
    let (listed, is_error) = tool_as(&router, bot, "list_tables", json!({"include_columns": true})).await;
    assert!(!is_error && !listed.to_string().contains("ssn"), "{listed}");
    assert_eq!(listed["tables"][0]["columns"].as_array().unwrap().len(), 4, "{listed}");
    world.stop().await;
}
