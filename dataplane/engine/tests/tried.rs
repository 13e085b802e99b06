//! In a filter, what fails on a value is tried: TRY catches whatever the engine can fail by, but for what no filter may
//! hold (`sql::govern::filter`).
//!
//! The extremes of every type are put into every function that can fail.

use sql::functions::catalogue::{Class, Function, FunctionKind, all};

use crate::extremes::{columns, extremes, given, tables, widths};
use crate::world::answer;

/// What TRY lets through, and no filter holds: by its name, or for the kinds of its arguments.
const REFUSED: &[&str] = &[
    "array_length",
    "date_diff",
    "date_part",
    "date_sub",
    "date_trunc",
    "datediff",
    "datepart",
    "datesub",
    "datetrunc",
    "dayofweek",
    "dayofyear",
    "era",
    "ilike_escape",
    "isodow",
    "isoyear",
    "like_escape",
    "not_ilike_escape",
    "not_like_escape",
    "timezone",
    "timezone_hour",
    "timezone_minute",
    "week",
    "weekday",
    "weekofyear",
    "yearweek",
];
/// Of two lists of a fixed length: not looked for in filters.
const STAYS: &str = "nullif";
/// They make as many rows or bytes as they are told, and what is too much for the engine nothing can try: in a
/// filter, as in any statement, the dialect bounds how many (`sql::dialect::limits`).
const BOUNDED: &[&str] =
    &["array_resize", "bar", "bitstring", "generate_series", "list_resize", "lpad", "range", "repeat", "rpad"];

#[tokio::test]
async fn try_catches_what_a_filter_can_fail_by() {
    let world = extremes().await;
    let mut session = world.session().await.unwrap();
    let columns = columns(&mut session).await;
    let (mut fitting, mut failed, mut met) = (0, Vec::new(), Vec::new());
    for function in all().filter(is_asked) {
        for width in widths(&mut session, function.name).await.unwrap() {
            for arguments in given(&columns, width) {
                let call = format!("\"{}\"({})", function.name, arguments.join(", "));
                let select = format!("select count(*) from {} where try({call}) is not null", tables(&arguments));
                if answer(&mut session, &format!("{select} and false"), &[]).await.is_err() {
                    continue;
                }
                fitting += 1;
                match answer(&mut session, &select, &[]).await {
                    Err(_) if REFUSED.contains(&function.name) => met.push(function.name),
                    Err(_) if function.name == STAYS && arguments.iter().all(|one| one.contains("fixed_")) => {}
                    Err(error) => failed.push(format!("{call}: {error}")),
                    Ok(_) => {}
                }
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(fitting > 2_000, "{fitting}");
    let unmet: Vec<_> = REFUSED.iter().filter(|name| !met.contains(name)).collect();
    assert!(unmet.is_empty(), "refused for nothing: {unmet:?}");
    world.stopped().await;
}

fn is_asked(function: &Function) -> bool {
    (function.class == Class::Throwing || REFUSED.contains(&function.name))
        && function.kinds.contains(&FunctionKind::Scalar)
        && function.name.starts_with(|first: char| first.is_ascii_alphabetic())
        && !BOUNDED.contains(&function.name)
}
