//! Stands beside a statement while it runs: the key may vanish, the client may leave, the process
//! may end.

use std::future::{Future, pending};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;

use contract::wire::Who;
use contract::{Caller, Governance};
use tokio_util::sync::CancellationToken;

use super::failure::ErrorResponse;
use super::login::Login;
use super::wire::{ConnectionEnd, Wire};
use crate::governance::sessions::Snapshots;
use crate::pipeline::AuthorizationState;
use crate::{DeclaredAgent, Sessions};

/// Why a statement went no further.
#[derive(Debug)]
pub enum Stop {
    /// The statement failed; the conversation goes on.
    Failure(ErrorResponse),
    /// The connection ends.
    End(ConnectionEnd),
}

impl From<ErrorResponse> for Stop {
    fn from(failure: ErrorResponse) -> Self {
        Self::Failure(failure)
    }
}

impl From<ConnectionEnd> for Stop {
    fn from(end: ConnectionEnd) -> Self {
        Self::End(end)
    }
}

impl From<crate::Error> for Stop {
    fn from(error: crate::Error) -> Self {
        Self::Failure(ErrorResponse::from(&error))
    }
}

/// The standing of one session's caller.
pub struct Watch {
    sessions: Sessions,
    snapshots: Snapshots,
    closed: CancellationToken,
    pub who: Who,
    secret: Option<String>,
    pub peer: Option<IpAddr>,
}

impl Watch {
    pub fn new(sessions: Sessions, login: &Login, closed: CancellationToken) -> Self {
        let Login { who, secret, peer, .. } = login;
        let snapshots = sessions.snapshots();
        Self { sessions, snapshots, closed, who: who.clone(), secret: secret.clone(), peer: *peer }
    }

    fn caller(&self) -> Result<Caller, crate::Error> {
        self.sessions.standing(&self.who, self.secret.as_deref(), self.peer)
    }

    /// The rules as they are now.
    pub fn rules(&self) -> Result<Arc<Governance>, crate::Error> {
        self.sessions.rules()
    }

    /// What the caller is called in SQL, the same over every protocol.
    pub fn caller_name(&self) -> Option<String> {
        let caller = self.caller().ok()?;
        caller.email.or_else(|| caller.user_id.map(|id| id.to_string()))
    }

    /// Why the session must end now, if it must: asked before each statement.
    pub fn ended(&self) -> Option<ErrorResponse> {
        let refusal = self.sessions.refusal(&self.who, self.secret.as_deref(), self.peer)?;
        let failure = ErrorResponse::from(&refusal);
        failure.sqlstate.starts_with("28").then_some(failure)
    }

    /// Waits until the session must end, also with a statement in it: the key is gone, or the
    /// process ends.
    pub async fn over(&mut self) -> ErrorResponse {
        let closed = self.closed.clone();
        let vanished = closed.run_until_cancelled(self.vanished()).await;
        vanished.unwrap_or_else(|| ErrorResponse::from(&crate::Error::ShuttingDown))
    }

    /// Waits until the caller does not stand any more.
    pub async fn vanished(&mut self) -> ErrorResponse {
        loop {
            self.snapshots.mark_unchanged();
            if let Some(failure) = self.ended() {
                return failure;
            }
            if self.snapshots.changed().await.is_err() {
                pending::<()>().await;
            }
        }
    }

    /// The rules and the caller, with the agent that they declare, as they are now.
    pub fn authorization(&self, agent: DeclaredAgent) -> Result<AuthorizationState, crate::Error> {
        let (rules, caller) = (self.sessions.rules()?, self.caller()?);
        Ok(AuthorizationState::of(rules, caller, agent, self.sessions.now()))
    }

    /// Does the same still apply to the same caller?
    pub fn still_holds(&self, then: &AuthorizationState) -> bool {
        // then the caller is the same, or has ended
        if self.sessions.rules().is_ok_and(|rules| then.is_lasting_under(&rules)) {
            return self.sessions.refusal(&self.who, self.secret.as_deref(), self.peer).is_none();
        }
        self.authorization(then.agent().clone()).is_ok_and(|now| now.is_as(then))
    }

    /// Does the work, unless the session ends first: its key vanishes, or its client.
    pub async fn attend<T>(
        &mut self,
        wire: &mut Wire,
        cancel: &CancellationToken,
        work: impl Future<Output = T>,
    ) -> Result<T, ConnectionEnd> {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                failure = self.over() => {
                    cancel.cancel();
                    return Err(ConnectionEnd::Fatal(failure));
                }
                alive = wire.fill(), if wire.has_room() => {
                    if !alive? {
                        cancel.cancel();
                        return Err(ConnectionEnd::Closed);
                    }
                }
            }
        }
    }
}
