//! Requests and answers of handlers: calls, bodies, pages, conditional requests, routes.

pub mod body;
pub mod call;
pub mod conditional;
pub mod dates;
pub mod deprecation;
pub mod domain;
pub mod idempotency;
pub mod json;
pub mod link;
mod members;
pub mod page;
pub mod parameters;
pub mod peer;
pub mod rate_limit;
pub mod route;
pub mod routes;
pub mod serve;
pub mod signature;
pub mod suggestion;
pub mod text;
pub mod traced;
