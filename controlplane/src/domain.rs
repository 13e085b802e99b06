//! The resources of the API, a folder each: types, store, handlers, jobs.

pub mod abac_policies;
pub mod accounts;
pub mod agent_capabilities;
pub mod agents;
pub mod api_keys;
pub mod audit;
pub mod authentication;
pub mod billing;
pub mod environments;
pub mod jit_access;
pub mod operations;
pub mod policies;
mod promotion;
pub mod query;
pub mod runtime;
pub mod shadow_mode;
pub mod storage_integrations;
pub mod tenancy;
pub mod webhooks;
