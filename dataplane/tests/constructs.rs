//! Answers of the warehouse's constructs, on a real engine: `constructs.jsonl`, one case a line.
//!
//! The answers are the warehouse's, as it documents them. A case is right, or refused by a message
//! that names the construct; none is silently wrong.

use serde::Deserialize;
use serde_json::Value;

use crate::agents_router::as_json;
use crate::rest::query;
use crate::world::{World, world};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    sql: String,
    #[serde(default)]
    rows: Option<Value>,
    /// A word of the message that refuses it.
    #[serde(default)]
    refused: Option<String>,
}

/// Numbers by value, text that is JSON as JSON, a moment without its empty fraction.
fn plain(value: &Value) -> Value {
    const DIGITS: f64 = 1e6;
    match value {
        Value::Number(number) => {
            let rounded = (number.as_f64().unwrap() * DIGITS).round() / DIGITS;
            (rounded + 0.0).into()
        }
        Value::String(text) => {
            let bare = text.strip_suffix("+00").unwrap_or(text);
            let bare = bare.strip_suffix(" 00:00:00").unwrap_or(bare);
            match serde_json::from_str::<Value>(bare) {
                Ok(parsed) if !parsed.is_string() => plain(&parsed),
                _ => bare.into(),
            }
        }
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by_key(|(name, _)| name.as_str());
            sorted.into_iter().map(|(name, value)| (name.clone(), plain(value))).collect()
        }
        other => other.clone(),
    }
}

/// What is wrong with the answer, if anything.
async fn judged(world: &World, case: &Case) -> Option<String> {
    let answer = as_json(query(world, serde_json::json!({"sql": case.sql})).await).await;
    let message = answer["error"]["message"].as_str();
    let told = match (&case.refused, &case.rows) {
        (Some(part), _) => message.is_some_and(|message| message.to_lowercase().contains(&part.to_lowercase())),
        (None, Some(rows)) => answer.get("rows").is_some_and(|got| plain(got) == plain(rows)),
        (None, None) => message.is_none(),
    };
    let wanted = case.refused.clone().or_else(|| case.rows.as_ref().map(ToString::to_string));
    let got = answer.get("rows").unwrap_or(&answer["error"]["message"]);
    (!told).then(|| format!("{}: {}\n  wanted {}\n  got    {got}", case.name, case.sql, wanted.unwrap_or_default()))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_construct_of_the_file_is_answered_as_the_warehouse_does() {
    let world = world().await;
    let setup = include_str!("../sql/corpus/setup.sql").lines().filter(|line| !line.starts_with("--"));
    for sql in setup {
        world.run(sql.trim_end_matches(';')).await.unwrap();
    }
    let cases = include_str!("constructs.jsonl").lines().map(|line| serde_json::from_str::<Case>(line).expect(line));
    let (mut wrong, mut count) = (Vec::new(), 0);
    for case in cases {
        wrong.extend(judged(&world, &case).await);
        count += 1;
    }
    assert!(wrong.is_empty(), "{} of {count} are not right\n{}", wrong.len(), wrong.join("\n"));
    world.stop().await;
}
