//! What is known of functions that the warehouse adds, by their names.

use crate::functions::types::Type;

/// Names of the warehouse that make one value of many rows.
const AGGREGATES: [&str; 25] = [
    "approx_percentile",
    "array_agg",
    "array_union_agg",
    "array_unique_agg",
    "bit_and_agg",
    "bit_andagg",
    "bit_or_agg",
    "bit_oragg",
    "bit_xor_agg",
    "bit_xoragg",
    "bitand_agg",
    "bitandagg",
    "bitor_agg",
    "bitoragg",
    "bitxor_agg",
    "bitxoragg",
    "booland_agg",
    "boolor_agg",
    "boolxor_agg",
    "hll",
    "listagg",
    "object_agg",
    "skew",
    "variance_pop",
    "variance_samp",
];

/// Names of the warehouse that stand in FROM.
pub(crate) const TABLE_FUNCTIONS: [&str; 4] = ["flatten", "generator", "split_to_table", "strtok_split_to_table"];

/// Names of the warehouse that answer something else when they are called again.
const VOLATILE: [&str; 6] = ["getdate", "normal", "sysdate", "systimestamp", "uniform", "uuid_string"];

/// Whether a function of the warehouse makes one value of many rows.
pub(crate) fn is_aggregate(name: &str) -> bool {
    AGGREGATES.contains(&name.to_ascii_lowercase().as_str())
}

/// Whether a function of the warehouse may stand in FROM.
pub(crate) fn is_table_function(name: &str) -> bool {
    TABLE_FUNCTIONS.contains(&name.to_ascii_lowercase().as_str())
}

/// Whether a function of the warehouse answers something else when it is called again.
pub(crate) fn is_volatile(name: &str) -> bool {
    VOLATILE.contains(&name.to_ascii_lowercase().as_str())
}

/// The columns of what a table function of the warehouse answers; `None` for a name that is none.
pub(crate) fn answered(name: &str) -> Option<&'static [(&'static str, Type)]> {
    match name {
        "flatten" => Some(&[
            ("seq", Type::Integer),
            ("key", Type::Text),
            ("path", Type::Text),
            ("index", Type::Integer),
            ("value", Type::Json),
            ("this", Type::Json),
        ]),
        "split_to_table" | "strtok_split_to_table" => {
            Some(&[("seq", Type::Integer), ("index", Type::Integer), ("value", Type::Text)])
        }
        "generator" => Some(&[("_sluice_number", Type::Integer)]),
        _ => None,
    }
}
