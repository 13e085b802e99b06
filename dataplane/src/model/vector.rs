//! The vector of a text, as every embedder makes it.

/// Numbers in a vector.
pub(crate) const DIMENSIONS: usize = 256;

/// A vector of length one; zeros for a text without a word in it.
pub(crate) type Vector = Box<[f32; DIMENSIONS]>;
