//! Requests to addresses that customers give: which are allowed, and the client that holds to it.

pub(crate) mod address;
pub mod client;
pub mod storage_endpoint;
