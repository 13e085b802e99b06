//! How like one text is to another, wherever that is asked of other texts than memories: triggers, statements.

use std::collections::HashSet;

use super::{embedding, score, words};
use crate::model::vector::Vector;

/// A text, as it is held against others: by the built-in embedder always, which needs nobody and waits for nobody.
pub struct ComparedText {
    vector: Vector,
    /// What it asks for as a concept, each once.
    terms: HashSet<String>,
    /// What a concept finds it by.
    found_by: HashSet<String>,
}

/// How like a text is to a concept, on the scale of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Likeness {
    pub score: f64,
    /// A cosine.
    pub similarity: f64,
    /// The share of the concept's words that the text has.
    pub lexical: f64,
}

impl ComparedText {
    pub fn of(text: &str) -> Self {
        let terms = words::terms(text);
        Self {
            vector: embedding::embed_terms(&terms),
            terms: terms.into_iter().collect(),
            found_by: words::found_by(text).into_iter().collect(),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a concept has few words")]
    pub fn likeness(&self, concept: &Self) -> Likeness {
        let similarity = f64::from(embedding::likeness(&concept.vector, &self.vector));
        let had = concept.terms.iter().filter(|term| self.found_by.contains(*term)).count();
        let lexical = if concept.terms.is_empty() { 0.0 } else { had as f64 / concept.terms.len() as f64 };
        Likeness { score: score::calibrated(&score::BUILT_IN, similarity).max(lexical), similarity, lexical }
    }

    /// Of a vector of any length; of one that has none, 0.
    pub(super) fn cosine(&self, vector: &[f64]) -> f64 {
        let product: f64 = self.vector.iter().zip(vector).map(|(own, other)| f64::from(*own) * other).sum();
        let length = vector.iter().map(|value| value * value).sum::<f64>().sqrt();
        if length > 0.0 && length.is_finite() { product / length } else { 0.0 }
    }
}
