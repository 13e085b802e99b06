//! Statements that are prepared and executed by SQL: the same as those of the extended protocol, under the same names.

use bytes::Bytes;
use contract::Code;
use engine::Value;

use super::conversation::Conversation;
use super::extended::PreparedStatement;
use super::failure::ErrorResponse;
use super::message::Formats;
use super::request::BoundValues;
use super::session::CommandReply;
use super::watch::Stop;
use super::{parameters, reply};
use crate::Bounds;
use crate::encode::pg_rows::Format;
use crate::storage::catalogue::type_id;

impl Conversation {
    pub(super) fn prepare(
        &mut self,
        name: &str,
        types: &[String],
        statement: &str,
    ) -> Result<CommandReply, ErrorResponse> {
        let unknown = |spelled: &str| {
            ErrorResponse::new(Code::NotFound, format!("type {spelled:?} does not exist")).with_state("42704")
        };
        let declared = types.iter().map(|spelled| match spelled.as_str() {
            "unknown" => Ok(0),
            spelled => type_id(spelled).ok_or_else(|| unknown(spelled)),
        });
        let prepared = PreparedStatement::new(statement, declared.collect::<Result<_, _>>()?)?;
        if prepared.command().is_some() || prepared.is_empty() {
            return Err(ErrorResponse::unsupported("PREPARE of something other than a query or a change of rows"));
        }
        self.keep_prepared(name.to_owned(), prepared)?;
        Ok(CommandReply::tag("PREPARE"))
    }

    /// Runs it with these values, as a statement of its own.
    pub(super) async fn execute_prepared(
        &mut self,
        name: &str,
        values: &[Option<String>],
        describes: bool,
        formats: &Formats,
    ) -> Result<(), Stop> {
        let prepared = self.prepared(name)?;
        let types = self.types(&prepared, values.len()).await?;
        if types.len() != values.len() {
            let message = format!("{} values are given to the {} parameters of {name:?}", values.len(), types.len());
            return Err(ErrorResponse::new(Code::BadSql, message).into());
        }
        let clock = self.clock();
        let bytes = |value: &Option<String>| value.as_ref().map(|value| Bytes::copy_from_slice(value.as_bytes()));
        let read = |((at, value), oid): ((usize, &Option<String>), &u32)| {
            parameters::value(at, *oid, Format::Text, bytes(value), &clock)
        };
        let params: Vec<Value> = (1..).zip(values).zip(&types).map(read).collect::<Result<_, _>>()?;
        let params = BoundValues { types: parameters::bound_types(&types, &params), values: params };
        let mut delivery = self.run_prepared(&prepared, params, formats, Bounds::default()).await?;
        if describes && delivery.has_rows() {
            reply::row_description(&mut self.wire.out, &delivery.fields);
        }
        let (rows, _) = delivery.send(None, self.settings.zone(), &mut self.wire, &mut self.watch).await?;
        reply::command_complete(&mut self.wire.out, &delivery.tag(rows));
        Ok(())
    }
}
