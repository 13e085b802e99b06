//! Every table of a statement bound to the catalog, every function to the list.
//!
//! What is not found is refused, and so is what we could not look into: an extraction that is not
//! complete never becomes a [`Resolved`].

use std::collections::HashSet;
use std::sync::Arc;

use sqlparser::ast::{self, Expr, Ident, ObjectName, TableAlias, TableFactor};

use crate::ast::error::Error;
use crate::ast::names::{self, TableName, ours};
use crate::ast::scope::{self, RelationVisitor};
use crate::bind::{information_schema, sequence};
use crate::catalog::comment::Comment;
use crate::catalog::definition;
use crate::catalog::external_change::ExternalChange;
use crate::catalog::staged_rows::StagedRows;
use crate::catalog::table::Table;
use crate::catalog::tables::{Catalog, SessionNames};
use crate::dialect;
use crate::functions::catalogue::Class;
use crate::scan::marker::{self, Marked};
use crate::syntax::statement::{Operation, Statement, StatementKind, many};
use crate::syntax::{label, refusals};
use callable::{called, table_function};
use expanded::Expanded;
use name_forms::NameForms;
use staged_rows::StageBinding;

/// A statement whose every name is known. Made by [`resolve`] alone.
#[derive(Debug, Clone)]
pub struct Resolved {
    pub(crate) kind: StatementKind,
    pub(crate) tree: Box<ast::Statement>,
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
    /// What the engine keeps of what is defined, renamed or commented on.
    pub(crate) comment: Comment,
    pub(crate) sequences: sequence::Changed,
    /// The governed statement is shown, not run.
    pub(crate) explains: bool,
    /// What its caller should know of it.
    pub(crate) remark: Option<&'static str>,
    staged: Vec<StagedRows>,
    external: Option<ExternalChange>,
}

impl Resolved {
    /// `schema.table` of everything read or written, each once, in the order of the text.
    pub fn tables(&self) -> Vec<String> {
        let tables = self.target.iter().chain(&self.also).chain(&self.references).map(|table| table.path());
        once_each(tables.chain(self.views.iter().cloned()))
    }

    /// `schema.table` of everything written, defined, altered or dropped, there or not; of a schema `schema.*`.
    pub fn written(&self) -> &[(String, Operation)] {
        &self.written
    }

    pub fn kind(&self) -> &StatementKind {
        &self.kind
    }

    /// The tables whose rows it reads, each once; none for a statement that makes no table of them, or finds one
    /// of the name there.
    pub fn made_from(&self, known: &Catalog) -> Vec<String> {
        let ast::Statement::CreateTable(create) = &*self.tree else { return Vec::new() };
        let is_there = || known.tables().any(|table| self.written.iter().any(|(path, _)| table.is_at(path)));
        if create.query.is_none() || (create.if_not_exists && is_there()) { Vec::new() } else { self.read() }
    }

    /// The tables that were there before and get rows or values, and those that these are made from; nothing for a
    /// statement that puts nothing there but what it says itself.
    pub fn fills(&self) -> (Vec<&Table>, Vec<String>) {
        use ast::Statement as S;
        if !matches!(*self.tree, S::Insert(_) | S::Update(_) | S::Merge(_)) || self.references.is_empty() {
            return (Vec::new(), Vec::new());
        }
        (self.target.iter().chain(&self.also).map(Arc::as_ref).collect(), self.read())
    }

    /// `schema.table` of everything read, each once.
    fn read(&self) -> Vec<String> {
        once_each(self.references.iter().map(|table| table.path()))
    }

    /// Whether it makes a temporary table that ends with its transaction.
    pub fn drops_at_commit(&self) -> bool {
        temporary::drops_at_commit(&self.tree)
    }

    /// Files of stages whose rows it reads; none where it is shown, not run.
    pub fn staged(&self) -> &[StagedRows] {
        if self.explains { &[] } else { &self.staged }
    }

    /// The path that it gives a table or view, where it renames one.
    pub fn renamed_to(&self) -> Option<String> {
        let ast::Statement::AlterTable(alter) = &*self.tree else { return None };
        let new = names::renamed(alter)?;
        let home = self.written.first().and_then(|(path, _)| path.split_once('.'));
        let home = home.map_or(names::MAIN_SCHEMA, |(home, _)| home);
        Some(format!("{home}.{}", new.value))
    }

    /// A column of a table that is there and the name that it gives it; none where it changes more than that.
    pub fn renamed_column(&self) -> Option<(&str, &str)> {
        let ast::Statement::AlterTable(alter) = &*self.tree else { return None };
        let [ast::AlterTableOperation::RenameColumn { old_column_name: old, new_column_name: new }] =
            alter.operations.as_slice()
        else {
            return None;
        };
        Some((&old.value, &new.value))
    }

    /// Has this written down with the table that it makes.
    pub fn keep_origin(&mut self, origin: String) {
        self.comment.ours = Some(origin);
    }
}

fn once_each(paths: impl Iterator<Item = String>) -> Vec<String> {
    let mut met = HashSet::new();
    paths.filter(|path| met.insert(path.clone())).collect()
}

/// Whether rows are kept there between the steps of a statement: a table that nobody may name.
pub fn is_kept(schema: &str, name: &str) -> bool {
    schema == names::TEMPORARY_SCHEMA && ours::is_kept(name)
}

/// Binds a statement's names as this session sees them.
pub fn resolve(statement: Statement, catalog: &Catalog, session: &SessionNames) -> Result<Resolved, Error> {
    let kind = statement.kind().clone();
    let whole = statement.whole().to_owned();
    let bound = bind(statement, &kind, catalog, session);
    bound.map_err(|error| error.within(&whole))
}

fn bind(
    statement: Statement,
    kind: &StatementKind,
    catalog: &Catalog,
    session: &SessionNames,
) -> Result<Resolved, Error> {
    if let (false, StatementKind::Other(construct)) = (kind.runs(), kind) {
        return Err(refusals::unsupported(construct));
    }
    let (reads, text) = (statement.reads().to_vec(), kept_text(&statement));
    let mut may_have_forms = NameForms::may_have(statement.whole());
    let mut tree = statement.into_admitted()?;
    let explains = *kind == StatementKind::Explain;
    if explains {
        tree = Box::new(explained::query(*tree)?);
    } else if let Some(query) = information_schema::as_query(&tree, kind, catalog, session)? {
        *tree = query;
        may_have_forms = false;
    } else if !kind.runs() {
        return Err(Error::unsupported("running this statement in the engine"));
    }
    let remark = information_schema::remark(kind).or_else(|| target::absent(&tree, catalog));
    label::label(&mut tree, |_| true)?;
    let forms = if may_have_forms { NameForms::of(&tree) } else { NameForms::default() };
    if forms.calls {
        scalar::rewrite(&mut tree)?;
    }
    if forms.paths {
        qualified::shorten(&mut tree, catalog, session);
    }
    let mut binder = Binder::new(catalog, session);
    binder.makes_view = *kind == StatementKind::CreateView;
    let external = binder.external(&mut tree, kind, &text)?;
    let (target, also) = match external {
        Some(_) => (None, Vec::new()),
        None => (binder.target(&mut tree)?, binder.also(&mut tree)?),
    };
    binder.stages = StageBinding::new(reads, target.as_deref(), &mut tree, catalog)?;
    let (comment, external) = match external {
        Some(bound) => (bound.comment, Some(bound.change)),
        None => (binder.comment(&mut tree, &text)?, None),
    };
    let bound: Vec<_> = target.iter().chain(&also).collect();
    let mut written = written::paths(&tree, &bound);
    scope::walk_statement(&mut tree, &mut binder)?;
    let Binder { references, views, sequences: asked, stages, .. } = binder;
    written.extend(once_each(asked.into_iter()).into_iter().map(|path| (path, Operation::Update)));
    temporary::check(&tree, &references)?;
    let sequences = sequence::changed(&mut tree, catalog);
    let kind = if kind.runs() { kind.clone() } else { StatementKind::Select };
    let staged = stages.into_rows();
    Ok(Resolved {
        kind,
        tree,
        references,
        target,
        also,
        written,
        views,
        comment,
        sequences,
        explains,
        remark,
        staged,
        external,
    })
}

/// The text of a statement that makes a definition, which is kept with it; nothing of another.
fn kept_text(statement: &Statement) -> String {
    use ast::Statement as S;
    let is_kept = matches!(statement.tree(), S::CreateView(_) | S::CreateFunction(_));
    if is_kept { statement.text().to_owned() } else { String::new() }
}

struct Binder<'a> {
    catalog: &'a Catalog,
    session: &'a SessionNames,
    references: Vec<Arc<Table>>,
    views: Vec<String>,
    /// Paths of sequences that are asked.
    sequences: Vec<String>,
    makes_view: bool,
    expanded: Expanded,
    stages: StageBinding,
}

impl<'a> Binder<'a> {
    fn new(catalog: &'a Catalog, session: &'a SessionNames) -> Self {
        Self {
            catalog,
            session,
            references: Vec::new(),
            views: Vec::new(),
            sequences: Vec::new(),
            makes_view: false,
            expanded: Expanded::default(),
            stages: StageBinding::default(),
        }
    }

    fn is_in_view(&self) -> bool {
        self.expanded.views > 0 || self.makes_view
    }

    /// Tables of an INSERT into several.
    fn also(&self, tree: &mut ast::Statement) -> Result<Vec<Arc<Table>>, Error> {
        let ast::Statement::Insert(insert) = tree else {
            return Ok(Vec::new());
        };
        many::clauses_mut(insert).map(|clause| self.existing(&mut clause.table_name)).collect()
    }

    /// A view or sequence that is there, by its full name.
    fn definition(
        &self,
        kind: definition::DefinitionKind,
        name: &mut ObjectName,
        if_exists: bool,
    ) -> Result<(), Error> {
        let written = TableName::of(name).ok_or_else(|| Error::unsupported("this form of name"))?;
        match self.catalog.defined(kind, &written, self.session) {
            Some(found) => {
                *name = names::qualified(&found.schema, &found.name);
                Ok(())
            }
            None if if_exists => self.new_table(name),
            None => Err(located(self.catalog.missing(&written), name)),
        }
    }

    fn find(&self, name: &ObjectName) -> Result<&Arc<Table>, Error> {
        let written = TableName::of(name).ok_or_else(|| Error::unsupported("this form of table name"))?;
        self.table(&written).ok_or_else(|| located(self.catalog.missing(&written), name))
    }

    fn table(&self, written: &TableName) -> Option<&Arc<Table>> {
        // a view's names mean what they meant where it was made
        let temporary = self.catalog.temporary(written).filter(|_| self.expanded.views == 0);
        temporary.or_else(|| self.catalog.table(written, self.session))
    }
}

impl RelationVisitor for Binder<'_> {
    fn factor(&mut self, factor: &mut TableFactor, with: Option<usize>, numbers: &mut usize) -> Result<(), Error> {
        match factor {
            TableFactor::Table { name, args: Some(called), .. } => table_function(name, &called.args),
            TableFactor::Function { name, args, .. } => table_function(name, args),
            TableFactor::TableFunction { expr: Expr::Function(function), .. } => table_function(&function.name, &[]),
            TableFactor::TableFunction { .. } => Err(Error::unsupported("TABLE(…) of something other than a function")),
            TableFactor::Table { name, alias, args: None, .. } => {
                let Some(number) = with.filter(|_| !self.validates(name)) else {
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
        if let Some(said) = information_schema::of_session(expr, self.session) {
            *expr = said;
            return Ok(());
        }
        match expr {
            Expr::Function(function) => {
                let single = names::single(&function.name);
                let class = single.and_then(|name| dialect::class(&name.value));
                if class.is_none()
                    && let Some(body) = self.called(function)?
                {
                    *expr = body;
                    return Ok(());
                }
                called(&function.name, class)?;
                if let (Some(asked), Some(Class::Write)) = (single, class) {
                    *expr = self.asks_a_sequence(asked, function)?;
                }
                Ok(())
            }
            Expr::CompoundIdentifier(path) => {
                if let Some(next) = self.next_value(path) {
                    if self.is_in_view() {
                        return Err(Error::unsupported("NEXTVAL in a view"));
                    }
                    *expr = next;
                }
                Ok(())
            }
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

fn located(error: Error, name: &ObjectName) -> Error {
    match names::parts(name).as_deref() {
        Some([first, ..]) => error.at(first.span.start),
        _ => error,
    }
}

mod alone;
mod altered;
mod asked_sequence;
pub(crate) mod callable;
mod comment;
mod expanded;
mod explained;
pub(crate) mod external;
mod name_forms;
mod past_load;
mod qualified;
mod relations;
mod scalar;
pub(crate) mod staged;
mod staged_rows;
mod target;
pub(crate) mod temporary;
#[cfg(test)]
mod tests;
mod written;
