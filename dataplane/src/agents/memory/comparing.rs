//! Comparing by meaning in SQL: what the engine's process is given of ours.
//!
//! The scores are those of a search of memories by the built-in embedder, which a statement always compares by,
//! whoever makes the vectors of memories: the engine's process reaches no network. One call of a statement makes each different text a vector
//! once, and no more of them than this: what would take more is to be narrowed first.

use std::collections::HashMap;
use std::sync::Arc;

use engine::{Compared, Comparing, Comparison};

use super::{ComparedText, score};
use crate::error::TOO_MANY_TEXTS;
use crate::model::vector::DIMENSIONS;

const _: () = assert!(sql::compile::meaning::DIMENSIONS as usize == DIMENSIONS);

const TEXTS_MAX: usize = 10_000;
/// As of a memory's content.
const TEXT_BYTES_MAX: usize = 64 * 1024;
const BYTES_MAX: usize = 16 * 1024 * 1024;

pub fn comparing() -> Comparing {
    Comparing { dimensions: sql::compile::meaning::DIMENSIONS, make: || Box::new(ComparedTexts::default()) }
}

/// The texts that one call has met.
#[derive(Default)]
struct ComparedTexts {
    said: HashMap<Box<str>, Arc<ComparedText>>,
    bytes: usize,
}

impl ComparedTexts {
    fn said(&mut self, text: &str) -> Result<Arc<ComparedText>, String> {
        if let Some(known) = self.said.get(text) {
            return Ok(Arc::clone(known));
        }
        self.bytes = self.bytes.saturating_add(text.len());
        if self.said.len() >= TEXTS_MAX || text.len() > TEXT_BYTES_MAX || self.bytes > BYTES_MAX {
            return Err(TOO_MANY_TEXTS.to_owned());
        }
        let said = Arc::new(ComparedText::of(text));
        self.said.insert(text.into(), Arc::clone(&said));
        Ok(said)
    }
}

impl Comparison for ComparedTexts {
    fn compare(&mut self, one: Compared<'_>, text: &str) -> Result<f64, String> {
        let concept = self.said(text)?;
        match one {
            Compared::Text(one) => Ok(self.said(one)?.likeness(&concept).score),
            Compared::Vector(vector) => Ok(score::calibrated(&score::BUILT_IN, concept.cosine(vector))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::memory::embedding;

    #[test]
    fn a_text_is_compared_as_a_search_would_and_a_vector_by_its_direction() {
        let (mut call, text) = (ComparedTexts::default(), "invoices are sent by mail");
        let score = call.compare(Compared::Text(text), "when are invoices sent").unwrap();
        assert!(
            (score - ComparedText::of(text).likeness(&ComparedText::of("when are invoices sent")).score).abs() < 1e-9
        );
        let vector: Vec<f64> = embedding::embed(text).iter().map(|value| f64::from(*value) * 3.0).collect();
        assert!((call.compare(Compared::Vector(&vector), text).unwrap() - 1.0).abs() < 1e-4);
        assert!(call.compare(Compared::Vector(&[0.0; 256]), text).unwrap().abs() < f64::EPSILON);
    }

    #[test]
    fn texts_are_counted_once_and_bounded() {
        let mut call = ComparedTexts::default();
        for number in 1..TEXTS_MAX {
            let text = number.to_string();
            call.compare(Compared::Text(&text), "late").unwrap();
            call.compare(Compared::Text(&text), "late").unwrap();
        }
        assert_eq!(call.compare(Compared::Text("one more"), "late"), Err(TOO_MANY_TEXTS.to_owned()));
        assert!(call.compare(Compared::Text("1"), "late").is_ok(), "it is known");
        let long = "x".repeat(TEXT_BYTES_MAX + 1);
        assert_eq!(ComparedTexts::default().compare(Compared::Text(&long), "late"), Err(TOO_MANY_TEXTS.to_owned()));
        let mut call = ComparedTexts { bytes: BYTES_MAX - 5, ..ComparedTexts::default() };
        assert_eq!(call.compare(Compared::Text("early"), "late"), Err(TOO_MANY_TEXTS.to_owned()), "in all");
    }
}
