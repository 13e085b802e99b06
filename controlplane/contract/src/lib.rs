//! The contract between the control plane and the data planes.
//!
//! Ids, time, error codes and bodies, who is calling and what that permits, keys, policies, the
//! governance snapshot, the reports that flow back, and the names used on the wire. Both planes
//! would otherwise hold copies of these, and copies drift.
//!
//! Not here: IO, async, SQL, HTTP, Kubernetes. This crate depends on nothing of ours.
#![forbid(unsafe_code)]

pub mod agent;
pub mod analyzer;
pub mod binding;
pub mod body;
pub mod caller;
pub mod capability;
pub mod clock;
pub mod codes;
pub mod entropy;
pub mod environment_settings;
pub mod explain;
pub mod governance;
pub mod heal;
pub mod ids;
pub mod key;
pub mod load;
pub mod metrics;
pub mod model;
pub mod network;
pub mod own_tables;
pub mod plan_bounds;
pub mod policy;
pub mod reasoning;
pub mod report;
pub mod runtime_tables;
pub mod secrets;
#[cfg(test)]
mod skew;
pub mod stage_files;
pub mod storage_integration;
pub mod strings;
pub mod wire;

pub use analyzer::SqlAnalyzer;
pub use caller::{Access, Caller, MissingPermission, Role, Scope, Scopes, Tier};
pub use clock::{Clock, SharedClock, SystemClock, TestClock, Timestamp};
pub use codes::Code;
pub use entropy::Entropy;
pub use environment_settings::{EnvironmentSettings, EnvironmentSettingsChange};
pub use governance::Governance;
pub use heal::Heal;
pub use ids::{
    DeliveryId, EnvId, EventId, ExportId, GrantId, JitRequestId, KeyId, OperationId, OrgId, PolicyId, QueryId,
    ReplayId, RequestId, SessionId, ShadowSessionId, StorageIntegrationId, UploadId, UserId, WebhookId,
};
pub use secrets::{Keyring, Redacted};
pub use storage_integration::StorageIntegration;
pub use strings::StandardStrings;
