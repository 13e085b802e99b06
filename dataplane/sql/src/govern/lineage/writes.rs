//! Columns that a statement reads in order to write: the rows that it stores, and those that it finds its own by.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Insert, Merge, MergeAction, MergeClause, MergeInsertExpr, MergeInsertKind, MergeUpdateExpr, MergeUpdateKind, Query,
    SetExpr, Statement, TableWithJoins, Update, UpdateTableFromKind,
};

use super::super::target;
use super::LineageWalk;
use crate::ast::visit_relations;
use crate::govern::leaks::single_scan;
use crate::scan::marker::{self, Marked};

impl LineageWalk<'_> {
    pub(super) fn writes(&mut self, tree: &Statement) {
        match tree {
            Statement::CreateTable(create) => {
                create.query.iter().for_each(|query| self.stores(query));
                // a text may be longer than its column holds
                self.found.failing.can_throw |= !create.columns.is_empty();
                return;
            }
            Statement::Insert(insert) => self.insert(insert),
            Statement::Update(update) => self.update(update),
            Statement::Delete(delete) => {
                let scope = self.from(delete.using.as_deref().unwrap_or_default());
                self.scopes.push(scope);
                delete.selection.iter().for_each(|selection| self.predicate(selection));
            }
            Statement::Merge(merge) => self.merge(merge),
            _ => return,
        }
        self.found.failing.can_throw = true;
    }

    /// The order that rows are stored in is read later, by who sees all of them: what is not handed on in the order of a
    /// table comes as the engine's threads have met it, in parts that hidden rows fill as well.
    fn stores(&mut self, query: &Query) {
        self.answer(query);
        self.found.outputs = None;
        self.found.failing.by_order |= self.found.failing.meets || reads(query) && !single_scan::is_plain(query);
    }

    fn insert(&mut self, insert: &Insert) {
        let Some(query) = &insert.source else { return };
        self.stores(query);
        // of rows with one key the last stays
        self.found.failing.by_order |= insert.on.is_some() && !matches!(*query.body, SetExpr::Values(_));
    }

    fn update(&mut self, update: &Update) {
        let mut from = vec![update.table.clone()];
        if let Some(UpdateTableFromKind::AfterSet(tables)) = &update.from {
            from.extend(tables.iter().cloned());
        }
        let scope = self.from(&from);
        self.scopes.push(scope);
        // of several rows that match as well one is taken
        self.found.failing.by_order |= from.len() > 1 && !target::is_governed(update);
        for assignment in &update.assignments {
            self.condition(&assignment.value);
        }
        update.selection.iter().for_each(|selection| self.predicate(selection));
    }

    fn merge(&mut self, merge: &Merge) {
        let source = TableWithJoins { relation: merge.source.clone(), joins: Vec::new() };
        let scope = self.from(&[source]);
        self.scopes.push(scope);
        // of several rows that match as well one is taken
        self.found.failing.by_order = true;
        self.predicate(&merge.on);
        merge.clauses.iter().for_each(|clause| self.clause(clause));
    }

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

/// Whether a table stands in it.
fn reads(query: &Query) -> bool {
    let found = visit_relations(query, |name| match marker::read(name) {
        Some(Marked::Scan(_)) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}
