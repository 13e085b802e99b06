//! Comparing by meaning in SQL: what matches, what NULL is, what is governed, and how much is compared.

use contract::policy::MaskFunction;
use dataplane::testing::{filtering, masking, owner_id};
use serde_json::{Value, json};

use crate::world::{Got, World, world};

async fn noted() -> World {
    let world = world().await;
    for sql in [
        "create table notes (id integer, note varchar, v float[256])",
        "insert into notes values (1, 'invoices are sent by mail', null), (2, 'the cluster was upgraded', null), (3, null, null)",
        "create table topics (topic varchar)",
        "insert into topics values ('invoices'), ('upgraded cluster'), (null)",
    ] {
        world.run(sql).await.unwrap();
    }
    world
}

fn rows(got: &Got) -> Value {
    serde_json::from_str(&format!("[{}]", got.json)).unwrap_or_else(|error| panic!("{error}: {}", got.json))
}

#[tokio::test]
async fn rows_are_found_by_meaning_and_null_is_null() {
    let world = noted().await;
    let cases = [
        ("select id from notes where semantic_match(note, 'invoices sent')", json!([[1]])),
        ("select id from notes where vector_match(note, 'zebra')", json!([])),
        ("select id from notes where semantic_match(note, 'zebra', 0) order by id", json!([[1], [2]])),
        ("select id from notes order by semantic_rank(note, 'upgraded cluster') desc nulls last limit 1", json!([[2]])),
        ("select semantic_rank(note, 'upgraded cluster') from notes where id <> 1 order by id", json!([[1.0], [null]])),
        ("select semantic_match(note, null), semantic_rank(null, 'x') from notes where id = 1", json!([[null, null]])),
        (
            "select semantic_rank('we write it in Go', 'Go'), semantic_rank('我每天早上喝咖啡', '咖啡'), \
             semantic_match('ＭＡＲＣＨ report', 'march') from notes where id = 1",
            json!([[1.0, 1.0, true]]),
        ),
        (
            "select n.id, t.topic from topics t join_vector notes n on semantic_match(n.note, t.topic) order by 1",
            json!([[1, "invoices"], [2, "upgraded cluster"]]),
        ),
        ("update notes set note = 'found' where semantic_match(note, 'invoices') returning id", json!([[1]])),
    ];
    for (sql, wanted) in cases {
        assert_eq!(rows(&world.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"))), wanted, "{sql}");
    }
    world.run("create view found as select id from notes where semantic_match(note, 'upgraded')").await.unwrap();
    assert_eq!(rows(&world.run("select * from found").await.unwrap()), json!([[2]]));
    assert!(world.last_stages().contains("vector_embed"), "{}", world.last_stages());
    world.stop().await;
}

#[tokio::test]
async fn a_vector_has_the_embedders_length() {
    let world = noted().await;
    world.run("update notes set v = (select list(0.5) from range(256)) where id = 1").await.unwrap();
    let got = rows(&world.run("select semantic_rank(v, 'invoices') from notes order by id").await.unwrap());
    assert!(got[0][0].as_f64().is_some_and(|rank| (0.0..=1.0).contains(&rank)), "{got}");
    assert_eq!((&got[1][0], &got[2][0]), (&Value::Null, &Value::Null));
    for sql in ["select semantic_rank([1.5, 2.5], 'late')", "select semantic_rank(v[1:2], 'late') from notes"] {
        let refused = world.run(sql).await.unwrap_err();
        assert_eq!(refused.code().http(), 400, "{sql}: {refused}");
    }
    world.stop().await;
}

#[tokio::test]
async fn only_what_a_caller_sees_is_compared() {
    let world = noted().await;
    world.change(|rules| {
        rules.policies =
            vec![masking("customer", "ssn", MaskFunction::Full), filtering("customer", "region = {region}")];
    });
    let cases = [
        ("select count(*) from customer where semantic_match(ssn, '078-05-1120')", 1, 0),
        ("select count(*) from customer where semantic_match(name, 'Bob')", 1, 0),
        ("select count(*) from customer where semantic_match(name, 'Cleo')", 1, 1),
        ("select count(*) from customer a join_vector customer b on semantic_match(a.ssn, b.ssn)", 3, 0),
    ];
    for (sql, owner, analyst) in cases {
        assert_eq!(rows(&world.run(sql).await.unwrap()), json!([[owner]]), "{sql}");
        assert_eq!(rows(&world.analyst(sql).await.unwrap()), json!([[analyst]]), "{sql}");
    }
    world.stop().await;
}

#[tokio::test]
async fn too_many_texts_are_refused_and_hidden_ones_do_not_count() {
    let world = noted().await;
    let many = "create table many as select range as id, 'note ' || range as note, iff(range < 9, 'EU', 'US') as region \
                from range(10001)";
    world.run(many).await.unwrap();
    world.change(|rules| rules.policies = vec![filtering("many", "region = {region}")]);
    let sql = "select count(*) from many where semantic_match(note, 'note 7', 0.95)";
    let refused = world.run(sql).await.unwrap_err();
    assert_eq!((refused.code().stable(), refused.code().http()), ("SVC_ERR_400_INVALID_PARAMS", 400));
    assert!(refused.to_string().contains("10000 different texts"), "{refused}");
    assert_eq!(rows(&world.analyst(sql).await.unwrap()), json!([[1]]), "of the nine that are seen");
    let repeated =
        "select count(*) from many where semantic_match(case when id < 9 then 'north' else 'south' end, 'north')";
    assert_eq!(rows(&world.run(repeated).await.unwrap()), json!([[9]]), "a text counts once");
    world.stop().await;
}

#[tokio::test]
async fn a_parameter_is_a_text_before_it_has_a_value() {
    let world = noted().await;
    let ask = world.ask(owner_id(), "select semantic_rank(note, $1) as fit from notes where semantic_match(note, $1)");
    let described = world.pipeline.describe(&ask).await.unwrap();
    assert_eq!((described.parameters, described.columns[0].type_name.as_str()), (vec!["VARCHAR".to_owned()], "DOUBLE"));
    let params = vec![engine::Value::Text("invoices".to_owned())];
    let got = world.whole(dataplane::Ask { params, ..ask }).await.unwrap();
    assert_eq!(rows(&got), json!([[1.0]]));
    world.stop().await;
}
