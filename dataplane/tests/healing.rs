//! A model that is asked for a statement that failed: what it is told, what becomes of its word, and what does not.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Response;
use chrono::Duration;
use contract::policy::MaskFunction;
use contract::{Code, Heal, Role, SharedClock};
use dataplane::Bounds;
use dataplane::testing::{analyst_id, denying, filtering, masking, owner_id};
use serde_json::{Value, json};

use crate::model_server::{KEY, ModelServer, clock, says, status, writes};
use crate::world::{World, world, world_with};

/// A world that permits its models to be asked.
async fn auto(clock: SharedClock, server: &ModelServer) -> World {
    let world = world_with(clock, &server.healing()).await;
    world.change(|rules| rules.environment.settings.heal = Heal::Auto);
    world
}

/// What an analyst may not see: a table, a column, a row.
async fn governed(world: &World) {
    for sql in ["create table payroll (iban varchar)", "insert into payroll values ('PAYIBAN001')"] {
        world.run(sql).await.unwrap();
    }
    world.change(|rules| {
        rules.abac_policies = vec![denying("payroll", &[Role::Owner])];
        rules.policies =
            vec![masking("customer", "balance", MaskFunction::Full), filtering("customer", "region = {region}")];
    });
}

#[tokio::test]
async fn what_no_rule_heals_a_model_corrects_and_it_passes_the_gates_again() {
    let server = ModelServer::answering(|_| writes("select name\nfrom customer where id = 1")).await;
    let world = auto(Arc::new(clock()), &server).await;
    for sql in [
        "selec name form customer where id = 1",
        "select fullname from customer where id = 1",
        "select name from clientele where id = 1",
    ] {
        let got = world.run(sql).await.unwrap();
        assert_eq!(got.json, r#"["Ada"]"#, "{sql}");
        let warning = &got.answer.warnings[0];
        assert!(warning.starts_with("healed: "), "{warning}");
        assert!(warning.ends_with("a model wrote instead: select name from customer where id = 1"), "{warning}");
        let stages = world.last_stages();
        assert_eq!((stages.matches("ai_heal").count(), stages.matches("table_extraction").count()), (1, 2), "{stages}");
        let started = world.last().0;
        let healed = Some("select name\nfrom customer where id = 1");
        assert_eq!((started.sql_original.as_str(), started.sql_healed.as_deref()), (sql, healed));
    }
    let asked = server.asked();
    assert_eq!(asked.len(), 3);
    assert_eq!((asked[0].path.as_str(), asked[0].authorization.as_str()), ("/v1/chat/completions", "Bearer hush-key"));
    let body = &asked[0].body;
    assert_eq!((&body["model"], &body["response_format"]["type"]), (&json!("small"), &json!("json_schema")));
    let question: Value = serde_json::from_str(body["messages"][1]["content"].as_str().unwrap()).unwrap();
    assert_eq!(question["statement"], "selec name form customer where id = 1");
    assert!(question["error"].as_str().unwrap().starts_with(Code::BadSql.stable()), "{question}");
    world.stop().await;
}

#[tokio::test]
async fn the_rules_come_first_and_a_refusal_or_a_write_is_told_to_nobody() {
    let server = ModelServer::answering(|_| writes("select 1")).await;
    let world = auto(Arc::new(clock()), &server).await;
    governed(&world).await;
    world.run("select name form customer where id = 1").await.unwrap();
    for sql in [
        "select * from payroll",
        "select read_text('/etc/passwd')",
        "select cast(name as integer) from customer",
        "delete from clientele",
        "delet from customer",
        "insert into nowhere values (1)",
        "create table x as selec 1",
        "update customer set colour = 'red'",
        "select 1; selec 2; drop table customer",
        "attach 'x' as y",
    ] {
        assert!(world.analyst(sql).await.is_err(), "{sql}");
    }
    assert!(server.asked().is_empty(), "{:?}", server.asked().iter().map(|it| it.body.clone()).collect::<Vec<_>>());
    world.stop().await;
}

#[tokio::test]
async fn a_model_is_told_what_its_caller_may_see_and_nothing_else() {
    let server = ModelServer::answering(|_| writes("select name, balance from customer order by id")).await;
    let world = auto(Arc::new(clock()), &server).await;
    governed(&world).await;
    let got = world.analyst("slct name, balance from customer").await.unwrap();
    assert_eq!(got.json, r#"["Ada","***"],["Cleo","***"]"#, "masked and filtered as ever");
    let told = server.asked()[0].body.to_string();
    let table = r#"\\\"main\\\".\\\"customer\\\" (\\\"id\\\" INTEGER, \\\"name\\\" VARCHAR"#;
    assert!(told.contains(table) && told.contains(r#"\\\"balance\\\" VARCHAR"#), "{told}");
    for hidden in ["payroll", "iban", "PAYIBAN", "Ada", "Bob", "078-05", "DECIMAL", "region =", "_svc", KEY] {
        assert!(!told.contains(hidden), "{hidden} was told: {told}");
    }
    world.run("slct name, balance from customer").await.unwrap();
    let told = server.asked()[1].body.to_string();
    assert!(told.contains("payroll") && told.contains("DECIMAL"), "the owner may see it: {told}");
    world.stop().await;
}

type Answers = dyn Fn(&Value) -> Response<Body> + Send + Sync;

fn attack(
    name: &'static str,
    answers: impl Fn(&Value) -> Response<Body> + Send + Sync + 'static,
) -> (&'static str, Box<Answers>) {
    (name, Box::new(answers))
}

const STATEMENTS: [&str; 23] = [
    "select iban from payroll",
    "select c.name, p.iban from customer c, payroll p",
    "select * from no_such_table",
    "select no_such_column from customer",
    "delete from customer",
    "with gone as (delete from customer returning id) select * from gone",
    "insert into customer select * from customer",
    "create table made as select 1 as x",
    "drop table customer",
    "select name from customer; drop table customer",
    "select name from customer; select iban from payroll",
    "copy (select 1) to '/tmp/out.csv'",
    "select * from read_csv('/etc/passwd')",
    "select read_text('/etc/passwd')",
    "set search_path = 'payroll'",
    "show tables",
    "explain select 1",
    "begin",
    "attach 'x' as y",
    "select cast(name as integer) from customer",
    "selec 1",
    "slct name from customer",
    "",
];

/// Everything that a hostile, broken or clumsy server may answer.
fn attacks() -> Vec<(&'static str, Box<Answers>)> {
    let body = |text: &'static str| Response::new(Body::from(text));
    let elsewhere = || Response::builder().status(307).header("location", "http://127.0.0.1:1/v1");
    let mut attacks: Vec<_> = STATEMENTS.into_iter().map(|sql| attack(sql, move |_| writes(sql))).collect();
    attacks.extend([
        attack("10 MB", |_| Response::new(Body::from(vec![b' '; 10 * 1024 * 1024]))),
        attack("10 MB of a statement", |_| writes(&"x".repeat(10 * 1024 * 1024))),
        attack("garbage", move |_| body("<html>\0")),
        attack("nothing", move |_| body("")),
        attack("no choices", move |_| body(r#"{"choices": []}"#)),
        attack("no words", move |_| body(r#"{"choices": [{"message": {"content": null}}]}"#)),
        attack("no JSON inside", |_| says("SELECT 1")),
        attack("another shape", |_| says(r#"{"sql": ["select 1"]}"#)),
        attack("a redirect", move |_| elsewhere().body(Body::empty()).unwrap()),
    ]);
    attacks.extend([400, 401, 404, 429, 500].map(|code| attack("a refusal", move |_| status(code))));
    attacks
}

#[tokio::test]
async fn whatever_a_model_answers_the_caller_has_the_error_that_they_would_have_without_it() {
    let without = world().await;
    governed(&without).await;
    let asked = "slct name from customer";
    let expected = without.analyst(asked).await.unwrap_err();
    let (entry, finished) = without.last();
    let clock = clock();
    let server = ModelServer::answering(|_| status(500)).await;
    let world = auto(Arc::new(clock.clone()), &server).await;
    governed(&world).await;
    let attacks = attacks();
    let count = attacks.len();
    for (attack, answers) in attacks {
        server.answers(answers);
        clock.advance(Duration::minutes(2)); // past any pause
        let error = world.analyst(asked).await.expect_err(attack);
        assert_eq!((error.code(), error.to_string()), (expected.code(), expected.to_string()), "{attack}");
        let (own, end) = world.last();
        assert_eq!((&own.sql, &own.tables_accessed), (&entry.sql, &entry.tables_accessed), "{attack}");
        assert_eq!((end.error_code, end.outcome), (finished.error_code.clone(), finished.outcome), "{attack}");
        assert_eq!((end.rows_returned, end.micro_credits), (0, 0), "{attack}");
    }
    assert_eq!(server.asked().len(), count, "once each");
    assert_eq!(world.count("select count(*) from raw.main.customer").await, 3);
    assert_eq!(world.run("select * from made").await.unwrap_err().code(), Code::TableNotFound);
    world.stop().await;
    without.stop().await;
}

#[tokio::test]
async fn an_endpoint_that_fails_is_left_alone_for_a_while() {
    let clock = clock();
    let server = ModelServer::answering(|_| status(503)).await;
    let world = auto(Arc::new(clock.clone()), &server).await;
    let failing = "slct 1 from customer";
    for (after, asked) in [(0, 1), (0, 1), (1, 2), (1, 2), (1, 3)] {
        clock.advance(Duration::seconds(after));
        assert_eq!(world.run(failing).await.unwrap_err().code(), Code::BadSql);
        assert_eq!(server.asked().len(), asked, "{after} s later");
    }
    server.answers(|_| writes("select 1 as one"));
    assert!(world.run(failing).await.is_err(), "still left alone");
    clock.advance(Duration::seconds(4));
    assert_eq!(world.run(failing).await.unwrap().json, "[1]");
    world.stop().await;
}

#[tokio::test]
async fn a_model_is_asked_only_where_the_environment_and_the_request_permit_it() {
    let server = ModelServer::answering(|_| writes("select 1 as one")).await;
    let world = world_with(Arc::new(clock()), &server.healing()).await;
    let failing = "slct 1 from customer";
    let asking = |heal| {
        let ask = world.ask(owner_id(), failing);
        dataplane::Ask { bounds: Bounds { heal, ..ask.bounds }, ..ask }
    };
    for (environment, request, is_asked) in [
        (Heal::Safe, None, false),
        (Heal::Safe, Some(Heal::Auto), false),
        (Heal::Off, Some(Heal::Auto), false),
        (Heal::Auto, Some(Heal::Off), false),
        (Heal::Auto, Some(Heal::Safe), false),
        (Heal::Auto, None, true),
    ] {
        world.change(|rules| rules.environment.settings.heal = environment);
        assert_eq!(world.whole(asking(request)).await.is_ok(), is_asked, "{environment} {request:?}");
        assert_eq!(server.asked().len(), usize::from(is_asked), "{environment} {request:?}");
    }
    world.stop().await;
}

#[tokio::test]
async fn what_was_described_is_what_runs_and_the_model_is_asked_once() {
    let server = ModelServer::answering(|_| writes("select name from customer where id = 1")).await;
    let world = auto(Arc::new(clock()), &server).await;
    let ask = || world.ask(owner_id(), "select fullname from customer where id = 1");
    let described = world.pipeline.describe(&ask()).await.unwrap();
    assert_eq!(described.columns[0].name, "name");
    server.answers(|_| writes("select 1 as another"));
    assert_eq!(world.whole(ask()).await.unwrap().json, r#"["Ada"]"#);
    assert_eq!(server.asked().len(), 1);
    let other = world.ask(analyst_id(), "select fullname from customer where id = 1");
    assert_eq!(world.whole(other).await.unwrap().json, "[1]", "another caller's is their own");
    world.stop().await;
}
