//! `DoPut`: a statement that changes something, the values of a prepared one, the rows of a table.

use std::sync::Arc;

use arrow_flight::FlightData;
use arrow_flight::sql::{Command, CommandPreparedStatementUpdate, DoPutPreparedStatementResult, DoPutUpdateResult};
use bytes::Bytes;
use prost::Message;
use tonic::Streaming;

use super::handles::{FlightPreparedStatement, FlightStatement};
use super::{Visit, binding, command, put_stream};
use crate::Error;

impl Visit {
    pub(super) async fn put(&self, mut sent: Streaming<FlightData>) -> Result<Bytes, Error> {
        let first = put_stream::next(&mut sent).await?.unwrap_or_default();
        let missing =
            || Error::InvalidParams { field: "flight_descriptor", message: "what to do is missing".to_owned() };
        let result = match command::described(first.flight_descriptor.as_ref().ok_or_else(missing)?)? {
            Command::CommandStatementUpdate(update) => {
                let transaction = self.transaction(update.transaction_id.as_ref())?;
                let statement = self.statement(update.query, transaction)?;
                updated(self.update(&statement).await?)
            }
            Command::CommandPreparedStatementUpdate(CommandPreparedStatementUpdate { prepared_statement_handle }) => {
                let prepared = self.handles.prepared.get(&self.tool_caller.who, &prepared_statement_handle)?;
                let rows = binding::rows(first, sent).await?;
                updated(self.update_each(prepared, rows).await?)
            }
            Command::CommandPreparedStatementQuery(query) => {
                let handle = query.prepared_statement_handle;
                let bound = binding::kept(first, sent).await?;
                self.handles.prepared.change(&self.tool_caller.who, &handle, |prepared| prepared.bound = bound)?;
                DoPutPreparedStatementResult { prepared_statement_handle: Some(handle) }.encode_to_vec()
            }
            Command::CommandStatementIngest(command) => updated(Box::pin(self.ingest(&command, first, sent)).await?),
            other => return Err(Error::Unsupported { what: short(other.type_url()).to_owned() }),
        };
        Ok(result.into())
    }

    /// Runs it for each row of values: all of them, or none.
    async fn update_each(
        &self,
        prepared: FlightPreparedStatement,
        rows: Vec<Vec<engine::Value>>,
    ) -> Result<i64, Error> {
        let theirs = self.transaction(prepared.transaction.as_ref())?;
        let rows = if rows.is_empty() { prepared.bound } else { rows };
        if rows.len() <= 1 {
            let params = rows.into_iter().next().unwrap_or_default();
            return self.update(&FlightStatement { sql: prepared.sql, params, transaction: theirs }).await;
        }
        let transaction = theirs.clone().unwrap_or_else(|| self.context.pipeline.begin(self.tool_caller.who.clone()));
        let mut statement =
            FlightStatement { sql: prepared.sql, params: Vec::new(), transaction: Some(Arc::clone(&transaction)) };
        let mut changed = 0;
        for params in rows {
            statement.params = params;
            changed += self.update(&statement).await?.max(0);
        }
        if theirs.is_none() {
            transaction.lock().await.commit().await?;
        }
        Ok(changed)
    }
}

fn updated(record_count: i64) -> Vec<u8> {
    DoPutUpdateResult { record_count }.encode_to_vec()
}

/// The name of a message without where it is from.
fn short(url: &str) -> &str {
    url.rsplit('.').next().unwrap_or(url)
}
