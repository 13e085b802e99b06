//! The extremes of every type, as arguments of every function.

use engine::{Error, Session};

use crate::world::{World, answer, world};

/// Texts that mean something to one function or other, beside those of `test_all_types`.
const TEXTS: &str = "insert into extremes (varchar) values (''), ('abc'), ('\\'), ('%' || chr(0)), ('é🎈'), \
    ('(['), ('{\"a\": 1'), ('[]'), ('$.a'), ('99999999999999999999'), ('2020-13-45'), ('day'), ('week'), ('era'), ('timezone'), (repeat('a', 2000))";

/// Types that DuckDB prints for its testers alone, or that are others again.
const LEFT_OUT: &str = "medium_enum, large_enum, small_enum, bignum, geometry, dec_4_1, dec_9_4, dec_18_6, nested_int_array, \
    timestamptz_array, date_array, struct_of_arrays, array_of_structs, fixed_nested_int_array, \
    fixed_nested_varchar_array, fixed_struct_array, struct_of_fixed_array, fixed_array_of_int_list, \
    list_of_fixed_int_array";

/// An engine with a table `extremes`, a column a type.
pub async fn extremes() -> World {
    let made = format!("create table extremes as select * exclude ({LEFT_OUT}) from test_all_types()");
    world().await.made(&[&made, TEXTS]).await
}

/// The columns of the table.
pub async fn columns(session: &mut Session) -> Vec<String> {
    let columns = answer(session, "select column_name from duckdb_columns() where table_name = 'extremes'", &[]);
    let columns: Vec<String> = columns.await.unwrap().lines().map(str::to_owned).collect();
    assert!(columns.len() > 30, "{columns:?}");
    columns
}

/// Of how many arguments it is called: up to three.
pub async fn widths(session: &mut Session, name: &str) -> Result<Vec<usize>, Error> {
    let sql = format!(
        "select distinct least(len(parameters) + unnest(if(varargs is null, [0], [0, 1, 2])), 3) \
         from duckdb_functions() where function_name = '{name}'"
    );
    let found = answer(session, &sql, &[]).await?;
    Ok(found.lines().filter_map(|width| width.parse().ok()).collect())
}

/// Arguments of so many columns, `a.` and `b.` of two tables.
pub fn given(columns: &[String], width: usize) -> Vec<Vec<String>> {
    let forms: &[&[&str]] = match width {
        1 => &[&["a.?"]],
        2 => &[&["a.?", "b.?"], &["a.?", "b.\"int\""], &["a.?", "b.varchar"], &["a.varchar", "b.?"]],
        3 => &[
            &["a.?", "b.?", "b.?"],
            &["a.?", "b.\"int\"", "a.\"int\""],
            &["a.varchar", "b.?", "a.?"],
            &["a.varchar", "b.?", "b.?"],
        ],
        _ => &[],
    };
    let of = |column: &String| {
        let column = column.clone();
        forms.iter().map(move |form| form.iter().map(|one| one.replace('?', &format!("\"{column}\""))).collect())
    };
    columns.iter().flat_map(of).collect()
}

/// What the columns of a call's arguments are of: two tables, unless one argument is all there is.
pub fn tables(arguments: &[String]) -> &'static str {
    if arguments.len() > 1 { "extremes a, extremes b" } else { "extremes a" }
}
