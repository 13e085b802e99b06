//! Who follows events: a credential that is looked at again before each reading.
//!
//! Whoever may not read any more is told no further event.

use std::net::IpAddr;

use axum::http::HeaderMap;
use contract::{Access, OrgId, Scope};
use platform::events::following::FollowerPlace;
use platform::http::call::Call;
use platform::{App, Error, Result};
use sqlx::Postgres;
use sqlx::pool::PoolConnection;

use super::{AuthenticatedCaller, known};

/// Who follows: looked at again before each reading. Their place is given back when they go.
pub struct Reader {
    headers: HeaderMap,
    peer: IpAddr,
    access: Access,
    scope: Scope,
    place: FollowerPlace,
}

impl Reader {
    /// Whom the guard has let in by these; refused where the organization has no place left.
    pub fn of(call: &Call, headers: HeaderMap, access: Access, scope: Scope) -> Result<Self> {
        let place = FollowerPlace::take(&call.app, call.org_id())?;
        Ok(Self { headers, peer: call.peer, access, scope, place })
    }

    pub fn app(&self) -> &App {
        self.place.app()
    }

    pub fn org_id(&self) -> &OrgId {
        self.place.org_id()
    }

    /// Who reads, and what by, if they may still read.
    pub async fn admitted(&self) -> Result<(AuthenticatedCaller, PoolConnection<Postgres>)> {
        let known = known(self.app(), &self.headers, self.peer).await?;
        known.caller.may(self.access, Some(self.scope)).map_err(Error::Lacks)?;
        if known.caller.org_id != *self.org_id() {
            return Err(Error::NotFound { kind: "organization" });
        }
        Ok((known, self.app().pool().acquire().await?))
    }
}
