//! Facts of a statement, read off its whole tree.

use std::collections::BTreeSet;

use sqlparser::ast::{
    FromTable, MergeAction, ObjectName, ObjectType, OnConflictAction, OnInsert, Statement, TableFactor, TableObject,
};

use super::kind::lays_out;
use super::{Operation, TableUse, many};
use crate::ast::sequence::replaces;
use crate::catalog::comment;

#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    pub operations: BTreeSet<Operation>,
    pub tables: Vec<TableUse>,
    pub functions: BTreeSet<String>,
    pub parameters: usize,
    pub calls_write: bool,
    /// Tables of the catalogue are read.
    pub reads_catalogue: bool,
}

/// Tables a statement writes to or defines.
pub(crate) fn targets(tree: &Statement) -> Vec<(ObjectName, Operation)> {
    let of_factor = |factor: &TableFactor, operation| match factor {
        TableFactor::Table { name, .. } => vec![(name.clone(), operation)],
        _ => Vec::new(),
    };
    match tree {
        Statement::Insert(insert) if insert.multi_table_insert_type.is_some() => {
            many::clauses(insert).map(|clause| (clause.table_name.clone(), Operation::Insert)).collect()
        }
        Statement::Insert(insert) => match &insert.table {
            TableObject::TableName(name) if insert.overwrite => {
                vec![(name.clone(), Operation::Insert), (name.clone(), Operation::Delete)]
            }
            TableObject::TableName(name) => vec![(name.clone(), Operation::Insert)],
            _ => Vec::new(),
        },
        Statement::Update(update) => of_factor(&update.table.relation, Operation::Update),
        Statement::Delete(delete) => {
            let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
            from.iter().flat_map(|table| of_factor(&table.relation, Operation::Delete)).collect()
        }
        Statement::Merge(merge) => of_factor(&merge.table, Operation::Merge),
        Statement::Truncate(truncate) => {
            truncate.table_names.iter().map(|target| (target.name.clone(), Operation::Delete)).collect()
        }
        Statement::CreateTable(create) => made(&create.name, create.or_replace),
        Statement::AlterTable(alter) if !lays_out(alter) => vec![(alter.name.clone(), Operation::Alter)],
        Statement::Comment { object_type, object_name, .. } => {
            vec![(comment::described(*object_type, object_name).0, Operation::Alter)]
        }
        Statement::CreateView(create) => made(&create.name, create.or_replace),
        Statement::CreateFunction(create) => made(&create.name, create.or_replace),
        Statement::CreateStage { name, or_replace, .. } | Statement::CreateFileFormat { name, or_replace, .. } => {
            made(name, *or_replace)
        }
        Statement::CreateSequence { name, owned_by, .. } => made(name, replaces(owned_by.as_ref())),
        Statement::DropFunction(drop) => drop.func_desc.iter().map(|one| (one.name.clone(), Operation::Drop)).collect(),
        Statement::Drop {
            object_type: ObjectType::Table | ObjectType::View | ObjectType::Sequence | ObjectType::Stage,
            names,
            ..
        } => names.iter().map(|name| (name.clone(), Operation::Drop)).collect(),
        Statement::Explain { statement, .. } => targets(statement),
        Statement::ExplainTable { table_name, .. } => vec![(table_name.clone(), Operation::Select)],
        Statement::List(files) => vec![(files.stage.clone(), Operation::Select)],
        Statement::Remove(files) => vec![(files.stage.clone(), Operation::Delete)],
        _ => Vec::new(),
    }
}

/// What is replaced is dropped.
fn made(name: &ObjectName, replaces: bool) -> Vec<(ObjectName, Operation)> {
    let mut done = vec![(name.clone(), Operation::Create)];
    if replaces {
        done.push((name.clone(), Operation::Drop));
    }
    done
}

/// What a clause of a MERGE does.
pub(super) fn done_by(action: &MergeAction) -> Operation {
    match action {
        MergeAction::Insert(_) => Operation::Insert,
        MergeAction::Update(_) => Operation::Update,
        MergeAction::Delete { .. } => Operation::Delete,
        MergeAction::DoNothing { .. } => Operation::Merge,
    }
}

/// What a statement does, without the statements and the queries inside it.
pub(super) fn operations(statement: &Statement) -> &'static [Operation] {
    match statement {
        Statement::Query(_) | Statement::ExplainTable { .. } | Statement::List(_) => &[Operation::Select],
        Statement::Insert(insert) if insert.overwrite => &[Operation::Insert, Operation::Delete],
        Statement::Insert(insert) => match &insert.on {
            Some(OnInsert::OnConflict(on)) if matches!(on.action, OnConflictAction::DoUpdate(_)) => {
                &[Operation::Insert, Operation::Update]
            }
            _ => &[Operation::Insert],
        },
        Statement::Update(_) => &[Operation::Update],
        Statement::Delete(_) | Statement::Truncate(_) | Statement::Remove(_) => &[Operation::Delete],
        Statement::Merge(_) => &[Operation::Merge, Operation::Select],
        Statement::CreateTable(create) if create.or_replace => &[Operation::Create, Operation::Drop],
        Statement::CreateView(create) if create.or_replace => &[Operation::Create, Operation::Drop],
        Statement::CreateFunction(create) if create.or_replace => &[Operation::Create, Operation::Drop],
        Statement::CreateStage { or_replace: true, .. } | Statement::CreateFileFormat { or_replace: true, .. } => {
            &[Operation::Create, Operation::Drop]
        }
        Statement::CreateSequence { owned_by, .. } if replaces(owned_by.as_ref()) => {
            &[Operation::Create, Operation::Drop]
        }
        Statement::CreateTable(_)
        | Statement::CreateSchema { .. }
        | Statement::CreateView(_)
        | Statement::CreateFunction(_)
        | Statement::CreateStage { .. }
        | Statement::CreateFileFormat { .. }
        | Statement::CreateSequence { .. } => &[Operation::Create],
        Statement::AlterTable(alter) if lays_out(alter) => &[],
        Statement::AlterTable(_) | Statement::AlterSchema(_) | Statement::Comment { .. } => &[Operation::Alter],
        Statement::Drop { .. } | Statement::DropFunction(_) => &[Operation::Drop],
        _ => &[],
    }
}

/// Whether a write names other tables whose rows it reads, or answers rows.
pub(super) fn reads_beside(statement: &Statement) -> bool {
    match statement {
        Statement::Insert(insert) => insert.returning.is_some(),
        Statement::Update(update) => update.from.is_some() || update.returning.is_some(),
        Statement::Delete(delete) => delete.using.is_some() || delete.returning.is_some(),
        _ => false,
    }
}
