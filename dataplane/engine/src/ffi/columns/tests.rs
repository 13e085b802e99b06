//! Both ways to make columns give the same ones.

use std::path::Path;
use std::rc::Rc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType};

use super::*;
use crate::ffi::Database;

/// Of each form, in the order of `ColumnForm::of`.
const COLUMNS: [&str; 24] = [
    "i % 5 = 0",
    "repeat('ä', (i % 9)::integer)",
    "'a text of more than twelve bytes, ' || i",
    "''",
    "('b' || i)::blob",
    "(i % 90)::decimal(3, 1)",
    "(i * 7)::decimal(9, 2)",
    "(i * -1000003)::decimal(18, 3)",
    "(i * 1000003)::decimal(38, 5)",
    "(i % 100)::tinyint",
    "(i - 2000)::smallint",
    "i::integer",
    "-i",
    "i::hugeint * -1000000000000000000000",
    "(i % 200)::utinyint",
    "i::usmallint",
    "i::uinteger",
    "i::ubigint",
    "(i / 3)::float",
    "i::double / 3",
    "date '2000-01-01' + i::integer",
    "time '00:00:01' + to_seconds(i)",
    "timestamp '2000-01-01' + to_seconds(i)",
    "to_timestamp(i)",
];

/// The rows of a query, by the forms of its columns or by the engine's own way. What they are of is gone by then.
fn rows(sql: &str, by_forms: bool) -> Vec<RecordBatch> {
    let database = Database::open(Path::new(":memory:"), &[("arrow_output_version", "1.0".to_owned())]).unwrap();
    let connection = database.connect().unwrap();
    let prepared = connection.prepare(sql).unwrap();
    let mut run = prepared.run(true).unwrap();
    run.schema().unwrap();
    connection.layout.take();
    let layout = Rc::get_mut(run.layout.as_mut().unwrap()).unwrap();
    assert!(layout.forms.is_some(), "{sql}");
    layout.forms = layout.forms.take().filter(|_| by_forms);
    std::iter::from_fn(|| run.next().unwrap()).collect()
}

/// All columns, each with null where the condition does not hold.
fn query(condition: &str, count: usize) -> String {
    let columns = COLUMNS.map(|column| format!("case when {condition} then {column} end"));
    format!("select {} from range({count}) t(i)", columns.join(", "))
}

#[test]
fn columns_by_their_forms_are_those_that_the_engine_makes() {
    for (condition, count) in
        [("true", 5_000), ("i % 3 > 0", 5_000), ("i > 2100", 5_000), ("true", 7), ("i % 2 = 0", 3), ("i < 0", 3_000)]
    {
        let sql = query(condition, count);
        let own = rows(&sql, true);
        assert_eq!(own.iter().map(RecordBatch::num_rows).sum::<usize>(), count);
        assert_eq!(own, rows(&sql, false), "{condition}, {count}");
        let checked = own.iter().flat_map(RecordBatch::columns).map(|column| column.to_data().validate_full());
        checked.for_each(|checked| checked.unwrap());
    }
}

#[test]
fn instants_of_other_units_are_those_that_the_engine_makes() {
    for unit in ["timestamp_s", "timestamp_ms", "timestamp_ns"] {
        let sql = format!("select (timestamp '2000-01-01' + to_seconds(i))::{unit} from range(3000) t(i)");
        assert_eq!(rows(&sql, true), rows(&sql, false), "{unit}");
    }
}

#[test]
fn nothing_of_the_engine_stands_where_a_value_is_null() {
    for count in [100, 5_000] {
        let sql =
            format!("select case when i % 2 = 0 then i end as n from (select i + 7 as i from range({count}) t(i))");
        for column in [rows(&sql, true), rows(&sql, false)].iter().flatten().map(|batch| batch.column(0)) {
            let column = column.as_primitive::<Int64Type>();
            assert!(column.null_count() > 0);
            assert!((0..column.len()).all(|row| column.is_valid(row) || column.values()[row] == 0));
        }
    }
    let database = Database::open(Path::new(":memory:"), &[]).unwrap();
    let connection = database.connect().unwrap();
    let prepared =
        connection.prepare("select case when i > 1 then to_days(i::integer) end from range(9) t(i)").unwrap();
    let batch = prepared.run(true).unwrap().next().unwrap().unwrap();
    let column = batch.column(0).as_primitive::<IntervalMonthDayNanoType>();
    assert_eq!(column.null_count(), 2);
    assert!(column.values()[..2].iter().all(|left| *left == IntervalMonthDayNano::default()));
}

/// Nulls around parts and items, and items that are null.
#[test]
fn nothing_of_the_engine_stands_in_parts_of_what_is_null() {
    let database = Database::open(Path::new(":memory:"), &[]).unwrap();
    let connection = database.connect().unwrap();
    let prepared = connection
        .prepare(
            "select case when i % 2 = 0 then {'n': i, 't': 'text ' || i} end, \
             (case when i % 2 = 0 then [i, i] end)::bigint[2], [case when i % 2 = 0 then i end], \
             map([i], [case when i % 2 = 0 then i end]) \
             from (select i + 7 as i from range(100) t(i))",
        )
        .unwrap();
    let batch = prepared.run(true).unwrap().next().unwrap().unwrap();
    let (parts, pairs, lists) = (batch.column(0).as_struct(), batch.column(1), batch.column(2));
    let items = [pairs.as_fixed_size_list().values(), lists.as_list::<i32>().values()];
    let numbers = [parts.column(0), items[0], items[1], batch.column(3).as_map().values()];
    for column in numbers.map(AsArray::as_primitive::<Int64Type>) {
        assert!(column.null_count() * 2 == column.len() && column.len() >= 100);
        assert!((0..column.len()).all(|row| column.is_valid(row) || column.values()[row] == 0));
    }
    let texts = parts.column(1).as_string::<i32>();
    assert!((0..texts.len()).all(|row| texts.is_valid(row) == parts.is_valid(row)));
    assert_eq!(texts.values().len(), texts.iter().flatten().map(str::len).sum::<usize>());
}

#[test]
fn a_column_that_is_left_to_the_engine_has_no_form() {
    let plain = |shape| Type { alias: None, shape };
    let json = Type { alias: Some("JSON".to_owned()), shape: Shape::Plain("VARCHAR") };
    assert_eq!(ColumnForm::of(&json, &DataType::Utf8), None);
    assert_eq!(ColumnForm::of(&plain(Shape::Plain("VARCHAR")), &DataType::LargeUtf8), None);
    assert_eq!(ColumnForm::of(&plain(Shape::Plain("BIGINT")), &DataType::Int32), None);
    assert_eq!(ColumnForm::of(&plain(Shape::Plain("UUID")), &DataType::Utf8), None);
    let decimal = plain(Shape::Decimal { width: 9, scale: 2 });
    assert_eq!(ColumnForm::of(&decimal, &DataType::Decimal128(18, 2)), None);
    assert_eq!(ColumnForm::of(&decimal, &DataType::Decimal128(9, 2)), Some(ColumnForm::Decimal32));
    let columns = [("a".to_owned(), plain(Shape::Plain("BIGINT")))];
    assert_eq!(forms(&columns, &Schema::empty()), None);
}
