//! Users: what other rooms must know of them.

mod governed;

pub use governed::{attribute_names, governed, member};
