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

/// How the engine begins what it says of a query that it can plan, and of one that it cannot, with rows or without.
const PLANNED: &str = r#"{"error":false"#;
const UNPLANNED: &str = r#"{"error":true,"error_type":"binder""#;

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

/// How many of these queries fit, and those among them that fail. Each answers one number, and fits if it does not fail
/// with the ending behind it, by which it has no row.
///
/// A statement for each takes longer than all that they compute. So the engine plans them in one question, and runs those
/// that it can plan in one statement. If one of these fails, each is asked alone; so is one that it may be able to plan.
pub async fn failures(
    session: &mut Session,
    queries: &[String],
    ending: &str,
) -> Result<(usize, Vec<(usize, Error)>), Error> {
    if queries.is_empty() {
        return Ok((0, Vec::new()));
    }
    let (planned, mut alone) = planned(session, queries).await?;
    let (mut fitting, mut failed) = (0, Vec::new());
    let whole: Vec<&str> = planned.iter().map(|at| queries[*at].as_str()).collect();
    if whole.is_empty() || answer(session, &whole.join(" union all "), &[]).await.is_err() {
        alone.extend(planned);
    } else {
        fitting += whole.len();
    }
    for at in alone {
        if answer(session, &format!("{}{ending}", queries[at]), &[]).await.is_ok() {
            fitting += 1;
            let asked = answer(session, &queries[at], &[]).await;
            failed.extend(asked.err().map(|error| (at, error)));
        }
    }
    Ok((fitting, failed))
}

/// The places of queries that the engine can plan, and of those that it may be able to.
async fn planned(session: &mut Session, queries: &[String]) -> Result<(Vec<usize>, Vec<usize>), Error> {
    let (mut planned, mut open) = (Vec::new(), Vec::new());
    let rows = queries.iter().enumerate().map(|(at, query)| format!("({at}, '{}')", query.replace('\'', "''")));
    let rows = rows.collect::<Vec<_>>().join(", ");
    let asked = format!("select n, left(json_serialize_plan(q)::varchar, 60) from (values {rows}) as asked(n, q)");
    for line in answer(session, &asked, &[]).await?.lines() {
        let (at, plan) = line.split_once(' ').expect("two columns");
        let at = at.parse().expect("a place");
        if plan.starts_with(PLANNED) {
            planned.push(at);
        } else if !plan.starts_with(UNPLANNED) {
            open.push(at);
        }
    }
    Ok((planned, open))
}

/// What the columns of a call's arguments are of: two tables, unless one argument is all there is.
pub fn tables(arguments: &[String]) -> &'static str {
    if arguments.len() > 1 { "extremes a, extremes b" } else { "extremes a" }
}
