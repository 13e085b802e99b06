//! The call that a handler is given: who is calling, for which organization and environment, and the means
//! to answer.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use contract::caller::Limits;
use contract::stage_files::PATH_BYTES_MAX;
use contract::{Caller, EnvId, OrgId, RequestId, Tier, Timestamp};
use sqlx::{Postgres, Transaction};

use crate::http::conditional::ExpectedVersion;
use crate::http::signature::Takes;
use crate::{App, Error, Result};

/// Longest id that a path may carry.
const ID_BYTES_MAX: usize = 200;

/// The ids in a path, decoded. Which names occur is the route's path.
#[derive(Debug, Clone, Default)]
pub struct PathIds(Arc<BTreeMap<String, String>>);

impl PathIds {
    pub fn new(ids: BTreeMap<String, String>) -> Self {
        Self(Arc::new(ids))
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// How long what stands in a path under this name may be; our ids have 36 characters.
    pub fn bytes_max(name: &str) -> usize {
        if name == "path" { PATH_BYTES_MAX } else { ID_BYTES_MAX }
    }

    pub fn org_id(&self) -> Option<OrgId> {
        self.get("org_id").map(OrgId::from)
    }

    pub fn env_id(&self) -> Option<EnvId> {
        self.get("env_id").map(EnvId::from)
    }
}

/// Where the data plane of a key's environment is, as read with the key.
#[derive(Debug, Clone)]
pub struct EnvironmentPlace {
    pub status: String,
    pub internal_address: Option<String>,
}

/// A request that the guard has let in. The organization and the environment that its path names
/// are the caller's own; the caller's role, scopes and address suffice for the route.
#[derive(Debug, Clone)]
pub struct Call {
    pub app: App,
    pub caller: Caller,
    /// By the session in a browser's cookies, as the dashboard has them.
    pub in_browser: bool,
    /// In a browser, and of a route that the dashboard asks for its own pages.
    pub by_dashboard: bool,
    /// The one agent that the caller's key is bound to.
    pub agent_id: Option<String>,
    /// Where the data plane of the caller's key is; none of a session.
    pub place: Option<EnvironmentPlace>,
    /// Tier of the caller's organization.
    pub tier: Tier,
    /// What the organization may use.
    pub limits: Limits,
    pub request_id: RequestId,
    pub peer: IpAddr,
    pub path: PathIds,
    /// The version that a change is meant for.
    pub expected: ExpectedVersion,
    /// The `Idempotency-Key` of a statement.
    pub key: Option<String>,
}

impl Call {
    pub fn now(&self) -> Timestamp {
        self.app.now()
    }

    pub async fn begin(&self) -> Result<Transaction<'static, Postgres>> {
        Ok(self.app.pool().begin().await?)
    }

    /// The caller's organization; the guard has compared the path's with it.
    pub fn org_id(&self) -> &OrgId {
        &self.caller.org_id
    }

    /// The environment in the path: one of the caller's organization.
    pub fn env_id(&self) -> Result<EnvId> {
        self.path.env_id().ok_or(Error::EnvironmentNotFound)
    }

    /// Another id in the path, such as `user_id`.
    pub fn id<T: From<String>>(&self, name: &'static str) -> Result<T> {
        self.path.get(name).map(|text| T::from(text.to_owned())).ok_or(Error::NotFound { kind: name })
    }
}

impl FromRequestParts<App> for Call {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self> {
        parts.extensions.get::<Self>().cloned().ok_or(Error::Unguarded)
    }
}

// What the guard has read from path and credential.
impl Takes for Call {}

/// A request on a public route: nobody is known.
#[derive(Debug, Clone)]
pub struct Visit {
    pub app: App,
    pub request_id: RequestId,
    pub peer: IpAddr,
    pub path: PathIds,
}

impl Visit {
    pub fn now(&self) -> Timestamp {
        self.app.now()
    }

    pub async fn begin(&self) -> Result<Transaction<'static, Postgres>> {
        Ok(self.app.pool().begin().await?)
    }
}

impl FromRequestParts<App> for Visit {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self> {
        parts.extensions.get::<Self>().cloned().ok_or(Error::Unguarded)
    }
}

impl Takes for Visit {}
