//! Whether an answer follows the order that rows come in.
//!
//! Rows that nobody has ordered come as the engine's plan has them, and where rows of several tables meet the plan
//! follows the sizes of tables, in which hidden rows count. What a LIMIT cuts off, what a list holds first and which
//! of two equal rows has number one would tell of them.

use sqlparser::ast::{Distinct, Function, Query, Select, WindowFrameUnits, WindowType};

use crate::functions;
use crate::names;

/// Aggregates of one value in whatever order they meet their rows. What is not here may have another.
const OF_A_SET: [&str; 76] = [
    "approx_count_distinct",
    "avg",
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
    "corr",
    "count",
    "count_if",
    "count_star",
    "countif",
    "covar_pop",
    "covar_samp",
    "entropy",
    "favg",
    "fsum",
    "geomean",
    "geometric_mean",
    "histogram",
    "histogram_exact",
    "hll",
    "kahan_sum",
    "kurtosis",
    "kurtosis_pop",
    "mad",
    "max",
    "mean",
    "median",
    "min",
    "percentile_cont",
    "percentile_disc",
    "product",
    "quantile",
    "quantile_cont",
    "quantile_disc",
    "regr_avgx",
    "regr_avgy",
    "regr_count",
    "regr_intercept",
    "regr_r2",
    "regr_slope",
    "regr_sxx",
    "regr_sxy",
    "regr_syy",
    "sem",
    "skew",
    "skewness",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "sum",
    "sum_no_overflow",
    "sumkahan",
    "var_pop",
    "var_samp",
    "variance",
    "variance_pop",
    "variance_samp",
    "wavg",
    "weighted_avg",
];

/// Window functions that number equal rows alike.
const OF_PEERS: [&str; 4] = ["cume_dist", "dense_rank", "percent_rank", "rank"];

/// Whether it leaves out rows by their number.
pub(super) fn cuts(query: &Query) -> bool {
    query.limit_clause.is_some() || query.fetch.is_some()
}

/// Whether it takes one of several rows, or numbers them.
pub(super) fn takes(select: &Select) -> bool {
    select.top.is_some() || matches!(select.distinct, Some(Distinct::On(_)))
}

/// Whether a call's value follows the order of rows.
pub(super) fn follows(function: &Function) -> bool {
    let name = names::last(&function.name).map(|ident| ident.value.to_ascii_lowercase()).unwrap_or_default();
    let is_of_a_set = OF_A_SET.contains(&name.as_str());
    match &function.over {
        None => functions::is_aggregate(&name) && !is_of_a_set,
        Some(_) if OF_PEERS.contains(&name.as_str()) => false,
        Some(over) => !is_of_a_set || counts_rows(over),
    }
}

/// Whether a window holds as many rows, of which equal ones may be in it or not. One that is named may be so.
fn counts_rows(over: &WindowType) -> bool {
    let WindowType::WindowSpec(spec) = over else { return true };
    spec.window_name.is_some()
        || spec.window_frame.as_ref().is_some_and(|frame| matches!(frame.units, WindowFrameUnits::Rows))
}
