//! Relations of FROM: tables, subqueries and joins, and the names that each of them brings.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use sqlparser::ast::{Expr, Join, JoinConstraint, JoinOperator, ObjectName, TableAlias, TableFactor, TableWithJoins};

use super::{Base, FromItem, LineageWalk, Output, budget, table_functions};
use crate::ast::names;
use crate::bind::types::width::NumberWidth;
use crate::functions::types::Type;
use crate::functions::types::exact::Exact;
use crate::govern::leaks::{indistinct_values, order_dependence};
use crate::scan::marker::{self, Marked};
use crate::scan::{Scan, ScanColumn};

impl LineageWalk<'_> {
    pub(in crate::govern) fn from(&mut self, from: &[TableWithJoins]) -> Vec<FromItem> {
        // What stands to the left is in reach of what stands to the right.
        self.scopes.push(Vec::new());
        let meets = from.len() > 1;
        self.found.failing.meets |= meets;
        for table in from {
            let sources = self.early(meets, |walk| walk.joined(table));
            self.add(sources);
        }
        self.scopes.pop().unwrap_or_default()
    }

    fn add(&mut self, sources: Vec<FromItem>) {
        if let Some(known) = &mut self.found.known {
            for source in &sources {
                source.outputs.iter().for_each(|output| known.add(&source.alias, &output.name, output.kind));
            }
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.extend(sources);
        }
    }

    pub(super) fn joined(&mut self, table: &TableWithJoins) -> Vec<FromItem> {
        let meets = !table.joins.is_empty();
        self.found.failing.meets |= meets;
        let mut sources = self.early(meets, |walk| walk.factor(&table.relation));
        let mut named = ColumnPlaces::default();
        for Join { relation, join_operator, .. } in &table.joins {
            self.scopes.push(sources);
            let mut right = self.early(true, |walk| walk.factor(relation));
            sources = self.scopes.pop().unwrap_or_default();
            let constraint = join_constraint(join_operator);
            // of several rows that match as well it takes one
            self.found.failing.by_plan |= matches!(join_operator, JoinOperator::AsOf { .. });
            if let Some(merged) = named.merged(&sources, &right, constraint) {
                self.joined_by_name(&named, (&sources, &right), &merged);
                become_one(&mut sources, &mut right, &merged);
                show_once(&mut right, merged);
            }
            if matches!(
                join_operator,
                JoinOperator::Semi(_) | JoinOperator::LeftSemi(_) | JoinOperator::Anti(_) | JoinOperator::LeftAnti(_)
            ) {
                for source in &mut right {
                    let all = source.outputs.iter().map(|output| output.name.to_ascii_lowercase());
                    source.merged = Rc::new(all.collect());
                }
            }
            sources.extend(right);
            if let Some(JoinConstraint::On(expr)) = constraint {
                self.scopes.push(sources);
                self.predicate(expr);
                sources = self.scopes.pop().unwrap_or_default();
            }
        }
        sources
    }

    /// Columns of these names on both sides, which USING and NATURAL compare.
    fn joined_by_name(
        &mut self,
        named: &ColumnPlaces,
        (left, right): (&[FromItem], &[FromItem]),
        merged: &HashSet<String>,
    ) {
        let is_open = left.iter().chain(right).any(|source| source.open.is_some());
        self.early(true, |walk| walk.throws(is_open));
        let mut behind = ColumnPlaces::default();
        behind.learn(right);
        for name in merged {
            let (ours, theirs): (Vec<_>, Vec<_>) = (named.of(name, left).collect(), behind.of(name, right).collect());
            let (Some(one), Some(other)) = (ours.first(), theirs.first()) else { continue };
            let compares = one.shape().compares(&other.shape());
            let is_put = |output: &Output| output.has_indistinct_values && indistinct_values::is_nest(output.kind);
            self.found.failing.by_plan |= is_put(one) || is_put(other);
            let mut told: &[Base] = &[];
            for output in ours.iter().chain(&theirs) {
                self.work.spend(budget::EXPRESSION);
                // columns that an earlier join has made one are made of the same
                if output.reached != told {
                    told = &output.reached;
                    self.found.touched.extend(told);
                    self.found.asked.extend(told);
                }
            }
            self.early(true, |walk| walk.throws(!compares));
        }
    }

    #[recursive::recursive]
    pub(super) fn factor(&mut self, factor: &TableFactor) -> Vec<FromItem> {
        if order_dependence::is_sampled(factor) {
            // whether a row is taken follows where it lies among hidden ones too
            self.found.failing.by_order = true;
        }
        self.found.failing.by_order |= is_computed(factor) && self.correlates_by_indistinct_values(factor);
        let (columns, alias) = match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                self.found.failing.meets |= self.is_filtered_by_others(name);
                (self.named(name), alias)
            }
            TableFactor::Derived { subquery, alias, .. } => (self.query(subquery), alias),
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let sources = self.joined(table_with_joins);
                let Some(alias) = alias else { return sources };
                let counted = sources.iter().all(|source| source.open.is_none());
                let outputs = sources.into_iter().flat_map(FromItem::shown).collect();
                return vec![source((outputs, counted), Some(alias))];
            }
            TableFactor::Pivot { table, alias, .. } | TableFactor::Unpivot { table, alias, .. } => {
                let sources = self.factor(table);
                // what it makes of the values is not looked into
                self.early(true, |walk| walk.throws(true));
                self.pivoted(factor, &sources);
                self.add(sources.clone());
                let reached: Vec<Base> = sources
                    .iter()
                    .flat_map(|source| source.outputs.iter().flat_map(|output| output.reached.clone()))
                    .collect();
                // Every column that is not named groups the rows.
                self.found.touched.extend(&reached);
                return vec![FromItem::new(alias_of(alias.as_ref()), Vec::new(), Some(reached))];
            }
            TableFactor::Table { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. }
            | TableFactor::TableFunction { alias, .. } => {
                let can_fail = table_functions::can_fail(factor, &|expr| self.type_of(expr));
                self.early(true, |walk| walk.throws(can_fail));
                let reached = self.visit(factor);
                return vec![table_functions::of(factor, alias.as_ref(), &reached)];
            }
            _ => return Vec::new(),
        };
        vec![source(columns, alias.as_ref())]
    }

    /// What a PIVOT makes of several values.
    fn pivoted(&mut self, factor: &TableFactor, sources: &[FromItem]) {
        let TableFactor::Pivot { aggregate_functions, .. } = factor else { return };
        self.scopes.push(sources.to_vec());
        // every column that is not named is a key of its groups
        self.found.failing.by_order |=
            sources.iter().flat_map(|source| &source.outputs).any(|output| output.has_indistinct_values);
        self.found.failing.by_order |= aggregate_functions.iter().any(|made| match &made.expr {
            Expr::Function(function) => self.follows(function),
            _ => true,
        });
        self.scopes.pop();
    }

    fn named(&mut self, name: &ObjectName) -> (Vec<Output>, bool) {
        match marker::read(name) {
            Some(Marked::With(number)) => {
                let columns = self.with.get(&number).cloned().unwrap_or_default();
                let held: usize = columns.0.iter().map(|output| budget::held(&output.reached)).sum();
                self.work.spend(budget::COLUMN * columns.0.len() + held);
                columns
            }
            Some(Marked::Scan(number)) => {
                let is_brittle = self.counts_nanoseconds(number);
                self.early(true, |walk| walk.throws(is_brittle));
                (self.scan(number), true)
            }
            None => (Vec::new(), false),
        }
    }

    fn is_filtered_by_others(&self, name: &ObjectName) -> bool {
        let Some(Marked::Scan(number)) = marker::read(name) else { return false };
        self.scans.get(number).is_some_and(Scan::asks_other_tables)
    }

    /// Functions that cannot fail otherwise can on such a column, as soon as they make a text of it.
    fn counts_nanoseconds(&self, number: usize) -> bool {
        let Some(scan) = self.scans.get(number) else { return false };
        scan.columns().any(|column| column.mask.is_none() && Type::counts_nanoseconds(column.type_name))
    }

    fn scan(&self, number: usize) -> Vec<Output> {
        let Some(scan) = self.scans.get(number) else {
            return Vec::new();
        };
        if !self.work.spend(budget::COLUMN * scan.table.columns.len()) {
            return Vec::new();
        }
        let output = |(i, column): (usize, ScanColumn<'_>)| {
            let masked = column.mask.map(|_| (number, i));
            let kind = match column.mask {
                Some(mask) if mask.function().traits().makes_text => Type::Text,
                _ => Type::of_name(column.type_name),
            };
            let exact = column.mask.is_none().then(|| Exact::of_name(column.type_name));
            let typed = if masked.is_none() { NumberWidth::of_name(column.type_name) } else { None };
            let width = typed.map(|typed| self.bounds.map_or(typed, |bounds| bounds.width((number, i), typed)));
            let reached = masked.into_iter().collect();
            let has_indistinct_values = indistinct_values::of_kind(kind);
            Output {
                kind,
                exact,
                width,
                reached,
                direct: masked,
                has_indistinct_values,
                ..Output::unknown(column.name)
            }
        };
        scan.columns().enumerate().map(output).collect()
    }
}

fn source((mut outputs, counted): (Vec<Output>, bool), alias: Option<&TableAlias>) -> FromItem {
    let columns = alias.iter().flat_map(|alias| &alias.columns);
    for (output, column) in outputs.iter_mut().zip(columns) {
        output.name.clone_from(&column.name.value);
    }
    let reached = || outputs.iter().flat_map(|output| output.reached.clone()).collect();
    let open = if counted { None } else { Some(reached()) };
    FromItem::new(alias_of(alias), outputs, open)
}

/// Whether all rows are of one table as it is stored, which come in their order.
pub(super) fn is_of_one_table(from: &[TableWithJoins]) -> bool {
    let first = from.first().map(|table| &table.relation);
    matches!(first, Some(TableFactor::Table { name, .. }) if matches!(marker::read(name), Some(Marked::Scan(_))))
}

/// Whether it may be made of what stands to the left of it.
fn is_computed(factor: &TableFactor) -> bool {
    !matches!(
        factor,
        TableFactor::Table { args: None, .. }
            | TableFactor::NestedJoin { .. }
            | TableFactor::Pivot { .. }
            | TableFactor::Unpivot { .. }
    )
}

pub(super) fn alias_of(alias: Option<&TableAlias>) -> String {
    alias.map_or_else(String::new, |alias| alias.name.value.clone())
}

/// What rows of both sides must have in common.
pub(crate) fn join_constraint(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
        | JoinOperator::CrossJoin(constraint)
        | JoinOperator::Semi(constraint)
        | JoinOperator::LeftSemi(constraint)
        | JoinOperator::Anti(constraint)
        | JoinOperator::LeftAnti(constraint)
        | JoinOperator::AsOf { constraint, .. } => Some(constraint),
        _ => None,
    }
}

/// Where columns stand, by their names in lower case.
#[derive(Default)]
struct ColumnPlaces {
    places: HashMap<String, Vec<(usize, usize)>>,
    /// So many sources are known.
    sources: usize,
}

impl ColumnPlaces {
    fn learn(&mut self, sources: &[FromItem]) {
        for (i, source) in sources.iter().enumerate().skip(self.sources) {
            for (j, output) in source.outputs.iter().enumerate() {
                self.places.entry(output.name.to_ascii_lowercase()).or_default().push((i, j));
            }
        }
        self.sources = sources.len();
    }

    fn of<'s>(&self, name: &str, sources: &'s [FromItem]) -> impl Iterator<Item = &'s Output> {
        let places = self.places.get(name).into_iter().flatten();
        places.filter_map(|(i, j)| sources.get(*i)?.outputs.get(*j))
    }

    /// Columns that a join shows once, if it is one by names.
    fn merged(
        &mut self,
        left: &[FromItem],
        right: &[FromItem],
        constraint: Option<&JoinConstraint>,
    ) -> Option<HashSet<String>> {
        let using = match constraint {
            Some(JoinConstraint::Using(columns)) => Some(columns),
            Some(JoinConstraint::Natural) => None,
            _ => return None,
        };
        self.learn(left);
        let lowered = |name: &str| name.to_ascii_lowercase();
        if let Some(columns) = using {
            return Some(columns.iter().filter_map(names::last).map(|ident| lowered(&ident.value)).collect());
        }
        let names = right.iter().flat_map(|source| &source.outputs).map(|output| lowered(&output.name));
        Some(names.filter(|name| self.places.contains_key(name)).collect())
    }
}

/// Columns of these names are one, of what both sides become: a name may mean the value of either.
fn become_one(left: &mut [FromItem], right: &mut [FromItem], merged: &HashSet<String>) {
    let columns = left.iter_mut().chain(right).flat_map(|source| &mut source.outputs);
    let mut named: HashMap<String, Vec<&mut Output>> = HashMap::new();
    for output in columns {
        let name = output.name.to_ascii_lowercase();
        if merged.contains(&name) {
            named.entry(name).or_default().push(output);
        }
    }
    for same in named.values_mut() {
        let Some((first, others)) = same.split_first_mut() else { continue };
        let differs = others.iter().any(|other| {
            // of what is calculated the width alone is known
            let has_other_digits = first.exact.is_none() && other.width != first.width;
            other.kind != first.kind || other.exact != first.exact || has_other_digits
        });
        let is_as_wide = others.iter().all(|other| other.width == first.width);
        for other in others.iter() {
            // those that an earlier join has made one are made of the same
            if other.reached != first.reached {
                super::extend(&mut first.reached, &other.reached);
            }
        }
        let (reached, has_indistinct_values) =
            (first.reached.clone(), first.has_indistinct_values || others.iter().any(|one| one.has_indistinct_values));
        for output in same.iter_mut() {
            output.reached.clone_from(&reached);
            output.has_indistinct_values = has_indistinct_values || differs;
            if !is_as_wide {
                output.width = None;
            }
            if differs {
                (output.kind, output.exact) = (Type::Unknown, None);
            }
        }
    }
}

/// Leaves these columns to what stands to the left, beside those that were left already.
fn show_once(right: &mut [FromItem], merged: HashSet<String>) {
    let merged = Rc::new(merged);
    for source in right {
        source.merged = if source.merged.is_empty() {
            Rc::clone(&merged)
        } else {
            Rc::new(source.merged.union(&merged).cloned().collect())
        };
    }
}
