//! Facts of a statement, read off its whole tree.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, FromTable, Ident, MergeAction, ObjectName, ObjectType, OnConflictAction, OnInsert, Statement, TableFactor,
    TableObject, Value, Visitor,
};

use super::kind::lays_out;
use super::{Operation, TableUse, many, refused};
use crate::ast::error::Error;
use crate::ast::names::{self, TableName};
use crate::ast::scope::{self, RelationVisitor};
use crate::ast::sequence::replaces;
use crate::ast::{Visit, result_of};
use crate::catalog::{comment, information_schema};
use crate::functions::catalogue::{self, Class};

#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    pub operations: BTreeSet<Operation>,
    pub tables: Vec<TableUse>,
    /// Where a table stands among them, by its name in lower case.
    places: HashMap<(Option<String>, String), usize>,
    pub functions: BTreeSet<String>,
    pub parameters: usize,
    pub calls_write: bool,
    /// Tables of the catalogue are read.
    pub reads_catalogue: bool,
}

pub(super) fn of(tree: &mut Statement) -> Result<Facts, Error> {
    let mut facts = Facts::default();
    for (name, operation) in targets(tree) {
        facts.table(&name, operation);
    }
    result_of(tree.visit(&mut refused::Unmeant))?;
    let mut statements = Statements::default();
    let _: ControlFlow<()> = tree.visit(&mut statements);
    facts.operations.extend(statements.operations);
    scope::walk_statement(tree, &mut facts)?;
    let writes = |function: &catalogue::Function| function.class == Class::Write;
    facts.calls_write = facts.functions.iter().any(|name| catalogue::find(name).is_some_and(writes));
    Ok(facts)
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

impl Facts {
    fn table(&mut self, name: &ObjectName, operation: Operation) {
        let Some(TableName { database: _, schema, name }) = TableName::of(name) else {
            return;
        };
        let lowered = (schema.as_ref().map(|schema| schema.to_ascii_lowercase()), name.to_ascii_lowercase());
        let place = *self.places.entry(lowered).or_insert(self.tables.len());
        match self.tables.get_mut(place) {
            Some(known) => {
                known.operations.insert(operation);
            }
            None => self.tables.push(TableUse { schema, name, operations: BTreeSet::from([operation]) }),
        }
    }

    fn call(&mut self, name: &ObjectName) {
        if let Some(Ident { value, .. }) = names::last(name) {
            self.functions.insert(value.to_ascii_lowercase());
        }
    }
}

impl RelationVisitor for Facts {
    fn factor(&mut self, factor: &mut TableFactor, with: Option<usize>, _: &mut usize) -> Result<(), Error> {
        match factor {
            TableFactor::Table { name, args: Some(_), .. } | TableFactor::Function { name, .. } => self.call(name),
            TableFactor::Table { name, .. } if with.is_none() => match TableName::of(name) {
                None => return Err(Error::unsupported("this form of table name")),
                Some(name) if information_schema::is_relation(&name) => self.reads_catalogue = true,
                Some(_) => self.table(name, Operation::Select),
            },
            TableFactor::UNNEST { .. } => {
                self.functions.insert("unnest".to_owned());
            }
            _ => {}
        }
        Ok(())
    }

    fn expr(&mut self, expr: &mut Expr) -> Result<(), Error> {
        match expr {
            Expr::Function(function) => self.call(&function.name),
            Expr::CompoundIdentifier(path)
                if path.last().is_some_and(|last| last.value.eq_ignore_ascii_case("nextval")) =>
            {
                self.functions.insert("nextval".to_owned());
            }
            Expr::Value(value) => {
                if let Value::Placeholder(name) = &value.value {
                    let number = name.trim_start_matches('$').parse().unwrap_or(0);
                    self.parameters = self.parameters.max(number);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// What a clause of a MERGE does.
fn done_by(action: &MergeAction) -> Operation {
    match action {
        MergeAction::Insert(_) => Operation::Insert,
        MergeAction::Update(_) => Operation::Update,
        MergeAction::Delete { .. } => Operation::Delete,
        MergeAction::DoNothing { .. } => Operation::Merge,
    }
}

/// Whether a write names other tables whose rows it reads, or answers rows.
fn reads_beside(statement: &Statement) -> bool {
    match statement {
        Statement::Insert(insert) => insert.returning.is_some(),
        Statement::Update(update) => update.from.is_some() || update.returning.is_some(),
        Statement::Delete(delete) => delete.using.is_some() || delete.returning.is_some(),
        _ => false,
    }
}

/// Operations of the statement and of every statement inside it.
#[derive(Default)]
struct Statements {
    operations: BTreeSet<Operation>,
}

impl Visitor for Statements {
    type Break = ();

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<()> {
        let found: &[Operation] = match statement {
            Statement::Query(_) | Statement::ExplainTable { .. } | Statement::List(_) => &[Operation::Select],
            Statement::Insert(insert) if insert.overwrite => &[Operation::Insert, Operation::Delete],
            Statement::Insert(insert) => {
                let updates = matches!(&insert.on, Some(OnInsert::OnConflict(on)) if matches!(on.action, OnConflictAction::DoUpdate(_)));
                if updates { &[Operation::Insert, Operation::Update] } else { &[Operation::Insert] }
            }
            Statement::Update(_) => &[Operation::Update],
            Statement::Delete(_) | Statement::Truncate(_) | Statement::Remove(_) => &[Operation::Delete],
            Statement::Merge(merge) => {
                self.operations.extend(merge.clauses.iter().map(|clause| done_by(&clause.action)));
                &[Operation::Merge, Operation::Select]
            }
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
        };
        self.operations.extend(found);
        if reads_beside(statement) {
            self.operations.insert(Operation::Select);
        }
        ControlFlow::Continue(())
    }

    /// A write that reads, reads.
    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if matches!(factor, TableFactor::Derived { .. }) {
            self.operations.insert(Operation::Select);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, _: &sqlparser::ast::Select) -> ControlFlow<()> {
        self.operations.insert(Operation::Select);
        ControlFlow::Continue(())
    }
}
