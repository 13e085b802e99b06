//! In a filter, what fails on a value is tried: TRY catches whatever the engine can fail by, but for what no filter may
//! hold (`sql::govern::filter`).
//!
//! The extremes of every type are put into every function that can fail.

use sql::functions::catalogue::{Class, Function, FunctionKind, SizeBound, TryCatches, all};

use crate::extremes::{columns, extremes, failures, given, tables, widths};
use crate::world::World;

/// Functions that a filter may not call, or with some arguments alone, though no extreme shows why. A zone, a format with
/// a zone and a slice of no length are texts and spans that no other function fails by.
const UNSHOWN: [&str; 4] = ["make_timestamptz", "strptime", "time_bucket", "try_strptime"];
/// Of two lists of a fixed length: not looked for in filters.
const STAYS: &str = "nullif";

#[tokio::test]
async fn try_catches_what_a_filter_can_fail_by() {
    let world = extremes().await;
    let columns = columns(&mut world.session().await.unwrap()).await;
    // two sessions, as there are two cores at least
    let (even, odd) = tokio::join!(asked(&world, &columns, 0), asked(&world, &columns, 1));
    let failed = [even.1, odd.1].concat();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    let fitting = even.0 + odd.0;
    assert!(fitting > 2_000, "{fitting}");
    let met = [even.2, odd.2].concat();
    let refused = all().filter(is_asked).filter(is_refused).map(|function| function.name);
    let unmet: Vec<_> = refused.filter(|name| !met.contains(name)).collect();
    assert!(unmet.is_empty(), "refused for nothing: {unmet:?}");
    world.stopped().await;
}

/// Of every second function, from this one on: how many calls fit, those that TRY did not catch, and whose were to be
/// refused.
async fn asked(world: &World, columns: &[String], first: usize) -> (usize, Vec<String>, Vec<&'static str>) {
    let mut session = world.session().await.unwrap();
    let (mut fitting, mut failed, mut met) = (0, Vec::new(), Vec::new());
    for function in all().filter(is_asked).skip(first).step_by(2) {
        for width in widths(&mut session, function.name).await.unwrap() {
            let calls = given(columns, width);
            let queries: Vec<String> = calls.iter().map(|arguments| query(&function, arguments)).collect();
            let (fit, failures) = failures(&mut session, &queries, " and false").await.unwrap();
            fitting += fit;
            for (at, error) in failures {
                if is_refused(&function) {
                    met.push(function.name);
                } else if function.name != STAYS || !calls[at].iter().all(|one| one.contains("fixed_")) {
                    failed.push(format!("{}: {error}", queries[at]));
                }
            }
        }
    }
    (fitting, failed, met)
}

fn query(function: &Function, arguments: &[String]) -> String {
    let call = format!("\"{}\"({})", function.name, arguments.join(", "));
    format!("select count(*) from {} where try({call}) is not null", tables(arguments))
}

/// Whether TRY may let its error through, of some arguments at least: filters may not call it with those.
fn is_refused(function: &Function) -> bool {
    function.tried != Some(TryCatches::Always) && !UNSHOWN.contains(&function.name)
}

/// Those that make as many rows or bytes as they are told are left out: nothing can try what is too much for the engine.
/// In a filter, as in any statement, the dialect bounds how many (`sql::dialect::limits`).
fn is_asked(function: &Function) -> bool {
    function.class == Class::Throwing
        && function.is_of_engine()
        && function.is(FunctionKind::Scalar)
        && function.name.starts_with(|first: char| first.is_ascii_alphabetic())
        && !matches!(function.bound, Some(SizeBound::Places(_)))
}
