//! The rest of a result that had no room: the same call with its cursor, unless that is another answer by then.

use arrow::array::Int64Array;
use arrow::ipc::reader::StreamReader;
use axum::Router;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use contract::policy::MaskFunction;
use dataplane::testing::{analyst_key, demo_key, masking};
use serde_json::{Value, json};

use crate::agents_router::{router, tool};
use crate::budget::{tight, within};
use crate::world::{World, world};

const ROWS: i64 = 300;
const SQL: &str = "select n, c from number order by n";

async fn numbered() -> World {
    let world = world().await;
    let made = "create table number as select range as n, repeat('x', 100) as c";
    world.run(&format!("{made} from range({ROWS})")).await.unwrap();
    world
}

/// The numbers of all pages, the rows that were billed, and how many pages there were.
async fn paged(
    world: &World,
    router: &Router,
    name: &str,
    mut arguments: Value,
    numbers: impl Fn(&Value) -> Vec<i64>,
) -> (Vec<i64>, u64, u32) {
    let (mut seen, mut billed, mut pages) = (Vec::new(), 0, 0);
    loop {
        let (result, texts) = within(router, demo_key(), name, arguments.clone()).await;
        seen.extend(numbers(&result));
        billed += world.last().1.rows_returned;
        pages += 1;
        let Some(cursor) = result["next_cursor"].as_str() else { return (seen, billed, pages) };
        let rest = format!("the rest: the same call with cursor \"{cursor}\"");
        assert!(texts[1].lines().any(|line| line == rest), "{}", texts[1]);
        arguments["cursor"] = json!(cursor);
    }
}

fn of_rows(result: &Value) -> Vec<i64> {
    result["rows"].as_array().unwrap().iter().map(|row| row["n"].as_i64().unwrap()).collect()
}

fn of_stream(result: &Value) -> Vec<i64> {
    let stream = BASE64_STANDARD.decode(result["data"].as_str().unwrap()).unwrap();
    let batches = StreamReader::try_new(stream.as_slice(), None).unwrap().map(Result::unwrap);
    let numbers = |batch: arrow::array::RecordBatch| {
        batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap().values().to_vec()
    };
    batches.flat_map(numbers).collect()
}

#[tokio::test]
async fn page_by_page_a_result_is_whole_and_each_row_is_billed_once() {
    let world = numbered().await;
    let router = tight(&world);
    let (made, _) = tool(&router, demo_key(), "create_branch", json!({"tables": ["number"]})).await;
    for (name, arguments) in [
        ("run_sql", json!({"sql": SQL})),
        ("run_sql", json!({"sql": SQL, "max_rows": 40})),
        ("run_sql_readonly", json!({"sql": "select n, c from number where n >= $1", "params": [0]})),
        ("branch_query", json!({"sql": SQL, "branch_id": made["branch_id"]})),
    ] {
        let (seen, billed, pages) = paged(&world, &router, name, arguments.clone(), of_rows).await;
        assert_eq!(seen, (0..ROWS).collect::<Vec<_>>(), "{name} {arguments}");
        assert!(billed == ROWS.unsigned_abs() && pages > 4, "{name} {arguments}: {billed} rows in {pages} pages");
    }
    let (seen, billed, pages) = paged(&world, &router, "run_sql_arrow", json!({"sql": SQL}), of_stream).await;
    assert_eq!(seen, (0..ROWS).collect::<Vec<_>>());
    assert!(billed == ROWS.unsigned_abs() && pages > 4, "{billed} rows in {pages} pages");
    world.stop().await;
}

async fn begun(router: &Router, key: &str) -> Value {
    let (result, is_error) = tool(router, key, "run_sql", json!({"sql": SQL})).await;
    assert!(!is_error && result["next_cursor"].is_string(), "{result}");
    result["next_cursor"].clone()
}

#[tokio::test]
async fn a_cursor_is_its_callers_and_of_its_statement_alone() {
    let world = numbered().await;
    let router = tight(&world);
    let cursor = begun(&router, demo_key()).await;
    for (key, arguments) in [
        (analyst_key(), json!({"sql": SQL, "cursor": cursor})),
        (demo_key(), json!({"sql": "select n, c from number", "cursor": cursor})),
        (demo_key(), json!({"sql": SQL, "params": [1], "cursor": cursor})),
        (demo_key(), json!({"sql": "delete from number", "cursor": cursor})),
        (demo_key(), json!({"sql": SQL, "cursor": "AAAA"})),
    ] {
        let (refused, is_error) = tool(&router, key, "run_sql", arguments.clone()).await;
        assert!(is_error, "{arguments}: {refused}");
        let error = &refused["error"];
        assert_eq!(
            (&error["code"], &error["details"]["field"]),
            (&json!("SVC_ERR_400_INVALID_PARAMS"), &json!("cursor"))
        );
    }
    assert_eq!(world.count("select count(*) from raw.main.number").await, ROWS);
    world.stop().await;
}

#[tokio::test]
async fn what_is_another_answer_by_now_is_not_gone_on_with() {
    let world = numbered().await;
    let router = tight(&world);
    let going_on = async |key: &'static str, cursor: Value| {
        tool(&router, key, "run_sql", json!({"sql": SQL, "cursor": cursor})).await
    };
    let cursor = begun(&router, demo_key()).await;
    world.run("insert into customer (id) values (9)").await.unwrap();
    let (result, is_error) = going_on(demo_key(), cursor.clone()).await;
    assert!(!is_error, "its tables are as they were: {result}");

    world.run("insert into number values (-1, 'y')").await.unwrap();
    let of_analyst = begun(&router, analyst_key()).await;
    world.change(|rules| rules.policies = vec![masking("number", "c", MaskFunction::Full)]);
    for (key, cursor) in [(demo_key(), cursor), (analyst_key(), of_analyst)] {
        let (refused, is_error) = going_on(key, cursor).await;
        assert!(is_error, "{refused}");
        let error = &refused["error"];
        assert_eq!((&error["code"], &error["details"]["reason"]), (&json!("CONFLICT"), &json!("cursor")));
        assert!(error["message"].as_str().unwrap().ends_with("ask again without it"), "{error}");
        let (_, finished) = world.last();
        assert_eq!((finished.outcome.as_str(), finished.rows_returned), ("refused", 0));
    }
    world.stop().await;
}

#[tokio::test]
async fn rows_that_another_run_would_not_give_again_have_no_cursor() {
    let world = numbered().await;
    let router = tight(&world);
    for sql in [
        "select random() as r, repeat('x', 100) as c from range(300)",
        "update number set c = upper(c) where n > 0 returning n, c",
    ] {
        let (result, texts) = within(&router, demo_key(), "run_sql", json!({"sql": sql})).await;
        assert!(result["truncated"] == true && result["next_cursor"].is_null(), "{sql}");
        assert!(!texts[1].contains("cursor"), "{}", texts[1]);
    }
    world.stop().await;
}

#[tokio::test]
async fn what_was_shown_counts_for_the_rows_that_one_statement_may_have() {
    let world = numbered().await;
    world.change(|rules| rules.organization.limits.max_rows_per_query = Some(100));
    let narrow = tight(&world);
    let first = json!({"sql": SQL, "max_rows": 60});
    let (result, _) = tool(&narrow, demo_key(), "run_sql", first.clone()).await;
    let next = json!({"sql": SQL, "max_rows": 60, "cursor": result["next_cursor"]});
    let (refused, is_error) = tool(&router(&world), demo_key(), "run_sql", next).await;
    assert!(is_error, "{refused}");
    world.stop().await;
}
