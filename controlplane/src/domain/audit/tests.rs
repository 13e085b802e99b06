use contract::Code;
use contract::policy::abac::Operation;
use contract::report::{Agent, Body, Entry, TriggerFired};
use http_body_util::BodyExt;
use serde_json::Value;
use tower::ServiceExt;

use super::store::{insert_ends, insert_starts};
use crate::server::intake::store_entries;
use crate::worlds::World;

mod dashboard;

async fn store(world: &World, entries: &[Entry]) -> platform::Result<u64> {
    store_entries(&world.app.app, &world.env_id, "log-1", entries.to_vec()).await
}

async fn get(world: &World, rest: &str) -> Value {
    world.app.get(&world.env(rest), &world.owner).await.expect(200)
}

#[tokio::test]
async fn two_entries_are_answered_as_one_query() {
    let world = World::start().await;
    assert_eq!(store(&world, &[world.started(1, "q1")]).await.unwrap(), 1);
    assert_eq!(get(&world, "audit/queries").await["data"][0]["outcome"], "running");
    assert_eq!(store(&world, &[world.finished(2, "q1")]).await.unwrap(), 2);
    let listed = get(&world, "audit/queries").await;
    let entry = &listed["data"][0];
    assert_eq!((entry["rows_returned"].as_u64(), entry["credits_consumed"].as_f64()), (Some(3), Some(1.1)));
    assert!(entry["policy_verdicts"][0].get("function").is_none() && entry.get("sql_original").is_none());
    let detail = get(&world, "audit/queries/q1").await;
    assert_eq!(detail["policy_verdicts"][0]["function"], "partial");
    assert_eq!(detail["sql_original"], "select ssn from customers where name = 'svc_live_[redacted]'");
    assert_eq!(detail["stages"][1]["stage"], "execute");
    assert_eq!(world.app.get(&world.env("audit/queries/q2"), &world.owner).await.code(), (404, "NOT_FOUND"));
}

/// The check of ends is planned on a connection that has found one query and nothing else, and then stores many.
#[tokio::test]
async fn each_end_finds_its_start_along_the_primary_key_however_few_there_were_before() {
    const MANY: u64 = 500;
    let world = World::start().await;
    let mut tx = world.app.app.pool().begin().await.unwrap(); // whose reads are counted until it ends
    for ids in [0..1, 1..MANY] {
        let (mut starts, mut ends) = (Vec::new(), Vec::new());
        for id in ids {
            let (start, end) = (world.started(1, &format!("q{id}")), world.finished(2, &format!("q{id}")));
            let (Body::Started(start), Body::Finished(end)) = (start.body, end.body) else { panic!("of a query") };
            starts.push(start);
            ends.push(end);
        }
        insert_starts(&mut tx, &world.env_id, &starts.iter().map(AsRef::as_ref).collect::<Vec<_>>()).await.unwrap();
        insert_ends(&mut tx, &world.env_id, &ends.iter().map(AsRef::as_ref).collect::<Vec<_>>()).await.unwrap();
    }
    let read = "select coalesce(sum(pg_stat_get_xact_tuples_returned(indexrelid)), 0)::bigint from pg_index
                where indrelid = 'query_starts'::regclass and not indisprimary";
    let read: i64 = sqlx::query_scalar(read).fetch_one(&mut *tx).await.unwrap();
    assert!(read < i64::try_from(MANY).unwrap(), "{read} starts were read for {MANY} ends");
}

#[tokio::test]
async fn entries_sent_again_change_nothing_and_a_gap_is_refused() {
    let world = World::start().await;
    let both = [world.started(1, "q1"), world.finished(2, "q1")];
    for _ in 0..3 {
        assert_eq!(store(&world, &both).await.unwrap(), 2);
    }
    assert_eq!(world.count("select queries from credit_usage").await, 1);
    assert_eq!(world.count("select reported from credit_grants").await, 1_100_000);
    let gap = store(&world, &[world.started(4, "q2")]).await.unwrap_err();
    assert_eq!(gap.code(), Code::Conflict);
    let usage = world.app.get(&world.org("billing/usage"), &world.owner).await.expect(200);
    assert_eq!(
        (usage["credits"]["used"].as_f64(), usage["breakdown"]["queries"]["select"].as_i64()),
        (Some(1.1), Some(1))
    );
    assert_eq!(usage["breakdown"]["by_environment"][0]["env_id"], world.env_id.as_str());
}

#[tokio::test]
async fn an_end_is_counted_by_the_first_start_of_its_query_whenever_that_came() {
    let world = World::start().await;
    store(&world, &[world.started(1, "q1")]).await.unwrap();
    let mut again = world.started(2, "q1");
    if let Body::Started(start) = &mut again.body {
        (start.operation, start.by_dashboard) = (Some(Operation::Delete), true);
    }
    let entries = [again, world.finished(3, "q1"), world.started(4, "q2"), world.finished(5, "q2")];
    store(&world, &entries).await.unwrap();
    store(&world, &[world.finished(6, "q2")]).await.unwrap();
    assert_eq!(world.count("select count(*) from credit_usage").await, 1);
    assert_eq!(world.count("select queries from credit_usage where operation = 'select'").await, 2);
}

#[tokio::test]
async fn what_was_reported_cannot_be_changed() {
    let world = World::start().await;
    store(&world, &[world.started(1, "q1"), world.finished(2, "q1")]).await.unwrap();
    for change in ["update query_starts set at = now()", "delete from query_ends", "truncate query_starts cascade"] {
        let refused = sqlx::raw_sql(change).execute(world.app.app.pool()).await.unwrap_err();
        assert!(refused.to_string().contains("append-only"), "{change}: {refused}");
    }
}

#[tokio::test]
async fn an_end_without_a_start_is_refused_by_the_schema() {
    let world = World::start().await;
    store(&world, &[world.started(1, "q1")]).await.unwrap();
    let ends = "insert into query_ends (env_id, query_id, at, cache_hit, execution_time_ms, micro_credits, entry)
                select s.env_id, named, now(), false, 0, 0, '{}'
                from query_starts s, unnest(array['q1', 'q2']) as named";
    let refused = sqlx::raw_sql(ends).execute(world.app.app.pool()).await.unwrap_err();
    assert!(refused.to_string().contains("has no start"), "{refused}");
    assert_eq!(world.count("select count(*) from query_ends").await, 0);
    store(&world, &[world.finished(2, "q1")]).await.unwrap();
    assert_eq!(world.count("select count(*) from query_ends").await, 1);
}

#[tokio::test]
async fn an_entry_of_another_organization_is_refused() {
    let world = World::start().await;
    let mut entry = world.started(1, "q1");
    if let Body::Started(start) = &mut entry.body {
        start.org_id = "other".into();
    }
    assert_eq!(store(&world, &[entry]).await.unwrap_err().code(), Code::CrossTenant);
}

#[tokio::test]
async fn queries_are_filtered_and_paged() {
    let world = World::start().await;
    for n in 0..3_u64 {
        let query = format!("q{n}");
        store(&world, &[world.started(2 * n + 1, &query), world.finished(2 * n + 2, &query)]).await.unwrap();
        world.app.advance(chrono::Duration::minutes(1));
    }
    for (filter, total) in [
        ("", 3),
        ("?table=customers", 3),
        ("?table=main.CUSTOMERS", 3),
        ("?table=orders", 0),
        ("?cache_hit=true", 0),
        ("?min_duration_ms=1.5", 3),
        ("?min_duration_ms=2", 0),
        ("?user_id=nobody", 0),
        ("?agent_id=a", 0),
        ("?end_date=2020-01-01", 0),
    ] {
        assert_eq!(get(&world, &format!("audit/queries{filter}")).await["pagination"]["total"], total, "{filter}");
    }
    let first = get(&world, "audit/queries?limit=2").await;
    let cursor = first["pagination"]["cursor"].as_str().unwrap();
    let second = get(&world, &format!("audit/queries?limit=2&cursor={cursor}")).await;
    assert_eq!(
        (first["data"][0]["query_id"].as_str(), second["data"][0]["query_id"].as_str()),
        (Some("q2"), Some("q0"))
    );
}

#[tokio::test]
async fn a_range_has_an_order_and_a_length() {
    let world = World::start().await;
    for range in ["start_date=2026-02-01&end_date=2026-01-01", "start_date=2026-01-01&end_date=2026-06-01"] {
        let answer = world.app.get(&world.env(&format!("audit/queries?{range}")), &world.owner).await;
        assert_eq!(answer.code(), (422, "INVALID_DATE_RANGE"), "{range}");
    }
    let odd = world.app.get(&world.env("audit/queries?start_date=soon"), &world.owner).await;
    assert_eq!(odd.code(), (400, "VALIDATION_ERROR"));
}

#[tokio::test]
async fn the_chain_verifies_until_somebody_touches_it() {
    let world = World::start().await;
    world.app.breaks_chains();
    world.mask("ssn").await;
    world.mask("other").await;
    let whole = get(&world, "audit/admin/verify-chain").await;
    let length = whole["events_verified"].as_i64().unwrap();
    assert_eq!((whole["chain_valid"].as_bool(), whole["last_event"]["event_id"].is_string()), (Some(true), true));
    world.sql("alter table iam_events disable trigger all").await;
    world.sql(&format!("update iam_events set actor_id = 'x' where sequence = {}", length - 1)).await;
    let broken = get(&world, "audit/admin/verify-chain").await;
    assert_eq!((broken["chain_valid"].as_bool(), broken["events_verified"].as_i64()), (Some(false), Some(length - 2)));
    assert!(broken["break_detected_at"]["event_id"].is_string());
}

/// A start of the agent of this name, by whoever says so.
fn of_agent(world: &World, sequence: u64, query: &str, agent_id: &str) -> Entry {
    let mut entry = world.started(sequence, query);
    if let Body::Started(start) = &mut entry.body {
        let name = Some(agent_id.to_owned());
        start.agent = Some(Agent { agent_id: name.clone(), framework: name });
    }
    entry
}

fn saying(world: &World, sequence: u64, query: &str, sql: &str) -> Entry {
    let mut entry = world.started(sequence, query);
    if let Body::Started(start) = &mut entry.body {
        sql.clone_into(&mut start.sql);
    }
    entry
}

async fn set_aside(world: &World) -> String {
    let request = axum::http::Request::get("/metrics").body(axum::body::Body::empty()).unwrap();
    let answer = crate::server::metrics::router(&world.app.app).oneshot(request).await.unwrap();
    let text = String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().into()).unwrap();
    let name = "sluice_controlplane_reports_set_aside_total ";
    text.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned()
}

/// It is made known where that is granted. What is reported of a call that was refused makes nobody known.
#[tokio::test]
async fn whoever_only_asks_to_be_registered_is_made_known_by_no_report() {
    let world = World::start().await;
    let registers = |sequence, query: &str, agent_id: &str| {
        let mut entry = of_agent(&world, sequence, query, agent_id);
        if let Body::Started(start) = &mut entry.body {
            contract::agent::REGISTERS.clone_into(&mut start.sql);
        }
        entry
    };
    let entries = [registers(1, "q1", "refused"), registers(2, "q2", "asks"), of_agent(&world, 3, "q3", "asks")];
    store(&world, &entries).await.unwrap();
    assert_eq!(world.count("select count(*) from agents where agent_id = 'asks'").await, 1);
    assert_eq!(world.count("select count(*) from agents").await, 1);
    assert_eq!(world.count("select queries from agent_uses").await, 2);
}

#[tokio::test]
async fn no_declared_agent_stops_the_entries_behind_it() {
    let world = World::start().await;
    let digits = |n: u64| format!("{:016x}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let random = (0..1_250).map(digits).collect::<Vec<_>>().concat();
    let key = format!("svc_live_{}", "a1B2".repeat(15));
    let names = ["a\0", &random, &"ä\0".repeat(400_000), &key];
    let mut entries = Vec::new();
    for (place, name) in names.iter().enumerate() {
        let (sequence, query) = (2 * u64::try_from(place).unwrap() + 1, format!("q{place}"));
        entries.extend([of_agent(&world, sequence, &query, name), world.finished(sequence + 1, &query)]);
    }
    entries.push(world.started(9, "behind"));
    assert_eq!(store(&world, &entries).await.unwrap(), 9);
    assert_eq!(get(&world, "audit/queries").await["pagination"]["total"], 5);
    assert_eq!(get(&world, "audit/queries/q0").await["agent_metadata"]["agent_id"], "a\u{FFFD}");
    assert_eq!(get(&world, "audit/queries/q3").await["agent_metadata"]["framework"], "svc_live_[redacted]");
    assert_eq!(world.count("select max(length(agent_id))::bigint from query_starts").await, 1022);
    assert_eq!(world.count("select sum(queries)::bigint from credit_usage").await, 4);
    assert_eq!(set_aside(&world).await, "0", "each of them is stored as it is told");
}

#[tokio::test]
async fn what_the_database_refuses_is_set_aside_with_its_credits_and_the_rest_goes_on() {
    let world = World::start().await;
    world.sql("alter table query_starts add constraint odd check (entry ->> 'sql' <> 'poison')").await;
    world.sql("alter table query_ends add constraint odd check (entry ->> 'error_code' <> 'poison')").await;
    let mut ended = world.finished(6, "q2");
    if let Body::Finished(finish) = &mut ended.body {
        finish.error_code = Some("poison".to_owned());
    }
    let entries = [
        world.started(1, "q1"),
        saying(&world, 2, "bad", "poison"),
        world.finished(3, "q1"),
        world.finished(4, "bad"),
        world.started(5, "q2"),
        ended,
        world.started(7, "q3"),
    ];
    assert_eq!(store(&world, &entries).await.unwrap(), 7);
    assert_eq!(store(&world, &entries).await.unwrap(), 7, "sent again it changes nothing");
    assert_eq!(set_aside(&world).await, "2");
    let bad = get(&world, "audit/queries/bad").await;
    assert_eq!((&bad["sql"], &bad["sql_original"]), (&"[set aside]".into(), &"[set aside]".into()));
    assert_eq!(bad["user_id"], world.owner_id.as_str());
    assert_eq!((bad["outcome"].as_str(), bad["credits_consumed"].as_f64()), (Some("completed"), Some(1.1)));
    assert_eq!(get(&world, "audit/queries/q2").await["credits_consumed"], 1.1);
    assert_eq!(get(&world, "audit/queries/q3").await["outcome"], "running");
    assert_eq!(world.count("select sum(queries)::bigint from credit_usage").await, 3);
    assert_eq!(world.count("select reported from credit_grants").await, 3_300_000);
}

#[tokio::test]
async fn what_happened_beside_queries_is_set_aside_too() {
    let world = World::start().await;
    world.sql("alter table iam_events add constraint odd check (changes::text not like '%poison%')").await;
    let fired = |sequence, content: &str, metadata| {
        let fired = TriggerFired {
            trigger_id: format!("t{sequence}"),
            trigger_name: "t".to_owned(),
            fired_at: world.app.app.now(),
            similarity_score: 1.0,
            threshold: 0.5,
            content: content.to_owned(),
            content_id: None,
            agent_id: "a\0".to_owned(),
            metadata,
        };
        Entry { sequence, body: Body::TriggerFired(Box::new(fired)) }
    };
    // a number that is JSON, and that no column holds
    let vast = serde_json::from_str("{\"n\": 1e999999, \"\\u0000\": [1]}").unwrap();
    let entries = [fired(1, "poison", Value::Null), fired(2, "well", vast), world.started(3, "behind")];
    assert_eq!(store(&world, &entries).await.unwrap(), 3);
    assert_eq!(set_aside(&world).await, "1");
    let told = |n: u64, member: &str| {
        format!("select count(*) from iam_events where resource_id = 't{n}' and changes -> 'after' ->> {member}")
    };
    assert_eq!(world.count(&told(1, "'content' = '[set aside]'")).await, 1);
    assert_eq!(world.count(&told(2, "'content' = 'well'")).await, 1);
    assert_eq!(get(&world, "audit/admin/verify-chain").await["chain_valid"], true);
}

#[tokio::test]
async fn a_database_that_is_full_sets_nothing_aside() {
    let world = World::start().await;
    world
        .sql(
            "create function full_disk() returns trigger language plpgsql as $$ begin \
             if new.entry ->> 'sql' = 'poison' then raise exception 'full' using errcode = '53100'; end if; \
             return new; end $$; \
             create trigger full_disk before insert on query_starts for each row execute function full_disk()",
        )
        .await;
    let entries = [world.started(1, "q1"), saying(&world, 2, "q2", "poison")];
    assert!(store(&world, &entries).await.is_err());
    assert_eq!((world.count("select count(*) from query_starts").await, set_aside(&world).await.as_str()), (0, "0"));
    world.sql("drop trigger full_disk on query_starts").await;
    assert_eq!(store(&world, &entries).await.unwrap(), 2);
    assert_eq!(get(&world, "audit/queries/q2").await["sql"], "poison");
}

#[tokio::test]
async fn what_is_no_fault_of_the_entry_is_refused_as_a_whole() {
    let world = World::start().await;
    // an end without a start has nothing that could be set aside
    assert!(store(&world, &[world.finished(1, "q1")]).await.is_err());
    assert_eq!(world.count("select count(*) from report_logs").await, 0);
    assert_eq!(set_aside(&world).await, "0");
}
