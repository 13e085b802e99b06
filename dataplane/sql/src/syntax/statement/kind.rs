//! The kind of a statement.

use sqlparser::ast::{
    AlterTable, AlterTableOperation, DiscardObject, ObjectName, ObjectType, Reset, Set, Statement, Use,
};

use super::{Operation, TableTemplate, Unload};
use crate::ast::construct::construct;
use crate::catalog::definition::DefinitionKind;
use crate::catalog::external_change::ListChange;
use crate::catalog::external_table::ExternalDefinition;
use crate::syntax::refusals;

/// The kinds the data plane tells apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatementKind {
    Select,
    Insert,
    Update,
    Delete,
    Merge,
    Truncate,
    CreateTable,
    CreateTableAs,
    CreateSchema,
    AlterTable,
    Comment,
    DropTable,
    DropSchema,
    CreateView,
    CreateFunction,
    CreateSequence,
    DropView,
    DropFunction,
    DropSequence,
    Explain,
    /// What defines, shows or describes a stage or file format.
    Staged {
        on: DefinitionKind,
        done: Operation,
    },
    /// What makes, drops or lists external tables, or looks for their files anew.
    ExternalTable(ExternalCommand),
    /// What lists files of a stage, or removes them: those whose paths begin so, as far as a pattern holds for them.
    Files {
        done: Operation,
        path: String,
        pattern: Option<String>,
    },
    /// What writes the rows of a query into a file of a stage. The query is a statement of its own: this one never runs.
    Unload(Unload),
    /// What makes a table of the columns that a query answers. The query is a statement of its own: this one never runs.
    Template(TableTemplate),
    /// SHOW TABLES and its like; the words are in the text.
    Show,
    /// DESCRIBE of a table.
    Describe {
        name: String,
    },
    Session(SessionCommand),
    Transaction(TransactionCommand),
    /// Anything else, by name. It is refused when it is resolved.
    Other(String),
}

/// A command on an external table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExternalCommand {
    Create(Box<ExternalDefinition>),
    /// The files whose paths begin so, behind its own path.
    Refresh {
        path: String,
    },
    /// These files, behind its own path, are among its files from now on, or no longer.
    List {
        change: ListChange,
        files: Vec<String>,
    },
    Drop,
    Show,
}

impl ExternalCommand {
    pub fn operation(&self) -> Operation {
        match self {
            Self::Create(_) => Operation::Create,
            Self::Refresh { .. } | Self::List { .. } => Operation::Alter,
            Self::Drop => Operation::Drop,
            Self::Show => Operation::Select,
        }
    }

    /// The words for what it alters; none where it alters nothing.
    pub(crate) fn altered(&self) -> Option<&'static str> {
        match self {
            Self::Refresh { .. } => Some("REFRESH"),
            Self::List { change: ListChange::Added, .. } => Some("ADD FILES"),
            Self::List { change: ListChange::Removed, .. } => Some("REMOVE FILES"),
            Self::Create(_) | Self::Drop | Self::Show => None,
        }
    }
}

/// Statements about the session, answered by the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionCommand {
    Set { name: String, value: String },
    SetRole,
    Reset { name: String },
    ResetAll,
    Show { name: String },
    DiscardAll,
    Discard,
    Use { what: String, name: String },
    Alter,
    Listen,
    Deallocate { name: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionCommand {
    Begin,
    Commit,
    Rollback,
    Savepoint,
    SetTransaction,
}

impl StatementKind {
    /// Whether the engine may ever be asked to run it.
    pub fn runs(&self) -> bool {
        matches!(
            self,
            Self::Select
                | Self::Insert
                | Self::Update
                | Self::Delete
                | Self::Merge
                | Self::Truncate
                | Self::CreateTable
                | Self::CreateTableAs
                | Self::CreateSchema
                | Self::AlterTable
                | Self::Comment
                | Self::DropTable
                | Self::DropSchema
                | Self::CreateView
                | Self::CreateFunction
                | Self::CreateSequence
                | Self::DropView
                | Self::DropFunction
                | Self::DropSequence
        ) || matches!(self, Self::Staged { done, .. } if *done != Operation::Select)
            || matches!(self, Self::ExternalTable(command) if command.operation() != Operation::Select)
    }

    /// Whether it alters a table in nothing that a policy names.
    pub fn keeps_names(&self) -> bool {
        match self {
            Self::ExternalTable(command) => command.altered().is_some(),
            other => *other == Self::Comment,
        }
    }
}

pub(super) fn of(tree: &Statement) -> StatementKind {
    match tree {
        Statement::Query(_) => StatementKind::Select,
        Statement::Insert(_) => StatementKind::Insert,
        Statement::Update(_) => StatementKind::Update,
        Statement::Delete(_) => StatementKind::Delete,
        Statement::Merge(_) => StatementKind::Merge,
        Statement::Truncate(_) => StatementKind::Truncate,
        Statement::CreateTable(create) if create.query.is_some() => StatementKind::CreateTableAs,
        Statement::CreateTable(_) => StatementKind::CreateTable,
        Statement::CreateSchema { .. } => StatementKind::CreateSchema,
        Statement::AlterTable(alter) if lays_out(alter) => StatementKind::Session(SessionCommand::Alter),
        Statement::AlterTable(_) => StatementKind::AlterTable,
        Statement::Comment { .. } => StatementKind::Comment,
        Statement::Drop { object_type: ObjectType::Table, .. } => StatementKind::DropTable,
        Statement::Drop { object_type: ObjectType::Schema, .. } => StatementKind::DropSchema,
        Statement::Drop { object_type: ObjectType::View, .. } => StatementKind::DropView,
        Statement::Drop { object_type: ObjectType::Sequence, .. } => StatementKind::DropSequence,
        Statement::DropFunction(_) => StatementKind::DropFunction,
        Statement::CreateView(_) => StatementKind::CreateView,
        Statement::CreateFunction(_) => StatementKind::CreateFunction,
        Statement::CreateSequence { .. } => StatementKind::CreateSequence,
        Statement::Explain { .. } => StatementKind::Explain,
        Statement::ExplainTable { table_name, .. } => StatementKind::Describe { name: table_name.to_string() },
        Statement::ShowVariable { variable } => {
            let words: Vec<&str> = variable.iter().map(|word| word.value.as_str()).collect();
            StatementKind::Session(SessionCommand::Show { name: words.join(" ") })
        }
        Statement::ShowTables { .. }
        | Statement::ShowViews { .. }
        | Statement::ShowColumns { .. }
        | Statement::ShowSchemas { .. }
        | Statement::ShowDatabases { .. }
        | Statement::ShowObjects(_)
        | Statement::ShowFunctions { .. }
        | Statement::ShowVariables { .. }
        | Statement::ShowCreate { .. } => StatementKind::Show,
        Statement::StartTransaction { statements, exception: None, .. } if statements.is_empty() => {
            StatementKind::Transaction(TransactionCommand::Begin)
        }
        Statement::Commit { chain: false, .. } => StatementKind::Transaction(TransactionCommand::Commit),
        Statement::Rollback { chain: false, savepoint: None } => {
            StatementKind::Transaction(TransactionCommand::Rollback)
        }
        Statement::Savepoint { .. } | Statement::ReleaseSavepoint { .. } | Statement::Rollback { .. } => {
            StatementKind::Transaction(TransactionCommand::Savepoint)
        }
        Statement::Set(Set::SingleAssignment { values, .. }) if !values.iter().all(is_literal) => {
            StatementKind::Other("SET of something other than a literal".to_owned())
        }
        Statement::Copy { to, target, .. } => StatementKind::Other(refusals::copy(*to, target).to_owned()),
        other => session(other)
            .map_or_else(|| StatementKind::Other(construct(other)), StatementKind::Session)
            .transaction(other),
    }
}

impl StatementKind {
    /// Whether it shows or describes stages or file formats, or is about the files of a stage.
    pub(super) fn reads_staged(&self) -> bool {
        let shows = Self::ExternalTable(ExternalCommand::Show);
        *self == shows || matches!(self, Self::Staged { done: Operation::Select, .. } | Self::Files { .. })
    }

    fn transaction(self, tree: &Statement) -> Self {
        match tree {
            Statement::Set(Set::SetTransaction { .. }) => Self::Transaction(TransactionCommand::SetTransaction),
            _ => self,
        }
    }
}

fn session(tree: &Statement) -> Option<SessionCommand> {
    Some(match tree {
        Statement::Set(Set::SingleAssignment { variable, values, .. }) => {
            let values: Vec<String> = values.iter().map(value).collect();
            SessionCommand::Set { name: path(variable), value: values.join(", ") }
        }
        Statement::Set(Set::SetTimeZone { value: zone, .. }) => {
            SessionCommand::Set { name: "timezone".to_owned(), value: value(zone) }
        }
        Statement::Set(Set::SetNames { charset_name, .. }) => {
            SessionCommand::Set { name: "client_encoding".to_owned(), value: charset_name.value.clone() }
        }
        Statement::Set(Set::SetRole { .. } | Set::SetSessionAuthorization(_)) => SessionCommand::SetRole,
        Statement::Reset(reset) => match &reset.reset {
            Reset::ALL => SessionCommand::ResetAll,
            Reset::ConfigurationParameter(name) => SessionCommand::Reset { name: path(name) },
            Reset::SessionAuthorization => SessionCommand::SetRole,
        },
        Statement::Discard { object_type: DiscardObject::ALL } => SessionCommand::DiscardAll,
        Statement::Discard { .. } => SessionCommand::Discard,
        Statement::Use(used) => used_object(used),
        Statement::AlterSession { .. } => SessionCommand::Alter,
        Statement::LISTEN { .. } | Statement::UNLISTEN { .. } => SessionCommand::Listen,
        Statement::Deallocate { name, .. } => SessionCommand::Deallocate { name: name.value.clone() },
        _ => return None,
    })
}

fn used_object(used: &Use) -> SessionCommand {
    let (what, name) = match used {
        Use::Catalog(name) | Use::Database(name) => ("database", path(name)),
        Use::Schema(name) => ("schema", path(name)),
        Use::Warehouse(name) => ("warehouse", path(name)),
        Use::Role(name) => ("role", path(name)),
        Use::SecondaryRoles(_) => ("secondary roles", String::new()),
        Use::Object(name) => ("object", path(name)),
        Use::Default => ("default", String::new()),
    };
    SessionCommand::Use { what: what.to_owned(), name }
}

/// Says only how the warehouse is to lay the table out, which is nothing here.
pub(super) fn lays_out(alter: &AlterTable) -> bool {
    !alter.operations.is_empty()
        && alter.operations.iter().all(|operation| {
            matches!(
                operation,
                AlterTableOperation::ClusterBy { .. }
                    | AlterTableOperation::DropClusteringKey
                    | AlterTableOperation::SuspendRecluster
                    | AlterTableOperation::ResumeRecluster
            )
        })
}

/// A value that need not be worked out.
fn is_literal(expr: &sqlparser::ast::Expr) -> bool {
    use sqlparser::ast::Expr;
    match expr {
        Expr::Value(_) | Expr::Identifier(_) => true,
        Expr::UnaryOp { expr, .. } => matches!(**expr, Expr::Value(_)),
        _ => false,
    }
}

fn path(name: &ObjectName) -> String {
    let parts = crate::ast::names::parts(name).unwrap_or_default();
    parts.iter().map(|ident| ident.value.as_str()).collect::<Vec<_>>().join(".")
}

/// The value of a setting without its quotes.
fn value(expr: &sqlparser::ast::Expr) -> String {
    use sqlparser::ast::{Expr, Value};
    match expr {
        Expr::Value(literal) => match &literal.value {
            Value::SingleQuotedString(text) => text.clone(),
            other => other.to_string(),
        },
        Expr::Identifier(ident) => ident.value.clone(),
        other => other.to_string(),
    }
}
