//! Every function a statement may name, and what may be done with it.
//!
//! The list is data, `functions.txt`, and complete: a name of the pinned engine that is not on it fails
//! a test, a name of a statement that is not on it is refused. It judges names alone: an argument list
//! that makes the engine convert one type to another can raise whatever the function's class says. That
//! a safe one fails on no extreme of the types it takes, a test of the engine asks (`engine/tests/safe.rs`).
//!
//! What the warehouse adds (NVL, IFF …) and what compares by meaning has its class by [`crate::dialect::class`].

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::functions::types::Type;
use crate::functions::warehouse;

/// What a call can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Raises no error that depends on the values it is given.
    Safe,
    /// Can raise one, so a caller could learn of hidden rows by it.
    Throwing,
    /// Another answer on another call.
    Volatile,
    /// Needs the right to write.
    Write,
    /// Refused.
    Denied,
}

/// Where a call may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    Scalar,
    Aggregate,
    Window,
    Table,
    Pragma,
    /// A word of the grammar that reads like a function; not in the engine's catalog.
    Grammar,
}

/// One name of the list.
#[derive(Debug, Clone)]
pub struct Function {
    pub name: &'static str,
    pub class: Class,
    pub kinds: Vec<FunctionKind>,
}

/// The only functions that may stand in FROM, beside those of the warehouse that become one of them.
pub const TABLE_FUNCTIONS: [&str; 5] = ["generate_series", "json_each", "json_tree", "range", "unnest"];

/// What each of them answers, as the engine names it; what may be named and `*` does not show stands behind the number
/// of those that it does.
const ANSWERED: [(&str, usize, &[&str]); 5] = [
    ("generate_series", 1, &["generate_series"]),
    ("json_each", 8, OF_JSON),
    ("json_tree", 8, OF_JSON),
    ("range", 1, &["range"]),
    ("unnest", 1, &["unnest"]),
];
const OF_JSON: &[&str] = &["key", "value", "type", "atom", "id", "parent", "fullkey", "path", "json", "root", "rowid"];

/// The most rows, repetitions or characters one call may be asked for by a literal.
pub const GENERATED_MAX: u64 = 10_000_000;

/// Calls whose result grows with an argument: the name, and which arguments count.
///
/// The engine obeys no interrupt inside some of them and no memory limit inside others, so the size
/// must be a literal below [`GENERATED_MAX`]; the child process is the last resort for the rest.
const GENERATORS: [(&str, &[usize]); 12] = [
    ("array_generate_range", &[0, 1]),
    ("array_resize", &[1]),
    ("bar", &[3]),
    ("bitstring", &[1]),
    ("generate_series", &[0, 1]),
    // nothing is made, but the least BIGINT ends the process
    ("lag", &[1]),
    ("lead", &[1]),
    ("list_resize", &[1]),
    ("lpad", &[1]),
    ("range", &[0, 1]),
    ("repeat", &[1]),
    ("rpad", &[1]),
];

static LIST: LazyLock<HashMap<&'static str, Function>> =
    LazyLock::new(|| lines().map(|function| (function.name, function)).collect());

/// The functions of the list, in its order.
pub fn all() -> impl Iterator<Item = Function> {
    lines()
}

/// The function of this name, in whatever case.
pub fn find(name: &str) -> Option<&'static Function> {
    LIST.get(name.to_ascii_lowercase().as_str())
}

/// Whether another call of it may answer something else, or change something.
pub(crate) fn is_volatile(name: &str) -> bool {
    let changes = |function: &Function| matches!(function.class, Class::Volatile | Class::Write);
    find(name).map_or_else(|| warehouse::is_volatile(name), changes)
}

/// Whether it makes one value of many rows.
pub fn is_aggregate(name: &str) -> bool {
    find(name)
        .map_or_else(|| warehouse::is_aggregate(name), |function| function.kinds.contains(&FunctionKind::Aggregate))
}

/// Whether it may stand in FROM.
pub fn is_table_function(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    TABLE_FUNCTIONS.contains(&name.as_str()) || warehouse::is_table_function(&name)
}

/// The columns of what a function in FROM answers.
pub(crate) struct Answered {
    /// Those that `*` shows.
    pub shown: Vec<(&'static str, Type)>,
    /// Those that must be named.
    pub hidden: &'static [&'static str],
}

/// What is known of it; `None` where the columns follow the arguments.
pub(crate) fn answered(name: &str) -> Option<Answered> {
    let name = name.to_ascii_lowercase();
    if let Some(columns) = warehouse::answered(&name) {
        return Some(Answered { shown: columns.to_vec(), hidden: &[] });
    }
    let (_, shown, columns) = ANSWERED.iter().find(|(known, ..)| *known == name)?;
    let (shown, hidden) = columns.split_at_checked(*shown)?;
    Some(Answered { shown: shown.iter().map(|column| (*column, Type::Unknown)).collect(), hidden })
}

/// The arguments that decide how much a call makes.
pub fn sizes(name: &str) -> &'static [usize] {
    let name = name.to_ascii_lowercase();
    GENERATORS.iter().find(|(generator, _)| *generator == name).map_or(&[], |(_, sizes)| sizes)
}

fn lines() -> impl Iterator<Item = Function> {
    include_str!("functions.txt").lines().filter(|line| !line.starts_with('#')).filter_map(read)
}

/// `name class kinds  # reason`; a line that is not so reads as no function, hence as a refusal.
fn read(line: &'static str) -> Option<Function> {
    let mut words = line.split_whitespace();
    let name = words.next()?;
    let class = match words.next()? {
        "safe" => Class::Safe,
        "throwing" => Class::Throwing,
        "volatile" => Class::Volatile,
        "write" => Class::Write,
        "denied" => Class::Denied,
        _ => return None,
    };
    let kinds = words.next()?.split(',').map(kind).collect::<Option<Vec<_>>>()?;
    Some(Function { name, class, kinds })
}

fn kind(word: &str) -> Option<FunctionKind> {
    match word {
        "scalar" => Some(FunctionKind::Scalar),
        "aggregate" => Some(FunctionKind::Aggregate),
        "window" => Some(FunctionKind::Window),
        "table" => Some(FunctionKind::Table),
        "pragma" => Some(FunctionKind::Pragma),
        "grammar" => Some(FunctionKind::Grammar),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::class;

    #[test]
    fn every_line_of_the_list_is_read_and_sorted_without_repeats() {
        let written = include_str!("functions.txt").lines().filter(|line| !line.starts_with('#')).count();
        let names: Vec<_> = all().map(|function| function.name).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(names, sorted);
        assert_eq!(names.len(), written);
    }

    #[test]
    fn the_list_holds_as_many_names_as_the_engine() {
        let engine = all().filter(|function| !function.kinds.contains(&FunctionKind::Grammar)).count();
        assert_eq!(engine, 947);
    }

    #[test]
    fn what_reads_files_settings_catalogs_statistics_or_sql_is_denied() {
        let names = "stats error sleep_ms pg_sleep write_log current_query current_setting getvariable query query_table \
                     json_execute_serialized_sql json_serialize_sql json_deserialize_sql setseed txid_current version \
                     has_table_privilege pg_get_viewdef duckdb_tables pragma_storage_info read_csv read_blob parquet_scan \
                     glob sniff_csv summary finalize combine which_secret variant_extract alias";
        for name in names.split_whitespace() {
            assert_eq!(class(name), Some(Class::Denied), "{name}");
        }
    }

    #[test]
    fn names_match_without_regard_to_case_and_unknown_ones_have_no_class() {
        assert_eq!(class("UPPER"), Some(Class::Safe));
        assert_eq!(class("NextVal"), Some(Class::Write));
        assert_eq!(class("nvl"), Some(Class::Throwing));
        assert_eq!(class("getenv"), None);
    }

    #[test]
    fn five_functions_of_the_engine_and_three_of_the_warehouse_stand_in_from() {
        let engine: Vec<_> =
            all().filter(|function| is_table_function(function.name)).map(|function| function.name).collect();
        assert_eq!(
            engine,
            TABLE_FUNCTIONS.iter().copied().chain(["flatten"]).fold(Vec::new(), |mut names, name| {
                let at = names.partition_point(|known| *known < name);
                names.insert(at, name);
                names
            })
        );
        assert!(is_table_function("SPLIT_TO_TABLE") && is_table_function("Generator"));
        assert!(!is_table_function("read_csv") && !is_table_function("repeat"));
    }
}
