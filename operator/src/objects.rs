//! The objects of an environment as data: their names, children, quantities, and what was observed.

pub mod agreed;
pub(crate) mod agreement;
pub mod child;
pub mod contest;
pub mod dns;
pub mod hold;
mod json;
pub mod names;
pub mod namespaced_name;
pub mod observed;
pub mod plan;
pub mod pods;
pub(crate) mod quantity;
pub mod rollout;
pub(crate) mod secret_metadata;
pub mod source;
pub mod storage_reach;
