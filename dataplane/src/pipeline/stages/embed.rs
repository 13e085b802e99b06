//! Stage 7. "Vector embed."
//!
//! A call that compares by meaning becomes one of the function that the engine's process has of us
//! (`memory::comparing`): there each text is made a vector once, by the embedder of memories. It stands
//! over governed tables already, so what is compared is what the caller sees.

use super::row_filter::Filtered;
use crate::pipeline::Result;

/// A governed statement in which no call still waits to compare by meaning.
#[derive(Debug)]
pub(in crate::pipeline) struct Embedded(pub Filtered);

pub(in crate::pipeline) fn vectors(filtered: Filtered) -> Result<Embedded> {
    let Filtered { governed, ungoverned, about, reservation, role } = filtered;
    let governed = governed.embedded()?;
    Ok(Embedded(Filtered { governed, ungoverned, about, reservation, role }))
}
