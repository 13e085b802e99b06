//! Where the answer's columns come from.
//!
//! Follows names through subqueries, WITH queries, joins and set operations down to the columns of the
//! scans. Three things are read off: which masked columns the answer is made of, which of its columns
//! *are* one (so their type is text), and the types of all names for the dialect. It decides nothing
//! about what is hidden: that is done where the tables are read.

pub(super) mod bounds;
pub(super) mod budget;
mod estimate;
mod from;
mod items;
mod reach;
mod recursive_cte;
mod set_operations;
pub(super) mod table_functions;
#[cfg(test)]
mod tests;
mod writes;

pub(super) use estimate::is_small;
pub(crate) use from::join_constraint;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use sqlparser::ast::{
    Cte, Ident, NamedWindowDefinition, NamedWindowExpr, Query, Select, SetExpr, SetOperator, Statement, TableAlias,
    TableWithJoins, With,
};

use self::bounds::ValueBounds;
use self::budget::{Bases, Work};
use super::leaks::error_channel::{ErrorChannel, names_an_alias};
use super::output;
use crate::ast::error::{Error, ErrorKind};
use crate::ast::names;
use crate::bind::types::Known;
use crate::bind::types::width::NumberWidth;
use crate::catalog::table::Table;
use crate::dialect;
use crate::functions::types::Type;
use crate::functions::types::exact::Exact;
use crate::scan::{Mask, Scan};

/// A masked column of a scan: numbers of both.
pub(super) type Base = (usize, usize);

/// A column of a query.
#[derive(Debug, Clone)]
pub(super) struct Output {
    pub name: String,
    pub kind: Type,
    pub exact: Option<Exact>,
    /// How many digits its numbers have, where they are exact.
    pub width: Option<NumberWidth>,
    /// Masked columns its value is made of.
    pub reached: Vec<Base>,
    /// The masked column it is.
    pub direct: Option<Base>,
    /// A NULL, which is of every type.
    pub is_null: bool,
    /// Whether equal values of it may differ.
    pub has_indistinct_values: bool,
}

impl Output {
    fn shape(&self) -> super::leaks::numeric_range::ValueType {
        let exact = self.exact.clone().or_else(|| self.width.map(NumberWidth::exact));
        super::leaks::numeric_range::ValueType { kind: self.kind, exact }
    }

    fn unknown(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind: Type::Unknown,
            exact: None,
            width: None,
            reached: Vec::new(),
            direct: None,
            is_null: false,
            has_indistinct_values: true,
        }
    }
}

/// The columns of a name in FROM.
#[derive(Debug, Clone)]
pub(super) struct FromItem {
    pub(super) alias: String,
    pub(super) outputs: Vec<Output>,
    /// Whether it may have more columns than these; what those would be made of.
    pub(super) open: Option<Vec<Base>>,
    /// Columns that `*` shows once, under another source; in lower case.
    merged: Rc<HashSet<String>>,
    /// Columns that must be named to be seen.
    hidden: Vec<String>,
}

impl FromItem {
    pub(super) fn new(alias: String, outputs: Vec<Output>, open: Option<Vec<Base>>) -> Self {
        Self { alias, outputs, open, merged: Rc::default(), hidden: Vec::new() }
    }

    /// Whether `*` shows the column of this name.
    fn shows(&self, name: &str) -> bool {
        let is_merged = !self.merged.is_empty() && self.merged.contains(&name.to_ascii_lowercase());
        !is_merged && !self.hidden.iter().any(|left_out| left_out.eq_ignore_ascii_case(name))
    }

    /// The columns that `*` shows.
    fn shown(self) -> Vec<Output> {
        self.outputs.iter().filter(|output| self.shows(&output.name)).cloned().collect()
    }
}

/// The result of the walk.
#[derive(Debug, Default)]
pub(super) struct Lineage {
    /// The types of the columns by name, where they are asked for.
    known: Option<Known>,
    pub failing: ErrorChannel,
    /// The answer's columns; none when `*` stands for columns nobody can count here.
    pub outputs: Option<Vec<Output>>,
    /// Why it was not followed to its end.
    pub refused: Option<Error>,
    reached: Bases,
    /// Masked columns that are named anywhere, or stand behind a `*`.
    touched: Bases,
    /// Masked columns that conditions are made of.
    asked: Bases,
}

impl Lineage {
    /// Those that the answer is made of: `table.column`, in the order met, each once.
    pub(super) fn masked_columns(&self, scans: &[Scan]) -> Vec<String> {
        named(&self.reached, scans)
    }

    /// Those that conditions are made of.
    pub(super) fn masked_conditions(&self, scans: &[Scan]) -> Vec<String> {
        named(&self.asked, scans)
    }

    /// A column that is touched and may not be.
    pub(super) fn denied<'a>(&self, scans: &'a [Scan]) -> Option<(&'a Table, &'a str)> {
        self.touched.iter().find_map(|(scan, column)| {
            let scan = scans.get(*scan)?;
            let column = scan.column(*column).filter(|column| column.mask == Some(Mask::Denied))?;
            Some((scan.table.as_ref(), column.name))
        })
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        let asked = self.asked.iter().next().is_some();
        asked.then(|| "a condition uses a masked column; it sees the masked value".to_owned()).into_iter().collect()
    }
}

fn named(bases: &Bases, scans: &[Scan]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (scan, column) in bases.iter() {
        let Some(scan) = scans.get(*scan) else {
            continue;
        };
        let Some(column) = scan.column(*column) else {
            continue;
        };
        let name = format!("{}.{}", scan.table.name, column.name);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// What is found in a statement; `in_parts` where its answer is taken a part at a time.
pub(super) fn of(tree: &Statement, scans: &[Scan], in_parts: bool) -> Lineage {
    walked(LineageWalk::new(tree, scans), tree, in_parts)
}

/// The types of a statement's columns, by name.
pub(super) fn known(tree: &Statement, scans: &[Scan]) -> Known {
    let found = Lineage { known: Some(Known::default()), ..Lineage::default() };
    walked(LineageWalk { found, ..LineageWalk::new(tree, scans) }, tree, false).known.unwrap_or_default()
}

/// The same where numbers of the tables are within these bounds.
pub(super) fn within(tree: &Statement, scans: &[Scan], bounds: &ValueBounds) -> Lineage {
    walked(LineageWalk { bounds: Some(bounds), ..LineageWalk::new(tree, scans) }, tree, false)
}

fn walked(mut walk: LineageWalk<'_>, tree: &Statement, in_parts: bool) -> Lineage {
    match tree {
        Statement::Query(query) => {
            walk.answer(query);
            if in_parts && !walk.has_one_row {
                walk.parts(query);
            }
        }
        other => walk.writes(other),
    }
    if walk.work.is_spent() {
        walk.found.refused.get_or_insert_with(too_much);
    }
    walk.found
}

fn too_much() -> Error {
    let what = "this statement nests too deep, or names too much, to be followed: ask for less of it at once";
    Error::new(ErrorKind::TooDeep, what)
}

pub(super) struct LineageWalk<'a> {
    scans: &'a [Scan],
    bounds: Option<&'a ValueBounds>,
    /// The first scan with a column that may not be touched.
    denying: Option<usize>,
    pub(super) found: Lineage,
    /// Columns of the WITH queries, by their number.
    pub(super) with: HashMap<usize, (Vec<Output>, bool)>,
    pub(super) scopes: Vec<Vec<FromItem>>,
    /// Whether it stands where the engine's plan decides for which rows something is evaluated.
    pub(super) early: bool,
    /// How much more of it may be walked.
    pub(super) work: Work,
    /// What the FROM of the query walked last has, where a column is denied: ORDER BY may name it.
    below: Vec<FromItem>,
    /// Whether the query walked last answers one row.
    has_one_row: bool,
    /// Whether the statement names a column SEQ, which numbers rows.
    pub(super) sees_seq: bool,
}

impl<'a> LineageWalk<'a> {
    pub(super) fn new(tree: &Statement, scans: &'a [Scan]) -> Self {
        Self {
            scans,
            bounds: None,
            denying: scans.iter().position(|scan| scan.masks.contains(&Some(Mask::Denied))),
            found: Lineage::default(),
            with: HashMap::new(),
            scopes: Vec::new(),
            early: false,
            work: Work::default(),
            below: Vec::new(),
            has_one_row: false,
            sees_seq: dialect::sees_seq(tree),
        }
    }

    fn answer(&mut self, query: &Query) {
        let (outputs, counted) = self.query(query);
        for output in &outputs {
            self.found.reached.extend(&output.reached);
        }
        self.found.outputs = counted.then_some(outputs);
    }

    /// The columns of a query, and whether these are all.
    #[recursive::recursive]
    fn query(&mut self, query: &Query) -> (Vec<Output>, bool) {
        self.before(query);
        let columns = self.body(&query.body);
        self.behind(query, &columns);
        columns
    }

    /// The WITH queries before a query's body.
    fn before(&mut self, query: &Query) {
        if let Some(with) = &query.with {
            self.found.failing.meets |= with.recursive;
            for cte in &with.cte_tables {
                self.early(true, |walk| walk.with(with, cte));
            }
        }
    }

    /// ORDER BY and LIMIT behind a query's body of these columns, which was walked last.
    fn behind(&mut self, query: &Query, columns: &(Vec<Output>, bool)) {
        let is_select = matches!(query.body.as_ref(), SetExpr::Select(_));
        let has_one_row = self.has_one_row && is_select;
        if !has_one_row {
            self.cut(query, columns);
        }
        let below = std::mem::take(&mut self.below);
        if let Some(order_by) = &query.order_by {
            // What FROM has and the answer does not may sort it too.
            self.scopes.push(if is_select { below } else { Vec::new() });
            // Sorting by a column of the answer shows nothing more; names are those of the answer.
            self.scopes.push(vec![FromItem::new(String::new(), columns.0.clone(), None)]);
            let _ = self.visit(order_by);
            self.scopes.pop();
            self.scopes.pop();
        }
        // whatever it is becomes a number of rows, which none but a literal surely is
        self.early(true, |walk| walk.throws(!super::leaks::limit_ties::counts(query)));
        let _ = self.visit(&query.limit_clause);
        self.has_one_row = has_one_row;
    }

    fn with(&mut self, with: &With, cte: &Cte) {
        let number = with_number(&cte.alias.name);
        let columns = match (with.recursive, cte.query.body.as_ref(), number) {
            (true, SetExpr::SetOperation { .. }, Some(number)) => self.recursive(cte, number),
            _ => renamed(self.query(&cte.query), &cte.alias),
        };
        if let Some(number) = number {
            self.with.insert(number, columns);
        }
    }

    #[recursive::recursive]
    fn body(&mut self, body: &SetExpr) -> (Vec<Output>, bool) {
        if !self.work.spend(budget::QUERY) {
            return (Vec::new(), false);
        }
        match body {
            SetExpr::Select(select) => self.select(select),
            SetExpr::Query(query) => self.query(query),
            SetExpr::SetOperation { left, right, set_quantifier, op } => {
                let meets = *op != SetOperator::Union;
                self.found.failing.meets |= meets;
                let left = self.early(meets, |walk| walk.body(left));
                let right = self.early(meets, |walk| walk.body(right));
                self.united(left, right, *set_quantifier, meets)
            }
            SetExpr::Values(values) => (self.values(values), true),
            _ => (Vec::new(), false),
        }
    }

    fn select(&mut self, select: &Select) -> (Vec<Output>, bool) {
        self.takes(select);
        // A condition is asked as early as its columns are there, below where it is written.
        let is_asked = select.selection.is_some() || select.having.is_some() || select.qualify.is_some();
        let scope = self.early(is_asked, |walk| walk.from(&select.from));
        self.scopes.push(scope);
        let mut outputs = Vec::with_capacity(select.projection.len());
        let is_asked_for = is_asked && names_an_alias(select);
        let mut counted = true;
        self.early(is_asked_for, |walk| {
            for item in &select.projection {
                counted &= walk.item(item, &mut outputs);
            }
        });
        let is_starred = !select.projection.iter().all(output::is_one_column);
        let numbers = |table: &TableWithJoins| {
            table
                .joins
                .iter()
                .map(|join| &join.relation)
                .chain([&table.relation])
                .any(|one| self.numbers(one, is_starred))
        };
        self.found.failing.by_plan |= select.from.iter().any(numbers) && !from::is_of_one_table(&select.from);
        // Conditions may name what the select list defines.
        let defined = FromItem::new(String::new(), outputs.clone(), None);
        self.scopes.insert(self.scopes.len() - 1, vec![defined]);
        self.found.failing.by_order |= self.stands_for_indistinct_values(select, &outputs);
        select.selection.iter().for_each(|expr| self.predicate(expr));
        select.having.iter().for_each(|expr| self.predicate(expr));
        select.qualify.iter().for_each(|expr| self.predicate(expr));
        let _ = self.visit(&select.group_by);
        let is_framed_by_value = |window: &NamedWindowDefinition| match &window.1 {
            NamedWindowExpr::WindowSpec(spec) => super::leaks::leakproof::is_framed_by_value(spec),
            NamedWindowExpr::NamedWindow(_) => false,
        };
        self.throws(select.named_window.iter().any(is_framed_by_value));
        let _ = self.visit(&select.named_window);
        let _ = self.visit(&select.distinct);
        self.has_one_row = self.is_of_all_rows(select);
        let scope = self.scopes.pop().unwrap_or_default();
        self.scopes.pop();
        self.below = if self.denying.is_some() { scope } else { Vec::new() };
        (outputs, counted)
    }
}

fn renamed((mut outputs, counted): (Vec<Output>, bool), alias: &TableAlias) -> (Vec<Output>, bool) {
    for (output, column) in outputs.iter_mut().zip(&alias.columns) {
        output.name.clone_from(&column.name.value);
    }
    (outputs, counted)
}

fn with_number(alias: &Ident) -> Option<usize> {
    alias.value.strip_prefix(names::ours::WITH).and_then(|digits| digits.parse().ok())
}

fn extend(reached: &mut Vec<Base>, more: &[Base]) {
    for base in more {
        if !reached.contains(base) {
            reached.push(*base);
        }
    }
}
