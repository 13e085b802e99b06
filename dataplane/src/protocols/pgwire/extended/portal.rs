//! A portal: a statement with its values, or a cursor, and how far its rows have been sent.

use std::sync::Arc;

use super::PreparedStatement;
use crate::encode::pg_rows::PgType;
use crate::protocols::pgwire::delivery::PgDelivery;
use crate::protocols::pgwire::message::Formats;
use crate::protocols::pgwire::request::BoundValues;
use crate::protocols::pgwire::watch::{Stop, Watch};
use crate::protocols::pgwire::wire::Wire;

/// How long a portal is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    Transaction,
    /// A cursor WITH HOLD in a transaction: as long as the session, once that is committed.
    Committed,
    Session,
}

/// A statement with its values, or a cursor.
pub struct Portal {
    pub life: Life,
    pub(super) prepared: Option<Arc<PreparedStatement>>,
    pub(super) params: BoundValues,
    /// Of the values as they came.
    pub(super) bound_bytes: usize,
    pub(super) formats: Formats,
    /// What `Describe` said of its columns.
    pub(super) told: Option<Vec<PgType>>,
    pub(super) state: PortalState,
}

pub(super) enum PortalState {
    Ready,
    Running(Box<PgDelivery>),
}

impl Portal {
    /// Of `DECLARE … CURSOR`: it runs already.
    pub fn cursor(delivery: PgDelivery, life: Life) -> Self {
        Self {
            life,
            prepared: None,
            params: BoundValues::default(),
            bound_bytes: 0,
            formats: Formats::default(),
            told: None,
            state: PortalState::Running(Box::new(delivery)),
        }
    }

    /// Whether its client knows nothing yet of the columns of its statement.
    pub(super) fn is_untold(&self) -> bool {
        matches!(self.state, PortalState::Ready) && self.prepared.as_ref().is_some_and(|prepared| prepared.is_untold())
    }

    /// Whether it runs this statement, of which nothing was told yet, with a value for each declared parameter.
    pub(super) fn tells_all_of(&self, prepared: &Arc<PreparedStatement>) -> bool {
        let is_declared = prepared.declared.len() == self.params.values.len() && !prepared.declared.contains(&0);
        self.is_untold() && is_declared && self.prepared.as_ref().is_some_and(|own| Arc::ptr_eq(own, prepared))
    }

    pub(super) fn running(&self) -> Option<&PgDelivery> {
        match &self.state {
            PortalState::Ready => None,
            PortalState::Running(delivery) => Some(delivery),
        }
    }

    /// Bytes of the rows that wait in it.
    pub fn held(&self) -> usize {
        self.running().map_or(0, PgDelivery::held)
    }

    /// How many bytes it holds then; `others`: what the session's other portals hold.
    pub async fn set_aside(&mut self, others: usize, wire: &mut Wire, watch: &mut Watch) -> Result<usize, Stop> {
        match &mut self.state {
            PortalState::Ready => Ok(0),
            PortalState::Running(delivery) => delivery.set_aside(others, wire, watch).await,
        }
    }
}
