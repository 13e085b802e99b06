//! Catching up: vectors for memories that have none yet, or one of another embedder.
//!
//! Batch by batch: read, embedded while nobody waits, then written to table and index in one go. It is done between
//! queries by the data plane (`plane/embedding`), and asks nobody's leave: a vector tells no more than its text.

use std::time::{Duration, Instant};

use contract::policy::abac::Operation;
use contract::{QueryId, Timestamp};
use engine::Value;
use serde::Deserialize;

use super::embedder::EmbeddingOutcome;
use super::store::LIVE;
use super::{Memories, TABLE};
use crate::storage::system_tables::{self, Author, BoundStatement, ChangeRecord, ReadTarget, at, records, text};
use crate::{Error, Pipeline};

const BATCH: usize = 64;
/// For one batch, the model's answer and the write.
const WITHIN: Duration = Duration::from_secs(30);

/// How far it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// There is nothing left to do.
    Done,
    /// There may be more.
    Some,
    /// The model does not answer, or the engine does not run; what is left waits.
    Waiting,
}

#[derive(Debug, Deserialize)]
struct UnembeddedMemory {
    memory_id: String,
    content: String,
}

impl Memories {
    /// Batch after batch, while each brings it on.
    pub async fn catch_up(&self, pipeline: &Pipeline) -> Result<Progress, Error> {
        loop {
            let Some(engine) = pipeline.engine.borrow().clone() else { return Ok(Progress::Waiting) };
            let (now, place) =
                (pipeline.clock.now(), ReadTarget { engine: &engine, deadline: Instant::now() + WITHIN });
            let query_id = QueryId::fresh(now, &pipeline.entropy);
            let progress = Box::pin(self.reembed(place, &query_id, now)).await?;
            if progress != Progress::Some {
                return Ok(progress);
            }
        }
    }

    async fn reembed(&self, place: ReadTarget<'_>, query_id: &QueryId, now: Timestamp) -> Result<Progress, Error> {
        let left = self.left_over(place, now).await?;
        if left.is_empty() {
            return Ok(Progress::Done);
        }
        let texts: Vec<_> = left.iter().map(|left| left.content.as_str()).collect();
        let Ok(embedded) = self.embedder.batch(&texts, place.deadline).await else { return Ok(Progress::Waiting) };
        let made: Vec<_> = left.into_iter().map(|left| left.memory_id).zip(embedded).collect();
        let steps = made.iter().map(|(memory_id, embedded)| self.written(memory_id, embedded)).collect();
        let change = ChangeRecord { table: TABLE, operation: Operation::Update, at: now };
        let mut held = self.held.write().await;
        if let Err(error) = system_tables::write(Author { place, query_id }, change, steps).await {
            *held = None; // whether it was committed is not known
            return Err(error);
        }
        if let Some(index) = held.as_mut() {
            for (memory_id, embedded) in made {
                index.embed(&memory_id, embedded);
            }
        }
        Ok(Progress::Some)
    }

    async fn left_over(&self, place: ReadTarget<'_>, now: Timestamp) -> Result<Vec<UnembeddedMemory>, Error> {
        let sql = format!(
            "select to_json({{memory_id: memory_id, content: content}})::varchar from raw._svc_memory.memories \
             where {LIVE} and embedder_id <> $2 order by valid_from, memory_id limit {BATCH}"
        );
        records(place, (sql, vec![at(now), text(self.embedder.id())])).await
    }

    fn written(&self, memory_id: &str, embedded: &EmbeddingOutcome) -> BoundStatement {
        let (bytes, by) = self.embedder.kept(embedded);
        let sql = "update raw._svc_memory.memories set embedding = $1, embedder_id = $2 where memory_id = $3";
        (sql.to_owned(), vec![Value::Blob(bytes), text(&by), text(memory_id)])
    }
}
