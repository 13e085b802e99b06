//! Every table of a statement bound to the catalog, every function to the list.
//!
//! What is not found is refused, and so is what we could not look into: an extraction that is not
//! complete never becomes a [`Resolved`].

use std::sync::Arc;

use sqlparser::ast::{
    self, Expr, FromTable, Function, FunctionArg, FunctionArgExpr, Ident, ObjectName, TableAlias, TableFactor,
    TableObject, UnaryOperator, Value,
};

use crate::catalog::{Catalog, Names, Table};
use crate::error::{Error, Kind as ErrorKind};
use crate::functions::{self, Class};
use crate::label;
use crate::names::{self, TableName};
use crate::print::marker::{self, Marked};
use crate::scope::{self, Relations};
use crate::statement::{Kind, Statement};

/// A statement whose every name is known. Made by [`resolve`] alone.
#[derive(Debug, Clone)]
pub struct Resolved {
    pub(crate) kind: Kind,
    pub(crate) tree: ast::Statement,
    /// Tables read, one for each reference, by the number its marker holds.
    pub(crate) references: Vec<Arc<Table>>,
    /// The existing table whose rows are written.
    pub(crate) target: Option<Arc<Table>>,
}

impl Resolved {
    /// `schema.table` of everything read or written, each once, in the order of the text.
    pub fn tables(&self) -> Vec<String> {
        let mut paths: Vec<String> = Vec::new();
        for table in self.target.iter().chain(&self.references) {
            let path = table.path();
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths
    }

    pub fn kind(&self) -> &Kind {
        &self.kind
    }
}

/// Binds a statement's names as this session sees them.
pub fn resolve(statement: Statement, catalog: &Catalog, session: &Names) -> Result<Resolved, Error> {
    let kind = statement.kind().clone();
    let whole = statement.whole().to_owned();
    let bound = bind(statement, &kind, catalog, session);
    bound.map_err(|error| error.within(&whole))
}

fn bind(statement: Statement, kind: &Kind, catalog: &Catalog, session: &Names) -> Result<Resolved, Error> {
    if let (false, Kind::Other(construct)) = (kind.runs(), kind) {
        return Err(Error::unsupported(construct.clone()));
    }
    if !kind.runs() {
        return Err(Error::unsupported("running this statement in the engine"));
    }
    let mut tree = statement.into_admitted()?;
    label::label(&mut tree)?;
    let mut binder = Binder { catalog, session, references: Vec::new() };
    let target = binder.target(&mut tree)?;
    scope::walk_statement(&mut tree, &mut binder)?;
    Ok(Resolved { kind: kind.clone(), tree, references: binder.references, target })
}

struct Binder<'a> {
    catalog: &'a Catalog,
    session: &'a Names,
    references: Vec<Arc<Table>>,
}

impl Binder<'_> {
    fn find(&self, name: &ObjectName) -> Result<&Arc<Table>, Error> {
        let Some(written) = TableName::of(name) else {
            return Err(Error::unsupported("this form of table name"));
        };
        self.catalog.find(&written, self.session).map_err(|error| located(error, name))
    }

    /// Binds what the statement writes to; a new table's name gets its home.
    fn target(&self, tree: &mut ast::Statement) -> Result<Option<Arc<Table>>, Error> {
        use ast::Statement as S;
        match tree {
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
            S::AlterTable(alter) => {
                self.existing(&mut alter.name)?;
                Ok(None)
            }
            S::CreateTable(create) => self.new_table(&mut create.name, create.if_not_exists).map(|()| None),
            S::CreateSchema { schema_name: ast::SchemaName::Simple(name), .. } => {
                self.schema(name, false).map(|()| None)
            }
            S::Drop { object_type: ast::ObjectType::Schema, names, .. } => {
                names.iter_mut().try_for_each(|name| self.schema(name, true)).map(|()| None)
            }
            S::Drop { object_type: ast::ObjectType::Table, names, if_exists, .. } => {
                let mut names = names.iter_mut();
                names.try_for_each(|name| self.dropped(name, *if_exists)).map(|()| None)
            }
            _ => Ok(None),
        }
    }

    fn existing(&self, name: &mut ObjectName) -> Result<Arc<Table>, Error> {
        let table = Arc::clone(self.find(name)?);
        *name = names::qualified(&table.schema, &table.name);
        Ok(table)
    }

    fn existing_factor(&self, factor: &mut TableFactor) -> Result<Arc<Table>, Error> {
        let TableFactor::Table { name, alias, args: None, sample: None, .. } = factor else {
            return Err(Error::unsupported("writing to something other than a table"));
        };
        alias_as_named(name, alias);
        self.existing(name)
    }

    fn new_table(&self, name: &mut ObjectName, _if_not_exists: bool) -> Result<(), Error> {
        let written = TableName::of(name).ok_or_else(|| Error::unsupported("this form of table name"))?;
        if written.is_reserved() {
            return Err(located(Error::unsupported("a table of this name"), name));
        }
        let home = self.session.home(self.catalog, &written).filter(|home| self.catalog.has_schema(home));
        let Some(home) = home else {
            return Err(located(Self::no_schema(&written), name));
        };
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
            Err(error) if if_exists && matches!(error.kind, ErrorKind::TableNotFound { .. }) => {
                self.new_table(name, true)
            }
            Err(error) => Err(error),
        }
    }

    fn schema(&self, name: &mut ObjectName, must_exist: bool) -> Result<(), Error> {
        let parts = names::parts(name).unwrap_or_default();
        let schema = match parts.as_slice() {
            [schema] => schema.value.clone(),
            [database, schema] if database.value.eq_ignore_ascii_case(&self.session.database) => schema.value.clone(),
            _ => return Err(Error::unsupported("this form of schema name")),
        };
        let written = TableName { database: None, schema: Some(schema.clone()), name: String::new() };
        if written.is_reserved() {
            return Err(located(Error::unsupported("a schema of this name"), name));
        }
        if must_exist && !self.catalog.has_schema(&schema) {
            return Err(located(Self::no_schema(&written), name));
        }
        *name = ObjectName::from(vec![names::quoted(names::RAW_CATALOG), names::quoted(&schema)]);
        Ok(())
    }
}

impl Relations for Binder<'_> {
    fn factor(&mut self, factor: &mut TableFactor, with: Option<usize>) -> Result<(), Error> {
        match factor {
            TableFactor::Table { name, args: Some(called), .. } => table_function(name, &called.args),
            TableFactor::Function { name, args, .. } => table_function(name, args),
            TableFactor::TableFunction { expr: Expr::Function(function), .. } => table_function(&function.name, &[]),
            TableFactor::TableFunction { .. } => Err(Error::unsupported("TABLE(…) of something other than a function")),
            TableFactor::Table { name, alias, args: None, .. } => {
                let marked = if let Some(number) = with {
                    Marked::With(number)
                } else {
                    let table = Arc::clone(self.find(name)?);
                    self.references.push(table);
                    Marked::Scan(self.references.len() - 1)
                };
                alias_as_named(name, alias);
                *name = marker::name(marked);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn defined(&mut self, alias: &mut Ident, number: usize) {
        *alias = names::quoted(&marker::with_name(number));
    }

    fn expr(&mut self, expr: &mut Expr) -> Result<(), Error> {
        match expr {
            Expr::Function(function) => called(function),
            _ => Ok(()),
        }
    }
}

/// A relation keeps the name it was called by, whatever stands for it in the engine's text.
fn alias_as_named(name: &ObjectName, alias: &mut Option<TableAlias>) {
    if alias.is_none()
        && let Some(last) = names::last(name)
    {
        *alias = Some(TableAlias { explicit: true, name: last.clone(), columns: Vec::new(), at: None });
    }
}

/// The dialect bounds calls in expressions; in FROM it is done here.
fn table_function(name: &ObjectName, args: &[FunctionArg]) -> Result<(), Error> {
    let Some(ident) = names::single(name) else {
        return Err(uncallable(name, Error::unsupported_function));
    };
    if !functions::is_table_function(&ident.value) {
        return Err(uncallable(name, Error::unsupported_function));
    }
    let sizes = functions::sizes(&ident.value).iter();
    if sizes.filter_map(|size| args.get(*size)).all(is_bounded) {
        return Ok(());
    }
    let name = ident.value.to_ascii_lowercase();
    let message = format!("{name} in FROM needs numbers up to {} written out", functions::GENERATED_MAX);
    let kind = ErrorKind::Unsupported { construct: format!("this size in {name}") };
    Err(Error::new(kind, message).at(ident.span.start))
}

/// A literal number that is not too large, or a literal that is no number: dates count by their step.
fn is_bounded(argument: &FunctionArg) -> bool {
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = argument else {
        return false;
    };
    let expr = match expr {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => expr,
        other => other,
    };
    match expr {
        Expr::TypedString(_) => true,
        Expr::Cast { expr, .. } => {
            matches!(expr.as_ref(), Expr::Value(value) if matches!(value.value, Value::SingleQuotedString(_)))
        }
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.parse::<u64>().is_ok_and(|number| number <= functions::GENERATED_MAX),
            _ => false,
        },
        _ => false,
    }
}

/// A call of a function on the list; the dialect bounds those whose result grows with an argument.
fn called(function: &Function) -> Result<(), Error> {
    let Some(ident) = names::single(&function.name) else {
        return Err(uncallable(&function.name, Error::unsupported_function));
    };
    match functions::class(&ident.value) {
        None => return Err(uncallable(&function.name, Error::unsupported_function)),
        Some(Class::Denied) => return Err(uncallable(&function.name, Error::denied_function)),
        Some(Class::Safe | Class::Throwing | Class::Volatile | Class::Write) => {}
    }
    Ok(())
}

fn uncallable(name: &ObjectName, why: impl FnOnce(String) -> Error) -> Error {
    located(why(names::last(name).map_or_else(String::new, |ident| ident.value.to_ascii_lowercase())), name)
}

fn located(error: Error, name: &ObjectName) -> Error {
    match names::parts(name).as_deref() {
        Some([first, ..]) => error.at(first.span.start),
        _ => error,
    }
}

#[cfg(test)]
mod tests;
