//! A transaction that a client holds open: BEGIN … COMMIT over one engine session.
//!
//! Each statement in it walks all stages; only the session, and so the snapshot, is shared. The
//! session comes with the first statement, so an idle BEGIN costs nothing.

use contract::wire::Who;
use contract::{Entropy, QueryId};

use crate::Error;

/// Held by a door between BEGIN and COMMIT or ROLLBACK.
#[derive(Debug)]
pub struct ClientTransaction {
    who: Who,
    state: State,
}

#[derive(Debug)]
enum State {
    /// No statement yet.
    Idle,
    Open(engine::Session, engine::Snapshot),
    /// A statement's rows hold the session.
    Busy(engine::Snapshot),
    /// A statement failed: only ROLLBACK is accepted.
    Failed,
}

impl ClientTransaction {
    pub(crate) fn new(who: Who) -> Self {
        Self { who, state: State::Idle }
    }
}
