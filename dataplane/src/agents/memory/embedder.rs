//! Who makes the vectors of memories: the built-in embedder, by similar words, or a model behind an endpoint, by meaning.
//!
//! By default nothing leaves and nothing waits. A model may be away: then a memory is stored without a vector and
//! found by its words, and a search is by words alone, until `reembedding` has caught up. A vector is kept with the
//! name of who made it, and compared with those of the same embedder alone.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::embedding;
use super::score::{self, Calibration};
use crate::model::vector::Vector;
use crate::model::{Embeddings, ModelFailure, WITHIN};

/// Kept with a memory that has no vector yet.
const NOBODY: &str = "none";

#[derive(Debug, Clone, Default)]
pub enum Embedder {
    /// `hash-v2`, from nothing but the text: it finds by similar words.
    #[default]
    BuiltIn,
    Model(Embeddings),
}

/// The provenance of a memory's vector, kept without the vector.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The id of an embedder.
    pub by: String,
    pub is_there: bool,
}

/// The outcome of making the vector of a memory.
#[derive(Debug, Clone, PartialEq)]
pub enum EmbeddingOutcome {
    Ready(Vector),
    /// It will have one.
    Pending,
    /// The model takes no such text.
    Failed,
}

impl EmbeddingOutcome {
    /// "pending/ready/failed"
    pub const fn status(&self) -> &'static str {
        match self {
            Self::Ready(_) => "ready",
            Self::Pending => "pending",
            Self::Failed => "failed",
        }
    }

    pub const fn vector(&self) -> Option<&Vector> {
        match self {
            Self::Ready(vector) => Some(vector),
            Self::Pending | Self::Failed => None,
        }
    }
}

impl Embedder {
    pub fn of(model: Option<Embeddings>) -> Self {
        model.map_or(Self::BuiltIn, Self::Model)
    }

    /// Kept with every vector.
    pub fn id(&self) -> &str {
        match self {
            Self::BuiltIn => embedding::ID,
            Self::Model(model) => model.id(),
        }
    }

    /// May a memory be stored without a vector?
    pub const fn may_be_away(&self) -> bool {
        matches!(self, Self::Model(_))
    }

    pub const fn calibration(&self) -> &'static Calibration {
        match self {
            Self::BuiltIn => &score::BUILT_IN,
            Self::Model(_) => &score::MINI_LM,
        }
    }

    /// The vector of one text; without one, why there is none now.
    pub async fn embed(&self, text: &str, deadline: Instant) -> EmbeddingOutcome {
        match self.all(&[text], deadline).await {
            Ok(mut embedded) => embedded.pop().unwrap_or(EmbeddingOutcome::Pending),
            Err(failure) if failure.is_about_the_content() => EmbeddingOutcome::Failed,
            Err(_) => EmbeddingOutcome::Pending,
        }
    }

    /// The vectors of a batch. A text that the model does not take keeps none of the others from theirs.
    pub async fn batch(&self, texts: &[&str], deadline: Instant) -> Result<Vec<EmbeddingOutcome>, ModelFailure> {
        match self.all(texts, deadline).await {
            Err(failure) if failure.is_about_the_content() => {}
            other => return other,
        }
        let mut embedded = Vec::with_capacity(texts.len());
        for text in texts {
            embedded.push(match self.all(&[text], deadline).await {
                Ok(mut one) => one.pop().unwrap_or(EmbeddingOutcome::Pending),
                Err(failure) if failure.is_about_the_content() => EmbeddingOutcome::Failed,
                Err(failure) => return Err(failure),
            });
        }
        Ok(embedded)
    }

    async fn all(&self, texts: &[&str], deadline: Instant) -> Result<Vec<EmbeddingOutcome>, ModelFailure> {
        match self {
            Self::BuiltIn => Ok(texts.iter().map(|text| EmbeddingOutcome::Ready(embedding::embed(text))).collect()),
            Self::Model(model) => {
                let within = deadline.saturating_duration_since(Instant::now()).min(WITHIN);
                Ok(Box::pin(model.of(texts, within)).await?.into_iter().map(EmbeddingOutcome::Ready).collect())
            }
        }
    }

    /// What is kept of it: bytes, and whose they are.
    pub fn kept(&self, embedded: &EmbeddingOutcome) -> (Vec<u8>, String) {
        let bytes = embedded.vector().map_or_else(Vec::new, |vector| embedding::to_bytes(vector));
        let by = if *embedded == EmbeddingOutcome::Pending { NOBODY } else { self.id() };
        (bytes, by.to_owned())
    }

    /// The same as [`EmbeddingOutcome::status`], of what was kept.
    pub fn status(&self, kept: &Provenance) -> &'static str {
        match self {
            Self::BuiltIn => "ready",
            Self::Model(_) if kept.by != self.id() => "pending",
            Self::Model(_) if kept.is_there => "ready",
            Self::Model(_) => "failed",
        }
    }

    /// What was kept, as it counts now.
    pub fn read(&self, bytes: &[u8], by: &str, text: &str) -> EmbeddingOutcome {
        let own = if by == self.id() { embedding::from_bytes(bytes) } else { None };
        match (own, self) {
            (Some(vector), _) => EmbeddingOutcome::Ready(vector),
            // made again from the text: that costs nothing
            (None, Self::BuiltIn) => EmbeddingOutcome::Ready(embedding::embed(text)),
            (None, Self::Model(_)) if by == self.id() => EmbeddingOutcome::Failed,
            (None, Self::Model(_)) => EmbeddingOutcome::Pending,
        }
    }
}
