//! A function that the list calls safe fails on no value: else an error could tell of a row that a filter hides.
//!
//! The extremes of every type are put into every one of them. What fails where there is no row at all does not fit and
//! is asked no further.

use engine::{Error, Session};
use sql::functions::{Class, Function, Kind, all};

use crate::world::{answer, world};

/// Texts that mean something to one function or other, beside those of `test_all_types`.
const TEXTS: &str = "insert into extremes (varchar) values (''), ('abc'), ('\\'), ('%' || chr(0)), ('é🎈'), \
    ('(['), ('{\"a\": 1'), ('[]'), ('$.a'), ('99999999999999999999'), ('2020-13-45'), ('day'), (repeat('a', 2000))";

/// Types that DuckDB prints for its testers alone, or that are others again.
const LEFT_OUT: &str = "medium_enum, large_enum, small_enum, bignum, geometry, dec_4_1, dec_9_4, dec_18_6, nested_int_array, \
    timestamptz_array, date_array, struct_of_arrays, array_of_structs, fixed_nested_int_array, \
    fixed_nested_varchar_array, fixed_struct_array, struct_of_fixed_array, fixed_array_of_int_list, \
    list_of_fixed_int_array";

/// What the walk of a statement asks by the kind of the argument (`sql::govern::lineage::throws`).
const ASKED_BY_KIND: [(&str, &str); 4] =
    [("dayofweek", "interval"), ("dayofyear", "interval"), ("isodow", "interval"), ("weekday", "interval")];
/// The largest so many of them: two arguments that it asks too.
const ASKED_BY_NUMBER: [&str; 2] = ["max", "min"];

#[tokio::test]
async fn no_extreme_fails_in_a_function_that_is_called_safe() {
    let made = format!("create table extremes as select * exclude ({LEFT_OUT}) from test_all_types()");
    let world = world().await.made(&[&made, TEXTS]).await;
    let mut session = world.session().await.unwrap();
    let columns = answer(&mut session, "select column_name from duckdb_columns() where table_name = 'extremes'", &[]);
    let columns: Vec<String> = columns.await.unwrap().lines().map(str::to_owned).collect();
    assert!(columns.len() > 30, "{columns:?}");
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
    let is_called = function.kinds.iter().any(|kind| matches!(kind, Kind::Scalar | Kind::Aggregate));
    function.class == Class::Safe && is_called && function.name.starts_with(|first: char| first.is_ascii_alphabetic())
}

fn is_known(name: &str, arguments: &[String]) -> bool {
    let kind = arguments.first().and_then(|first| first.strip_prefix("a.")).map(|column| column.trim_matches('"'));
    ASKED_BY_KIND.iter().any(|(known, of)| *known == name && kind == Some(*of))
        || ASKED_BY_NUMBER.contains(&name) && arguments.len() > 1
}

/// Of how many arguments it is called: up to three.
async fn widths(session: &mut Session, name: &str) -> Result<Vec<usize>, Error> {
    let sql = format!(
        "select distinct least(len(parameters) + unnest(if(varargs is null, [0], [0, 1, 2])), 3) \
         from duckdb_functions() where function_name = '{name}'"
    );
    let found = answer(session, &sql, &[]).await?;
    Ok(found.lines().filter_map(|width| width.parse().ok()).collect())
}

fn given(columns: &[String], width: usize) -> Vec<Vec<String>> {
    let forms: &[&[&str]] = match width {
        1 => &[&["a.?"]],
        2 => &[&["a.?", "b.?"], &["a.?", "b.\"int\""], &["a.?", "b.varchar"], &["a.varchar", "b.?"]],
        3 => &[&["a.?", "b.?", "b.?"], &["a.?", "b.\"int\"", "a.\"int\""], &["a.varchar", "b.?", "a.?"]],
        _ => &[],
    };
    let of = |column: &String| {
        let column = column.clone();
        forms.iter().map(move |form| form.iter().map(|one| one.replace('?', &format!("\"{column}\""))).collect())
    };
    columns.iter().flat_map(of).collect()
}

/// Of two tables, unless one argument is all there is.
fn call(function: &Function, arguments: &[String]) -> String {
    let call = format!("\"{}\"({})", function.name, arguments.join(", "));
    let value =
        if function.kinds.contains(&Kind::Aggregate) { format!("hash({call})") } else { format!("max(hash({call}))") };
    let from = if arguments.len() > 1 { "extremes a, extremes b" } else { "extremes a" };
    format!("select {value} from {from}")
}
