//! Tables written from Arrow: `CommandStatementIngest`, which ADBC calls bulk ingest.
//!
//! Batches become INSERTs of many rows each, in one transaction, as the rows of COPY do. Each walks the whole
//! pipeline: scope, policies, filters on the new rows, limits, audit. Nothing but the gathered rows of one INSERT is
//! held here. All of it is written, or nothing.

mod exact;
mod fields;
mod gathered;

use std::time::Duration;

use arrow_flight::FlightData;
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::sql::{CommandStatementIngest, TableExistsOption, TableNotExistOption};
use contract::Code;
use futures::StreamExt;
use tonic::Streaming;

use super::handles::{FlightStatement, FlightTransaction};
use super::{Visit, do_get, put_stream};
use crate::{Description, Error};
use exact::ExactColumns;
pub use fields::IngestFields;
use gathered::GatheredRows;

/// A whole ingest, however many rows it has.
const WITHIN: Duration = Duration::from_hours(1);

/// The table that is written, and what is done about it before.
#[derive(Debug, PartialEq, Eq)]
struct IngestTarget {
    /// Its path, quoted.
    table: String,
    definition: Definition,
}

/// ADBC's modes, and what else the two options of the command can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Definition {
    /// `create`: it must not be there.
    Create,
    /// `append`: it must be there.
    None,
    /// `create_append`.
    CreateIfAbsent,
    /// `replace`.
    CreateOrReplace,
    /// It must be there.
    Replace,
}

impl IngestTarget {
    fn of(command: &CommandStatementIngest) -> Result<Self, Error> {
        let refused = |field, message: &str| Err(Error::InvalidParams { field, message: message.to_owned() });
        if command.table.is_empty() {
            return refused("table", "table names what is written");
        }
        if command.temporary {
            return Err(Error::Unsupported { what: "bulk ingest into a temporary table".to_owned() });
        }
        if !command.options.is_empty() {
            return refused("options", "there are no options");
        }
        let options = command.table_definition_options.unwrap_or_default();
        let definition = match (options.if_not_exist(), options.if_exists()) {
            (TableNotExistOption::Create, TableExistsOption::Fail) => Definition::Create,
            (TableNotExistOption::Create, TableExistsOption::Append) => Definition::CreateIfAbsent,
            (TableNotExistOption::Create, TableExistsOption::Replace) => Definition::CreateOrReplace,
            (TableNotExistOption::Fail, TableExistsOption::Append) => Definition::None,
            (TableNotExistOption::Fail, TableExistsOption::Replace) => Definition::Replace,
            _ => {
                let message = "if_not_exist is CREATE or FAIL, if_exists is APPEND, REPLACE or, with CREATE, FAIL";
                return refused("table_definition_options", message);
            }
        };
        let path = [command.catalog.as_deref(), command.schema.as_deref(), Some(command.table.as_str())];
        let path = path.into_iter().flatten().filter(|part| !part.is_empty()).map(sql::ast::quote::name);
        Ok(Self { table: path.collect::<Vec<_>>().join("."), definition })
    }

    /// Of a table that is not there yet.
    fn create(&self, words: &str, fields: &IngestFields) -> Result<Option<String>, Error> {
        Ok(Some(format!("{words} {} ({})", self.table, fields.declared()?)))
    }
}

impl Visit {
    /// How many rows were written.
    pub(super) async fn ingest(
        &self,
        command: &CommandStatementIngest,
        first: FlightData,
        sent: Streaming<FlightData>,
    ) -> Result<i64, Error> {
        let target = IngestTarget::of(command)?;
        let theirs = self.transaction(command.transaction_id.as_ref())?;
        let transaction = theirs.clone().unwrap_or_else(|| self.context.pipeline.begin(self.tool_caller.who.clone()));
        let batches = put_stream::batches(first, sent);
        let writing = Box::pin(self.write(&target, &transaction, batches));
        let late = || Err(put_stream::refused("an ingest takes at most an hour"));
        let written = tokio::time::timeout(WITHIN, writing).await.unwrap_or_else(|_| late());
        if written.is_err() {
            do_get::fail(Some(&transaction)).await;
        } else if theirs.is_none() {
            transaction.lock().await.commit().await?;
        }
        written
    }

    async fn write(
        &self,
        target: &IngestTarget,
        transaction: &FlightTransaction,
        mut batches: FlightRecordBatchStream,
    ) -> Result<i64, Error> {
        // The schema comes before the first batch.
        let mut next = batches.next().await.transpose().map_err(put_stream::unreadable)?;
        let schema = batches.schema().cloned().ok_or_else(|| put_stream::refused("the schema is missing"))?;
        let fields = IngestFields::of(&schema)?;
        let exact = match self.definition(target, &fields, transaction).await? {
            Some(sql) => {
                self.changed(transaction, sql, Vec::new()).await?;
                ExactColumns::default()
            }
            None => self.exact(target, &fields, transaction).await,
        };
        let (insert, mut gathered) = (fields.insert(&target.table), GatheredRows::new(&fields, exact));
        let (mut written, mut is_said) = (0, false);
        while let Some(batch) = next {
            gathered.open(&batch)?;
            while gathered.fill()? {
                written += self.changed(transaction, insert.clone(), gathered.take()).await?;
                is_said = true;
            }
            next = batches.next().await.transpose().map_err(put_stream::unreadable)?;
        }
        // Also where there were no rows: whether they might be written is said.
        if gathered.has_rows() || !is_said {
            written += self.changed(transaction, insert, gathered.take()).await?;
        }
        Ok(written)
    }

    async fn changed(
        &self,
        transaction: &FlightTransaction,
        sql: String,
        params: Vec<engine::Value>,
    ) -> Result<i64, Error> {
        let statement = FlightStatement { sql, params, transaction: Some(FlightTransaction::clone(transaction)) };
        Ok(self.update(&statement).await?.max(0))
    }

    /// The statement that makes the table, where one must. What only the engine can tell, it tells when it is run.
    async fn definition(
        &self,
        target: &IngestTarget,
        fields: &IngestFields,
        transaction: &FlightTransaction,
    ) -> Result<Option<String>, Error> {
        match target.definition {
            Definition::Create => target.create("create table", fields),
            Definition::CreateOrReplace => target.create("create or replace table", fields),
            Definition::CreateIfAbsent if self.is_absent(target, transaction).await => {
                target.create("create table", fields)
            }
            Definition::Replace if !self.is_absent(target, transaction).await => {
                target.create("create or replace table", fields)
            }
            Definition::None | Definition::CreateIfAbsent | Definition::Replace => Ok(None),
        }
    }

    /// A table that may not be read is there: what is done to it has its own verdict.
    async fn is_absent(&self, target: &IngestTarget, transaction: &FlightTransaction) -> bool {
        let described = self.described(target, transaction).await;
        described.is_err_and(|error| error.code() == Code::TableNotFound)
    }

    /// What the columns of the table hold, as far as the caller may know.
    async fn exact(
        &self,
        target: &IngestTarget,
        fields: &IngestFields,
        transaction: &FlightTransaction,
    ) -> ExactColumns {
        let described = self.described(target, transaction).await;
        described.map_or_else(|_| ExactColumns::default(), |table| ExactColumns::of(fields.names(), &table.columns))
    }

    async fn described(&self, target: &IngestTarget, transaction: &FlightTransaction) -> Result<Description, Error> {
        let sql = format!("select * from {}", target.table);
        let transaction = Some(FlightTransaction::clone(transaction));
        let ask = self.ask(&FlightStatement { sql, params: Vec::new(), transaction });
        Box::pin(self.context.pipeline.describe(&ask)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_flight::sql::TableDefinitionOptions;

    fn command(if_not_exist: TableNotExistOption, if_exists: TableExistsOption) -> CommandStatementIngest {
        let options = TableDefinitionOptions { if_not_exist: if_not_exist.into(), if_exists: if_exists.into() };
        CommandStatementIngest {
            table_definition_options: Some(options),
            table: "ta\"ble".to_owned(),
            schema: Some("main".to_owned()),
            catalog: Some(String::new()),
            temporary: false,
            transaction_id: None,
            options: std::collections::HashMap::default(),
        }
    }

    #[test]
    fn the_two_options_are_one_definition() {
        use TableExistsOption as There;
        use TableNotExistOption as Absent;
        for (absent, there, definition) in [
            (Absent::Create, There::Fail, Some(Definition::Create)),
            (Absent::Create, There::Append, Some(Definition::CreateIfAbsent)),
            (Absent::Create, There::Replace, Some(Definition::CreateOrReplace)),
            (Absent::Fail, There::Append, Some(Definition::None)),
            (Absent::Fail, There::Replace, Some(Definition::Replace)),
            (Absent::Fail, There::Fail, None),
            (Absent::Unspecified, There::Append, None),
            (Absent::Create, There::Unspecified, None),
        ] {
            let target = IngestTarget::of(&command(absent, there)).ok();
            assert_eq!(target.map(|target| target.definition), definition, "{absent:?} {there:?}");
        }
    }

    #[test]
    fn what_is_not_done_is_refused_by_its_field() {
        let append = || command(TableNotExistOption::Fail, TableExistsOption::Append);
        assert_eq!(IngestTarget::of(&append()).unwrap().table, r#""main"."ta""ble""#);
        let options = [("speed".to_owned(), "high".to_owned())].into();
        for (command, field) in [
            (CommandStatementIngest { table: String::new(), ..append() }, "table"),
            (CommandStatementIngest { options, ..append() }, "options"),
            (CommandStatementIngest { table_definition_options: None, ..append() }, "table_definition_options"),
        ] {
            let refused = IngestTarget::of(&command).unwrap_err().problem();
            assert_eq!(refused.details.get("field").and_then(|field| field.as_str()), Some(field));
        }
        let temporary = IngestTarget::of(&CommandStatementIngest { temporary: true, ..append() }).unwrap_err();
        assert_eq!(temporary.code(), Code::UnsupportedSql);
    }
}
