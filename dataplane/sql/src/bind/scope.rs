//! The scope of each place of a statement: the relations and names in reach there, with their types.
//!
//! A walk says where a query, a select and a relation begin and end. A name is looked up in the innermost scope that
//! has it, as the engine does; what may be a column of a relation whose columns are not known has no known type.

mod columns;
mod frame;
mod jsonb;
mod place;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use columns::BoundType;
pub(crate) use columns::{BoundColumn, BoundColumns, StatementTables, TableColumns};
use frame::{BoundRelation, ResolvedType, ScopeFrame};
use place::Place;
use sqlparser::ast::{Cte, Expr, Ident, ObjectName, Query, Select, SetExpr, TableFactor, With};

use super::types::ColumnTypes;
use super::types::digits::Digits;
use crate::ast::error::Error;
use crate::catalog::lower_case::lowered;
use crate::functions::types::Type;

/// The scopes around one place of a walk, innermost last.
pub(crate) struct Scopes<'a> {
    tables: &'a dyn TableColumns,
    frames: Vec<ScopeFrame>,
    /// Columns of the WITH queries, by the names that FROM has for them.
    with: HashMap<String, BoundColumns>,
    /// Parameters of lambdas, each of which has a name of its own.
    parameters: HashMap<String, Type>,
    named: RefCell<MetNames>,
    /// Names of columns and aliases that are a variant somewhere, in lower case.
    variants: HashSet<String>,
    has_open: bool,
    /// Columns of the query that ended last.
    answered: BoundColumns,
}

/// Names of the columns that were met so far. They are put in order when somebody asks, which few statements do.
#[derive(Debug, Default)]
struct MetNames {
    /// Those met since then.
    last: Vec<Rc<str>>,
    /// The others, in lower case.
    known: HashSet<String>,
}

impl<'a> Scopes<'a> {
    pub(crate) fn new(tables: &'a dyn TableColumns) -> Self {
        Self {
            tables,
            frames: vec![ScopeFrame::default()],
            with: HashMap::new(),
            parameters: HashMap::new(),
            named: RefCell::default(),
            variants: HashSet::new(),
            has_open: false,
            answered: BoundColumns::default(),
        }
    }

    fn place(&self) -> Place<'_> {
        Place::new(self, None)
    }

    pub(crate) fn begin(&mut self) {
        self.frames.push(ScopeFrame::default());
    }

    /// How many relations the innermost scope has: what stands behind them belongs to the relation that begins.
    pub(crate) fn relations(&self) -> usize {
        self.frames.last().map_or(0, |frame| frame.relations.len())
    }

    /// A relation that ends, of those that began behind `within`; a join in brackets leaves its relations as they are.
    pub(crate) fn relation(&mut self, factor: &TableFactor, within: usize) {
        if matches!(factor, TableFactor::NestedJoin { alias: None, .. }) {
            return;
        }
        let inner = match self.frames.last_mut() {
            Some(frame) => frame.relations.split_off(within.min(frame.relations.len())),
            None => Vec::new(),
        };
        let alias = columns::alias(factor);
        let found = match factor {
            TableFactor::Derived { .. } => std::mem::take(&mut self.answered),
            TableFactor::NestedJoin { .. } => BoundColumns::of_all(inner.iter().map(|relation| &relation.columns)),
            TableFactor::Pivot { .. } | TableFactor::Unpivot { .. } => {
                BoundColumns { is_open: true, ..BoundColumns::of_all(inner.iter().map(|relation| &relation.columns)) }
            }
            other => self.place().leaf(other),
        };
        self.add(alias, found.renamed(columns::renamed(factor)));
    }

    /// The relations that a statement writes to and reads beside, before its expressions are walked.
    pub(crate) fn read(&mut self, factors: &[&TableFactor]) {
        for factor in factors {
            let found = self.place().factor(factor);
            self.add(columns::alias(factor), found);
        }
    }

    fn add(&mut self, alias: String, columns: BoundColumns) {
        self.has_open |= columns.is_open;
        let variants = columns.columns.iter().filter(|column| column.kind == Type::Json);
        self.variants.extend(variants.map(|column| column.name.to_ascii_lowercase()));
        self.named.get_mut().last.extend(columns.columns.iter().map(|column| Rc::clone(&column.name)));
        let is_outermost = self.frames.len() == 1;
        if let Some(frame) = self.frames.last_mut() {
            // a statement that writes has read it already
            frame.relations.retain(|known| !is_outermost || !known.alias.eq_ignore_ascii_case(&alias));
            frame.relations.push(BoundRelation::new(alias, columns));
        }
    }

    /// A name of the select list, for what stands behind it; `is_repeated` where its expression must stand there too.
    pub(crate) fn define(&mut self, alias: &Ident, expr: &Expr, is_repeated: bool) {
        let known = BoundType::of(expr, self);
        let name = alias.value.to_ascii_lowercase();
        if known.kind == Type::Json {
            self.variants.insert(name.clone());
        }
        if let Some(frame) = self.frames.last_mut() {
            if is_repeated {
                frame.meant.entry(name.clone()).or_insert_with(|| expr.clone());
            }
            frame.defined.entry(name).or_insert(known);
        }
    }

    /// The expression to repeat for a name, where it is an alias of the select around it and can be no column.
    pub(crate) fn meant(&self, name: &str) -> Option<&Expr> {
        let frame = self.frames.last().filter(|frame| !frame.meant.is_empty())?;
        let meant = frame.meant.get(&*lowered(name))?;
        let may_be_column = |relation: &BoundRelation| relation.columns.is_open || relation.column(name).is_some();
        (frame.is_behind || !frame.relations.iter().any(may_be_column)).then_some(meant)
    }

    /// What the one relation of the innermost scope is called, if it has this column.
    pub(crate) fn only_relation_with(&self, column: &str) -> Option<&str> {
        let [only] = self.frames.last()?.relations.as_slice() else { return None };
        only.column(column).is_some().then_some(only.alias.as_str())
    }

    /// Whether the place is behind a query's body, in its ORDER BY or LIMIT.
    pub(crate) fn is_behind(&self) -> bool {
        self.frames.last().is_some_and(|frame| frame.is_behind)
    }

    /// A parameter of a lambda, which has a name that nothing else has.
    pub(crate) fn parameter(&mut self, name: &str, kind: Type) {
        self.parameters.insert(name.to_ascii_lowercase(), kind);
    }

    /// The end of a select; the query around it can sort by what this one names.
    pub(crate) fn end_select(&mut self, select: &Select) {
        let outputs = self.place().projection(select);
        let Some(ScopeFrame { relations, meant, .. }) = self.frames.pop() else { return };
        let Some(query) = self.frames.last_mut() else { return };
        query.is_behind = true;
        (query.relations, query.meant) = if query.arms.is_empty() { (relations, meant) } else { Default::default() };
        query.answer(outputs);
    }

    /// The columns of each select of the query, before it ends.
    pub(crate) fn arms(&mut self) -> Option<&mut Vec<BoundColumns>> {
        self.frames.last_mut().map(|query| &mut query.arms)
    }

    pub(crate) fn end_query(&mut self, query: &Query) {
        let arms = self.frames.pop().map(|frame| frame.arms).unwrap_or_default();
        let outputs = arms.into_iter().reduce(|so_far, arm| so_far.united(&arm));
        self.answered = match outputs {
            Some(outputs) if is_of_selects(&query.body) => outputs,
            _ => self.place().query(query),
        };
    }

    /// The columns of the table that a statement writes to, as they are declared.
    pub(crate) fn written(&self, name: &ObjectName) -> Option<Vec<BoundColumn>> {
        self.tables.written(name)
    }

    /// The columns of the query that ended last.
    pub(crate) fn answered(&self) -> &BoundColumns {
        &self.answered
    }

    /// A WITH query before its body: what names itself has the types that it begins with.
    pub(crate) fn begin_with(&mut self, with: &With, cte: &Cte) {
        if let (true, SetExpr::SetOperation { left, .. }) = (with.recursive, cte.query.body.as_ref()) {
            let begun = self.place().body(left);
            self.keep(cte, begun);
        }
    }

    /// A WITH query whose body ended last.
    pub(crate) fn end_with(&mut self, cte: &Cte) {
        let answered = std::mem::take(&mut self.answered);
        self.keep(cte, answered);
    }

    fn keep(&mut self, cte: &Cte, columns: BoundColumns) {
        let columns = columns.renamed(&cte.alias.columns);
        self.with.insert(cte.alias.name.value.to_ascii_lowercase(), columns);
    }

    /// Refuses a name that may be a variant and may not: to read it as either could be wrong.
    pub(crate) fn certain(&self, expr: &Expr) -> Result<(), Error> {
        if self.variants.is_empty() {
            return Ok(());
        }
        let name = match expr {
            Expr::Nested(inner) => return self.certain(inner),
            Expr::Identifier(ident) => ident,
            _ => return Ok(()),
        };
        let is_variant = self.variants.contains(&*lowered(&name.value));
        if is_variant && matches!(self.place().resolve(&name.value), Some(ResolvedType::Open)) {
            return Err(Error::unsupported(format!(
                "the name {} for a variant and for another column in one statement",
                name.value
            )));
        }
        Ok(())
    }

    /// Whether anything in the statement so far is known to have a column of this name.
    pub(crate) fn is_column(&self, name: &str) -> bool {
        let mut named = self.named.borrow_mut();
        let MetNames { last, known } = &mut *named;
        known.extend(last.drain(..).map(|name| name.to_ascii_lowercase()));
        known.contains(&*lowered(name))
    }

    /// Whether anything in the statement so far may have columns that are not known.
    pub(crate) fn has_open(&self) -> bool {
        self.has_open
    }

    /// Whether the relation of this name may have columns that are not known.
    pub(crate) fn is_open(&self, alias: &str) -> bool {
        let relations = self.frames.iter().flat_map(|frame| &frame.relations);
        relations.filter(|known| known.alias.eq_ignore_ascii_case(alias)).any(|known| known.columns.is_open)
    }
}

/// Whether the columns of its selects are all that it has.
fn is_of_selects(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(_) => true,
        SetExpr::SetOperation { left, right, .. } => is_of_selects(left) && is_of_selects(right),
        _ => false,
    }
}

impl ColumnTypes for Scopes<'_> {
    fn column(&self, qualifier: Option<&str>, name: &str) -> Type {
        self.place().column(qualifier, name)
    }

    fn minutes(&self, qualifier: Option<&str>, name: &str) -> Option<i32> {
        self.place().minutes(qualifier, name)
    }

    fn digits(&self, qualifier: Option<&str>, name: &str) -> Option<Digits> {
        self.place().digits(qualifier, name)
    }

    fn subquery(&self, query: &Query) -> Type {
        self.place().subquery(query)
    }
}
