//! The part of a result that a model reads: no more than its budget in any form, and in words how much that is of it.

use std::collections::BTreeSet;

use arrow::ipc::reader::StreamReader;
use axum::Router;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use contract::policy::MaskFunction;
use dataplane::Ending;
use dataplane::agents::tools::ResultBudget;
use dataplane::protocols::agents::{AgentsContext, routes};
use dataplane::testing::{analyst_key, demo_key, masking};
use serde_json::{Value, json};

use crate::agents_router::{called, router, served};
use crate::world::{World, world};

const BYTES: usize = 6_000;

pub fn tight(world: &World) -> Router {
    routes(AgentsContext { budget: ResultBudget::of(BYTES), ..served(world, Ending::default()) })
}

/// The structured result and its texts, each within the budget.
pub async fn within(router: &Router, key: &str, name: &str, arguments: Value) -> (Value, Vec<String>) {
    let (result, texts) = called(router, key, name, arguments).await;
    assert_eq!(result["isError"], false, "{name}: {result}");
    let structured = result["structuredContent"].clone();
    let row = dataplane::agents::tools::all().find(|row| row.tool.name == name).unwrap();
    let required = row.tool.output_schema.as_ref().unwrap()["required"].as_array().unwrap();
    for member in required {
        assert!(structured.get(member.as_str().unwrap()).is_some(), "{name} has to have {member}: {structured:.200}");
    }
    for form in [&structured.to_string(), &texts[0]] {
        assert!(form.len() <= BYTES, "{name}: {} bytes: {form:.200}", form.len());
    }
    (structured, texts)
}

#[tokio::test]
async fn rows_and_long_cells_are_cut_and_the_second_text_says_so() {
    let world = world().await;
    let router = tight(&world);
    let shown = |result: &Value| result["rows"].as_array().unwrap().len();
    let narrower = "ask narrower: a condition, fewer columns, an aggregate or LIMIT";
    for name in ["run_sql", "run_sql_readonly"] {
        let sql = "select range as n, repeat('x', 100) as c from range(5000)";
        let (result, texts) = within(&router, demo_key(), name, json!({"sql": sql})).await;
        let some = shown(&result);
        assert!((20..60).contains(&some) && result["truncated"] == true, "{some}");
        assert_eq!(serde_json::from_str::<Value>(&texts[0]).unwrap(), result["rows"]);
        let told = format!("rows: the first {some} of 1000 and more, one result has no room for more; {narrower}");
        let cursor = result["next_cursor"].as_str().unwrap();
        let rest = format!("the rest: the same call with cursor \"{cursor}\"");
        assert_eq!(texts[1].lines().collect::<Vec<_>>(), [told, rest]);
        let (_, finished) = world.last();
        let billed = (finished.outcome.as_str(), usize::try_from(finished.rows_returned).unwrap());
        assert_eq!(billed, ("completed", some), "nobody is billed for what they are not shown");

        let long = json!({"sql": "select 7 as n, repeat('x', 60000) as c"});
        let (result, texts) = within(&router, demo_key(), name, long).await;
        let row = &result["rows"][0];
        assert!(row["n"] == 7 && row["c"].as_str().unwrap().ends_with("x…"), "{row}");
        assert_eq!(texts[1], "rows: 1, the whole answer\ntexts of more than 750 bytes are cut, and end in …");

        let few = json!({"sql": "select id from customer order by id", "max_rows": 2});
        let (result, texts) = within(&router, demo_key(), name, few).await;
        assert_eq!((shown(&result), &result["truncated"]), (2, &json!(true)));
        let told = format!("rows: the first 2 of more, no more than 2 were wanted; {narrower}");
        assert_eq!(texts[1].lines().next(), Some(told.as_str()));
    }
    world.stop().await;
}

#[tokio::test]
async fn what_makes_rows_true_is_said_beside_them() {
    let world = world().await;
    let router = router(&world);
    let (_, texts) =
        called(&router, demo_key(), "run_sql", json!({"sql": "update customer set name = 'Al' where id < 3"})).await;
    assert_eq!(texts[1..], ["rows changed: 2"]);
    world.change(|rules| rules.policies = vec![masking("customer", "ssn", MaskFunction::Full)]);
    let masked = json!({"sql": "select ssn form customer where id = 1"});
    for name in ["run_sql", "run_sql_readonly", "run_sql_arrow"] {
        let (_, texts) = called(&router, analyst_key(), name, masked.clone()).await;
        let healed = "healed: form was read as FROM; this was run: select ssn from customer where id = 1";
        assert_eq!(
            texts[1].lines().collect::<Vec<_>>(),
            [healed, "rows: 1, the whole answer", "masked: ssn"],
            "{name}"
        );
    }
    world.stop().await;
}

#[tokio::test]
async fn an_arrow_stream_that_is_cut_is_a_whole_stream_of_its_first_rows() {
    let world = world().await;
    let router = tight(&world);
    let sql = "select range as n, 'row ' || range as c from range(100000)";
    let (result, texts) = within(&router, demo_key(), "run_sql_arrow", json!({"sql": sql})).await;
    let stream = BASE64_STANDARD.decode(result["data"].as_str().unwrap()).unwrap();
    let batches = StreamReader::try_new(stream.as_slice(), None).unwrap().map(Result::unwrap);
    let rows = batches.map(|batch| batch.num_rows()).sum::<usize>();
    assert!(rows > 10 && result["rows"] == rows && result["truncated"] == true, "{rows} rows, {}", result["rows"]);
    assert!(texts[1].starts_with(&format!("rows: the first {rows} of ")), "{}", texts[1]);
    let (result, texts) = within(&router, demo_key(), "run_sql_arrow", json!({"sql": "select 1"})).await;
    assert!(result.get("truncated").is_none() && texts[1] == "rows: 1, the whole answer", "{result} {texts:?}");
    world.stop().await;
}

/// Page by page, each within the budget: all of it, each once.
#[tokio::test]
async fn a_list_that_is_cut_goes_on_where_it_says() {
    let world = world().await;
    let (wide, router) = (router(&world), tight(&world));
    for n in 0..30 {
        let memory = json!({"content": format!("memory {n} {}", "m".repeat(400)), "memory_key": format!("k{n}")});
        let step = json!({"session_id": "long", "content": format!("step {n} {}", "s".repeat(400))});
        let session = json!({"session_id": format!("session {n}"), "content": "begun"});
        for (name, arguments) in
            [("store_memory", memory), ("log_reasoning_step", step), ("log_reasoning_step", session)]
        {
            assert_eq!(called(&wide, demo_key(), name, arguments).await.0["isError"], false, "{name}");
        }
    }
    for (name, arguments, list, id, goes_on, all) in [
        ("list_memories", json!({"limit": 200}), "memories", "memory_key", "cursor", 30),
        ("replay_decision", json!({"session_id": "long"}), "steps", "step_number", "from_step", 30),
        ("get_session_history", json!({"limit": 200}), "sessions", "session_id", "cursor", 31),
    ] {
        let (mut arguments, mut seen, mut pages) = (arguments, BTreeSet::new(), 0);
        loop {
            let (result, texts) = within(&router, demo_key(), name, arguments.clone()).await;
            for item in result[list].as_array().unwrap() {
                assert!(seen.insert(item[id].to_string()), "{name}: {item} comes twice");
            }
            pages += 1;
            let Some(note) = texts.get(1) else { break };
            let (_, next) =
                note.split_once(&format!("the same call with {goes_on} ")).unwrap_or_else(|| panic!("{note}"));
            arguments[goes_on] = serde_json::from_str(next).unwrap();
            if goes_on == "cursor" {
                assert_eq!((&result["cursor"], &result["has_more"]), (&arguments[goes_on], &json!(true)), "{name}");
            }
        }
        assert!(seen.len() == all && pages > 1, "{name}: {} in {pages} pages", seen.len());
    }
    let (found, texts) = within(&router, demo_key(), "search_memory", json!({"query": "memory", "top_k": 30})).await;
    let some = found["results"].as_array().unwrap().len();
    let rest = format!("the rest: the same call with cursor {}", found["next_cursor"]);
    assert!(texts[1].contains(&format!("{some} of ")) && texts[1].ends_with(&rest), "{}", texts[1]);
    let long = json!({"content": "y".repeat(50_000), "memory_key": "long"});
    assert_eq!(called(&wide, demo_key(), "store_memory", long).await.0["isError"], false);
    let (found, texts) = within(&router, demo_key(), "load_memory_exact", json!({"key": "long"})).await;
    assert!(
        found["content"].as_str().unwrap().ends_with("y…") && texts[1].starts_with("texts of more than"),
        "{texts:?}"
    );
    world.stop().await;
}

#[tokio::test]
async fn tables_that_are_too_many_or_too_wide_are_cut() {
    let world = world().await;
    let router = tight(&world);
    for n in 0..60 {
        world.run(&format!("create table table_{n} (id integer)")).await.unwrap();
    }
    // the widest comes last: each definition has the catalogue read again
    let columns = (0..300).map(|n| format!("column_{n} integer")).collect::<Vec<_>>().join(", ");
    world.run(&format!("create table wide ({columns})")).await.unwrap();
    let (listed, texts) = within(&router, demo_key(), "list_tables", json!({"include_columns": true})).await;
    assert_eq!(listed["truncated"], true);
    assert!(texts[1].contains("of 62 tables are shown"), "{}", texts[1]);
    let (described, texts) = within(&router, demo_key(), "describe_table", json!({"table_name": "wide"})).await;
    let rest = format!("the rest: the same call with cursor {}", described["next_cursor"]);
    assert!(texts[1].contains("of 300 columns are shown") && texts[1].ends_with(&rest), "{}", texts[1]);
    world.stop().await;
}
