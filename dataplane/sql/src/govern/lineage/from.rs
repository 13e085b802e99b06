//! What FROM offers: tables, subqueries and joins, and the names that each of them brings.

use sqlparser::ast::{Join, JoinConstraint, JoinOperator, ObjectName, TableAlias, TableFactor, TableWithJoins};

use super::super::{Mask, ScanColumn};
use super::exact::Shape;
use super::{Base, Output, Source, Walk, extend};
use crate::names;
use crate::print::marker::{self, Marked};
use crate::types::Type;
use crate::types::exact::Exact;

impl Walk<'_> {
    pub(super) fn from(&mut self, from: &[TableWithJoins]) -> Vec<Source> {
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

    fn add(&mut self, sources: Vec<Source>) {
        for source in &sources {
            for output in &source.outputs {
                self.found.known.add(&source.alias, &output.name, output.kind);
            }
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.extend(sources);
        }
    }

    pub(super) fn joined(&mut self, table: &TableWithJoins) -> Vec<Source> {
        let meets = !table.joins.is_empty();
        self.found.failing.meets |= meets;
        let mut sources = self.early(meets, |walk| walk.factor(&table.relation));
        for Join { relation, join_operator, .. } in &table.joins {
            self.scopes.push(sources.clone());
            let mut right = self.early(true, |walk| walk.factor(relation));
            self.scopes.pop();
            let constraint = join_constraint(join_operator);
            merge(&sources, &mut right, constraint);
            self.joined_by_name(&sources, &right, constraint);
            if matches!(
                join_operator,
                JoinOperator::Semi(_) | JoinOperator::LeftSemi(_) | JoinOperator::Anti(_) | JoinOperator::LeftAnti(_)
            ) {
                for source in &mut right {
                    source.merged = source.outputs.iter().map(|output| output.name.clone()).collect();
                }
            }
            sources.extend(right);
            if let Some(JoinConstraint::On(expr)) = constraint {
                self.scopes.push(sources.clone());
                self.predicate(expr);
                self.scopes.pop();
            }
        }
        sources
    }

    /// Columns of one name on both sides that USING and NATURAL compare.
    fn joined_by_name(&mut self, left: &[Source], right: &[Source], constraint: Option<&JoinConstraint>) {
        if !matches!(constraint, Some(JoinConstraint::Using(_) | JoinConstraint::Natural)) {
            return;
        }
        let merged = |name: &str| right.iter().flat_map(|source| &source.merged).any(|m| m.eq_ignore_ascii_case(name));
        let shape = |sources: &[Source], name: &str| -> Option<Shape> {
            let mut outputs = sources.iter().flat_map(|source| &source.outputs);
            outputs.find(|output| output.name.eq_ignore_ascii_case(name)).map(Output::shape)
        };
        let is_open = left.iter().chain(right).any(|source| source.open.is_some());
        self.early(true, |walk| walk.throws(is_open));
        for output in left.iter().chain(right).flat_map(|source| &source.outputs) {
            if merged(&output.name)
                && let (Some(one), Some(other)) = (shape(left, &output.name), shape(right, &output.name))
            {
                extend(&mut self.found.touched, &output.reached);
                self.early(true, |walk| walk.throws(!one.compares(&other)));
            }
        }
    }

    #[recursive::recursive]
    pub(super) fn factor(&mut self, factor: &TableFactor) -> Vec<Source> {
        let (columns, alias) = match factor {
            TableFactor::Table { name, alias, args: None, .. } => (self.named(name), alias),
            TableFactor::Derived { subquery, alias, .. } => (self.query(subquery), alias),
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let sources = self.joined(table_with_joins);
                let Some(alias) = alias else { return sources };
                let counted = sources.iter().all(|source| source.open.is_none());
                let outputs = sources.into_iter().flat_map(|source| source.outputs).collect();
                return vec![source((outputs, counted), Some(alias))];
            }
            TableFactor::Pivot { table, alias, .. } | TableFactor::Unpivot { table, alias, .. } => {
                let sources = self.factor(table);
                // what it makes of the values is not looked into
                self.early(true, |walk| walk.throws(true));
                self.add(sources.clone());
                let reached: Vec<Base> = sources
                    .iter()
                    .flat_map(|source| source.outputs.iter().flat_map(|output| output.reached.clone()))
                    .collect();
                // Every column that is not named groups the rows.
                extend(&mut self.found.touched, &reached);
                return vec![Source {
                    alias: alias_of(alias.as_ref()),
                    outputs: Vec::new(),
                    open: Some(reached),
                    merged: Vec::new(),
                }];
            }
            TableFactor::Table { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. }
            | TableFactor::TableFunction { alias, .. } => {
                let reached = self.visit(factor);
                let names = alias.iter().flat_map(|alias| &alias.columns);
                let outputs =
                    names.map(|column| Output { reached: reached.clone(), ..Output::unknown(&column.name.value) });
                return vec![Source {
                    alias: alias_of(alias.as_ref()),
                    outputs: outputs.collect(),
                    open: Some(reached),
                    merged: Vec::new(),
                }];
            }
            _ => return Vec::new(),
        };
        vec![source(columns, alias.as_ref())]
    }

    /// Is there a column that may not be touched?
    pub(super) fn denies(&self) -> bool {
        self.scans.iter().flat_map(|scan| &scan.columns).any(|column| column.mask == Some(Mask::Denied))
    }

    fn named(&self, name: &ObjectName) -> (Vec<Output>, bool) {
        match marker::read(name) {
            Some(Marked::With(number)) => self.with.get(&number).cloned().unwrap_or_default(),
            Some(Marked::Scan(number)) => (self.scan(number), true),
            None => (Vec::new(), false),
        }
    }

    fn scan(&self, number: usize) -> Vec<Output> {
        let Some(scan) = self.scans.get(number) else {
            return Vec::new();
        };
        let output = |(i, column): (usize, &ScanColumn)| {
            let masked = column.mask.map(|_| (number, i));
            let kind = match column.mask {
                Some(Mask::Partial { .. } | Mask::Hash) => Type::Text,
                _ => Type::of_name(&column.type_name),
            };
            let exact = column.mask.is_none().then(|| Exact::of_name(&column.type_name));
            Output { name: column.name.clone(), kind, exact, reached: masked.into_iter().collect(), direct: masked }
        };
        scan.columns.iter().enumerate().map(output).collect()
    }
}

fn source((mut outputs, counted): (Vec<Output>, bool), alias: Option<&TableAlias>) -> Source {
    let columns = alias.iter().flat_map(|alias| &alias.columns);
    for (output, column) in outputs.iter_mut().zip(columns) {
        output.name.clone_from(&column.name.value);
    }
    let reached = || outputs.iter().flat_map(|output| output.reached.clone()).collect();
    let open = if counted { None } else { Some(reached()) };
    Source { alias: alias_of(alias), outputs, open, merged: Vec::new() }
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

/// Columns that a join shows once.
fn merge(left: &[Source], right: &mut [Source], constraint: Option<&JoinConstraint>) {
    match constraint {
        Some(JoinConstraint::Using(columns)) => {
            let columns: Vec<String> =
                columns.iter().filter_map(names::last).map(|ident| ident.value.clone()).collect();
            for source in right {
                source.merged.clone_from(&columns);
            }
        }
        Some(JoinConstraint::Natural) => {
            let columns: Vec<String> =
                left.iter().flat_map(|source| &source.outputs).map(|output| output.name.clone()).collect();
            for source in right {
                source.merged.clone_from(&columns);
            }
        }
        _ => {}
    }
}
