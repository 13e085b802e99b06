//! A controller for each kind of object, and one for the release itself.

pub mod api_key;
pub mod environment;
pub(crate) mod organization;
pub(crate) mod release;
