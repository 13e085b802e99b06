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
use crate::dialect;
use crate::functions::catalogue::{self, Class};
use crate::govern::lineage::{LineageWalk, Output, table_functions};

/// Aggregates of one value in whatever order they meet their rows. What is not here may have another: adding up
/// DOUBLEs is not exact, and whatever spreads or correlates is added up as DOUBLEs.
const OF_A_SET: [&str; 27] = [
    "approx_count_distinct",
    "bit_and",
    "bit_and_agg",
    "bit_andagg",
    "bit_or",
    "bit_or_agg",
    "bit_oragg",
    "bit_xor",
    "bit_xor_agg",
    "bit_xoragg",
    "bitand_agg",
    "bitandagg",
    "bitor_agg",
    "bitoragg",
    "bitxor_agg",
    "bitxoragg",
    "bool_and",
    "bool_or",
    "booland_agg",
    "boolor_agg",
    "boolxor_agg",
    "count",
    "count_if",
    "count_star",
    "countif",
    "hll",
    "regr_count",
];

/// Those that are so where equal values of what they are given are one value, and add up exactly.
const OF_EXACT: [&str; 15] = [
    "avg",
    "histogram",
    "histogram_exact",
    "mad",
    "max",
    "mean",
    "median",
    "min",
    "percentile_cont",
    "percentile_disc",
    "quantile",
    "quantile_cont",
    "quantile_disc",
    "sum",
    "sum_no_overflow",
];

/// Those of them that add up: where what is added may leave its range, whether it does follows the order. The sum of all
/// may be in it.
const THAT_ADD: [&str; 4] = ["avg", "mean", "sum", "sum_no_overflow"];

/// Calls that number rows as they come.
const NUMBERS: [&str; 4] = ["seq1", "seq2", "seq4", "seq8"];
/// Functions in FROM whose SEQ is the number of a row.
const NUMBERS_IN_FROM: [&str; 3] = ["flatten", "split_to_table", "strtok_split_to_table"];

/// Window functions that number equal rows alike.
const OF_PEERS: [&str; 4] = ["cume_dist", "dense_rank", "percent_rank", "rank"];

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
        let name = names::last(&function.name).map(|ident| ident.value.to_ascii_lowercase()).unwrap_or_default();
        let adds = THAT_ADD.contains(&name.as_str());
        let is_exact = || {
            let differs = |argument: &&Expr| {
                self.has_indistinct_values(argument) || adds && leakproof::is_wide(argument, &self.scope())
            };
            !indistinct_values::arguments(function).iter().any(differs)
        };
        let is_of_a_set = OF_A_SET.contains(&name.as_str()) || OF_EXACT.contains(&name.as_str()) && is_exact();
        match &function.over {
            None if NUMBERS.contains(&name.as_str()) || dialect::class(&name) == Some(Class::Write) => true,
            // ARRAY(SELECT …): the rows as they come
            None if matches!(function.args, FunctionArguments::Subquery(_)) => true,
            None => catalogue::is_aggregate(&name) && !is_of_a_set,
            Some(_) if OF_PEERS.contains(&name.as_str()) => false,
            Some(over) => !is_of_a_set || counts_rows(over),
        }
    }

    /// Whether what stands in FROM has a column that numbers the rows beside it, and the statement sees it.
    pub(in crate::govern) fn numbers(&self, factor: &TableFactor, is_starred: bool) -> bool {
        let name = table_functions::called(factor).map(|name| name.value.to_ascii_lowercase());
        (self.sees_seq || is_starred) && name.is_some_and(|name| NUMBERS_IN_FROM.contains(&name.as_str()))
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
