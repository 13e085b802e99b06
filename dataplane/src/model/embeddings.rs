//! `POST /embeddings`: vectors of texts.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::ModelFailure;
use super::endpoint::{Endpoint, Kind};
use super::vector::{DIMENSIONS, Vector};

const EMBEDDING: Kind = Kind {
    purpose: "embedding",
    path: "embeddings",
    sent_bytes_max: 4 * 1024 * 1024,
    answer_bytes_max: 4 * 1024 * 1024,
};

/// What is sent of one text; the rest of it is found by its words.
const TEXT_BYTES_MAX: usize = 8 * 1024;

/// A model that makes vectors.
#[derive(Debug, Clone)]
pub struct Embeddings {
    endpoint: Arc<Endpoint>,
    model: String,
    id: Arc<str>,
}

#[derive(Deserialize)]
struct EmbeddingsResponse {
    data: Vec<Embedding>,
}

#[derive(Deserialize)]
struct Embedding {
    index: usize,
    embedding: Vec<f32>,
}

impl Embeddings {
    pub(super) fn new(endpoint: Arc<Endpoint>, model: String) -> Self {
        let id = format!("model:{model}").into();
        Self { endpoint, model, id }
    }

    /// Stored with every vector of this model.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// A vector of length one for each text, in their order.
    pub async fn of(&self, texts: &[&str], within: Duration) -> Result<Vec<Vector>, ModelFailure> {
        let sent: Vec<&str> = texts.iter().map(|text| beginning(text)).collect();
        let body = json!({"model": self.model, "input": sent, "dimensions": DIMENSIONS, "encoding_format": "float"});
        self.endpoint.ask(&EMBEDDING, &body, within, |bytes| read(bytes, texts.len())).await
    }
}

fn beginning(text: &str) -> &str {
    text.get(..text.floor_char_boundary(TEXT_BYTES_MAX)).unwrap_or_default()
}

/// As many as were asked for, each of the right length and pointing somewhere; else nothing of it counts.
fn read(bytes: &[u8], wanted: usize) -> Option<Vec<Vector>> {
    let mut answer: EmbeddingsResponse = serde_json::from_slice(bytes).ok()?;
    answer.data.sort_by_key(|one| one.index);
    let in_order = answer.data.iter().map(|one| one.index).eq(0..wanted);
    if !in_order {
        return None;
    }
    answer.data.into_iter().map(|one| normal(one.embedding)).collect()
}

fn normal(vector: Vec<f32>) -> Option<Vector> {
    let mut vector: Vector = vector.into_boxed_slice().try_into().ok()?;
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if !length.is_finite() || length <= 0.0 {
        return None;
    }
    vector.iter_mut().for_each(|value| *value /= length);
    Some(vector)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn answered(data: &Value, wanted: usize) -> Option<usize> {
        read(json!({"object": "list", "data": data}).to_string().as_bytes(), wanted).map(|vectors| vectors.len())
    }

    fn one(index: usize, length: usize, value: f64) -> Value {
        json!({"object": "embedding", "index": index, "embedding": vec![value; length]})
    }

    #[test]
    fn only_whole_vectors_of_the_right_length_count() {
        assert_eq!(answered(&json!([one(1, 256, 0.5), one(0, 256, -2.0)]), 2), Some(2));
        for data in [
            json!([]),
            json!([one(0, 256, 0.5)]),
            json!([one(0, 256, 0.5), one(0, 256, 0.5)]),
            json!([one(0, 256, 0.5), one(2, 256, 0.5)]),
            json!([one(0, 256, 0.5), one(1, 255, 0.5)]),
            json!([one(0, 256, 0.5), one(1, 1_536, 0.5)]),
            json!([one(0, 256, 0.5), one(1, 256, 0.0)]),
            json!([one(0, 256, 0.5), one(1, 256, 1e300)]),
            json!([one(0, 256, 0.5), {"index": 1, "embedding": "AAAA"}]),
            json!("nothing"),
        ] {
            assert_eq!(answered(&data, 2), None, "{data}");
        }
        assert_eq!(read(b"<html>", 1), None);
    }

    #[test]
    fn a_vector_has_length_one_and_a_long_text_is_cut_between_characters() {
        let vectors = read(json!({"data": [one(0, 256, 3.0)]}).to_string().as_bytes(), 1).unwrap();
        let length: f32 = vectors[0].iter().map(|value| value * value).sum();
        assert!((length - 1.0).abs() < 1e-5, "{length}");
        assert_eq!(beginning(&"é".repeat(TEXT_BYTES_MAX)).len(), TEXT_BYTES_MAX);
        assert_eq!(beginning(&format!("a{}", "é".repeat(TEXT_BYTES_MAX))).len(), TEXT_BYTES_MAX - 1);
    }
}
