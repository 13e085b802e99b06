//! Organizations: what other rooms must know of them.

mod governed;

pub use governed::governed;
