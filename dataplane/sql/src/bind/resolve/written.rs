//! `schema.table` of what a statement writes, defines or drops, once its names are bound.

use std::sync::Arc;

use sqlparser::ast;

use crate::ast::names::{self, TableName};
use crate::catalog::table::Table;
use crate::syntax::statement::{Operation, targets};

/// What is written, once its names are bound: by the name a table is known by, wherever it is stored.
pub(super) fn paths(tree: &ast::Statement, bound: &[&Arc<Table>]) -> Vec<(String, Operation)> {
    if let ast::Statement::Drop { object_type: ast::ObjectType::Schema, names, .. } = tree {
        let last = names.iter().filter_map(names::last);
        return last.map(|schema| (format!("{}.*", schema.value), Operation::Drop)).collect();
    }
    if let ast::Statement::CreateSchema { schema_name: ast::SchemaName::Simple(name), .. } = tree {
        let last = names::last(name).into_iter();
        return last.map(|schema| (format!("{}.*", schema.value), Operation::Create)).collect();
    }
    let named = targets(tree).into_iter().filter_map(|(name, operation)| Some((TableName::of(&name)?, operation)));
    named
        .filter(|(_, operation)| *operation != Operation::Select)
        .map(|(name, operation)| {
            let is_temporary = name.database.as_deref() == Some(names::TEMP_CATALOG);
            if is_temporary {
                return (format!("{}.{}", names::TEMPORARY_SCHEMA, name.name), operation);
            }
            let schema = name.schema.as_deref().unwrap_or(names::MAIN_SCHEMA);
            let known = bound.iter().find(|table| table.stored_schema() == schema && table.name == name.name);
            (known.map_or_else(|| format!("{schema}.{}", name.name), |table| table.path()), operation)
        })
        .collect()
}
