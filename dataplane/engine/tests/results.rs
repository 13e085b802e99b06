//! The types that the table says of results are those of the engine.

use std::collections::BTreeSet;

use sql::functions::catalogue::{Function, ResultType, all};
use sql::functions::types::Type;

use crate::world::{answer, world};

/// Functions that answer another type where they are given lists of paths, parts, moments or bytes.
const OTHERS_TOO: [&str; 9] = [
    "avg",
    "concat",
    "date_part",
    "epoch_ms",
    "json_array_length",
    "json_extract",
    "json_extract_string",
    "json_type",
    "repeat",
];

#[tokio::test]
async fn results_are_of_the_types_that_the_engine_declares() {
    let world = world().await;
    let mut session = world.session().await.unwrap();
    let mut others = BTreeSet::new();
    let mut compared = 0;
    for function in all().filter(Function::is_in_catalog) {
        let Some(ResultType::Of(known)) = function.result else { continue };
        let name = function.name;
        let declared = format!("select distinct return_type from duckdb_functions() where function_name = '{name}'");
        for declared in answer(&mut session, &declared, &[]).await.unwrap().lines() {
            // a macro declares none
            if declared.is_empty() || declared == "NULL" {
                continue;
            }
            compared += 1;
            if Type::of_name(declared) != known && !is_list(known, declared) {
                others.insert(name);
            }
        }
    }
    assert_eq!(others.into_iter().collect::<Vec<_>>(), OTHERS_TOO);
    assert!(compared > 100, "{compared}");
    world.stopped().await;
}

fn is_list(known: Type, declared: &str) -> bool {
    known == Type::List && declared == "LIST"
}
