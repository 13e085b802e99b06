//! Names as the statement writes them, and which of them are ours.

pub(crate) mod ours;

use sqlparser::ast::{
    AlterTable, AlterTableOperation, Expr, Ident, ObjectName, ObjectNamePart, RenameTableNameKind, TableAlias,
    TableAliasColumnDef, TableFactor,
};

use crate::ast::error::{Error, ErrorKind};

/// The engine's catalog that holds the raw tables.
pub const RAW_CATALOG: &str = "raw";
/// The engine's catalog of temporary tables, where a statement of several steps keeps its rows.
pub const TEMP_CATALOG: &str = "temp";
/// The schema that the engine keeps temporary tables in, and the one that callers know them by.
pub(crate) const TEMP_SCHEMA: &str = "main";
pub const TEMPORARY_SCHEMA: &str = "pg_temp";
/// The schema a name without one means.
pub const MAIN_SCHEMA: &str = "main";

/// Before the name of a stage, and of a file format, in trees, paths and policies.
pub(crate) const STAGE_SIGN: &str = contract::policy::STAGE_SIGN;
pub(crate) const FILE_FORMAT_SIGN: &str = "file format ";

/// Where the tables of the governed runtime are read, and where rules find what agents leave here.
const TAKEN_SCHEMAS: [&str; 3] = ["svc_runtime", "svc_memory", "svc_thoughts"];

/// First parts of a path that no caller may write: the engine's own catalogs, and ours.
const RESERVED: [&str; 6] = [RAW_CATALOG, "system", "temp", "memory", "pg_catalog", "information_schema"];
const RESERVED_PREFIXES: [&str; 3] = ["_svc", "duckdb_", "pragma_"];
/// Tables the engine answers from its catalog, wherever they seem to stand.
const CATALOG_PREFIXES: [&str; 4] = ["duckdb_", "pragma_", "pg_", "sqlite_"];

/// A table's name, with its schema if one was written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableName {
    /// What stands before the schema, when three parts are written.
    pub database: Option<String>,
    pub schema: Option<String>,
    pub name: String,
}

impl TableName {
    /// None for names with function calls or more than three parts.
    pub fn of(name: &ObjectName) -> Option<Self> {
        use ObjectNamePart::Identifier;
        let text = |ident: &Ident| Some(ident.value.clone()).filter(|value| !value.is_empty());
        let (database, schema, name) = match name.0.as_slice() {
            [Identifier(name)] => (None, None, name),
            [Identifier(schema), Identifier(name)] => (None, text(schema), name),
            [Identifier(database), Identifier(schema), Identifier(name)] => (text(database), text(schema), name),
            _ => return None,
        };
        Some(Self { database, schema, name: name.value.clone() })
    }

    /// Whether the path begins with, or the name is, something only the engine or we may write.
    pub(crate) fn is_reserved(&self) -> bool {
        let first = self.database.as_ref().or(self.schema.as_ref());
        first.is_some_and(|first| is_reserved(first))
            || self.schema.as_ref().is_some_and(|schema| is_reserved(schema))
            || starts_with_any(&self.name, &CATALOG_PREFIXES)
            || starts_with_any(&self.name, &["_svc"])
    }
}

/// Schemas whose names mean something else.
pub(crate) fn is_taken_schema(name: &str) -> bool {
    starts_with_any(name, &["pg_"]) || TAKEN_SCHEMAS.iter().any(|taken| name.eq_ignore_ascii_case(taken))
}

/// Whether a table, or what else has a path, may be called so. Paths are `schema.name`: a dot in one part would make it
/// the path of something else, and no policy could name it.
pub(crate) fn fits_a_path(part: &str) -> bool {
    !part.contains('.')
}

/// The name that a table or view is to have from now on.
pub(crate) fn renamed(alter: &AlterTable) -> Option<&Ident> {
    alter.operations.iter().find_map(|operation| match operation {
        AlterTableOperation::RenameTable {
            table_name: RenameTableNameKind::To(new) | RenameTableNameKind::As(new),
        } => last(new),
        _ => None,
    })
}

/// The same of a new one, as an error.
pub(crate) fn admit_new(part: &Ident) -> Result<(), Error> {
    let refused = |why: &str| {
        let message = format!("{} {why}: name it without", part.value);
        Err(Error::new(ErrorKind::InvalidName, message).at(part.span.start))
    };
    if !fits_a_path(&part.value) {
        return refused("has a dot in it");
    }
    // In quotes it is a caller's word; a stage in a tree has the sign and no quotes.
    if part.quote_style.is_some() && starts_with_any(&part.value, &[STAGE_SIGN, FILE_FORMAT_SIGN]) {
        return refused("begins as the path of a stage or file format does");
    }
    Ok(())
}

fn is_reserved(part: &str) -> bool {
    RESERVED.iter().any(|reserved| part.eq_ignore_ascii_case(reserved)) || starts_with_any(part, &RESERVED_PREFIXES)
}

fn starts_with_any(name: &str, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| name.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix)))
}

pub(crate) fn parts(name: &ObjectName) -> Option<Vec<&Ident>> {
    name.0
        .iter()
        .map(|part| match part {
            ObjectNamePart::Identifier(ident) => Some(ident),
            ObjectNamePart::Function(_) => None,
        })
        .collect()
}

/// The name, when it has one part.
pub(crate) fn single(name: &ObjectName) -> Option<&Ident> {
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] => Some(ident),
        _ => None,
    }
}

pub(crate) fn last(name: &ObjectName) -> Option<&Ident> {
    match name.0.last() {
        Some(ObjectNamePart::Identifier(ident)) => Some(ident),
        _ => None,
    }
}

/// Whether it stands for something that a session carries, though it looks like a column.
pub(crate) fn is_session_word(ident: &Ident) -> bool {
    const WORDS: [&str; 4] = ["current_user", "session_user", "current_role", "current_catalog"];
    ident.quote_style.is_none() && WORDS.iter().any(|word| ident.value.eq_ignore_ascii_case(word))
}

/// The name of a temporary table in the engine.
pub(crate) fn temporary(name: &str) -> ObjectName {
    ObjectName::from(vec![quoted(TEMP_CATALOG), quoted(TEMP_SCHEMA), quoted(name)])
}

/// The name of a table as the engine finds it whatever its search path is.
pub(crate) fn qualified(schema: &str, name: &str) -> ObjectName {
    ObjectName::from(vec![quoted(RAW_CATALOG), quoted(schema), quoted(name)])
}

pub(crate) fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

/// The one column of what has this alias, and no names of columns, has its name.
pub(crate) fn column_by_alias(alias: &mut TableAlias) {
    if alias.columns.is_empty() {
        alias.columns.push(TableAliasColumnDef { name: alias.name.clone(), data_type: None });
    }
}

/// The name of a column, without the path before it.
pub(crate) fn column(expr: &Expr) -> Option<&Ident> {
    match expr {
        Expr::Identifier(name) => Some(name),
        Expr::CompoundIdentifier(path) => path.last(),
        _ => None,
    }
}

/// The alias of a relation in FROM, where it has one.
pub(crate) fn alias(factor: &TableFactor) -> Option<&TableAlias> {
    match factor {
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::TableFunction { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. }
        | TableFactor::NestedJoin { alias, .. }
        | TableFactor::Pivot { alias, .. }
        | TableFactor::Unpivot { alias, .. } => alias.as_ref(),
        _ => None,
    }
}
