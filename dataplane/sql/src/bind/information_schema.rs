//! The catalogue as queries: SHOW, DESCRIBE, `information_schema`, and commands of the session.
//!
//! All of it is answered from the catalog at hand, which holds what the caller may see; the engine's own catalogue,
//! which holds more, is never asked. The answers are VALUES, so they can be filtered and joined like a table. They
//! name no database: there is one, and two environments that hold the same answer the same.

mod external;
mod keys;
mod listing;
mod shown;
mod staged;
mod staged_relations;

use sqlparser::ast::{self, Expr, Query, Statement, Value};

use crate::ast::construct::construct;
use crate::ast::error::Error;
use crate::ast::expression::as_text;
use crate::ast::names::{self, TableName, ours};
use crate::catalog::information_schema::{InformationTable, SIZES};
use crate::catalog::tables::{Catalog, SessionNames};
use crate::functions::settings;
use crate::syntax::listing::Listing;
use crate::syntax::statement::{ExternalCommand, Operation, SessionCommand, StatementKind};

/// A table of `information_schema`.
pub(crate) fn relation(name: &TableName, catalog: &Catalog, session: &SessionNames) -> Result<Query, Error> {
    if name.database.as_ref().is_some_and(|database| !database.eq_ignore_ascii_case(&session.database)) {
        return Err(catalog.missing(name));
    }
    if name.name.eq_ignore_ascii_case(SIZES) {
        return listing::sizes(catalog, session).query();
    }
    let listing = match InformationTable::of(&name.name).ok_or_else(|| catalog.missing(name))? {
        InformationTable::Tables => listing::tables(catalog),
        InformationTable::Columns => listing::columns(catalog, session),
        InformationTable::Schemata => listing::schemata(catalog),
        InformationTable::Views => listing::views(catalog, session),
        InformationTable::Sequences => listing::sequences(catalog),
        InformationTable::Functions => listing::functions(catalog, session),
        InformationTable::Stages => staged_relations::stages(catalog)?,
        InformationTable::FileFormats => staged_relations::file_formats(catalog)?,
        InformationTable::ExternalTables => staged_relations::of_external(catalog, session),
        InformationTable::LoadHistory => return Err(Error::unsupported("load_history of the catalogue")),
    };
    listing.query()
}

/// A statement that asks for the catalogue, or means nothing here, as the query that answers it.
pub(crate) fn as_query(
    tree: &Statement,
    kind: &StatementKind,
    catalog: &Catalog,
    session: &SessionNames,
) -> Result<Option<Statement>, Error> {
    let query = match kind {
        StatementKind::Show => shown::show(tree, catalog, session)?,
        StatementKind::Staged { on, done: Operation::Select } => staged::listed(tree, *on, catalog, session)?,
        StatementKind::ExternalTable(ExternalCommand::Show) => external::listed(tree, catalog, session)?,
        StatementKind::Files { done, .. } => staged::files(*done, &session.files)?,
        StatementKind::Describe { .. } => shown::describe(tree, catalog, session)?,
        StatementKind::Session(SessionCommand::Show { .. }) => match tree {
            Statement::ShowVariable { variable } => shown::listed(variable, catalog, session)?,
            other => return Err(Error::unsupported(construct(other))),
        },
        StatementKind::Session(command) => done(command, catalog, session)?,
        _ => return Ok(None),
    };
    Ok(Some(Statement::Query(Box::new(query))))
}

/// Commands that change nothing here: what they choose is chosen already.
fn done(command: &SessionCommand, catalog: &Catalog, session: &SessionNames) -> Result<Query, Error> {
    match command {
        SessionCommand::Use { what, name } => used(what, name, catalog, session)?,
        SessionCommand::Set { name, .. } if name.contains('.') || settings::is_one(&name.to_ascii_lowercase()) => {
            return Err(Error::unsupported(format!("SET {name}")));
        }
        SessionCommand::Alter | SessionCommand::Set { .. } => {}
        SessionCommand::SetRole
        | SessionCommand::Reset { .. }
        | SessionCommand::ResetAll
        | SessionCommand::Show { .. }
        | SessionCommand::DiscardAll
        | SessionCommand::Discard
        | SessionCommand::Listen
        | SessionCommand::Deallocate { .. } => {
            return Err(Error::unsupported("this command without a session"));
        }
    }
    Listing::said("Statement executed successfully.").query()
}

/// A protocol that keeps a session answers these commands itself. Where they come to us, the session is one request.
pub(crate) fn remark(kind: &StatementKind) -> Option<&'static str> {
    match kind {
        StatementKind::Session(SessionCommand::Set { .. }) => {
            Some("it is set for this request alone: send SET and the statement that reads it in one text")
        }
        StatementKind::Session(SessionCommand::Use { what, .. }) if what == "schema" => {
            Some("it is chosen for this request alone: write the schema before the names of its tables")
        }
        _ => None,
    }
}

/// A database or schema must be there; warehouses and roles are not chosen by statements.
fn used(what: &str, name: &str, catalog: &Catalog, session: &SessionNames) -> Result<(), Error> {
    let is_known = match what {
        "database" => name.eq_ignore_ascii_case(&session.database),
        "schema" => catalog.has_schema(name.rsplit('.').next().unwrap_or(name)),
        "object" => match name.split_once('.') {
            Some((database, schema)) => database.eq_ignore_ascii_case(&session.database) && catalog.has_schema(schema),
            None => name.eq_ignore_ascii_case(&session.database) || catalog.has_schema(name),
        },
        _ => true,
    };
    if is_known {
        return Ok(());
    }
    let missing = TableName { database: None, schema: None, name: name.to_owned() };
    Err(Error { message: format!("{what} {name} does not exist"), ..catalog.missing(&missing) })
}

/// What a word or a call says of the session; nothing for other names.
pub(crate) fn of_session(expr: &Expr, session: &SessionNames) -> Option<Expr> {
    let name = match expr {
        Expr::Identifier(ident) if ident.quote_style.is_none() => ident,
        Expr::Function(ast::Function { name, args, over: None, .. }) => match args {
            ast::FunctionArguments::None => names::single(name)?,
            ast::FunctionArguments::List(list) if list.args.is_empty() => names::single(name)?,
            _ => return None,
        },
        _ => return None,
    };
    if !ours::begins(&name.value, "current_") && !name.value.eq_ignore_ascii_case("session_user") {
        return None;
    }
    let called = matches!(expr, Expr::Function(_));
    let text = match name.value.to_ascii_lowercase().as_str() {
        "current_user" | "session_user" => session.user.clone(),
        // reserved words, so no column's name: the engine's own answer to them is of itself
        "current_role" => session.role.clone(),
        "current_catalog" => Some(session.database.clone()),
        "current_database" if called => Some(session.database.clone()),
        "current_schema" if called => session.search_path.first().cloned(),
        "current_available_roles" if called => session.role.as_ref().map(|role| format!("[\"{role}\"]")),
        // what there is none of here
        "current_warehouse"
        | "current_secondary_roles"
        | "current_account"
        | "current_account_name"
        | "current_organization_name"
        | "current_organization_user"
        | "current_region"
        | "current_client"
        | "current_ip_address"
            if called =>
        {
            None
        }
        "current_version" if called => Some(env!("CARGO_PKG_VERSION").to_owned()),
        _ => return None,
    };
    Some(text.map_or_else(|| as_text(Expr::value(Value::Null)), |text| Expr::value(Value::SingleQuotedString(text))))
}
