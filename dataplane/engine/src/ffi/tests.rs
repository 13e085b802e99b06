//! Values in, values out, and errors in between.

use super::*;

fn answer(sql: &str, parameters: &[Value]) -> Result<String, Error> {
    let database = Database::open(Path::new(":memory:"), &[("errors_as_json", "true".to_owned())])?;
    let connection = database.connect()?;
    let prepared = connection.prepare(sql)?;
    for (number, value) in (1..).zip(parameters) {
        prepared.bind(number, value)?;
    }
    let mut run = prepared.run(true)?;
    let batch = run.next()?.unwrap();
    Ok(arrow::util::display::array_value_to_string(batch.column(0), 0).unwrap())
}

#[test]
fn every_value_arrives_as_what_it_is() {
    let cases = [
        (Value::Null, "null \"NULL\""),
        (Value::Boolean(true), "true BOOLEAN"),
        (Value::BigInt(-7), "-7 BIGINT"),
        (Value::HugeInt(i128::MAX), "170141183460469231731687303715884105727 HUGEINT"),
        (Value::Double(0.5), "0.5 DOUBLE"),
        (Value::Decimal("-12.50".to_owned()), "-12.50 DECIMAL(4,2)"),
        (Value::Decimal("0.05".to_owned()), ".05 DECIMAL(2,2)"),
        (Value::Decimal("0".to_owned()), "0 DECIMAL(1,0)"),
        (Value::Text("it's".to_owned()), "it's VARCHAR"),
        (Value::Blob(vec![0, 65]), "\\x00A BLOB"),
        (Value::Date(1), "1970-01-02 DATE"),
        (Value::Time(1_000_000), "00:00:01 TIME"),
        (Value::Timestamp(-1), "1969-12-31 23:59:59.999999 TIMESTAMP"),
        (Value::Interval { months: 1, days: 2, micros: 3 }, "1 month 2 days 00:00:00.000003 INTERVAL"),
        (Value::Uuid("eeccb8c5-9943-4b2b-b5eb-3ef0d7a1f3c2".to_owned()), "eeccb8c5-9943-4b2b-b5eb-3ef0d7a1f3c2 UUID"),
        (Value::Json("{\"a\":1}".to_owned()), "{\"a\":1} VARCHAR"),
        (Value::List(vec![Value::Null, Value::BigInt(7)]), "[NULL, 7] BIGINT[]"),
        (Value::List(vec![Value::Text("it's".to_owned())]), "['it\\'s'] VARCHAR[]"),
        (Value::List(Vec::new()), "[] \"NULL\"[]"),
    ];
    for (value, expected) in cases {
        let shown = answer("select coalesce($1::varchar, 'null') || ' ' || typeof($1)", std::slice::from_ref(&value));
        assert_eq!(shown.as_deref(), Ok(expected), "{value:?}");
    }
}

#[test]
fn a_malformed_parameter_is_refused() {
    for value in [
        Value::Decimal("1e5".to_owned()),
        Value::Decimal(String::new()),
        Value::Decimal("9".repeat(39)),
        Value::Decimal("1.2.3".to_owned()),
        Value::Uuid("not-a-uuid".to_owned()),
        Value::List(vec![Value::List(Vec::new())]),
    ] {
        let kind = answer("select $1", std::slice::from_ref(&value)).map_err(|e| e.kind);
        assert_eq!(kind, Err(Kind::InvalidInput), "{value:?}");
    }
}

#[test]
fn exactly_one_statement_is_prepared() {
    for sql in ["", "-- nothing", "select 1; select 2", "selec 1"] {
        assert_eq!(answer(sql, &[]).map_err(|e| e.kind), Err(Kind::Parser), "{sql}");
    }
}

#[test]
fn an_error_in_a_late_row_is_reported() {
    let database = Database::open(Path::new(":memory:"), &[("errors_as_json", "true".to_owned())]).unwrap();
    let connection = database.connect().unwrap();
    let prepared =
        connection.prepare("select case when i = 9000000 then error('late') end from range(10000000) t(i)").unwrap();
    let mut run = prepared.run(true).unwrap();
    let error = loop {
        match run.next() {
            Ok(Some(_)) => {}
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    assert!(error.is_some(), "the rows ended as if nothing had happened");
}

#[test]
fn rows_look_as_those_before_where_their_columns_are_the_same() {
    let database = Database::open(Path::new(":memory:"), &[("errors_as_json", "true".to_owned())]).unwrap();
    let connection = database.connect().unwrap();
    let schema = |sql: &str| {
        let prepared = connection.prepare(sql).unwrap();
        let mut run = prepared.run(true).unwrap();
        run.next().unwrap();
        run.schema().unwrap()
    };
    let first = schema("select 1 as a, 'x' as b");
    assert!(Arc::ptr_eq(&first, &schema("select 7 as a, null::varchar as b")));
    for others in ["select 1 as a, 'x' as c", "select 1::bigint as a, 'x' as b", "select 1 as a", "select [1] as a"] {
        assert_ne!(first, schema(others), "{others}");
        assert_eq!(first, schema("select 2 as a, 'z' as b"));
    }
    let many: Vec<String> = (0..=KEPT_COLUMNS_MAX).map(|number| format!("1 as c{number}")).collect();
    for wide in [format!("select {}", many.join(", ")), format!("select 1 as {}", "a".repeat(KEPT_NAMES_BYTES + 1))] {
        assert!(!Arc::ptr_eq(&schema(&wide), &schema(&wide)));
        assert_eq!(first, schema("select 2 as a, 'z' as b"));
    }
}
