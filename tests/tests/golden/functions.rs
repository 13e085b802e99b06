//! Every function of the linked engine has a class: a new engine brings no function unnoticed.

use std::collections::BTreeSet;

use sql::functions::catalogue::{self, Function};

#[test]
fn the_classified_functions_are_those_of_the_engine() {
    let engine = duckdb::Connection::open_in_memory().unwrap();
    let mut names = engine.prepare("select distinct lower(function_name) from duckdb_functions()").unwrap();
    let names: BTreeSet<String> = names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let classified: BTreeSet<String> =
        catalogue::all().filter(Function::is_in_catalog).map(|function| function.name.to_owned()).collect();
    assert_eq!(names.difference(&classified).collect::<Vec<_>>(), Vec::<&String>::new(), "without a class");
    assert_eq!(classified.difference(&names).collect::<Vec<_>>(), Vec::<&String>::new(), "not in the engine");
}
