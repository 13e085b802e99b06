//! Authorization: what a caller may do and see by the policies of the moment.

pub(super) mod agent;
pub(super) mod asker;
pub(super) mod authorization_state;
pub(super) mod capability;
pub(super) mod external_table;
pub(super) mod policy_request;
pub(super) mod provenance;
pub(super) mod stage_locations;
pub(super) mod time_rules;
pub(super) mod transaction_recheck;
pub(super) mod visible_catalog;
