//! Vectors of memories by a model: what they find, what happens while it is away, and who made which.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::Response;
use axum::response::IntoResponse;
use chrono::Duration;
use dataplane::Ending;
use dataplane::agents::memory::{Embedder, Memories, Progress};
use dataplane::protocols::agents::routes;
use serde_json::{Value, json};

use crate::agents_router::{router, served};
use crate::memory::done;
use crate::model_server::{ModelServer, clock, status};
use crate::world::{World, world, world_with};

/// Words that mean the same point the same way.
const MEANINGS: [&[&str]; 3] = [&["car", "automobile"], &["invoice", "bill"], &["storm", "weather"]];

fn vector(text: &str, length: usize) -> Vec<f64> {
    let mut vector = vec![0.0; length];
    for (place, words) in MEANINGS.iter().enumerate() {
        if words.iter().any(|word| text.contains(word)) {
            vector[place] = 5.0;
        }
    }
    vector[MEANINGS.len()] = 1.0; // none points nowhere
    vector
}

fn vectors(body: &Value, length: usize) -> Response<Body> {
    let texts = body["input"].as_array().unwrap().iter().enumerate();
    let one =
        |(index, text): (usize, &Value)| json!({"index": index, "embedding": vector(text.as_str().unwrap(), length)});
    axum::Json(json!({"data": texts.map(one).collect::<Vec<_>>()})).into_response()
}

async fn model() -> ModelServer {
    ModelServer::answering(|body| vectors(body, 256)).await
}

/// A router that remembers by these.
fn remembering(world: &World, memories: &Memories) -> Router {
    let mut context = served(world, Ending::default());
    context.memories = memories.clone();
    routes(context)
}

async fn store(router: &Router, content: &str) -> Value {
    done(router, "store_memory", json!({"content": content})).await
}

async fn best(router: &Router, query: &str) -> (Value, f64) {
    let found = done(router, "search_memory", json!({"query": query, "top_k": 1})).await;
    (found["results"][0]["content"].clone(), found["results"][0]["similarity_score"].as_f64().unwrap_or(-1.0))
}

/// Ready, pending and failed.
async fn counts(router: &Router) -> [Value; 3] {
    let stats = done(router, "embedding_stats", json!({})).await;
    ["ready", "pending", "failed"].map(|name| stats[name].clone())
}

#[tokio::test]
async fn what_shares_no_word_is_found_by_what_it_means() {
    let server = model().await;
    let world = world_with(Arc::new(clock()), &server.embedding()).await;
    let router = router(&world);
    for content in ["the automobile is red", "an invoice goes out by mail"] {
        assert_eq!(store(&router, content).await["embedding_status"], "ready");
    }
    let (found, similarity) = best(&router, "whose car is it").await;
    assert_eq!(found, "the automobile is red");
    assert!(similarity > 0.99, "{similarity}");
    let similar = store(&router, "my automobile was red").await;
    assert!(similar["similar_memory_id"].is_string(), "{similar}");
    let stats = done(&router, "embedding_stats", json!({})).await;
    assert_eq!((&stats["embedder"], &stats["dimensions"]), (&json!("model:near"), &json!(256)));
    assert_eq!(stats["calibration"][1], json!({"cosine": 0.33, "score": 0.5}));
    assert_eq!(done(&router, "embedding_stats", json!({"namespace": "elsewhere"})).await["ready"], 0);
    let asked = &server.asked()[0];
    assert_eq!((asked.path.as_str(), asked.authorization.as_str()), ("/v1/embeddings", "Bearer hush-key"));
    assert_eq!((&asked.body["model"], &asked.body["dimensions"]), (&json!("near"), &json!(256)));
    world.stop().await;
}

#[tokio::test]
async fn what_is_stored_while_no_model_answers_is_found_by_its_words_and_by_meaning_later() {
    let (clock, server) = (clock(), model().await);
    let world = world_with(Arc::new(clock.clone()), &server.embedding()).await;
    let memories = world.memories.clone();
    let router = remembering(&world, &memories);
    server.answers(|_| status(503));
    for content in ["the automobile is red", "an invoice goes out"] {
        assert_eq!(store(&router, content).await["embedding_status"], "pending");
    }
    assert_eq!(best(&router, "a red one").await, (json!("the automobile is red"), 0.0));
    assert_eq!(done(&router, "search_memory", json!({"query": "car"})).await["results"], json!([]));
    assert_eq!(counts(&router).await, [json!(0), json!(2), json!(0)]);
    assert_eq!(memories.catch_up(&world.pipeline).await.unwrap(), Progress::Waiting);
    server.answers(|body| vectors(body, 256));
    clock.advance(Duration::minutes(2));
    assert_eq!(memories.catch_up(&world.pipeline).await.unwrap(), Progress::Done);
    for router in [router, remembering(&world, &Memories::embedded_by(memories.embedder().clone()))] {
        assert_eq!(counts(&router).await, [json!(2), json!(0), json!(0)]);
        assert_eq!(best(&router, "car").await.0, "the automobile is red");
    }
    world.stop().await;
}

#[tokio::test]
async fn a_text_that_the_model_refuses_keeps_no_other_from_its_vector() {
    let (clock, server) = (clock(), model().await);
    let world = world_with(Arc::new(clock.clone()), &server.embedding()).await;
    let memories = world.memories.clone();
    let router = remembering(&world, &memories);
    server.answers(|_| status(503));
    for content in ["the automobile is red", "unspeakable", "an invoice goes out"] {
        store(&router, content).await;
    }
    server.answers(|body| {
        let refused = body["input"].to_string().contains("unspeakable");
        if refused { status(400) } else { vectors(body, 256) }
    });
    clock.advance(Duration::minutes(2));
    assert_eq!(memories.catch_up(&world.pipeline).await.unwrap(), Progress::Done);
    assert_eq!(counts(&router).await, [json!(2), json!(0), json!(1)]);
    let asked = server.asked().len();
    assert_eq!(memories.catch_up(&world.pipeline).await.unwrap(), Progress::Done);
    assert_eq!(server.asked().len(), asked, "it is not asked again");
    assert_eq!(store(&router, "unspeakable as well").await["embedding_status"], "failed");
    assert_eq!(best(&router, "unspeakable well").await.0, "unspeakable as well");
    let listed = done(&router, "list_memories", json!({})).await;
    for memory in listed["memories"].as_array().unwrap() {
        let refused = memory["content"].as_str().unwrap().contains("unspeakable");
        assert_eq!(memory["embedding_status"], if refused { "failed" } else { "ready" }, "{memory}");
    }
    world.stop().await;
}

#[tokio::test]
async fn an_answer_that_holds_no_such_vectors_counts_for_nothing() {
    let server = model().await;
    let world = world_with(Arc::new(clock()), &server.embedding()).await;
    let memories = world.memories.clone();
    let router = remembering(&world, &memories);
    for (at, length) in [255, 1_536, 4].into_iter().enumerate() {
        server.answers(move |body| vectors(body, length));
        assert_eq!(store(&router, &format!("automobile {at}")).await["embedding_status"], "pending", "{length}");
        assert_eq!(memories.catch_up(&world.pipeline).await.unwrap(), Progress::Waiting);
    }
    assert_eq!(counts(&router).await, [json!(0), json!(3), json!(0)]);
    world.stop().await;
}

#[tokio::test]
async fn another_embedder_makes_its_own_vectors_and_compares_no_others() {
    let server = model().await;
    let world = world_with(Arc::new(clock()), &server.embedding()).await;
    let (model, built_in) = (world.memories.clone(), Memories::default());
    let rows = |by: &str| format!("select count(*) from raw._svc_memory.memories where embedder_id = '{by}'");
    store(&remembering(&world, &built_in), "the automobile is red").await;
    assert_eq!(built_in.catch_up(&world.pipeline).await.unwrap(), Progress::Done);
    let router = remembering(&world, &model);
    assert_eq!(counts(&router).await, [json!(0), json!(1), json!(0)]);
    assert_eq!(best(&router, "the automobile").await, (json!("the automobile is red"), 0.0));
    assert_eq!(model.catch_up(&world.pipeline).await.unwrap(), Progress::Done);
    assert!(best(&router, "car").await.1 > 0.99);
    assert_eq!((world.count(&rows("model:near")).await, world.count(&rows("hash-v2")).await), (1, 0));
    let again = Memories::embedded_by(Embedder::BuiltIn);
    let router = remembering(&world, &again);
    assert!(best(&router, "the automobile is red").await.1 > 0.99);
    assert_eq!(again.catch_up(&world.pipeline).await.unwrap(), Progress::Done);
    assert_eq!((world.count(&rows("model:near")).await, world.count(&rows("hash-v2")).await), (0, 1));
    world.stop().await;
}

#[tokio::test]
async fn two_tenants_of_one_model_never_meet() {
    let server = model().await;
    let (one, other) = (world_with(Arc::new(clock()), &server.embedding()).await, world().await);
    let third = world_with(Arc::new(clock()), &server.embedding()).await;
    store(&router(&one), "the automobile is red").await;
    for world in [&other, &third] {
        let router = router(world);
        assert_eq!(done(&router, "search_memory", json!({"query": "red automobile car"})).await["results"], json!([]));
        assert_eq!(counts(&router).await, [json!(0), json!(0), json!(0)]);
    }
    for world in [one, other, third] {
        world.stop().await;
    }
}
