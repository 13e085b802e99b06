//! A function that the table calls safe fails on no value: else an error could tell of a row that a filter hides.
//!
//! The extremes of every type are put into every one of them. What fails where there is no row at all does not fit and
//! is asked no further.

use sql::functions::catalogue::{Class, Function, FunctionKind, SafeWhen, TryCatches, all};

use crate::extremes::{columns, extremes, failures, given, tables, widths};
use crate::world::World;

#[tokio::test]
async fn no_extreme_fails_in_a_function_that_is_called_safe() {
    let world = extremes().await;
    let columns = columns(&mut world.session().await.unwrap()).await;
    // two sessions, as there are two cores at least
    let (even, odd) = tokio::join!(asked(&world, &columns, 0), asked(&world, &columns, 1));
    let failed = [even.1, odd.1].concat();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    let fitting = even.0 + odd.0;
    assert!(fitting > 2_000, "{fitting}");
    world.stopped().await;
}

/// Of every second function, from this one on: how many calls fit, and those that failed.
async fn asked(world: &World, columns: &[String], first: usize) -> (usize, Vec<String>) {
    let mut session = world.session().await.unwrap();
    let (mut fitting, mut failed) = (0, Vec::new());
    for function in all().filter(is_asked).skip(first).step_by(2) {
        for width in widths(&mut session, function.name).await.unwrap() {
            let mut calls = given(columns, width);
            calls.retain(|arguments| !is_left_out(&function, arguments));
            let queries: Vec<String> = calls.iter().map(|arguments| query(&function, arguments)).collect();
            let (fit, failures) = failures(&mut session, &queries, " where false").await.unwrap();
            fitting += fit;
            failed.extend(failures.into_iter().map(|(at, error)| format!("{}: {error}", queries[at])));
        }
    }
    (fitting, failed)
}

fn is_asked(function: &Function) -> bool {
    let is_called =
        function.is_of_engine() && (function.is(FunctionKind::Scalar) || function.is(FunctionKind::Aggregate));
    let is_safe = match function.safe_when {
        None => function.class == Class::Safe,
        Some(SafeWhen::Days | SafeWhen::Alone) => true,
        // the sums of extremes are what it fails by
        Some(SafeWhen::Sums) => false,
    };
    is_safe && is_called && function.name.starts_with(|first: char| first.is_ascii_alphabetic())
}

/// Whether the table calls it safe of other arguments alone. Where it is safe of days, a span of time is left out if that
/// is what TRY would not catch either: whatever else has days is asked.
fn is_left_out(function: &Function, arguments: &[String]) -> bool {
    match function.safe_when {
        Some(SafeWhen::Days) => {
            function.tried == Some(TryCatches::Days) && arguments.first().is_some_and(|first| first == "a.\"interval\"")
        }
        Some(SafeWhen::Alone) => arguments.len() > 1,
        Some(SafeWhen::Sums) | None => false,
    }
}

fn query(function: &Function, arguments: &[String]) -> String {
    let call = format!("\"{}\"({})", function.name, arguments.join(", "));
    let value = if function.kinds.contains(&FunctionKind::Aggregate) {
        format!("hash({call})")
    } else {
        format!("max(hash({call}))")
    };
    format!("select {value} from {}", tables(arguments))
}
