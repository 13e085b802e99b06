//! Whether an answer follows the order that rows come in.
//!
//! Rows that nobody has ordered come as the engine's plan has them, and where rows of several tables meet the plan
//! follows the sizes of tables, in which hidden rows count. Those of one table are read in parts by several threads,
//! and a part is so many rows with the hidden ones. What a LIMIT cuts off, what a list holds first and which of two
//! equal rows has number one would tell of them.

use sqlparser::ast::{
    Distinct, Expr, Function, FunctionArguments, Query, Select, TableFactor, WindowFrameUnits, WindowType,
};

use super::{indistinct_values, leakproof, limit_ties, single_scan};
use crate::ast::names;
use crate::functions::catalogue::{self, Class, FunctionKind, RowOrder};
use crate::govern::lineage::{LineageWalk, Output, table_functions};

impl LineageWalk<'_> {
    /// Rows that are left out by their number.
    pub(in crate::govern) fn cut(&mut self, query: &Query, (outputs, counted): &(Vec<Output>, bool)) {
        if !limit_ties::cuts(query) {
            return;
        }
        self.found.failing.cuts |= !limit_ties::reads_all(query);
        if !limit_ties::is_decided(query, outputs, *counted) {
            self.leaves_out(single_scan::is_plain(query));
        }
    }

    /// Rows of the answer that are told before others.
    pub(in crate::govern) fn parts(&mut self, query: &Query) {
        let is_decided =
            self.found.outputs.as_ref().is_some_and(|outputs| limit_ties::is_decided(query, outputs, true));
        if !is_decided {
            self.leaves_out(single_scan::is_plain(query));
        }
    }

    /// One of several rows that is taken.
    pub(in crate::govern) fn takes(&mut self, select: &Select) {
        self.found.failing.by_order |= matches!(select.distinct, Some(Distinct::On(_)));
        if select.top.is_some() {
            self.found.failing.cuts = true;
            self.leaves_out(single_scan::is_scan(select));
        }
    }

    fn leaves_out(&mut self, is_plain: bool) {
        let failing = &mut self.found.failing;
        if is_plain { failing.by_plan = true } else { failing.by_order = true }
    }

    /// Whether a call's value follows the order of rows.
    pub(in crate::govern) fn follows(&self, function: &Function) -> bool {
        let known = names::last(&function.name).and_then(|name| catalogue::find(&name.value));
        let order = known.and_then(|known| known.order);
        let is_exact = |adds: bool| {
            let differs = |argument: &&Expr| {
                self.has_indistinct_values(argument) || adds && leakproof::is_wide(argument, &self.scope())
            };
            !indistinct_values::arguments(function).iter().any(differs)
        };
        let is_of_a_set = || match order {
            Some(RowOrder::Set) => true,
            Some(RowOrder::Exact) => is_exact(false),
            Some(RowOrder::Sum) => is_exact(true),
            Some(RowOrder::Peers | RowOrder::Numbers) | None => false,
        };
        match &function.over {
            None if order == Some(RowOrder::Numbers) || known.is_some_and(|known| known.class == Class::Write) => true,
            // ARRAY(SELECT …): the rows as they come
            None if matches!(function.args, FunctionArguments::Subquery(_)) => true,
            None => known.is_some_and(|known| known.is(FunctionKind::Aggregate)) && !is_of_a_set(),
            Some(_) if order == Some(RowOrder::Peers) => false,
            Some(over) => !is_of_a_set() || counts_rows(over),
        }
    }

    /// Whether what stands in FROM has a column that numbers the rows beside it, and the statement sees it.
    pub(in crate::govern) fn numbers(&self, factor: &TableFactor, is_starred: bool) -> bool {
        let answered = table_functions::called(factor).and_then(|name| catalogue::answered(&name.value));
        (self.sees_seq || is_starred)
            && answered.is_some_and(|answered| answered.shown.iter().any(|(column, _)| *column == "seq"))
    }
}

/// Whether only some of its rows are taken, by chance or by where they lie.
pub(in crate::govern) fn is_sampled(factor: &TableFactor) -> bool {
    matches!(factor, TableFactor::Table { sample: Some(_), .. } | TableFactor::Derived { sample: Some(_), .. })
}

/// Whether a window holds as many rows, of which equal ones may be in it or not. One that is named may be so.
fn counts_rows(over: &WindowType) -> bool {
    let WindowType::WindowSpec(spec) = over else { return true };
    spec.window_name.is_some()
        || spec.window_frame.as_ref().is_some_and(|frame| matches!(frame.units, WindowFrameUnits::Rows))
}
