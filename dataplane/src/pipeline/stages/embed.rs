//! Stage 7. "Vector embed."
//!
//! A call that compares by meaning becomes one of the function that the engine's process has of us
//! (`memory::comparing`): there each text is made a vector once, by the embedder of memories. It stands
//! over governed tables already, so what is compared is what the caller sees. The values of a PIVOT that
//! the statement does not name are written out then.

mod pivot;

use super::row_filter::Filtered;
use super::{Gates, Mode};
use crate::pipeline::Result;

/// A governed statement in which no call still waits to compare by meaning, nor a PIVOT for its values if it is to run.
#[derive(Debug)]
pub(super) struct Embedded {
    pub filtered: Filtered,
    /// That a value stands for those that a PIVOT reads when the statement runs.
    pub assumed: Option<String>,
}

pub(super) async fn vectors(gates: &Gates<'_>, filtered: Filtered, mode: &Mode) -> Result<Embedded> {
    let filtered = filtered.embedded()?;
    match mode {
        Mode::Run => {
            let filtered = Box::pin(pivot::values(gates, filtered)).await?;
            Ok(Embedded { filtered, assumed: None })
        }
        Mode::Recheck | Mode::Explain(_) => pivot::assumed(filtered),
        Mode::Describe => Ok(Embedded { filtered, assumed: None }),
    }
}
