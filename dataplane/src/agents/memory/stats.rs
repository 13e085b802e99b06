//! How memories are found: who makes their vectors, what a cosine is worth, and how many have one.

use contract::Timestamp;

use super::embedder::EmbeddingOutcome;
use super::index::Entry;
use super::score::Calibration;
use super::{Memories, MemoryReach};
use crate::Error;
use crate::model::vector::DIMENSIONS;
use crate::pipeline::CallerContext;

/// The counts are of what the caller could find.
#[derive(Debug, Clone, PartialEq)]
pub struct Stats {
    pub embedder: String,
    pub dimensions: usize,
    /// Cosines, and the scores that they are worth.
    pub calibration: &'static Calibration,
    pub ready: u64,
    pub pending: u64,
    pub failed: u64,
}

impl Memories {
    /// Of one namespace, if one is named.
    pub async fn stats(
        &self,
        standing: CallerContext,
        namespace: Option<String>,
        now: Timestamp,
    ) -> Result<Stats, Error> {
        let agent = MemoryReach::of(&standing).narrowed(None)?;
        let index = self.shared(&standing, now).await?;
        let (id, calibration) = (self.embedder.id().to_owned(), self.embedder.calibration());
        let mut stats = Stats { embedder: id, dimensions: DIMENSIONS, calibration, ready: 0, pending: 0, failed: 0 };
        let is = |wanted: &Option<String>, own: &str| wanted.as_ref().is_none_or(|wanted| wanted == own);
        let counts =
            |entry: &Entry| entry.is_live(now) && is(&agent, &entry.agent_id) && is(&namespace, &entry.namespace);
        for (_, entry) in index.passing(counts) {
            match entry.embedded {
                EmbeddingOutcome::Ready(_) => stats.ready += 1,
                EmbeddingOutcome::Pending => stats.pending += 1,
                EmbeddingOutcome::Failed => stats.failed += 1,
            }
        }
        Ok(stats)
    }
}
