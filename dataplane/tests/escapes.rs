//! `standard_conforming_strings` as an option of a request: `off`, and a backslash in a string escapes, as in the warehouse.

use dataplane::testing::{demo_key, owner_id};
use serde_json::json;

use crate::agents_router::{as_json, post, router, tool, whole};
use crate::flight::{asked, client, fetched, status};
use crate::rest;
use crate::world::world;

const SQL: &str = r"select 'it\'s' as a, regexp_replace('ab12', '([a-z]+)([0-9]+)', '\\2-\\1') as b";
const ROW: [&str; 2] = ["it's", "12-ab"];
/// What a driver quotes that was told of nothing: one string.
const STANDARD: &str = r"select 'a\' as a";
const BACKSLASH: &str = "a backslash in a string is an ordinary character here, not an escape";

#[tokio::test]
async fn rest_reads_escapes_where_the_body_asks() {
    let world = world().await;
    let off = as_json(rest::query(&world, json!({"sql": SQL, "standard_conforming_strings": "off"})).await).await;
    assert_eq!((&off["rows"], &off["warnings"]), (&json!([ROW]), &json!([])));
    for body in [json!({"sql": STANDARD}), json!({"sql": STANDARD, "standard_conforming_strings": "on"})] {
        let on = as_json(rest::query(&world, body).await).await;
        assert_eq!((&on["rows"], &on["warnings"]), (&json!([["a\\"]]), &json!([BACKSLASH])));
    }
    let like = json!({
        "sql": r"select 'a_b' like 'a\\_b' as a, 'axb' like 'a\\_b' as b, '50%' like '50^%' escape '^' as c",
        "standard_conforming_strings": "off",
    });
    assert_eq!(as_json(rest::query(&world, like).await).await["rows"], json!([[true, false, true]]));
    let open = as_json(rest::query(&world, json!({"sql": STANDARD, "standard_conforming_strings": "off"})).await).await;
    assert_eq!(open["error"]["code"], "SVC_ERR_400_BAD_SQL");
    let unknown =
        as_json(rest::query(&world, json!({"sql": "select 1", "standard_conforming_strings": true})).await).await;
    assert_eq!(unknown["error"]["code"], "SVC_ERR_400_INVALID_PARAMS");
    // the variables that a request begins with are read so too
    let set = json!({"sql": r"set v = 'it\'s'; select $v as v", "standard_conforming_strings": "off"});
    assert_eq!(as_json(rest::query(&world, set).await).await["rows"], json!([["it's"]]));
    world.stop().await;
}

#[tokio::test]
async fn tools_read_escapes_where_the_call_asks() {
    let world = world().await;
    let router = router(&world);
    for name in ["run_sql", "run_sql_readonly"] {
        let asked = json!({"sql": SQL, "standard_conforming_strings": "off"});
        let (result, is_error) = tool(&router, demo_key(), name, asked).await;
        assert!(!is_error, "{result}");
        assert_eq!((&result["rows"], &result["warnings"]), (&json!([{"a": ROW[0], "b": ROW[1]}]), &json!([])));
        let (result, _) = tool(&router, demo_key(), name, json!({"sql": STANDARD})).await;
        assert_eq!((&result["rows"], &result["warnings"]), (&json!([{"a": "a\\"}]), &json!([BACKSLASH])));
    }
    let asked = json!({"sql": SQL, "standard_conforming_strings": "off"});
    let (result, is_error) = tool(&router, demo_key(), "run_sql_arrow", asked.clone()).await;
    assert!(!is_error && result["rows"] == 1, "{result}");
    let response = post(&router, "/v1/query/arrow", demo_key(), &[], &asked).await;
    assert_eq!(response.status(), 200);
    whole(response).await;
    let unread = post(&router, "/v1/query/arrow", demo_key(), &[], &json!({"sql": SQL})).await;
    assert_eq!(as_json(unread).await["error"], "SVC_ERR_400_BAD_SQL");
    world.stop().await;
}

#[tokio::test]
async fn flight_reads_escapes_where_a_header_asks() {
    let world = world().await;
    let router = router(&world);
    let mut client = client(&router, demo_key());
    let sql = r"select 'it\'s' as a";
    assert_eq!(asked(&mut client, STANDARD).await.unwrap(), [r"a\"]);
    assert!(asked(&mut client, sql).await.is_err());
    client.set_header("x-standard-conforming-strings", "off");
    assert_eq!(asked(&mut client, sql).await.unwrap(), ["it's"]);
    // what was prepared was read when it was
    let mut prepared = client.prepare(r"select 'a\\b' as a".to_owned(), None).await.unwrap();
    let info = prepared.execute().await.unwrap();
    assert_eq!(fetched(&mut client, &info).await.unwrap(), [r"a\b"]);
    client.execute_update(r"create table escaped as select 'it\'s' as a".to_owned(), None).await.unwrap();
    assert_eq!(asked(&mut client, "select a from escaped").await.unwrap(), ["it's"]);
    client.set_header("x-standard-conforming-strings", "sometimes");
    let refused = status(client.execute(STANDARD.to_owned(), None).await.unwrap_err());
    assert!(refused.message().contains("`sometimes` is not a setting of standard_conforming_strings"), "{refused}");
    world.stop().await;
}

#[tokio::test]
async fn what_a_statement_becomes_is_told_of_the_text_that_was_meant() {
    let world = world().await;
    let body = json!({"sql": r"select 'it\'s' as a", "standard_conforming_strings": "off"});
    let path = "/v1/environments/env-1/transpile";
    let off = as_json(rest::post(&world, path, owner_id().as_str(), body).await).await;
    assert_eq!((&off["original"], &off["warnings"]), (&json!("select 'it''s' as a"), &json!([])));
    world.stop().await;
}
