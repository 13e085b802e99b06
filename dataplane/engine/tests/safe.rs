//! A function that the list calls safe fails on no value: else an error could tell of a row that a filter hides.
//!
//! The extremes of every type are put into every one of them. What fails where there is no row at all does not fit and
//! is asked no further.

use sql::functions::catalogue::{Class, Function, FunctionKind, all};

use crate::extremes::{columns, extremes, given, tables, widths};
use crate::world::answer;

/// What the walk of a statement asks by the kind of the argument (`sql::govern::lineage::throws`).
const ASKED_BY_KIND: [(&str, &str); 4] =
    [("dayofweek", "interval"), ("dayofyear", "interval"), ("isodow", "interval"), ("weekday", "interval")];
/// The largest so many of them: two arguments that it asks too.
const ASKED_BY_NUMBER: [&str; 2] = ["max", "min"];

#[tokio::test]
async fn no_extreme_fails_in_a_function_that_is_called_safe() {
    let world = extremes().await;
    let mut session = world.session().await.unwrap();
    let columns = columns(&mut session).await;
    let (mut fitting, mut failed) = (0, Vec::new());
    for function in all().filter(is_asked) {
        for width in widths(&mut session, function.name).await.unwrap() {
            for arguments in given(&columns, width) {
                if is_known(function.name, &arguments) {
                    continue;
                }
                let call = call(&function, &arguments);
                if answer(&mut session, &format!("{call} where false"), &[]).await.is_ok() {
                    fitting += 1;
                    let got = answer(&mut session, &call, &[]).await;
                    failed.extend(got.err().map(|error| format!("{call}: {error}")));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(fitting > 2_000, "{fitting}");
    world.stopped().await;
}

fn is_asked(function: &Function) -> bool {
    let is_called = function.kinds.iter().any(|kind| matches!(kind, FunctionKind::Scalar | FunctionKind::Aggregate));
    function.class == Class::Safe && is_called && function.name.starts_with(|first: char| first.is_ascii_alphabetic())
}

fn is_known(name: &str, arguments: &[String]) -> bool {
    let kind = arguments.first().and_then(|first| first.strip_prefix("a.")).map(|column| column.trim_matches('"'));
    ASKED_BY_KIND.iter().any(|(known, of)| *known == name && kind == Some(*of))
        || ASKED_BY_NUMBER.contains(&name) && arguments.len() > 1
}

fn call(function: &Function, arguments: &[String]) -> String {
    let call = format!("\"{}\"({})", function.name, arguments.join(", "));
    let value = if function.kinds.contains(&FunctionKind::Aggregate) {
        format!("hash({call})")
    } else {
        format!("max(hash({call}))")
    };
    format!("select {value} from {}", tables(arguments))
}
