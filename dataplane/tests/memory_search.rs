//! Results of a search of memories: short words, scripts without blanks, letters of another form, rows of before.

use dataplane::Ending;
use dataplane::agents::memory::{Memories, Progress};
use dataplane::protocols::agents::routes;
use dataplane::testing::demo_key;
use serde_json::{Value, json};

use crate::agents_router::{router, served, tool};
use crate::memory::{done, found};
use crate::world::{World, world};

/// A text, and what is asked for it.
const ASKED: [(&str, &[&str]); 10] = [
    ("the price of Au rose on monday", &["Au", "Ａｕ", "AU"]),
    ("the model was fitted in R last night", &["R", "is it R?"]),
    ("the gateway is written in Go", &["Go", "go"]),
    ("the engine is written in C++", &["C++", "ｃ＋＋"]),
    ("the budget of IT was halved", &["IT", "IT halved"]),
    ("our ﬁscal ye\u{ad}ar ends in ＭＡＲＣＨ", &["fiscal", "march", "year", "ﬁscal"]),
    ("Straße gesperrt am Cafe\u{301}", &["STRASSE", "café", "cafe\u{301}"]),
    ("我每天早上喝咖啡", &["咖啡", "早上", "喝", "我喜欢咖啡"]),
    ("ｺｰﾄﾞは東京で書かれた", &["コード", "東京", "東京で", "書"]),
    ("ฉันดื่มชาทุกเช้า", &["ชา", "ดื่มชา", "เช้า"]),
];

/// Straight into the table, as a version of before has left them: with vectors of its own.
async fn remember(world: &World, texts: impl Iterator<Item = String>) {
    let row = |(place, text): (usize, String)| {
        format!(
            "('m{place}', 'a', 'default', 'fact', '{text}', '{{}}', 0.5, repeat('\\x00'::blob, 1024), 'hash-v1', 'd{place}', 1, now())"
        )
    };
    let rows: Vec<_> = texts.enumerate().map(row).collect();
    let sql = format!(
        "insert into raw._svc_memory.memories (memory_id, agent_id, namespace, memory_type, content, metadata, \
         importance, embedding, embedder_id, content_sha256, version, valid_from) values {}",
        rows.join(", ")
    );
    world.behind_our_back(&sql).await;
}

#[tokio::test]
async fn every_word_and_script_is_found_in_every_form() {
    let world = world().await;
    let first = router(&world);
    for (content, _) in ASKED {
        done(&first, "store_memory", json!({"content": content})).await;
    }
    for router in [first, router(&world)] {
        for (content, queries) in ASKED {
            for query in queries {
                let best = found(&router, json!({"query": query, "top_k": 1})).await;
                assert_eq!(best, [content], "{query}");
            }
        }
    }
    world.stop().await;
}

#[tokio::test]
async fn what_was_stored_before_is_found_and_gets_vectors_of_today() {
    let world = world().await;
    remember(&world, ASKED.iter().map(|(content, _)| (*content).to_owned())).await;
    let memories = Memories::default();
    let mut served = served(&world, Ending::default());
    served.memories = memories.clone();
    let router = routes(served);
    let similarity = |found: Value| found["results"][0]["similarity_score"].as_f64().unwrap();
    for caught_up in [false, true] {
        for (content, queries) in ASKED {
            let best = done(&router, "search_memory", json!({"query": queries[0], "top_k": 1})).await;
            assert_eq!(best["results"][0]["content"], content, "{best}");
            assert!(similarity(best) > 0.0, "{content}: {caught_up}");
        }
        assert_eq!(memories.catch_up(&world.pipeline).await.unwrap(), Progress::Done);
    }
    let rows = |by: &str| format!("select count(*) from raw._svc_memory.memories where embedder_id = '{by}'");
    assert_eq!((world.count(&rows("hash-v1")).await, world.count(&rows("hash-v2")).await), (0, 10));
    world.stop().await;
}

#[tokio::test]
async fn hits_stand_in_the_order_of_the_score_that_is_shown() {
    let world = world().await;
    let router = router(&world);
    for (content, importance) in [
        ("gold prices rose", 1.0),
        ("gold gold gold", 0.9),
        ("the customer wants a refund", 0.9),
        ("coffee is paid in gold by the customer", 0.0),
        ("coffee and milk for the office", 0.5),
        ("customers like coffee with milk", 0.1),
        ("the golden coffee machine is broken", 0.8),
        ("golden rules of coffees", 0.3),
        ("nothing of it", 0.5),
        ("coffees", 0.5),
        ("milk", 0.5),
        ("orders of milk are late", 0.7),
    ] {
        done(&router, "store_memory", json!({"content": content, "importance": importance})).await;
    }
    for query in ["coffee gold", "customer coffee milk", "gold", "late orders of golden coffee"] {
        let hits = done(&router, "search_memory", json!({"query": query})).await;
        let scores: Vec<_> =
            hits["results"].as_array().unwrap().iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
        assert!(scores.len() > 2 && scores.is_sorted_by(|one, other| one >= other), "{query}: {scores:?}");
    }
    let best = found(&router, json!({"query": "coffee gold", "top_k": 1})).await;
    assert_eq!(best, ["coffee is paid in gold by the customer"], "both words, before what is more important");
    world.stop().await;
}

#[tokio::test]
async fn a_list_of_any_length_is_read_to_its_end() {
    const MANY: usize = 450;
    let world = world().await;
    remember(&world, (0..MANY).map(|number| format!("note {number}"))).await; // all of one moment
    let router = router(&world);
    let (mut seen, mut cursor) = (Vec::new(), None::<String>);
    while seen.len() <= MANY {
        let mut arguments = json!({"limit": 200, "agent_id": "a"});
        arguments.as_object_mut().unwrap().extend(cursor.map(|cursor| ("cursor".to_owned(), json!(cursor))));
        let page = done(&router, "list_memories", arguments).await;
        seen.extend(page["memories"].as_array().unwrap().iter().map(|memory| memory["memory_id"].to_string()));
        cursor = page["cursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), MANY);
    let (other, _) = tool(&router, demo_key(), "list_memories", json!({"agent_id": "b"})).await;
    assert_eq!(other["memories"], json!([]));
    world.stop().await;
}
