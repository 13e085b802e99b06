//! The last step of a statement, which most have alone: its transaction begins with it then, in one message.
//!
//! Such a transaction may have seen other tables than those the statement was judged by. Then its rows and changes are
//! dropped, and the statement runs in one that has not, or is judged again.

use engine::Outcome;

use super::{Execution, is_lost, tells_of_data};
use crate::Error;
use crate::pipeline::Result;
use crate::pipeline::stages::transpile::bound;

impl Execution<'_> {
    /// Runs it, with those before it in one transaction.
    pub(super) async fn last_step(&mut self, sql: &sql::EngineSql) -> Result<Outcome> {
        let (query, native) = (self.query, self.native);
        let statement = || {
            let params = bound(&sql.binds, &query.ask.params)?;
            Ok::<_, Error>(engine::Statement { sql: sql.sql.clone(), params, writes: native.about.writes })
        };
        if self.lease.is_unbegun() {
            let ran = self.begun_by(statement()?).await;
            let is_current = native.about.judged_by()?.is_current();
            match ran {
                Ok(Some(outcome)) if is_current => return Ok(outcome),
                Err(error) if is_current || is_lost(&error) => return Err(error),
                Ok(Some(Outcome::Rows(rows))) => rows.finish().await,
                Ok(Some(Outcome::Changed { .. }) | None) | Err(_) => {}
            }
            Box::pin(self.start_again()).await?;
        }
        let is_looked_at = !sql.before.is_empty() || native.about.takes_in();
        if !is_looked_at && !self.lease.is_client() {
            self.look().await?;
        }
        let ran = self.lease.session()?.run(statement()?, query.deadline, &query.ask.cancel).await;
        ran.map_err(|error| query.fault(error))
    }

    /// Runs a statement with its transaction, and the second look where that is due; nothing where it was not sure of the
    /// text. The look at a write other than INSERT was before (stage 9).
    async fn begun_by(&mut self, statement: engine::Statement) -> Result<Option<Outcome>> {
        let (query, native, checked) = (self.query, self.native, &self.pipeline.remembered.checked);
        let key = native.checked_key();
        let tables = (!checked.holds(key)).then_some(native.sql.tables.as_slice());
        let session = self.lease.session()?;
        let ran = if native.about.writes {
            session.begin_by(statement, tables, query.deadline, &query.ask.cancel).await
        } else {
            let rows = session.query(statement, tables, query.deadline, &query.ask.cancel).await;
            rows.map(|rows| rows.map(Outcome::Rows))
        };
        match ran {
            Ok(ran) => {
                if ran.is_some() && tables.is_some() {
                    checked.add(key);
                }
                if ran.is_some() && native.about.writes {
                    self.lease.begins();
                }
                Ok(ran)
            }
            Err(error) if tables.is_some() && tells_of_data(query, error.kind) => {
                // The look by itself binds the text as well: its error comes first.
                self.look().await?;
                Err(query.fault(error))
            }
            Err(error) => Err(query.fault(error)),
        }
    }

    /// The second look by itself, unless the text has passed it before.
    async fn look(&mut self) -> Result<()> {
        let checked = &self.pipeline.remembered.checked;
        let looked = checked.agrees(self.pipeline, self.query, self.native, self.lease).await;
        if looked.is_err() {
            self.lease.refuses();
        }
        looked
    }
}
