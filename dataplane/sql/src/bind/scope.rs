//! The scope of each place of a statement: the relations and names in reach there, with their types.
//!
//! A walk says where a query, a select and a relation begin and end. A name is looked up in the innermost scope that
//! has it, as the engine does; what may be a column of a relation whose columns are not known has no known type.

mod columns;
mod jsonb;
mod place;

use std::collections::{HashMap, HashSet};

use columns::BoundType;
pub(crate) use columns::{BoundColumn, BoundColumns, StatementTables, TableColumns};
use place::Place;
use sqlparser::ast::{Cte, Expr, Ident, ObjectName, Query, Select, SetExpr, TableFactor, With};

use super::types::ColumnTypes;
use super::types::digits::Digits;
use crate::ast::error::Error;
use crate::functions::types::Type;

/// A relation of FROM, by the name that it has there.
#[derive(Debug, Default)]
struct BoundRelation {
    alias: String,
    types: HashMap<String, BoundType>,
    columns: BoundColumns,
}

impl BoundRelation {
    fn new(alias: String, columns: BoundColumns) -> Self {
        let mut types = HashMap::with_capacity(columns.columns.len());
        for column in &columns.columns {
            let known = types.entry(column.name.to_ascii_lowercase()).or_insert_with(|| column.bound());
            *known = known.agree(column.bound());
        }
        Self { alias, types, columns }
    }
}

/// The names in reach of one select, or of the ORDER BY of one query.
#[derive(Debug, Default)]
struct ScopeFrame {
    relations: Vec<BoundRelation>,
    /// Aliases of the select list so far, by their names in lower case.
    defined: HashMap<String, BoundType>,
    /// What aliases mean whose expressions must be repeated where they are named.
    meant: HashMap<String, Expr>,
    /// Columns of each select of the query so far, where it is the frame of a query.
    arms: Vec<BoundColumns>,
    /// What these become.
    so_far: BoundColumns,
    /// Whether a name means an alias before it means a column.
    is_behind: bool,
}

impl ScopeFrame {
    /// The type of what a name without a path means here; a type that is not known for what it may mean.
    fn bare(&self, name: &str) -> Option<ResolvedType> {
        let mut types = self.relations.iter().filter_map(|relation| relation.types.get(name)).copied();
        let column = types.next().map(|first| types.fold(first, BoundType::agree));
        let alias = self.defined.get(name).copied();
        let found = if self.is_behind { alias.or(column) } else { column.or(alias) };
        let is_open = || self.relations.iter().any(|relation| relation.columns.is_open);
        found.map(ResolvedType::Known).or_else(|| is_open().then_some(ResolvedType::Open))
    }

    fn of(&self, relation: &str, name: &str) -> Option<ResolvedType> {
        let relation = self.relations.iter().find(|found| found.alias.eq_ignore_ascii_case(relation))?;
        Some(relation.types.get(name).map_or(ResolvedType::Open, |kind| ResolvedType::Known(*kind)))
    }
}

/// The type of a resolved name.
#[derive(Debug, Clone, Copy)]
enum ResolvedType {
    Known(BoundType),
    /// It may be a column of what has columns that are not known.
    Open,
}

/// The scopes around one place of a walk, innermost last.
pub(crate) struct Scopes<'a> {
    tables: &'a dyn TableColumns,
    frames: Vec<ScopeFrame>,
    /// Columns of the WITH queries, by the names that FROM has for them.
    with: HashMap<String, BoundColumns>,
    /// Parameters of lambdas, each of which has a name of its own.
    parameters: HashMap<String, Type>,
    /// Names of columns met so far, and those of them that are a variant somewhere.
    named: HashSet<String>,
    variants: HashSet<String>,
    has_open: bool,
    /// Columns of the query that ended last.
    answered: BoundColumns,
}

impl<'a> Scopes<'a> {
    pub(crate) fn new(tables: &'a dyn TableColumns) -> Self {
        Self {
            tables,
            frames: vec![ScopeFrame::default()],
            with: HashMap::new(),
            parameters: HashMap::new(),
            named: HashSet::new(),
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
        for column in &columns.columns {
            self.note(&column.name, column.kind);
        }
        let is_outermost = self.frames.len() == 1;
        if let Some(frame) = self.frames.last_mut() {
            // a statement that writes has read it already
            frame.relations.retain(|known| !is_outermost || !known.alias.eq_ignore_ascii_case(&alias));
            frame.relations.push(BoundRelation::new(alias, columns));
        }
    }

    fn note(&mut self, name: &str, kind: Type) {
        let name = name.to_ascii_lowercase();
        if kind == Type::Json {
            self.variants.insert(name.clone());
        }
        self.named.insert(name);
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
        let name = name.to_ascii_lowercase();
        let meant = frame.meant.get(&name)?;
        let may_be_column = |relation: &BoundRelation| relation.columns.is_open || relation.types.contains_key(&name);
        (frame.is_behind || !frame.relations.iter().any(may_be_column)).then_some(meant)
    }

    /// What the one relation of the innermost scope is called, if it has this column.
    pub(crate) fn only_relation_with(&self, column: &str) -> Option<&str> {
        let [only] = self.frames.last()?.relations.as_slice() else { return None };
        only.types.contains_key(column).then_some(only.alias.as_str())
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
        let is_first = query.arms.is_empty();
        (query.relations, query.meant) = if is_first { (relations, meant) } else { Default::default() };
        query.so_far = if is_first { outputs.clone() } else { std::mem::take(&mut query.so_far).united(&outputs) };
        query.arms.push(outputs);
        let defined = query.so_far.columns.iter();
        query.defined = defined.map(|column| (column.name.to_ascii_lowercase(), column.bound())).collect();
    }

    /// The columns of each select of the query, before it ends.
    pub(crate) fn arms(&mut self) -> Option<&mut Vec<BoundColumns>> {
        self.frames.last_mut().map(|query| &mut query.arms)
    }

    pub(crate) fn end_query(&mut self, query: &Query) {
        let outputs = self.frames.pop().and_then(|frame| united(&frame.arms));
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
        let name = match expr {
            Expr::Nested(inner) => return self.certain(inner),
            Expr::Identifier(ident) => ident,
            _ => return Ok(()),
        };
        let lower = name.value.to_ascii_lowercase();
        if matches!(self.place().resolve(&lower), Some(ResolvedType::Open)) && self.variants.contains(&lower) {
            return Err(Error::unsupported(format!(
                "the name {} for a variant and for another column in one statement",
                name.value
            )));
        }
        Ok(())
    }

    /// Whether anything in the statement so far is known to have a column of this name.
    pub(crate) fn is_column(&self, name: &str) -> bool {
        self.named.contains(&name.to_ascii_lowercase())
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

fn united(arms: &[BoundColumns]) -> Option<BoundColumns> {
    let (first, others) = arms.split_first()?;
    Some(others.iter().fold(first.clone(), BoundColumns::united))
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
