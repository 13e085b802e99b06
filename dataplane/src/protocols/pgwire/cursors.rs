//! Cursors of a session: `DECLARE`, `CLOSE`, and which of them outlive their transaction.

use contract::Code;

use super::conversation::Conversation;
use super::delivery::PgDelivery;
use super::extended::{Life, Portal};
use super::failure::ErrorResponse;
use super::message::Formats;
use super::request::BoundValues;
use super::session::{CommandReply, OPEN_MAX};
use super::watch::Stop;
use crate::Bounds;

impl Conversation {
    pub(super) async fn declare(
        &mut self,
        name: &str,
        hold: bool,
        statement: &str,
        params: BoundValues,
    ) -> Result<CommandReply, Stop> {
        if self.transaction.is_implicit() {
            return Err(
                ErrorResponse::unsupported("DECLARE CURSOR among other statements outside a transaction").into()
            );
        }
        let inside = self.transaction.is_explicit();
        if !inside && self.transaction.has_temporary() {
            let what = "DECLARE CURSOR outside a transaction of a session that has temporary tables";
            return Err(ErrorResponse::unsupported(what).into());
        }
        if !inside && !hold {
            let failure =
                ErrorResponse::new(Code::InvalidParams, "DECLARE CURSOR is only possible inside a transaction");
            return Err(failure.with_state("25P01").into());
        }
        // it would be carried out when it is declared; what cannot be parsed is the pipeline's to refuse
        if sql::parse_with(statement, &self.settings.variables()).is_ok_and(|statement| statement.changes()) {
            return Err(ErrorResponse::unsupported("DECLARE CURSOR for a statement that changes something").into());
        }
        if self.portals.contains_key(name) {
            return Err(ErrorResponse::new(Code::Conflict, format!("cursor {name:?} already exists"))
                .with_state("42P03")
                .into());
        }
        if self.portals.len() >= OPEN_MAX {
            return Err(ErrorResponse::new(Code::InvalidParams, "too many cursors are open")
                .with_state("53400")
                .into());
        }
        let in_parts = Bounds { parts: true, ..Bounds::default() };
        let delivery: PgDelivery = self.start(statement, params, &Formats::default(), in_parts).await?;
        let life = match (hold, inside) {
            (false, _) => Life::Transaction,
            (true, true) => Life::Committed,
            (true, false) => Life::Session,
        };
        self.portals.insert(name.to_owned(), Portal::cursor(delivery, life));
        Ok(CommandReply::tag("DECLARE CURSOR"))
    }

    /// What ends with its transaction.
    pub(super) fn drop_portals(&mut self) {
        self.portals.retain(|_, portal| portal.life == Life::Session);
    }

    /// The transaction is committed: cursors WITH HOLD take the rest of their rows out of it.
    pub(super) async fn hold_cursors(&mut self) -> Result<(), Stop> {
        self.set_aside(|portal| portal.life == Life::Committed).await?;
        for portal in self.portals.values_mut().filter(|portal| portal.life == Life::Committed) {
            portal.life = Life::Session;
        }
        Ok(())
    }

    pub(super) fn close_cursor(&mut self, name: Option<&str>) -> Result<CommandReply, ErrorResponse> {
        let Some(name) = name else {
            self.portals.clear();
            return Ok(CommandReply::tag("CLOSE CURSOR ALL"));
        };
        match self.portals.remove(name) {
            Some(_) => Ok(CommandReply::tag("CLOSE CURSOR")),
            None => Err(no_cursor(name)),
        }
    }
}

pub fn no_cursor(name: &str) -> ErrorResponse {
    ErrorResponse::new(Code::NotFound, format!("cursor {name:?} does not exist")).with_state("34000")
}
