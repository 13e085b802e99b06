//! The target that a statement writes, makes or drops, bound to its place.

use std::sync::Arc;

use sqlparser::ast::{self, CreateTable, CreateView, FromTable, ObjectName, TableFactor, TableObject};

use super::{Binder, alias_as_named, external, located, temporary};
use crate::ast::error::{Error, ErrorKind};
use crate::ast::names::{self, TableName};
use crate::bind::udf;
use crate::catalog::definition;
use crate::catalog::table::Table;
use crate::catalog::tables::Catalog;

/// What who drops a schema IF EXISTS should know.
pub(super) fn absent(tree: &ast::Statement, catalog: &Catalog) -> Option<&'static str> {
    let ast::Statement::Drop { object_type: ast::ObjectType::Schema, if_exists: true, names, .. } = tree else {
        return None;
    };
    let is_absent = |name| names::last(name).is_some_and(|schema| !catalog.has_schema(&schema.value));
    names.iter().any(is_absent).then_some("the schema does not exist: nothing is dropped")
}

impl Binder<'_> {
    /// Binds what the statement writes to; a new table's name gets its home.
    pub(super) fn target(&self, tree: &mut ast::Statement) -> Result<Option<Arc<Table>>, Error> {
        use ast::Statement as S;
        match tree {
            S::Insert(insert) if insert.multi_table_insert_type.is_some() => Ok(None),
            S::Insert(insert) => {
                let TableObject::TableName(name) = &mut insert.table else {
                    return Err(Error::unsupported("INSERT into something other than a table"));
                };
                self.existing(name).map(Some)
            }
            S::Update(update) => self.existing_factor(&mut update.table.relation).map(Some),
            S::Delete(delete) => {
                let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &mut delete.from;
                let [one] = from.as_mut_slice() else {
                    return Err(Error::unsupported("DELETE of several tables"));
                };
                self.existing_factor(&mut one.relation).map(Some)
            }
            S::Merge(merge) => self.existing_factor(&mut merge.table).map(Some),
            S::Truncate(truncate) => {
                let [one] = truncate.table_names.as_mut_slice() else {
                    return Err(Error::unsupported("TRUNCATE of several tables"));
                };
                self.existing(&mut one.name).map(Some)
            }
            S::CreateTable(create) if create.temporary => temporary::bound(create).map(|()| None),
            S::CreateTable(CreateTable { name, .. }) | S::CreateView(CreateView { name, .. }) => {
                self.new_relation(name).map(|()| None)
            }
            S::CreateSequence { name, .. } => self.new_table(name).map(|()| None),
            S::CreateStage { name, .. } | S::CreateFileFormat { name, .. } => self.staged_new(name).map(|()| None),
            S::Drop { object_type: ast::ObjectType::Stage, names, if_exists, .. } => {
                names.iter_mut().try_for_each(|name| self.staged_dropped(name, *if_exists)).map(|()| None)
            }
            S::CreateFunction(create) => {
                udf::check(create)?;
                self.new_table(&mut create.name).map(|()| None)
            }
            S::DropFunction(drop) => {
                let if_exists = drop.if_exists;
                let mut named = drop.func_desc.iter_mut();
                named
                    .try_for_each(|one| self.definition(definition::DefinitionKind::Function, &mut one.name, if_exists))
                    .map(|()| None)
            }
            S::Drop { object_type: ast::ObjectType::View, names, if_exists, .. } => {
                let mut names = names.iter_mut();
                names
                    .try_for_each(|name| self.definition(definition::DefinitionKind::View, name, *if_exists))
                    .map(|()| None)
            }
            S::Drop { object_type: ast::ObjectType::Sequence, names, if_exists, .. } => {
                let mut names = names.iter_mut();
                names
                    .try_for_each(|name| self.definition(definition::DefinitionKind::Sequence, name, *if_exists))
                    .map(|()| None)
            }
            S::CreateSchema { schema_name: ast::SchemaName::Simple(name), .. } => {
                self.schema(name, false, false).map(|()| None)
            }
            S::Drop { object_type: ast::ObjectType::Schema, names, if_exists, cascade, .. } => {
                // of one that is not known here nothing is dropped, should it be there all the same
                *cascade &= !(*if_exists && names.iter().any(|name| self.lacks_schema(name)));
                let must_exist = !*if_exists;
                names.iter_mut().try_for_each(|name| self.schema(name, true, must_exist)).map(|()| None)
            }
            S::Drop { object_type: ast::ObjectType::Table, names, if_exists, .. } => {
                let mut names = names.iter_mut();
                names.try_for_each(|name| self.dropped(name, *if_exists)).map(|()| None)
            }
            _ => Ok(None),
        }
    }

    pub(super) fn existing(&self, name: &mut ObjectName) -> Result<Arc<Table>, Error> {
        let table = Arc::clone(self.find(name)?);
        external::stays(&table).map_err(|error| located(error, name))?;
        if table.attached {
            return Err(located(Error::unsupported("changing a table of an attached database"), name));
        }
        *name = table.place();
        Ok(table)
    }

    fn existing_factor(&self, factor: &mut TableFactor) -> Result<Arc<Table>, Error> {
        let TableFactor::Table { name, alias, args: None, sample: None, .. } = factor else {
            return Err(Error::unsupported("writing to something other than a table"));
        };
        alias_as_named(name, alias);
        self.existing(name)
    }

    pub(super) fn new_table(&self, name: &mut ObjectName) -> Result<(), Error> {
        let written = TableName::of(name).ok_or_else(|| Error::unsupported("this form of table name"))?;
        if written.is_reserved() {
            return Err(located(Error::unsupported("a table of this name"), name));
        }
        let home = self.session.home(self.catalog, &written).filter(|home| self.catalog.has_schema(home));
        let Some(home) = home else {
            return Err(located(Self::no_schema(&written), name));
        };
        names::last(name).map_or(Ok(()), names::admit_new)?;
        *name = names::qualified(home, &written.name);
        Ok(())
    }

    fn no_schema(written: &TableName) -> Error {
        let schema = written.schema.clone().unwrap_or_default();
        let kind = ErrorKind::TableNotFound { schema: None, name: schema.clone(), did_you_mean: None };
        Error::new(kind, format!("schema {schema} does not exist"))
    }

    /// A table that is not there may be dropped IF EXISTS.
    fn dropped(&self, name: &mut ObjectName, if_exists: bool) -> Result<(), Error> {
        match self.existing(name) {
            Ok(_) => Ok(()),
            Err(error) if if_exists && matches!(error.kind, ErrorKind::TableNotFound { .. }) => self.new_table(name),
            Err(error) => Err(error),
        }
    }

    fn lacks_schema(&self, name: &ObjectName) -> bool {
        names::last(name).is_none_or(|schema| !self.catalog.has_schema(&schema.value))
    }

    fn schema(&self, name: &mut ObjectName, is_dropped: bool, must_exist: bool) -> Result<(), Error> {
        let parts = names::parts(name).unwrap_or_default();
        let schema = match parts.as_slice() {
            [schema] => schema.value.clone(),
            [database, schema] if database.value.eq_ignore_ascii_case(&self.session.database) => schema.value.clone(),
            _ => return Err(Error::unsupported("this form of schema name")),
        };
        let written = TableName { database: None, schema: Some(schema.clone()), name: String::new() };
        if written.is_reserved() || (!is_dropped && names::is_taken_schema(&schema)) {
            return Err(located(Error::unsupported("a schema of this name"), name));
        }
        names::last(name).map_or(Ok(()), names::admit_new)?;
        if must_exist && !self.catalog.has_schema(&schema) {
            return Err(located(Self::no_schema(&written), name));
        }
        *name = ObjectName::from(vec![names::quoted(names::RAW_CATALOG), names::quoted(&schema)]);
        Ok(())
    }
}
