//! The command of a call: a message of Flight SQL, or a statement as it is.

use arrow_flight::flight_descriptor::DescriptorType;
use arrow_flight::sql::{Any, Command, CommandStatementQuery, ProstMessageExt};
use arrow_flight::{Action, ActionType, CancelFlightInfoRequest, FlightDescriptor, FlightInfo};
use bytes::Bytes;
use prost::Message;

use crate::Error;

/// Where the messages of Flight SQL have their names.
const MESSAGES: &str = "type.googleapis.com/";

fn unreadable(field: &'static str, what: &str) -> Error {
    Error::InvalidParams { field, message: format!("{field} cannot be read: {what}") }
}

/// The command of a descriptor: "command is a SQL statement", or a message.
pub fn described(descriptor: &FlightDescriptor) -> Result<Command, Error> {
    if descriptor.r#type() != DescriptorType::Cmd {
        return Err(Error::Unsupported { what: "a descriptor that is a path".to_owned() });
    }
    if let Some(command) = message(&descriptor.cmd) {
        return command;
    }
    let query = String::from_utf8(descriptor.cmd.to_vec());
    let query = query.map_err(|_| unreadable("cmd", "it is neither a message of Flight SQL nor text"))?;
    Ok(Command::CommandStatementQuery(CommandStatementQuery { query, transaction_id: None }))
}

/// What a ticket is for.
pub fn ticketed(ticket: &Bytes) -> Result<Command, Error> {
    message(ticket).unwrap_or_else(|| Err(unreadable("ticket", "it is none that was given out here")))
}

/// A message, if it claims to be one.
fn message(bytes: &Bytes) -> Option<Result<Command, Error>> {
    let any = Any::decode(bytes.clone()).ok().filter(|any| any.type_url.starts_with(MESSAGES))?;
    Some(Command::try_from(any).map_err(|_| unreadable("cmd", "the message is cut short")))
}

/// What the body of an action holds.
pub fn body<M: ProstMessageExt>(action: &Action) -> Result<M, Error> {
    let any = Any::decode(action.body.clone()).ok();
    let message = any.and_then(|any| any.unpack::<M>().ok().flatten());
    message.ok_or_else(|| unreadable("body", &format!("{} wants another message", action.r#type)))
}

/// The ticket of the flight that an action cancels.
pub fn cancelled(info: Option<FlightInfo>) -> Result<Bytes, Error> {
    let ticket = info.and_then(|info| info.endpoint.into_iter().next()).and_then(|endpoint| endpoint.ticket);
    let handle = match ticket.map(|ticket| ticketed(&ticket.ticket)).transpose()? {
        Some(Command::TicketStatementQuery(ticket)) => Some(ticket.statement_handle),
        _ => None,
    };
    handle.ok_or_else(|| unreadable("info", "it has no ticket of a statement"))
}

/// The flight of either action that cancels one.
pub fn flight(action: &Action, info: Option<Bytes>) -> Result<Option<FlightInfo>, Error> {
    let read = match info {
        Some(info) => FlightInfo::decode(info).map(Some),
        None => CancelFlightInfoRequest::decode(action.body.clone()).map(|request| request.info),
    };
    read.map_err(|_| unreadable("info", "it is no flight"))
}

pub const CREATE_PREPARED: &str = "CreatePreparedStatement";
pub const CLOSE_PREPARED: &str = "ClosePreparedStatement";
pub const BEGIN: &str = "BeginTransaction";
pub const END: &str = "EndTransaction";
pub const CANCEL_QUERY: &str = "CancelQuery";
pub const CANCEL_FLIGHT: &str = "CancelFlightInfo";

/// The actions that there are, each with what it does.
pub fn actions() -> impl Iterator<Item = ActionType> {
    [
        (CREATE_PREPARED, "prepares a statement, and tells what it takes and gives"),
        (CLOSE_PREPARED, "forgets a prepared statement"),
        (BEGIN, "begins a transaction"),
        (END, "commits a transaction, or rolls it back"),
        (CANCEL_QUERY, "cancels a statement by the flight that was answered for it"),
        (CANCEL_FLIGHT, "the same, as Flight itself has it"),
    ]
    .into_iter()
    .map(|(name, description)| ActionType { r#type: name.to_owned(), description: description.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_flight::sql::CommandGetCatalogs;

    #[test]
    fn a_command_is_a_message_or_the_statement_itself() {
        let asked = |cmd: Vec<u8>| described(&FlightDescriptor::new_cmd(cmd));
        let plain = |query: &str| {
            Command::CommandStatementQuery(CommandStatementQuery { query: query.to_owned(), transaction_id: None })
        };
        for text in ["select 1", "values (1)", "-- a comment", ""] {
            assert_eq!(asked(text.into()).unwrap(), plain(text), "{text}");
        }
        let catalogs = CommandGetCatalogs {}.as_any().encode_to_vec();
        assert_eq!(asked(catalogs).unwrap(), Command::CommandGetCatalogs(CommandGetCatalogs {}));
        assert!(asked(vec![0xff, 0xfe]).is_err());
        assert!(described(&FlightDescriptor::new_path(vec!["customer".to_owned()])).is_err());
    }
}
