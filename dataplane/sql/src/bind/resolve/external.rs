//! External tables: bound to their stage where they are made, and to the rows of their files where they are read.
//!
//! The rows are known by the name of the table, so policies and grants judge it as any table. Who reads it needs no right
//! to the stage; where its files are is asked of the stage as it is now, which must be the one it was made over.

mod conditions;

use std::sync::Arc;

use sqlparser::ast::{self, CreateView, Expr, ObjectName, SelectItem, SetExpr, Statement, TableFactor, Value};
use sqlparser::tokenizer::Location;

use super::{Binder, alias_as_named, located};
use crate::ast::error::{Error, ErrorKind};
use crate::ast::names::{self, TableName, ours};
use crate::catalog::comment::Comment;
use crate::catalog::definition::{self, Definition};
use crate::catalog::external_change::ExternalChange;
use crate::catalog::external_rows::ExternalRows;
use crate::catalog::external_table::{
    ExternalColumn, ExternalDefinition, KeptExternalTable, PartitionCondition, RECORD_COLUMN, record,
};
use crate::catalog::file_reading::FileReading;
use crate::catalog::stage::Stage;
use crate::catalog::staged_rows::{FILE_NAME, FileChoice, ROW_NUMBER, StagedRows};
use crate::catalog::table::{Column, Table};
use crate::catalog::tables::SessionNames;
use crate::dialect::text_by_format;
use crate::scan::marker::{self, Marked};
use crate::syntax::parse;
use crate::syntax::statement::{ExternalCommand, StatementKind};

pub(super) use conditions::{Conditions, conditions};

/// A statement about an external table, whose tree has its full name now.
pub(super) struct BoundExternal {
    /// What the engine is to keep with it.
    pub comment: Comment,
    pub change: ExternalChange,
}

impl super::Resolved {
    /// What it changes of the files that are known of an external table.
    pub fn external(&self) -> Option<&ExternalChange> {
        self.external.as_ref()
    }
}

impl Binder<'_> {
    /// Binds a statement about an external table. `text` is what was written.
    pub(super) fn external(
        &mut self,
        tree: &mut Statement,
        kind: &StatementKind,
        text: &str,
    ) -> Result<Option<BoundExternal>, Error> {
        let StatementKind::ExternalTable(command) = kind else { return Ok(None) };
        if *command == ExternalCommand::Show {
            return Ok(None);
        }
        match (command, tree) {
            (ExternalCommand::Create(definition), Statement::CreateView(create)) => {
                self.external_made(definition, create, text).map(Some)
            }
            (ExternalCommand::Refresh { path }, Statement::AlterTable(alter)) => {
                let change = match self.external_named(&mut alter.name, alter.if_exists)? {
                    Some(table) => {
                        let mut rows = self.rows_of_external(&table)?;
                        rows.chosen.prefix.push_str(path);
                        ExternalChange::Refreshed { rows: Box::new(rows) }
                    }
                    None => ExternalChange::Nothing,
                };
                Ok(Some(BoundExternal { comment: Comment::default(), change }))
            }
            (ExternalCommand::List { change, files }, Statement::AlterTable(alter)) => {
                let change = match self.external_named(&mut alter.name, alter.if_exists)? {
                    Some(table) => {
                        let rows = Box::new(self.rows_of_external(&table)?);
                        let paths = files.iter().map(|file| format!("{}{file}", rows.chosen.prefix)).collect();
                        ExternalChange::Listed { rows, paths, change: *change }
                    }
                    None => ExternalChange::Nothing,
                };
                Ok(Some(BoundExternal { comment: Comment::default(), change }))
            }
            (ExternalCommand::Drop, Statement::Drop { names, if_exists, .. }) => {
                let [name] = names.as_mut_slice() else { return Err(Error::unsupported("DROP of several at once")) };
                let change = match self.external_named(name, *if_exists)?.and_then(|table| table.external.clone()) {
                    Some(kept) => ExternalChange::Dropped { id: kept.id.clone() },
                    None => ExternalChange::Nothing,
                };
                Ok(Some(BoundExternal { comment: Comment::default(), change }))
            }
            _ => Err(Error::unsupported("this form of a statement about an external table")),
        }
    }

    /// The external table of this name, which gets its full one; none where it need not be there.
    fn external_named(&self, name: &mut ObjectName, if_exists: bool) -> Result<Option<Arc<Table>>, Error> {
        match self.find(name).cloned() {
            Ok(table) if table.is_external() => {
                *name = names::qualified(&table.schema, &table.name);
                Ok(Some(table))
            }
            Ok(table) => Err(located(Error::unsupported(format!("{} as an external table", table.path())), name)),
            Err(_) if if_exists && self.view_named(name).is_none() => self.new_table(name).map(|()| None),
            Err(missing) => Err(missing),
        }
    }

    /// The full name of a table or view that is made, in place of no external table.
    pub(super) fn new_relation(&self, name: &mut ObjectName) -> Result<(), Error> {
        self.new_table(name)?;
        self.placed(name).map_or(Ok(()), |table| stays(&table)).map_err(|error| located(error, name))
    }

    /// The table that is where a full name says.
    fn placed(&self, full: &ObjectName) -> Option<Arc<Table>> {
        let TableName { schema, name, .. } = TableName::of(full)?;
        self.catalog.get(schema.as_deref().unwrap_or(names::MAIN_SCHEMA), &name).cloned()
    }

    fn external_made(
        &mut self,
        definition: &ExternalDefinition,
        create: &mut CreateView,
        text: &str,
    ) -> Result<BoundExternal, Error> {
        if create.or_replace && create.if_not_exists {
            return Err(Error::unsupported("OR REPLACE with IF NOT EXISTS"));
        }
        // what is kept is the text, and a session's variables are not in it
        if defined_by(text).as_ref() != Some(definition) {
            return Err(Error::unsupported("a variable in an external table"));
        }
        let stage = self.staged_named(&definition.stage)?;
        self.new_table(&mut create.name)?;
        let TableName { schema, name, .. } =
            TableName::of(&create.name).ok_or_else(|| Error::unsupported("this form of table name"))?;
        let schema = schema.unwrap_or_else(|| names::MAIN_SCHEMA.to_owned());
        let there = self.placed(&create.name).and_then(|table| table.external.clone().map(|kept| (table, kept)));
        if there.is_none() && self.catalog.has_relation(&schema, &name) {
            let what = format!("an external table of the name of the table or view {schema}.{name}");
            return Err(located(Error::unsupported(what), &create.name));
        }
        without_rows(create)?;
        self.views.push(stage.path());
        if let (Some((table, kept)), true) = (&there, create.if_not_exists) {
            let home = definition::searched(&kept.homes);
            let comment = Comment { words: table.comment.clone(), ..definition::comment(&home, &kept.kept) };
            return Ok(BoundExternal { comment, change: ExternalChange::Nothing });
        }
        let id = self.session.statement_id.clone();
        let stage_id = stage.stage()?.id;
        let external = ExternalRows {
            schema,
            name,
            id: id.clone(),
            kept_as: ours::staged(0),
            columns: Vec::new(),
            made: made_of(definition),
            partitions: partitions(definition),
            conditions: Vec::new(),
            is_whole: false,
        };
        let rows = self.rows_over(definition, &stage, external, ours::staged_file(0))?;
        let home = definition::searched(&self.session.search_path);
        let kept = KeptExternalTable::written(&id, &stage_id, text);
        let comment = Comment { words: definition.comment.clone(), ..definition::comment(&home, &kept) };
        let replaces = there.map(|(_, kept)| kept.id.clone());
        let (rows, is_filled) = (Box::new(rows), definition.is_filled);
        Ok(BoundExternal { comment, change: ExternalChange::Made { rows, replaces, is_filled } })
    }

    /// What stands for an external table's name.
    pub(super) fn external_rows(&mut self, factor: &mut TableFactor, table: &Arc<Table>) -> Result<(), Error> {
        let TableFactor::Table { name, alias, .. } = factor else { return Ok(()) };
        let at = names::last(name).map(|last| last.span.start);
        let kept_as = match self.read_before(&table.path()) {
            Some(kept_as) => kept_as,
            None => self.read_first(table, at).map_err(|error| located(error, name))?,
        };
        self.references.push(Arc::new(Table::clone(table).kept_as(&kept_as)));
        alias_as_named(name, alias);
        *name = marker::name(Marked::Scan(self.references.len() - 1));
        Ok(())
    }

    /// Where the rows are kept of one that is read elsewhere in the statement: all of them, for both places.
    fn read_before(&mut self, path: &str) -> Option<String> {
        for known in self.stages.rows.iter_mut().filter_map(|rows| rows.external.as_mut()) {
            if known.path() == path {
                known.conditions.clear();
                return Some(known.kept_as.clone());
            }
        }
        None
    }

    fn read_first(&mut self, table: &Table, at: Option<Location>) -> Result<String, Error> {
        let number = self.stages.reads.len() + self.stages.rows.len();
        let kept_as = ours::staged(number);
        let mut rows = self.rows_of_external(table)?;
        rows.kept_as = ours::staged_file(number);
        let asked = at.and_then(|at| self.stages.conditions.get(&at)).cloned().unwrap_or_default();
        if let Some(external) = &mut rows.external {
            external.kept_as.clone_from(&kept_as);
            // places in the text of a view are none of this statement's
            let is_asked = |one: &PartitionCondition| self.expanded.views == 0 && external.is_partition(&one.column);
            external.conditions = asked.into_iter().filter(is_asked).collect();
        }
        self.stages.rows.push(rows);
        Ok(kept_as)
    }

    /// The rows of an external table, as its definition says them and as its stage is now.
    fn rows_of_external(&self, table: &Table) -> Result<StagedRows, Error> {
        let gone = || {
            let construct = format!("the external table {} without its stage", table.path());
            let message = format!("the stage of the external table {} is not there any more", table.path());
            Error::new(ErrorKind::Unsupported { construct }, format!("{message}: create the table anew"))
        };
        let kept = table.external.as_ref().ok_or_else(gone)?;
        let unreadable = |error: Error| Error { position: None, snippet: None, ..error };
        let definition = defined_by(&kept.text).ok_or_else(gone)?;
        let home = SessionNames { search_path: kept.homes.clone(), ..self.session.clone() };
        let binder = Binder::new(self.catalog, &home);
        let stage = binder.staged_named(&definition.stage).map_err(|_| gone())?;
        if stage.stage().map_err(unreadable)?.id != kept.stage_id {
            return Err(gone());
        }
        let external = ExternalRows {
            schema: table.schema.clone(),
            name: table.name.clone(),
            id: kept.id.clone(),
            kept_as: ours::staged(0),
            columns: table.columns.clone(),
            made: made_of(&definition),
            partitions: partitions(&definition),
            conditions: Vec::new(),
            is_whole: false,
        };
        binder.rows_over(&definition, &stage, external, ours::staged_file(0)).map_err(unreadable)
    }

    /// The records of the files behind an external table.
    fn rows_over(
        &self,
        definition: &ExternalDefinition,
        stage: &Definition,
        external: ExternalRows,
        kept_as: String,
    ) -> Result<StagedRows, Error> {
        let Stage { id, format, location } = stage.stage()?;
        let format = self.format_of(definition.format.clone().unwrap_or(format))?;
        let reading = FileReading::of(&format, text_by_format)?;
        super::staged_rows::are_plain(&reading)?;
        if super::staged_rows::has_header(&reading) {
            return Err(Error::unsupported("PARSE_HEADER of an external table"));
        }
        let (prefix, pattern) = (definition.prefix.clone(), definition.pattern.clone());
        Ok(StagedRows {
            schema: stage.schema.clone(),
            name: stage.name.clone(),
            called: stage.called().to_owned(),
            stage_id: id,
            location,
            chosen: FileChoice { prefix, names: Vec::new(), pattern },
            reading,
            kept_as,
            columns: record_columns(),
            filled: Vec::new(),
            load: None,
            metadata: Vec::new(),
            infers: None,
            said: None,
            past: None,
            members: None,
            external: Some(external),
        })
    }
}

/// The columns of an external table that are made of a record's number in its file.
pub fn numbered_columns(table: &Table) -> Vec<String> {
    let is_numbered = |column: &ExternalColumn| column.expr.to_string().to_ascii_uppercase().contains(ROW_NUMBER);
    let defined = table.external.as_ref().and_then(|kept| defined_by(&kept.text));
    let columns = defined.into_iter().flat_map(|definition| definition.columns);
    columns.filter(is_numbered).map(|column| column.name.value).collect()
}

/// What a statement says that makes an external table.
fn defined_by(text: &str) -> Option<ExternalDefinition> {
    match parse::parse(text).ok()?.kind() {
        StatementKind::ExternalTable(ExternalCommand::Create(definition)) => {
            Some(ExternalDefinition::clone(definition))
        }
        _ => None,
    }
}

/// Refuses to change the rows or the definition of an external table: its rows are those of its files.
pub(super) fn stays(table: &Table) -> Result<(), Error> {
    if !table.is_external() {
        return Ok(());
    }
    let what = format!("a change of the external table {}, whose rows are in files,", table.path());
    Err(Error::unsupported(what))
}

/// What an expression of an external table's column may name.
fn record_columns() -> Vec<Column> {
    let columns = [(RECORD_COLUMN, "JSON"), (FILE_NAME, "VARCHAR"), (ROW_NUMBER, "BIGINT")];
    columns.map(|(name, type_name)| Column::new(name, type_name)).to_vec()
}

/// Its columns, the whole record first.
fn made_of(definition: &ExternalDefinition) -> Vec<ExternalColumn> {
    let whole = ExternalColumn { name: names::quoted(RECORD_COLUMN), data_type: ast::DataType::JSON, expr: record() };
    std::iter::once(whole).chain(definition.columns.iter().cloned()).collect()
}

fn partitions(definition: &ExternalDefinition) -> Vec<String> {
    definition.partition_by.iter().map(|name| name.value.clone()).collect()
}

/// Makes the query of the view that the engine has one of NULLs and without rows: of the types, and of nothing else.
fn without_rows(create: &mut CreateView) -> Result<(), Error> {
    let unexpected = || Error::unsupported("this external table");
    let SetExpr::Select(select) = create.query.body.as_mut() else { return Err(unexpected()) };
    select.from.clear();
    for item in &mut select.projection {
        let SelectItem::ExprWithAlias { expr: Expr::Cast { expr, .. }, .. } = item else { return Err(unexpected()) };
        **expr = Expr::value(Value::Null);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
