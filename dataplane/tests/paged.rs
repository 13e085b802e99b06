//! Lists of tools: page by page the whole, each item once, whatever the budget of bytes.

use std::collections::BTreeSet;

use axum::Router;
use dataplane::Ending;
use dataplane::agents::tools::ResultBudget;
use dataplane::protocols::agents::{AgentsContext, routes};
use dataplane::testing::{analyst_key, demo_key};
use serde_json::{Value, json};

use crate::agents_router::{called, router, served, tool};
use crate::budget::{tight, within};
use crate::memory::done;
use crate::world::{World, world};

/// A tool that lists: what is asked, another question, and what its items are known by.
struct Case {
    name: &'static str,
    asked: Value,
    other: Value,
    ids: fn(&Value) -> Vec<String>,
    count: usize,
}

fn each(list: &Value, id: &str) -> Vec<String> {
    list.as_array().unwrap().iter().map(|item| item[id].as_str().unwrap().to_owned()).collect()
}

/// Of every table that is listed.
fn columns(result: &Value) -> Vec<String> {
    let mut all = Vec::new();
    for table in result["tables"].as_array().unwrap() {
        let (schema, name) = (table["table_schema"].as_str().unwrap(), table["table_name"].as_str().unwrap());
        let own = each(&table["columns"], "column_name");
        all.extend(own.iter().map(|column| format!("{schema}.{name}.{column}")));
    }
    all
}

fn sampled(told: &Value) -> Vec<String> {
    let (sample, names) = (told["sample"].as_array().unwrap(), each(&told["columns"], "column_name"));
    let own = |row: &Value| row.as_object().unwrap().keys().cloned().collect::<Vec<_>>() == names;
    assert!(sample.len() == 2 && sample.iter().all(own), "a page samples its own columns: {told}");
    names
}

fn case(name: &'static str, asked: Value, other: Value, ids: fn(&Value) -> Vec<String>, count: usize) -> Case {
    Case { name, asked, other, ids, count }
}

fn cases(branch_id: &Value) -> Vec<Case> {
    vec![
        case("list_tables", json!({}), json!({"like": "t%"}), |told| each(&told["tables"], "table_name"), 63),
        case("list_tables", json!({"include_columns": true}), json!({}), columns, 5 + 60 + 300 + 2),
        case(
            "describe_table",
            json!({"table_name": "wide"}),
            json!({"table_name": "customer"}),
            |told| each(&told["columns"], "column_name"),
            300,
        ),
        case(
            "describe_table",
            json!({"table_name": "wide", "sample_rows": 2}),
            json!({"table_name": "wide"}),
            sampled,
            300,
        ),
        case(
            "search_memory",
            json!({"query": "gold", "top_k": 40}),
            json!({"query": "silver"}),
            |told| each(&told["results"], "memory_id"),
            60,
        ),
        case("list_memories", json!({}), json!({}), |told| each(&told["memories"], "memory_id"), 60),
        case("list_triggers", json!({}), json!({"status": "active"}), |told| each(&told["triggers"], "trigger_id"), 40),
        case(
            "evaluate_triggers",
            json!({"content": "a refund"}),
            json!({"content": "a return"}),
            |told| each(&told["results"], "trigger_id"),
            40,
        ),
        case("branch_list", json!({}), json!({"status": "all"}), |told| each(&told["branches"], "branch_id"), 13),
        case(
            "merge_branch",
            json!({"branch_id": branch_id, "dry_run": true}),
            json!({"branch_id": branch_id, "dry_run": true, "granularity": "row"}),
            |told| each(&told["conflicts"], "conflict_id"),
            120,
        ),
    ]
}

/// A world with much of everything; the branch that has conflicts.
async fn filled() -> (World, Value) {
    let world = world().await;
    let router = router(&world);
    for n in 0..60 {
        world.run(&format!("create table table_{n} (id integer)")).await.unwrap();
        let content = format!("memory {n} says where the gold is, {}", "m".repeat(n * 9));
        done(&router, "store_memory", json!({"content": content})).await;
    }
    for n in 0..40 {
        let trigger = json!({"name": format!("trigger {n}"), "concept": "a refund ".repeat(1 + n % 9)});
        done(&router, "register_trigger", trigger).await;
    }
    for n in 0..12 {
        let branch = json!({"tables": ["customer"], "name": format!("branch {n}"), "description": "b".repeat(400)});
        done(&router, "create_branch", branch).await;
    }
    // the widest comes last: each definition has the catalogue read again
    let columns = (0..300).map(|n| format!("column_{n} varchar")).collect::<Vec<_>>().join(", ");
    world.run(&format!("create table wide ({columns})")).await.unwrap();
    world.run("insert into wide (column_0, column_299) values ('a', repeat('z', 9000)), ('b', 'c')").await.unwrap();
    world.run("create table keyed (k integer primary key, a integer)").await.unwrap();
    world.run("insert into keyed select range, 0 from range(120)").await.unwrap();
    let branch_id = done(&router, "create_branch", json!({"tables": ["keyed"]})).await["branch_id"].clone();
    done(&router, "branch_query", json!({"branch_id": branch_id, "sql": "update keyed set a = 1"})).await;
    world.run("update keyed set a = 2").await.unwrap();
    (world, branch_id)
}

/// What comes of a call and of those that go on with it, and of how many there are.
async fn paged(case: &Case, page: impl AsyncFn(Value) -> Value) -> (Vec<String>, usize) {
    let (mut all, mut pages, mut arguments) = (Vec::new(), 0, case.asked.clone());
    loop {
        let result = page(arguments.clone()).await;
        let ids = (case.ids)(&result);
        assert!(!ids.is_empty() && pages < 400, "{}: no page is empty: {result:.300}", case.name);
        all.extend(ids);
        pages += 1;
        let next = result.get("next_cursor").unwrap_or(&result["cursor"]);
        if next.is_null() {
            return (all, pages);
        }
        arguments["cursor"] = next.clone();
    }
}

#[tokio::test]
async fn page_by_page_each_list_is_whole() {
    let (world, branch_id) = filled().await;
    let (narrow, wide) =
        (tight(&world), routes(AgentsContext { budget: ResultBudget::NONE, ..served(&world, Ending::default()) }));
    for case in cases(&branch_id) {
        let (whole, _) = paged(&case, async |arguments| {
            let (result, is_error) = tool(&wide, demo_key(), case.name, arguments).await;
            assert!(!is_error, "{}: {result}", case.name);
            result
        })
        .await;
        let (all, pages) = paged(&case, async |arguments| {
            let (result, texts) = within(&narrow, demo_key(), case.name, arguments).await;
            let next = result.get("next_cursor").unwrap_or(&result["cursor"]);
            if next.is_string() && case.name != "list_memories" {
                let rest = format!("the rest: the same call with cursor {next}");
                assert!(texts[1].lines().any(|line| line == rest), "{}: {texts:?}", case.name);
            }
            result
        })
        .await;
        let once: BTreeSet<_> = all.iter().collect();
        assert_eq!((all.len(), once.len()), (case.count, case.count), "{} {}", case.name, case.asked);
        assert_eq!(all, whole, "{} {}", case.name, case.asked);
        assert!(pages > 1, "{} {} has one page", case.name, case.asked);
    }
    world.stop().await;
}

/// Of the table of tools: none lists without a way to the rest.
#[test]
fn whatever_lists_can_be_gone_on_with() {
    let lists = |schema: &Value| {
        let properties = schema["properties"].as_object().unwrap();
        properties.values().any(|of| of["type"] == "array" && of["items"]["type"] == "object")
    };
    for row in dataplane::agents::tools::all() {
        let name = &*row.tool.name;
        let output = Value::Object((**row.tool.output_schema.as_ref().unwrap()).clone());
        let takes = |argument: &str| row.tool.input_schema["properties"].get(argument).is_some();
        // what the policies decide is no list of what there is
        let needs = lists(&output) && name != "enforce_abac_policy";
        assert!(!needs || takes("cursor") || takes("from_step"), "{name} shows a list, and has no way to its rest");
        assert!(!takes("cursor") || lists(&output) || name == "run_sql_arrow", "{name}");
    }
}

async fn first_cursor(router: &Router, case: &Case) -> Value {
    let (result, _) = within(router, demo_key(), case.name, case.asked.clone()).await;
    assert!(result["next_cursor"].is_string(), "{}: {result:.300}", case.name);
    result["next_cursor"].clone()
}

#[tokio::test]
async fn a_cursor_of_a_list_is_its_callers_and_of_its_question_alone() {
    let (world, branch_id) = filled().await;
    let router = tight(&world);
    for case in cases(&branch_id).into_iter().filter(|case| case.name != "list_memories") {
        let cursor = first_cursor(&router, &case).await;
        let with = |arguments: &Value, cursor: &Value| {
            let mut arguments = arguments.clone();
            arguments["cursor"] = cursor.clone();
            arguments
        };
        let (refused, is_error) = tool(&router, analyst_key(), case.name, with(&case.asked, &cursor)).await;
        assert!(is_error, "{}: {refused}", case.name);
        for (asked, cursor) in [(&case.other, &cursor), (&case.asked, &json!("AAAA")), (&case.asked, &json!(""))] {
            let (refused, is_error) = tool(&router, demo_key(), case.name, with(asked, cursor)).await;
            assert!(is_error, "{} {asked}: {refused}", case.name);
            let error = &refused["error"];
            let told = (&error["code"], &error["details"]["field"]);
            assert_eq!(told, (&json!("SVC_ERR_400_INVALID_PARAMS"), &json!("cursor")), "{} {asked}", case.name);
            assert!(error["message"].as_str().unwrap().ends_with("begin again without it"), "{error}");
        }
    }
    world.stop().await;
}

#[tokio::test]
async fn definitions_that_change_meanwhile_neither_repeat_nor_lose_a_name() {
    let world = world().await;
    let router = tight(&world);
    for n in 100..160 {
        world.run(&format!("create table table_{n} (id integer)")).await.unwrap();
    }
    let (first, _) = within(&router, demo_key(), "list_tables", json!({})).await;
    let shown = each(&first["tables"], "table_name");
    let last = shown.last().unwrap().clone();
    for sql in [
        format!("drop table {last}"),
        "create table a_new (id integer)".into(),
        "create table z_new (id integer)".into(),
    ] {
        world.run(&sql).await.unwrap();
    }
    let (mut all, mut cursor) = (shown, first["next_cursor"].clone());
    while cursor.is_string() {
        let (next, _) = within(&router, demo_key(), "list_tables", json!({"cursor": cursor})).await;
        all.extend(each(&next["tables"], "table_name"));
        cursor = next["next_cursor"].clone();
    }
    let names: BTreeSet<_> = all.iter().cloned().collect();
    assert_eq!(names.len(), all.len(), "none twice: {all:?}");
    assert!((100..160).all(|n| names.contains(&format!("table_{n}"))) && names.contains("z_new"), "{all:?}");

    let columns = (0..300).map(|n| format!("column_{n} integer")).collect::<Vec<_>>().join(", ");
    world.run(&format!("create table wide ({columns})")).await.unwrap();
    let (first, _) = within(&router, demo_key(), "describe_table", json!({"table_name": "wide"})).await;
    let shown = each(&first["columns"], "column_name");
    world.run(&format!("alter table wide drop column {}", shown.last().unwrap())).await.unwrap();
    let behind = json!({"table_name": "wide", "cursor": first["next_cursor"]});
    let (next, _) = within(&router, demo_key(), "describe_table", behind.clone()).await;
    assert_eq!(next["columns"][0]["column_name"], format!("column_{}", shown.len()), "{next:.300}");
    for column in shown.iter().rev().skip(1).take(4) {
        world.run(&format!("alter table wide drop column {column}")).await.unwrap();
    }
    let (refused, is_error) = tool(&router, demo_key(), "describe_table", behind).await;
    assert!(is_error && refused["error"]["code"] == "CONFLICT", "{refused}");
    assert_eq!(refused["error"]["details"]["reason"], "cursor", "{refused}");
    world.stop().await;
}

/// To go on is to read: nothing fires and nothing is merged a second time.
#[tokio::test]
async fn who_goes_on_changes_nothing() {
    let (world, branch_id) = filled().await;
    let router = tight(&world);
    for n in 0..40 {
        let trigger = json!({"name": format!("trigger {n}"), "concept": "a refund", "cooldown_secs": 0});
        done(&router, "register_trigger", trigger).await;
    }
    let mut asked = json!({"content": "a refund", "dry_run": false});
    let (mut seen, mut fired) = (0, 0);
    loop {
        let (told, _) = within(&router, demo_key(), "evaluate_triggers", asked.clone()).await;
        seen += told["results"].as_array().unwrap().len();
        fired += told["fired"].as_array().unwrap().len();
        asked["cursor"] = told["next_cursor"].clone();
        if told["next_cursor"].is_null() {
            break;
        }
    }
    assert_eq!((seen, fired), (40, 40));

    let mut asked = json!({"branch_id": branch_id, "strategy": "fail_on_conflict"});
    let (told, _) = within(&router, demo_key(), "merge_branch", asked.clone()).await;
    assert_eq!(told["status"], "conflicts", "{told:.300}");
    asked["cursor"] = told["next_cursor"].clone();
    world.run("update keyed set a = 0").await.unwrap(); // by now it would be merged
    let (refused, is_error) = tool(&router, demo_key(), "merge_branch", asked).await;
    assert!(is_error && refused["error"]["details"]["reason"] == "cursor", "{refused}");
    let (list, _) = called(&router, demo_key(), "branch_list", json!({})).await;
    assert!(list["structuredContent"]["branches"][0]["branch_id"] == branch_id, "it is open still");
    world.stop().await;
}
