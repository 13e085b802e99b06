//! Where the answer's columns come from.
//!
//! Follows names through subqueries, WITH queries, joins and set operations down to the columns of the
//! scans. Three things are read off: which masked columns the answer is made of, which of its columns
//! *are* one (so their type is text), and the types of all names for the dialect. It decides nothing
//! about what is hidden: that is done where the tables are read.

mod exact;
mod failing;
mod from;
mod order;
mod reach;
mod throws;

pub(crate) use from::join_constraint;

use std::collections::HashMap;

use sqlparser::ast::{
    Cte, ExcludeSelectItem, Expr, Ident, MergeAction, MergeClause, MergeInsertExpr, MergeInsertKind, MergeUpdateExpr,
    MergeUpdateKind, Query, RenameSelectItem, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr,
    SetOperator, SetQuantifier, Statement, TableAlias, TableFactor, TableWithJoins, UpdateTableFromKind,
    WildcardAdditionalOptions, With,
};

use self::failing::{Failing, names_an_alias};
use super::{Mask, Scan};
use crate::catalog::Table;
use crate::names;
use crate::print::marker;
use crate::types::exact::Exact;
use crate::types::{Known, Type};

/// A masked column of a scan: numbers of both.
pub(super) type Base = (usize, usize);

/// A column of a query.
#[derive(Debug, Clone)]
pub(super) struct Output {
    pub name: String,
    pub kind: Type,
    pub exact: Option<Exact>,
    /// Masked columns its value is made of.
    pub reached: Vec<Base>,
    /// The masked column it is.
    pub direct: Option<Base>,
}

impl Output {
    fn shape(&self) -> exact::Shape {
        exact::Shape { kind: self.kind, exact: self.exact.clone() }
    }

    fn unknown(name: &str) -> Self {
        Self { name: name.to_owned(), kind: Type::Unknown, exact: None, reached: Vec::new(), direct: None }
    }
}

/// What names in FROM offer.
#[derive(Debug, Clone)]
struct Source {
    alias: String,
    outputs: Vec<Output>,
    /// Whether it may have more columns than these; what those would be made of.
    open: Option<Vec<Base>>,
    /// Columns that `*` shows once, under another source.
    merged: Vec<String>,
}

/// What the walk found.
#[derive(Debug, Default)]
pub(super) struct Lineage {
    pub known: Known,
    pub failing: Failing,
    /// The answer's columns; none when `*` stands for columns nobody can count here.
    pub outputs: Option<Vec<Output>>,
    reached: Vec<Base>,
    /// Masked columns that are named anywhere, or stand behind a `*`.
    touched: Vec<Base>,
    asked_about_masked: bool,
}

impl Lineage {
    /// `table.column`, in the order met, each once.
    pub(super) fn masked_columns(&self, scans: &[Scan]) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (scan, column) in &self.reached {
            let Some(scan) = scans.get(*scan) else {
                continue;
            };
            let Some(column) = scan.columns.get(*column) else {
                continue;
            };
            let name = format!("{}.{}", scan.table.name, column.name);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// A column that is touched and may not be.
    pub(super) fn denied<'a>(&self, scans: &'a [Scan]) -> Option<(&'a Table, &'a str)> {
        self.touched.iter().find_map(|(scan, column)| {
            let scan = scans.get(*scan)?;
            let column = scan.columns.get(*column).filter(|column| column.mask == Some(Mask::Denied))?;
            Some((scan.table.as_ref(), column.name.as_str()))
        })
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        if self.asked_about_masked {
            vec!["a condition uses a masked column; it sees the masked value".to_owned()]
        } else {
            Vec::new()
        }
    }
}

pub(super) fn of(tree: &Statement, scans: &[Scan]) -> Lineage {
    let mut walk = Walk { scans, found: Lineage::default(), with: HashMap::new(), scopes: Vec::new(), early: false };
    match tree {
        Statement::Query(query) => walk.answer(query),
        Statement::CreateTable(create) => {
            if let Some(query) = &create.query {
                walk.answer(query);
                walk.found.outputs = None;
            }
        }
        Statement::Insert(insert) => {
            if let Some(query) = &insert.source {
                walk.answer(query);
                walk.found.outputs = None;
            }
            walk.found.failing.can_throw = true;
        }
        Statement::Update(update) => {
            let mut from = vec![update.table.clone()];
            if let Some(UpdateTableFromKind::AfterSet(tables)) = &update.from {
                from.extend(tables.iter().cloned());
            }
            let scope = walk.from(&from);
            walk.scopes.push(scope);
            for assignment in &update.assignments {
                walk.condition(&assignment.value);
            }
            update.selection.iter().for_each(|selection| walk.predicate(selection));
            walk.found.failing.can_throw = true;
        }
        Statement::Delete(delete) => {
            let from = delete.using.clone().unwrap_or_default();
            let scope = walk.from(&from);
            walk.scopes.push(scope);
            delete.selection.iter().for_each(|selection| walk.predicate(selection));
            walk.found.failing.can_throw = true;
        }
        Statement::Merge(merge) => {
            let joined = |factor: &TableFactor| TableWithJoins { relation: factor.clone(), joins: Vec::new() };
            let scope = walk.from(&[joined(&merge.source)]);
            walk.scopes.push(scope);
            walk.predicate(&merge.on);
            merge.clauses.iter().for_each(|clause| walk.clause(clause));
            walk.found.failing.can_throw = true;
        }
        _ => {}
    }
    walk.found
}

impl Walk<'_> {
    /// A clause of a MERGE: what it asks, and what it writes.
    fn clause(&mut self, clause: &MergeClause) {
        clause.predicate.iter().for_each(|asked| self.predicate(asked));
        match &clause.action {
            MergeAction::Insert(MergeInsertExpr { kind: MergeInsertKind::Values(values), .. }) => {
                for value in values.rows.iter().flat_map(|row| &**row) {
                    self.condition(value);
                }
            }
            MergeAction::Update(MergeUpdateExpr { kind: MergeUpdateKind::Set(assignments), .. }) => {
                for assignment in assignments {
                    self.condition(&assignment.value);
                }
            }
            _ => {}
        }
    }
}

struct Walk<'a> {
    scans: &'a [Scan],
    found: Lineage,
    /// Columns of the WITH queries, by their number.
    with: HashMap<usize, (Vec<Output>, bool)>,
    scopes: Vec<Vec<Source>>,
    /// Whether it stands where the engine's plan decides for which rows something is evaluated.
    early: bool,
}

impl Walk<'_> {
    fn answer(&mut self, query: &Query) {
        let (outputs, counted) = self.query(query);
        for output in &outputs {
            extend(&mut self.found.reached, &output.reached);
        }
        self.found.outputs = counted.then_some(outputs);
    }

    /// The columns of a query, and whether these are all.
    #[recursive::recursive]
    fn query(&mut self, query: &Query) -> (Vec<Output>, bool) {
        self.found.failing.by_plan |= order::cuts(query);
        if let Some(with) = &query.with {
            self.found.failing.meets |= with.recursive;
            for cte in &with.cte_tables {
                self.early(true, |walk| walk.with(with, cte));
            }
        }
        let columns = self.body(&query.body);
        if let Some(order_by) = &query.order_by {
            // What FROM has and the answer does not may sort it too.
            let below = match query.body.as_ref() {
                SetExpr::Select(select) if self.denies() => self.from(&select.from),
                _ => Vec::new(),
            };
            self.scopes.push(below);
            // Sorting by a column of the answer shows nothing more; names are those of the answer.
            self.scopes.push(vec![Source {
                alias: String::new(),
                outputs: columns.0.clone(),
                open: None,
                merged: Vec::new(),
            }]);
            let _ = self.visit(order_by);
            self.scopes.pop();
            self.scopes.pop();
        }
        let _ = self.visit(&query.limit_clause);
        columns
    }

    fn with(&mut self, with: &With, cte: &Cte) {
        let number = with_number(&cte.alias.name);
        // A recursive query reads itself: what its first arm has stands for it meanwhile.
        if let (true, SetExpr::SetOperation { left, .. }, Some(number)) =
            (with.recursive, cte.query.body.as_ref(), number)
        {
            let first = self.body(left);
            self.with.insert(number, renamed(first, &cte.alias));
        }
        let columns = self.query(&cte.query);
        if let Some(number) = number {
            self.with.insert(number, renamed(columns, &cte.alias));
        }
    }

    #[recursive::recursive]
    fn body(&mut self, body: &SetExpr) -> (Vec<Output>, bool) {
        match body {
            SetExpr::Select(select) => self.select(select),
            SetExpr::Query(query) => self.query(query),
            SetExpr::SetOperation { left, right, set_quantifier, op } => {
                let meets = *op != SetOperator::Union;
                self.found.failing.meets |= meets;
                let by_name = matches!(
                    set_quantifier,
                    SetQuantifier::ByName | SetQuantifier::AllByName | SetQuantifier::DistinctByName
                );
                let (mut left, left_counted) = self.early(meets, |walk| walk.body(left));
                let (right, right_counted) = self.early(meets, |walk| walk.body(right));
                if by_name {
                    return united_by_name(left, right, left_counted && right_counted);
                }
                for (output, other) in left.iter_mut().zip(&right) {
                    extend(&mut output.reached, &other.reached);
                    output.direct = output.direct.or(other.direct);
                    output.exact =
                        output.exact.take().zip(other.exact.clone()).and_then(|(one, other)| one.wider(other));
                    if output.kind != other.kind {
                        output.kind = Type::Unknown;
                    }
                }
                (left, left_counted && right_counted)
            }
            SetExpr::Values(values) => {
                let mut outputs: Vec<Output> = Vec::new();
                for row in &values.rows {
                    for (i, expr) in row.content.iter().enumerate() {
                        let made = self.output(expr, &format!("col{i}"));
                        match outputs.get_mut(i) {
                            Some(output) => {
                                output.exact = None;
                                extend(&mut output.reached, &made.reached);
                                output.direct = output.direct.or(made.direct);
                            }
                            None => outputs.push(made),
                        }
                    }
                }
                (outputs, true)
            }
            _ => (Vec::new(), false),
        }
    }

    fn select(&mut self, select: &Select) -> (Vec<Output>, bool) {
        self.found.failing.by_plan |= order::takes(select);
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
        // Conditions may name what the select list defines.
        let defined = Source { alias: String::new(), outputs: outputs.clone(), open: None, merged: Vec::new() };
        self.scopes.insert(self.scopes.len() - 1, vec![defined]);
        select.selection.iter().for_each(|expr| self.predicate(expr));
        select.having.iter().for_each(|expr| self.predicate(expr));
        select.qualify.iter().for_each(|expr| self.predicate(expr));
        let _ = self.visit(&select.group_by);
        let _ = self.visit(&select.named_window);
        let _ = self.visit(&select.distinct);
        self.scopes.pop();
        self.scopes.pop();
        (outputs, counted)
    }

    fn item(&mut self, item: &SelectItem, outputs: &mut Vec<Output>) -> bool {
        match item {
            SelectItem::UnnamedExpr(expr) => {
                let name = match expr {
                    Expr::Identifier(ident) => ident.value.clone(),
                    Expr::CompoundIdentifier(path) => path.last().map_or_else(String::new, |ident| ident.value.clone()),
                    other => crate::print::label(other).unwrap_or_default(),
                };
                let output = self.output(expr, &name);
                outputs.push(output);
                true
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                let output = self.output(expr, &alias.value);
                outputs.push(output);
                true
            }
            SelectItem::Wildcard(options) => {
                let sources = self.scopes.last().cloned().unwrap_or_default();
                self.star(&sources, options, outputs)
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                let wanted = names::last(name).map_or("", |ident| ident.value.as_str());
                let found = self.sources().find(|source| source.alias.eq_ignore_ascii_case(wanted)).cloned();
                let Some(mut source) = found else {
                    return false;
                };
                source.merged.clear();
                self.star(&[source], options, outputs)
            }
            _ => false,
        }
    }

    fn star(&mut self, sources: &[Source], options: &WildcardAdditionalOptions, outputs: &mut Vec<Output>) -> bool {
        let excluded = excluded(options);
        let mut counted = options.opt_ilike.is_none() && !sources.is_empty();
        for source in sources {
            counted &= source.open.is_none();
            for output in &source.outputs {
                let is = |name: &String| name.eq_ignore_ascii_case(&output.name);
                if excluded.iter().any(is) || source.merged.iter().any(is) {
                    continue;
                }
                let starred = self.starred(output, options);
                extend(&mut self.found.touched, &starred.reached);
                outputs.push(starred);
            }
            if let Some(reached) = &source.open {
                extend(&mut self.found.reached, reached);
                extend(&mut self.found.touched, reached);
            }
        }
        counted
    }

    /// A column of `*`, replaced or renamed if the options say so.
    fn starred(&mut self, output: &Output, options: &WildcardAdditionalOptions) -> Output {
        let name = output.name.clone();
        let mut output = output.clone();
        let replaced = options.opt_replace.iter().flat_map(|replace| &replace.items);
        for element in replaced.filter(|element| element.column_name.value.eq_ignore_ascii_case(&name)) {
            output = self.output(&element.expr, &name);
        }
        let renamed = match &options.opt_rename {
            None => &[][..],
            Some(RenameSelectItem::Single(one)) => std::slice::from_ref(one),
            Some(RenameSelectItem::Multiple(many)) => many,
        };
        for item in renamed.iter().filter(|item| item.ident.value.eq_ignore_ascii_case(&name)) {
            output.name.clone_from(&item.alias.value);
        }
        output
    }
}

fn renamed((mut outputs, counted): (Vec<Output>, bool), alias: &TableAlias) -> (Vec<Output>, bool) {
    for (output, column) in outputs.iter_mut().zip(&alias.columns) {
        output.name.clone_from(&column.name.value);
    }
    (outputs, counted)
}

fn with_number(alias: &Ident) -> Option<usize> {
    alias.value.strip_prefix(marker::WITH_PREFIX).and_then(|digits| digits.parse().ok())
}

fn united_by_name(mut left: Vec<Output>, right: Vec<Output>, counted: bool) -> (Vec<Output>, bool) {
    for output in right {
        match left.iter_mut().find(|known| known.name.eq_ignore_ascii_case(&output.name)) {
            Some(known) => {
                extend(&mut known.reached, &output.reached);
                known.direct = known.direct.or(output.direct);
                known.exact = None;
                if known.kind != output.kind || known.kind.is_number() {
                    known.kind = Type::Unknown;
                }
            }
            None => left.push(output),
        }
    }
    (left, counted)
}

fn excluded(options: &WildcardAdditionalOptions) -> Vec<String> {
    let mut names: Vec<String> = match &options.opt_exclude {
        None => Vec::new(),
        Some(ExcludeSelectItem::Single(name)) => {
            names::last(name).into_iter().map(|ident| ident.value.clone()).collect()
        }
        Some(ExcludeSelectItem::Multiple(many)) => {
            many.iter().filter_map(names::last).map(|ident| ident.value.clone()).collect()
        }
    };
    if let Some(except) = &options.opt_except {
        names.push(except.first_element.value.clone());
        names.extend(except.additional_elements.iter().map(|ident| ident.value.clone()));
    }
    names
}

fn extend(reached: &mut Vec<Base>, more: &[Base]) {
    for base in more {
        if !reached.contains(base) {
            reached.push(*base);
        }
    }
}
