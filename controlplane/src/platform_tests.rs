//! Tests of the crate `platform` that need the router, the domain or the schema.

mod conditional;
mod database;
mod deprecation;
mod events;
mod idempotency;
mod mails;
mod parameters;
mod refusals;
mod resources;
mod routes;
