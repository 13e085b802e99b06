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
use crate::catalogue;
use crate::definition::{self, Definition};
use crate::error::{Error, Kind as ErrorKind};
use crate::functions::{self, Class};
use crate::label;
use crate::names::{self, TableName};
use crate::print::marker::{self, Marked};
use crate::scope::{self, Relations};
use crate::sequence;
use crate::statement::{Kind, Operation, Statement, many, targets};
use crate::udf;

/// A statement whose every name is known. Made by [`resolve`] alone.
#[derive(Debug, Clone)]
pub struct Resolved {
    pub(crate) kind: Kind,
    pub(crate) tree: ast::Statement,
    /// Tables read, one for each reference, by the number its marker holds.
    pub(crate) references: Vec<Arc<Table>>,
    /// The existing table whose rows are written.
    pub(crate) target: Option<Arc<Table>>,
    /// Tables written by an INSERT into several.
    pub(crate) also: Vec<Arc<Table>>,
    /// `schema.table` of everything written or defined, as this session means the names.
    pub(crate) written: Vec<(String, Operation)>,
    /// Views read, by path; what they are made of is in the references.
    pub(crate) views: Vec<String>,
    /// What the engine keeps of a view or function that is defined or renamed.
    pub(crate) comment: Option<String>,
    /// The governed statement is shown, not run.
    pub(crate) explains: bool,
}

impl Resolved {
    /// `schema.table` of everything read or written, each once, in the order of the text.
    pub fn tables(&self) -> Vec<String> {
        let mut paths: Vec<String> = Vec::new();
        let tables = self.target.iter().chain(&self.also).chain(&self.references).map(|table| table.path());
        for path in tables.chain(self.views.iter().cloned()) {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths
    }

    /// `schema.table` of everything written, defined, altered or dropped, there or not; of a schema `schema.*`.
    pub fn written(&self) -> &[(String, Operation)] {
        &self.written
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
    let home = session.search_path.first().map_or(names::MAIN_SCHEMA, String::as_str);
    let comment =
        matches!(kind, Kind::CreateView | Kind::CreateFunction).then(|| definition::comment(home, statement.text()));
    let mut tree = statement.into_admitted()?;
    let explains = *kind == Kind::Explain;
    if explains {
        tree = explained(tree)?;
    } else if let Some(query) = catalogue::as_query(&tree, kind, catalog, session)? {
        tree = query;
    } else if !kind.runs() {
        return Err(Error::unsupported("running this statement in the engine"));
    }
    label::label(&mut tree)?;
    let mut binder = Binder::new(catalog, session);
    let comment = match &mut tree {
        ast::Statement::AlterTable(alter) => binder.altered(alter)?,
        _ => comment,
    };
    let (target, also) = (binder.target(&mut tree)?, binder.also(&mut tree)?);
    let bound: Vec<_> = target.iter().chain(&also).collect();
    let written = written(&tree, &bound);
    scope::walk_statement(&mut tree, &mut binder)?;
    let Binder { references, views, .. } = binder;
    let kind = if kind.runs() { kind.clone() } else { Kind::Select };
    Ok(Resolved { kind, tree, references, target, also, written, views, comment, explains })
}

/// What is written, once its names are bound: by the name a table is known by, wherever it is stored.
fn written(tree: &ast::Statement, bound: &[&Arc<Table>]) -> Vec<(String, Operation)> {
    if let ast::Statement::Drop { object_type: ast::ObjectType::Schema, names, .. } = tree {
        let last = names.iter().filter_map(names::last);
        return last.map(|schema| (format!("{}.*", schema.value), Operation::Drop)).collect();
    }
    let named = targets(tree).into_iter().filter_map(|(name, operation)| Some((TableName::of(&name)?, operation)));
    named
        .filter(|(_, operation)| *operation != Operation::Select)
        .map(|(name, operation)| {
            let schema = name.schema.as_deref().unwrap_or(names::MAIN_SCHEMA);
            let known = bound.iter().find(|table| table.shelf() == schema && table.name == name.name);
            (known.map_or_else(|| format!("{schema}.{}", name.name), |table| table.path()), operation)
        })
        .collect()
}

/// The query inside EXPLAIN.
fn explained(tree: ast::Statement) -> Result<ast::Statement, Error> {
    let ast::Statement::Explain { statement, analyze: false, .. } = tree else {
        return Err(Error::unsupported("EXPLAIN ANALYZE"));
    };
    if !matches!(*statement, ast::Statement::Query(_)) {
        return Err(Error::unsupported("EXPLAIN of something other than a query"));
    }
    crate::print::admit(&statement)?;
    Ok(*statement)
}

/// How deep views may stand in views.
const VIEWS_DEEP_MAX: usize = 16;
/// Views and functions put in for their names in one statement: each may name others twice and more.
const EXPANSIONS_MAX: usize = 1_000;

struct Binder<'a> {
    catalog: &'a Catalog,
    session: &'a Names,
    references: Vec<Arc<Table>>,
    views: Vec<String>,
    /// Inside of how many views this is.
    depth: usize,
    /// Definitions put in so far.
    expansions: usize,
}

impl<'a> Binder<'a> {
    fn new(catalog: &'a Catalog, session: &'a Names) -> Self {
        Self { catalog, session, references: Vec::new(), views: Vec::new(), depth: 0, expansions: 0 }
    }

    fn expanded(&mut self) -> Result<(), Error> {
        self.expansions += 1;
        if self.expansions > EXPANSIONS_MAX || self.depth > VIEWS_DEEP_MAX {
            return Err(Error::new(ErrorKind::TooDeep, "views and functions name each other too often"));
        }
        Ok(())
    }

    /// The query of a view, its names as they were meant where it was made, its tables like any other.
    fn view(&mut self, view: &Definition, numbers: &mut usize) -> Result<(Box<ast::Query>, Vec<Ident>), Error> {
        self.expanded()?;
        let ast::Statement::CreateView(create) = view.statement()? else {
            return Err(Error::unsupported("this view"));
        };
        let mut tree = ast::Statement::Query(create.query);
        label::label(&mut tree)?;
        let home = Names { search_path: vec![view.home.clone()], ..self.session.clone() };
        let mut inner = Binder {
            catalog: self.catalog,
            session: &home,
            references: std::mem::take(&mut self.references),
            views: std::mem::take(&mut self.views),
            depth: self.depth + 1,
            expansions: self.expansions,
        };
        let walked = scope::walk(&mut tree, &mut inner, numbers);
        self.references = inner.references;
        self.views = inner.views;
        self.expansions = inner.expansions;
        walked?;
        self.views.push(view.path());
        match tree {
            ast::Statement::Query(query) => Ok((query, create.columns.into_iter().map(|column| column.name).collect())),
            _ => Err(Error::unsupported("this view")),
        }
    }

    /// What stands for a table's name: the table, a view's query, a part of the catalogue.
    fn relation(&mut self, factor: &mut TableFactor, numbers: &mut usize) -> Result<(), Error> {
        let TableFactor::Table { name, alias, sample, version, .. } = factor else {
            return Ok(());
        };
        let written = TableName::of(name).ok_or_else(|| Error::unsupported("this form of table name"))?;
        let (subquery, columns) = if catalogue::is_relation(&written) {
            let query = catalogue::relation(&written, self.catalog, self.session);
            (Box::new(query.map_err(|error| located(error, name))?), Vec::new())
        } else {
            let view = self.catalog.defined(definition::Kind::View, &written, self.session);
            if is_dual(&written) && view.is_none() && self.find(name).is_err() {
                alias_as_named(name, alias);
                let row = crate::parse::query("SELECT 'X' AS dummy")?;
                *factor = TableFactor::Derived { lateral: false, subquery: row, alias: alias.take(), sample: None };
                return Ok(());
            }
            let Some(view) = view.filter(|_| !written.is_reserved() && self.find(name).is_err()) else {
                let table = Arc::clone(self.find(name)?);
                self.references.push(table);
                alias_as_named(name, alias);
                *name = marker::name(Marked::Scan(self.references.len() - 1));
                return Ok(());
            };
            if version.is_some() {
                return Err(Error::unsupported("time travel (AT, BEFORE)"));
            }
            self.view(&view, numbers).map_err(|error| located(error, name))?
        };
        alias_as_named(name, alias);
        let mut alias = alias.take();
        if let Some(alias) = &mut alias
            && alias.columns.is_empty()
        {
            let column = |name| ast::TableAliasColumnDef { name, data_type: None };
            alias.columns = columns.into_iter().map(column).collect();
        }
        *factor = TableFactor::Derived { lateral: false, subquery, alias, sample: sample.take() };
        Ok(())
    }

    /// A function of the catalog, its text put in for the call.
    fn defined(&mut self, function: &Function) -> Result<Option<Expr>, Error> {
        let Some(name) = TableName::of(&function.name) else {
            return Ok(None);
        };
        if name.schema.is_none() && functions::known(&name.name) {
            return Ok(None);
        }
        let Some(definition) = self.catalog.defined(definition::Kind::Function, &name, self.session) else {
            return Ok(None);
        };
        self.expanded()?;
        udf::called(&definition, function).map(Some)
    }

    /// `sequence.NEXTVAL`.
    fn next_value(&self, path: &[Ident]) -> Option<Expr> {
        let (last, sequence) = path.split_last()?;
        if !last.value.eq_ignore_ascii_case("nextval") || sequence.is_empty() {
            return None;
        }
        let written = TableName::of(&ObjectName::from(sequence.to_vec()))?;
        let found = self.catalog.defined(definition::Kind::Sequence, &written, self.session)?;
        Some(sequence::next(&found.schema, &found.name))
    }

    /// Tables of an INSERT into several.
    fn also(&self, tree: &mut ast::Statement) -> Result<Vec<Arc<Table>>, Error> {
        let ast::Statement::Insert(insert) = tree else {
            return Ok(Vec::new());
        };
        many::clauses_mut(insert).map(|clause| self.existing(&mut clause.table_name)).collect()
    }

    /// A view or sequence that is there, by its full name.
    fn definition(&self, kind: definition::Kind, name: &mut ObjectName, if_exists: bool) -> Result<(), Error> {
        let written = TableName::of(name).ok_or_else(|| Error::unsupported("this form of name"))?;
        match self.catalog.defined(kind, &written, self.session) {
            Some(found) => {
                *name = names::qualified(&found.schema, &found.name);
                Ok(())
            }
            None if if_exists => self.new_table(name, true),
            None => Err(located(self.catalog.missing(&written), name)),
        }
    }

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
            S::CreateTable(create) => self.new_table(&mut create.name, create.if_not_exists).map(|()| None),
            S::CreateView(create) => self.new_table(&mut create.name, create.if_not_exists).map(|()| None),
            S::CreateSequence { name, if_not_exists, .. } => self.new_table(name, *if_not_exists).map(|()| None),
            S::CreateFunction(create) => {
                udf::check(create)?;
                self.new_table(&mut create.name, create.if_not_exists).map(|()| None)
            }
            S::DropFunction(drop) => {
                let if_exists = drop.if_exists;
                let mut named = drop.func_desc.iter_mut();
                named
                    .try_for_each(|one| self.definition(definition::Kind::Function, &mut one.name, if_exists))
                    .map(|()| None)
            }
            S::Drop { object_type: ast::ObjectType::View, names, if_exists, .. } => {
                let mut names = names.iter_mut();
                names.try_for_each(|name| self.definition(definition::Kind::View, name, *if_exists)).map(|()| None)
            }
            S::Drop { object_type: ast::ObjectType::Sequence, names, if_exists, .. } => {
                let mut names = names.iter_mut();
                names.try_for_each(|name| self.definition(definition::Kind::Sequence, name, *if_exists)).map(|()| None)
            }
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
        *name = names::qualified(table.shelf(), &table.name);
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

    /// Binds the table that is altered. If it is a view, what the engine keeps of it: that goes with its name, which
    /// is all that can be altered.
    fn altered(&self, alter: &mut ast::AlterTable) -> Result<Option<String>, Error> {
        let Err(missing) = self.existing(&mut alter.name) else { return Ok(None) };
        let written = TableName::of(&alter.name).filter(|name| !name.is_reserved());
        let view = written.and_then(|name| self.catalog.defined(definition::Kind::View, &name, self.session));
        let Some(view) = view else { return Err(missing) };
        if !matches!(alter.operations.as_slice(), [ast::AlterTableOperation::RenameTable { .. }]) {
            return Err(located(Error::unsupported("ALTER of a view other than RENAME TO"), &alter.name));
        }
        alter.name = names::qualified(&view.schema, &view.name);
        Ok(Some(definition::comment(&view.home, &view.text)))
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
    fn factor(&mut self, factor: &mut TableFactor, with: Option<usize>, numbers: &mut usize) -> Result<(), Error> {
        match factor {
            TableFactor::Table { name, args: Some(called), .. } => table_function(name, &called.args),
            TableFactor::Function { name, args, .. } => table_function(name, args),
            TableFactor::TableFunction { expr: Expr::Function(function), .. } => table_function(&function.name, &[]),
            TableFactor::TableFunction { .. } => Err(Error::unsupported("TABLE(…) of something other than a function")),
            TableFactor::Table { name, alias, args: None, .. } => {
                let Some(number) = with else {
                    return self.relation(factor, numbers);
                };
                alias_as_named(name, alias);
                *name = marker::name(Marked::With(number));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn defined(&mut self, alias: &mut Ident, number: usize) {
        *alias = names::quoted(&marker::with_name(number));
    }

    fn expr(&mut self, expr: &mut Expr) -> Result<(), Error> {
        if let Some(said) = catalogue::of_session(expr, self.session) {
            *expr = said;
            return Ok(());
        }
        match expr {
            Expr::Function(function) => {
                if let Some(body) = self.defined(function)? {
                    *expr = body;
                    return Ok(());
                }
                called(function)
            }
            Expr::CompoundIdentifier(path) => {
                if let Some(next) = self.next_value(path) {
                    *expr = next;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// The table of one row that queries without a table are written over.
fn is_dual(written: &TableName) -> bool {
    written.schema.is_none() && written.name.eq_ignore_ascii_case("dual")
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
