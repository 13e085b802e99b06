//! Stage 7. "Vector embed."
//!
//! A call that compares by meaning needs its text argument as a vector before the engine can run
//! it. A statement without such a call passes; one that holds it is refused, because nothing here
//! can make a vector yet, and guessing one would answer wrongly.

use super::Result;
use super::row_filter::Filtered;
use crate::Error;

/// A governed statement in which no text still waits to become a vector.
#[derive(Debug)]
pub(super) struct Embedded(pub Filtered);

pub(super) fn vectors(filtered: Filtered) -> Result<Embedded> {
    if filtered.about.holds_vector_call {
        return Err(Error::Unsupported { what: "comparing by meaning in SQL".to_owned() });
    }
    Ok(Embedded(filtered))
}
