//! `Idempotency-Key` of statements: a change is made once, and its count is told again.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, Response};
use chrono::Duration;
use contract::policy::MaskFunction;
use contract::wire::{Forwarded, Who, header};
use contract::{Role, TestClock};
use dataplane::Ending;
use dataplane::agents::reasoning::Thoughts;
use dataplane::protocols::rest::{RestContext, routes};
use dataplane::testing::{analyst_id, demo_key, masking, owner_id};
use futures::future::join_all;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::agents_router::{as_json, post, router, whole};
use crate::world::{World, world, world_at};

async fn sent(world: &World, path: &str, who: &str, key: &str, body: Value) -> Response<Body> {
    let context = RestContext {
        env_id: "env-1".into(),
        pipeline: world.pipeline.clone(),
        memories: world.memories.clone(),
        thoughts: Thoughts::default(),
        triggers: world.triggers.clone(),
        ending: Ending::default(),
        limits: connections::ConnectionTimeouts::DEFAULT.limits(),
    };
    let caller = Forwarded::of(Who::Key { key_id: who.into() }, Some([127, 0, 0, 1].into()));
    let request = Request::post(format!("/v1/environments/env-1/{path}"))
        .header(header::CALLER, serde_json::to_string(&caller).unwrap())
        .header(header::IDEMPOTENCY_KEY, key)
        .body(Body::from(body.to_string()))
        .unwrap();
    routes(context).oneshot(request).await.unwrap()
}

async fn query(world: &World, key: &str, sql: &str) -> Response<Body> {
    sent(world, "query", owner_id().as_str(), key, json!({"sql": sql})).await
}

fn is_replayed(response: &Response<Body>) -> bool {
    response.headers().contains_key("idempotent-replayed")
}

/// Statements that change something, and the rows that each changes.
const CHANGES: [(&str, u64); 9] = [
    ("insert into customer (id, name) values (7, 'Ida'), (8, 'Jo')", 2),
    ("update customer set name = 'x' where id < 3", 2),
    ("delete from customer where id = 1", 1),
    ("merge into customer using (select 2 as id) s on customer.id = s.id when matched then delete", 1),
    ("create table made as select * from customer", 2),
    ("create table fresh (a integer)", 0),
    ("drop table fresh", 0),
    ("truncate table made", 2),
    ("delete from customer where id = 999", 0),
];

#[tokio::test]
async fn a_change_that_is_sent_again_is_made_once_and_its_count_is_told_again() {
    let world = world().await;
    world.run("delete from customer where id = 3").await.unwrap();
    for (at, (sql, rows)) in CHANGES.into_iter().enumerate() {
        let key = format!("k-{at}");
        let first = query(&world, &key, sql).await;
        assert!(!is_replayed(&first), "{sql}");
        let first = as_json(first).await;
        assert_eq!(first["row_count"], rows, "{sql}: {first}");
        let there = world.count("select count(*) from raw._svc_dirty.changes").await;
        for _ in 0..2 {
            let again = query(&world, &key, sql).await;
            assert_eq!(again.status(), 200, "{sql}");
            assert!(is_replayed(&again) && !again.headers().contains_key("x-rows-withheld"), "{sql}");
            let again = as_json(again).await;
            assert_eq!((&again["row_count"], &again["rows"]), (&first["row_count"], &json!([])), "{sql}: {again}");
            assert_eq!(again["credits_consumed"], 0.0, "{sql}: {again}");
            let told = format!("it was run as query {} with", first["query_id"].as_str().unwrap());
            assert!(again["warnings"][0].as_str().unwrap().starts_with(&told), "{sql}: {again}");
        }
        assert_eq!(world.count("select count(*) from raw._svc_dirty.changes").await, there, "{sql}");
    }
    world.stop().await;
}

#[tokio::test]
async fn files_of_a_stage_are_removed_once_for_a_key() {
    let world = world().await;
    let stage = world.ask(owner_id(), "create stage files");
    let id = stage.query_id.to_string();
    world.whole(stage).await.unwrap();
    let put = || {
        let mut writer = world.pipeline.stage_files.writer(&id, "a.csv").unwrap();
        writer.write(b"1").unwrap();
        writer.finish().unwrap();
    };
    put();
    let first = query(&world, "k", "remove @files").await;
    assert!(first.status() == 200 && !is_replayed(&first));
    assert!(world.pipeline.stage_files.list(&id, "").unwrap().is_empty());
    put();
    let again = query(&world, "k", "remove @files").await;
    assert!(again.status() == 200 && is_replayed(&again));
    assert_eq!(again.headers()["x-rows-withheld"], "true");
    assert_eq!(world.pipeline.stage_files.list(&id, "").unwrap().len(), 1);
    world.stop().await;
}

#[tokio::test]
async fn rows_that_were_returned_are_not_kept_and_every_format_says_so() {
    let world = world().await;
    for (at, format) in ["json", "csv", "arrow"].into_iter().enumerate() {
        let sql = format!("insert into customer (id, ssn) values ({}, 'secret-ssn') returning id, ssn", 70 + at);
        let body = json!({"sql": sql, "format": format});
        let first = sent(&world, "query", owner_id().as_str(), format, body.clone()).await;
        assert!(!whole(first).await.0.is_empty());
        let again = sent(&world, "query", owner_id().as_str(), format, body).await;
        assert!(is_replayed(&again), "{format}");
        assert_eq!(again.headers()["x-rows-withheld"], "true", "{format}");
        let told = String::from_utf8_lossy(&whole(again).await.0).into_owned();
        assert!(!told.contains("secret-ssn"), "{format}: {told}");
        assert_eq!(told.contains("the rows that it returned are not kept"), format == "json", "{told}");
    }
    let kept = "select count(*) from raw._svc_once.answers where concat(claim, request, query_id) like '%secret%'";
    assert_eq!(world.count(kept).await, 0);
    assert_eq!(world.count("select count(*) from raw.main.customer").await, 6);
    world.stop().await;
}

#[tokio::test]
async fn at_once_there_is_one_effect() {
    let world = world().await;
    let all = join_all((0..20).map(|_| query(&world, "k", "insert into customer (id) values (9)"))).await;
    for response in all {
        let status = response.status();
        let body = as_json(response).await;
        match status.as_u16() {
            200 => assert_eq!(body["row_count"], 1, "{body}"),
            409 => assert_eq!(body["error"]["details"]["reason"], "in_progress", "{body}"),
            other => panic!("{other}: {body}"),
        }
    }
    assert_eq!(world.count("select count(*) from raw.main.customer").await, 4);
    world.stop().await;
}

#[tokio::test]
async fn a_key_is_of_one_caller_one_path_and_one_body() {
    let world = world().await;
    world.change(|rules| {
        let user = rules.key(&analyst_id()).and_then(|key| key.user_id.clone()).unwrap();
        rules.members.get_mut(&user).unwrap().role = Role::Owner;
    });
    let insert = |id: i64| json!({"sql": format!("insert into customer (id) values ({id})")});
    let post = |path: &'static str, who: contract::KeyId, body: Value| {
        let world = &world;
        async move { sent(world, path, who.as_str(), "k", body).await }
    };
    assert_eq!(post("query", owner_id(), insert(9)).await.status(), 200);
    let other = post("query", owner_id(), insert(10)).await;
    assert_eq!(other.status(), 409);
    assert_eq!(as_json(other).await["error"]["details"]["reason"], "idempotency_mismatch");
    for (path, who) in [("query/arrow", owner_id()), ("query", analyst_id())] {
        let own = post(path, who, insert(9)).await;
        assert_eq!((own.status().as_u16(), is_replayed(&own)), (200, false), "{path}");
    }
    assert_eq!(world.count("select count(*) from raw.main.customer where id = 9").await, 3);
    world.stop().await;
}

#[tokio::test]
async fn the_raw_arrow_route_has_keys_too() {
    let world = world().await;
    let router = router(&world);
    let body = json!({"sql": "insert into customer (id) values (9) returning id"});
    for replayed in [false, true] {
        let told = post(&router, "/v1/query/arrow", demo_key(), &[("idempotency-key", "k")], &body).await;
        assert_eq!((told.status().as_u16(), is_replayed(&told)), (200, replayed));
        assert_eq!(told.headers().contains_key("x-rows-withheld"), replayed);
        assert_eq!(told.headers()["x-rows-affected"], "1");
    }
    let refused = post(&router, "/v1/query/arrow", demo_key(), &[("idempotency-key", "")], &body).await;
    assert_eq!(refused.status(), 400);
    assert_eq!(world.count("select count(*) from raw.main.customer").await, 4);
    world.stop().await;
}

#[tokio::test]
async fn a_read_has_no_key_and_what_failed_is_tried_again() {
    let world = world().await;
    for _ in 0..2 {
        let read = query(&world, "k", "select count(*) from customer").await;
        assert!(!is_replayed(&read));
        assert_eq!(as_json(read).await["rows"], json!([[3]]));
    }
    let insert = "insert into later values (1)";
    assert_eq!(query(&world, "k", insert).await.status(), 404);
    world.run("create table later (a integer)").await.unwrap();
    let done = query(&world, "k", insert).await;
    assert_eq!((done.status().as_u16(), is_replayed(&done)), (200, false));
    assert_eq!(world.count("select count(*) from raw.main.later").await, 1);
    world.stop().await;
}

/// Nothing of it is in the memory of the process that was asked first.
#[tokio::test]
async fn the_key_is_in_the_data_and_nowhere_else() {
    let mut world = world().await;
    let insert = "insert into customer (id) values (9)";
    let first = as_json(query(&world, "k", insert).await).await;
    while Arc::get_mut(&mut world.pipeline).is_none() {
        tokio::task::yield_now().await; // its task comes to its end
    }
    Arc::get_mut(&mut world.pipeline).unwrap().remembered = dataplane::pipeline::PipelineCaches::default();
    let again = query(&world, "k", insert).await;
    assert!(is_replayed(&again));
    assert_eq!(as_json(again).await["row_count"], first["row_count"]);
    assert_eq!(world.count("select count(*) from raw.main.customer").await, 4);
    world.stop().await;
}

#[tokio::test]
async fn a_day_later_the_key_is_new() {
    let clock = TestClock::at("2026-03-02T12:00:00Z".parse().unwrap());
    let world = world_at(Arc::new(clock.clone())).await;
    let insert = "insert into customer (id) values (9)";
    for (hours, replayed) in [(0, false), (23, true), (2, false), (1, true)] {
        clock.advance(Duration::hours(hours));
        assert_eq!(is_replayed(&query(&world, "k", insert).await), replayed, "{hours}");
    }
    assert_eq!(world.count("select count(*) from raw.main.customer").await, 5);
    world.stop().await;
}

/// A count tells nothing new, but not to whom may not change anything any more.
#[tokio::test]
async fn whoever_may_not_change_anything_now_is_told_nothing() {
    let world = world().await;
    let insert = "insert into customer (id) values (9)";
    assert_eq!(query(&world, "k", insert).await.status(), 200);
    world.change(|rules| rules.policies.push(masking("customer", "ssn", MaskFunction::Full)));
    assert!(is_replayed(&query(&world, "k", insert).await));
    world.change(|rules| {
        let user = rules.key(&owner_id()).and_then(|key| key.user_id.clone()).unwrap();
        rules.members.get_mut(&user).unwrap().role = Role::Analyst;
    });
    assert_eq!(query(&world, "k", insert).await.status(), 403);
    world.stop().await;
}

#[tokio::test]
async fn an_unusable_key_is_named() {
    let world = world().await;
    for key in ["", &"k".repeat(256)] {
        let refused = query(&world, key, "select 1").await;
        assert_eq!(refused.status(), 400);
        assert_eq!(as_json(refused).await["error"]["details"]["field"], "Idempotency-Key");
    }
    world.stop().await;
}
