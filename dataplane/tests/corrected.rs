//! Corrections by rules, the same over every protocol, and suggestions.

mod protocols;

use contract::policy::MaskFunction;
use contract::{Code, Heal};
use dataplane::testing::{analyst_id, denying, masking, owner_id};
use dataplane::{Ask, Bounds, Error};
use serde_json::{Value, json};

use crate::world::{World, world};

/// Tables whose names are like those that are asked for, and one whose letters have another case than ASCII's.
async fn alike(world: &World) {
    for sql in [
        "create table kpi (region varchar, revenue_2024 integer, cost integer)",
        "insert into kpi values ('EU', 100, 1), ('US', 200, 2)",
        "create table orders_2024 as select 1 as id",
        r#"create table "Käse" ("Größe" integer)"#,
        r#"insert into "Käse" values (7)"#,
    ] {
        world.run(sql).await.unwrap();
    }
}

fn details(error: &Error) -> Value {
    Value::Object(error.problem().details)
}

#[tokio::test]
async fn a_misspelt_keyword_is_corrected_and_the_text_passes_all_gates_again() {
    let world = world().await;
    world.change(|rules| rules.policies = vec![masking("customer", "ssn", MaskFunction::Full)]);
    let sql = "select ssn form customer where id = 1";
    let got = world.analyst(sql).await.unwrap();
    assert_eq!((got.json.as_str(), got.answer.columns_masked.as_slice()), (r#"["***"]"#, &["ssn".to_owned()][..]));
    assert_eq!(got.answer.warnings[0], "healed: form was read as FROM");
    let stages = world.last_stages();
    assert_eq!((stages.matches("policy_check").count(), stages.matches("ai_heal").count()), (1, 1), "{stages}");
    let started = world.last().0;
    let healed = Some("select ssn from customer where id = 1");
    assert_eq!((started.sql_original.as_str(), started.sql_healed.as_deref()), (sql, healed));
    assert!(started.sql.contains("FROM"), "the redacted text is that of what ran: {}", started.sql);
    world.run("select ssn from customer where id = 1").await.unwrap();
    assert_eq!(world.last().0.sql_healed, None);
    world.stop().await;
}

#[tokio::test]
async fn a_name_of_the_same_letters_is_read_as_the_only_one_there_is() {
    let world = world().await;
    alike(&world).await;
    for sql in [r#"select "Größe" from KÄSE"#, r#"select GRÖßE from "Käse""#] {
        let got = world.run(sql).await.unwrap();
        assert_eq!((got.json.as_str(), got.answer.warnings.len()), ("[7]", 1), "{sql}");
    }
    for sql in [r#"create table "äÖ" (n integer)"#, r#"create table "Äö" (n integer)"#] {
        world.run(sql).await.unwrap();
    }
    let error = world.run("select n from ÄÖ").await.unwrap_err();
    assert_eq!(error.code(), Code::TableNotFound, "there are two");
    world.stop().await;
}

#[tokio::test]
async fn another_table_column_or_function_is_never_taken_and_is_suggested() {
    let world = world().await;
    alike(&world).await;
    for (sql, code, message, suggestion) in [
        (
            "select sum(revenue_2023) as s from kpi",
            Code::UndefinedColumn,
            "column revenue_2023 does not exist; did you mean revenue_2024?",
            Some("select sum(revenue_2024) as s from kpi"),
        ),
        (
            "select count(*) from orders_2025",
            Code::TableNotFound,
            "table orders_2025 does not exist; did you mean main.orders_2024?",
            Some("select count(*) from orders_2024"),
        ),
        (
            "select uper(region) from kpi",
            Code::UnsupportedSql,
            "function uper is not supported; did you mean upper?",
            Some("select upper(region) from kpi"),
        ),
        (
            "select zzz from customer",
            Code::UndefinedColumn,
            "column zzz does not exist; there are id, name, region, ssn, balance",
            None,
        ),
        // the whole text would fail elsewhere, so none of it is suggested
        (
            "select zzz, revenue_2023 from kpi",
            Code::UndefinedColumn,
            "column zzz does not exist; there are region, revenue_2024, cost",
            None,
        ),
        ("delete from custmer", Code::TableNotFound, "table custmer does not exist; did you mean main.customer?", None),
        (
            "update customer set nmae = 'x'",
            Code::UndefinedColumn,
            "column nmae does not exist; did you mean name?",
            None,
        ),
    ] {
        let error = world.run(sql).await.expect_err(sql);
        assert_eq!((error.code(), error.to_string().as_str()), (code, message), "{sql}");
        assert_eq!(details(&error)["suggestion"].as_str(), suggestion, "{sql}");
        let (started, finished) = world.last();
        assert_eq!((started.sql_original.as_str(), finished.rows_returned, started.sql_healed), (sql, 0, None));
    }
    assert_eq!(
        details(&world.run("select zzz from customer").await.unwrap_err())["columns"].as_array().unwrap().len(),
        5
    );
    world.stop().await;
}

#[tokio::test]
async fn nothing_hidden_is_suggested_and_no_refusal_has_a_hint() {
    let world = world().await;
    alike(&world).await;
    world.run("create view seen as select id, name from customer").await.unwrap();
    world.change(|rules| rules.abac_policies = vec![denying("orders_2024", &[contract::Role::Owner])]);
    let error = world.analyst("select * from orders_2025").await.unwrap_err();
    assert!(!format!("{error} {:?}", error.problem()).contains("2024"), "{error}");
    let error = world.analyst("select * from orders_2024").await.unwrap_err();
    assert_eq!((error.code(), details(&error).get("suggestion")), (Code::TableDenied, None));
    // of a view its own columns are told, and not those of what it reads
    let error = world.analyst("select zzz from seen").await.unwrap_err();
    assert_eq!(details(&error)["columns"], json!(["id", "name"]));
    world.stop().await;
}

#[tokio::test]
async fn what_is_switched_off_is_suggested_and_a_request_may_ask_for_less() {
    let world = world().await;
    let asked = |heal| {
        let ask = world.ask(analyst_id(), "select id form customer where id = 1");
        Ask { bounds: Bounds { heal, ..ask.bounds }, ..ask }
    };
    for (environment, request, heals) in [
        (Heal::Safe, None, true),
        (Heal::Auto, None, true),
        (Heal::Safe, Some(Heal::Off), false),
        (Heal::Off, None, false),
        (Heal::Off, Some(Heal::Auto), false),
    ] {
        world.change(|rules| rules.environment.settings.heal = environment);
        match world.whole(asked(request)).await {
            Ok(got) => assert!(heals && got.json == "[1]", "{environment} {request:?}"),
            Err(error) => {
                assert!(!heals && error.code() == Code::BadSql, "{environment} {request:?}: {error}");
                assert_eq!(details(&error)["suggestion"], "select id from customer where id = 1");
            }
        }
    }
    world.stop().await;
}

#[tokio::test]
async fn what_fails_again_is_told_as_it_was_asked_and_writes_are_left_alone() {
    let world = world().await;
    world.change(|rules| rules.abac_policies = vec![denying("customer", &[contract::Role::Owner])]);
    for sql in ["select id form customer", "select 1 / 0 form nowhere"] {
        let error = world.analyst(sql).await.expect_err(sql);
        assert_eq!((error.code(), details(&error).get("suggestion")), (Code::BadSql, None), "{sql}");
        let started = world.last().0;
        assert_eq!((started.sql_healed, started.tables_accessed.len()), (None, 0), "{sql}");
    }
    for sql in ["delete from customer wher id = 1", "insert into customer selec 9", "create table x as selec 1"] {
        let error = world.run(sql).await.expect_err(sql);
        assert_eq!((error.code(), details(&error).get("suggestion")), (Code::BadSql, None), "{sql}");
    }
    assert_eq!(world.count("select count(*) from raw.main.customer").await, 3);
    world.whole(world.ask(owner_id(), "select count(*) form customer")).await.unwrap();
    world.stop().await;
}
