use super::{FilterTemplate, admit};
use crate::ast::error::ErrorKind;
use crate::functions::catalogue::{Class, Function, FunctionKind, all};
use crate::testing::catalog;

fn known(name: &str) -> bool {
    ["region", "user_id", "department"].contains(&name)
}

#[test]
fn conditions_on_the_row_are_admitted() {
    let cases = [
        "region = '{region}'",
        "region = {region}",
        "name LIKE 'x-{user_id}-%'",
        "region = 'EU' OR id > 5",
        "id IN (SELECT customer_id FROM orders WHERE orders.region = {region})",
        "upper(region) = upper({region}) AND NOT (id BETWEEN 1 AND 3)",
        "FALSE",
        "{region} = 'EU'",
        "'{region}' = 'EU' OR {department} = 'audit'",
        "EXISTS (SELECT 1 FROM orders WHERE orders.region = {region})",
        "region = {region} OR EXISTS (SELECT 1 FROM orders WHERE customer_id = 1)",
        "region = 'EU' OR FALSE",
        "region NOT LIKE '%' OR id > 5",
        "convert_timezone('UTC', name::timestamp) > '2020-01-01'",
        "to_date(name, 'YYYY-MM-DD') > '2020-01-01'",
        "id = ANY (SELECT customer_id FROM orders)",
        "EXISTS (SELECT 1 FROM orders o WHERE o.region = ANY(string_split(o.note, ' ')))",
    ];
    for text in cases {
        let admitted = admit(text, &known);
        assert!(admitted.is_ok(), "{text}: {admitted:?}");
    }
}

#[test]
fn what_is_true_for_every_row_is_no_filter() {
    let cases = [
        "coalesce(true, region = 'EU')",
        "nvl(NULL, TRUE)",
        "nvl(true, region = 'x')",
        "iff(true, true, region = 'x')",
        "if(region = 'x', 1 = 1, true)",
        "nvl2(region, true, true)",
        "decode(1, 1, true, region = 'x')",
        "decode(region, 'x', true, 'y', true, true)",
        "greatest(true, region = 'x')",
        "case when true then true else region = 'EU' end",
        "case when region = 'EU' then true else true end",
        "case when false then region = 'EU' else true end",
        "case region when region then true else false end",
        "{region} = {region}",
        "'{user_id}' = '{user_id}'",
        "'a-{user_id}' >= 'a-{user_id}'",
        "{region} = '{region}' or id = 5",
        "equal_null(region, region)",
        "region IS NOT DISTINCT FROM region",
        "NOT (region IS DISTINCT FROM region)",
        "NOT (region <> region)",
        "region BETWEEN region AND region",
        "region IN ('EU', region)",
        "region = 'EU' OR region <> 'EU'",
        "(region = 'EU' OR id > 5) OR NOT (region = 'EU')",
        "id < 5 OR id >= 5",
        "region LIKE 'E%' OR region NOT LIKE 'E%'",
        "id IN (1, 2) OR id NOT IN (1, 2)",
        "(region = 'EU' OR true) IS TRUE",
        "(region IS NULL) IS NOT NULL",
        "contains(region, '')",
    ];
    for text in cases {
        let refused = admit(text, &known);
        assert!(matches!(&refused, Err(error) if error.kind == ErrorKind::InvalidFilter), "{text}: {refused:?}");
    }
    for text in [
        "coalesce(region = 'EU', true)",
        "coalesce(NULL, region = 'EU')",
        "iff(region = 'EU', true, false)",
        "nvl2(region, true, id > 5)",
        "decode(region, 'EU', true, false)",
        "case when region = 'EU' then true end",
        "case when region = 'EU' then true else id > 5 end",
        "region = {region} or name = '{user_id}'",
        "region IN ('EU', name)",
        "region = 'EU' OR name <> 'EU'",
        "id < 5 OR id > 5",
        "(region IS NULL) IS NOT TRUE",
        "contains(region, 'E')",
    ] {
        assert!(admit(text, &known).is_ok(), "{text}: {:?}", admit(text, &known));
    }
}

#[test]
fn facts_name_placeholders_columns_and_tables() {
    let facts = admit("c.region = '{region}' AND id IN (SELECT customer_id FROM orders)", &known).expect("a filter");
    assert_eq!(facts.placeholders.into_iter().collect::<Vec<_>>(), ["region"]);
    assert_eq!(facts.columns.into_iter().collect::<Vec<_>>(), ["id", "region"]);
    assert_eq!(facts.tables.into_iter().collect::<Vec<_>>(), ["main.orders"]);
}

#[test]
fn what_could_not_be_a_filter_is_refused() {
    let cases = [
        "",
        "1 = 1",
        "TRUE",
        "region = 'EU' OR 1 = 1",
        "region = region",
        "region IS NULL OR region IS NOT NULL",
        "name LIKE '%'",
        "name LIKE '%%'",
        "1 IN (1)",
        "1 BETWEEN 0 AND 2",
        "TRUE IS TRUE",
        "NULL IS NULL",
        "1 + 1 = 2",
        "EXISTS (SELECT 1)",
        "region = 'EU' OR 1 IN (1)",
        "NULL IS NULL OR region = 'EU'",
        "NOT (region = 'EU' AND 1 IN (2))",
        "id > 1 AND (region = {region} OR EXISTS (SELECT 1))",
        "NOT name NOT LIKE '%'",
        "NOT FALSE",
        "id + 1",
        "count(*) > 1",
        "row_number() OVER () = 1",
        "random() > 0.5",
        "current_setting('x') = 'y'",
        "region = '{nobody}'",
        "region = current_user",
        "id IN (SELECT customer_id FROM orders WHERE note = Session_User)",
        "region = $1",
        "region = ?",
        "region = 'a'; DROP TABLE t",
        "region = 'a' FROM t",
        "region = 'a' AS x",
        "region = 'a', TRUE",
        "id IN (SELECT id FROM raw.main.t)",
        "id IN (SELECT id FROM read_csv('x'))",
        "id IN (WITH a AS (SELECT 1 AS id) SELECT id FROM a)",
        "id IN (SELECT _sluice_filter_0.id FROM customers AS _sluice_filter_0)",
        "region = 'EU' OR",
        // a subquery to the engine
        "region = ANY(string_split(name, ' '))",
        "region > ANY(ARRAY['EU', 'US'])",
        "region = ANY(ARRAY[])",
        "1 = ANY(ARRAY[1, 2])",
        // what fails by an error that TRY lets through
        "convert_timezone(region, date_from_parts(2020, 1, 1)) is null",
        "convert_timezone('Foo/Bar', '2020-01-01'::timestamp) is null",
        "convert_timezone('UTC', {region}, '2020-01-01'::timestamp) is null",
        "('2020-01-01'::timestamp at time zone name) is null",
        "make_timestamptz(2020, 1, 1, 0, 0, 0, name) is null",
        "timestamp_tz_from_parts(2020, 1, 1, 0, 0, 0, 0, name) is null",
        "time_slice('2020-01-01'::timestamp, 0, 'day') is null",
        "strptime(name, '%Y %Z') is null",
        "strptime(name, region) is null",
        "unnest([id, 2]) = 1",
        "lag(id) = 1",
        // an era is of no length: the dialect knows no such unit
        "date_trunc('era', name::timestamp) is null",
        "date_diff('era', name::date, '2020-01-01'::date) = 1",
        "date_sub('era', name::date, '2020-01-01'::date) = 1",
        "datetrunc('era', name::timestamp) is null",
        "list_reduce([id], (id, salary) -> id) = 7",
        "id in (select id from orders where (o.at at time zone o.note) is null)",
    ];
    for text in cases {
        let refused = admit(text, &known);
        let kinds = [ErrorKind::InvalidFilter, ErrorKind::Syntax];
        assert!(matches!(&refused, Err(error) if kinds.contains(&error.kind)), "{text}: {refused:?}");
    }
}

/// What the table does not say that TRY catches, no filter calls.
#[test]
fn a_function_whose_errors_pass_try_is_refused() {
    let passes = |function: &Function| {
        let is_asked = function.is_of_engine() && !function.is(FunctionKind::Aggregate);
        is_asked && function.class == Class::Throwing && function.tried.is_none()
    };
    let is_called = |function: &Function| function.name.starts_with(|first: char| first.is_ascii_alphabetic());
    let names: Vec<_> = all().filter(passes).filter(is_called).map(|function| function.name).collect();
    assert!(names.contains(&"time_bucket") && names.contains(&"like_escape"), "{names:?}");
    for name in names {
        assert!(admit(&format!("{name}(id, 1) is null"), &known).is_err(), "{name}");
    }
}

#[test]
fn any_of_a_list_that_is_written_out_is_in() {
    for (text, said) in [
        ("region = ANY(ARRAY['EU', {region}])", "region IN ('EU', {region})"),
        ("NOT (region <> ALL(['EU', NULL]))", "NOT (region NOT IN ('EU', NULL))"),
        ("id IN (SELECT id FROM orders WHERE note = ANY(['a']))", "id IN (SELECT id FROM orders WHERE note IN ('a'))"),
    ] {
        let governed = |text: &str| {
            let mut rules = crate::Rules::default();
            rules.filter("main", "customers", crate::testing::filter(text));
            crate::testing::shown("SELECT id FROM customers", &rules)
        };
        assert_eq!(governed(text), governed(said), "{text}");
    }
}

#[test]
fn a_column_that_is_gone_refuses_every_statement_on_the_table() {
    let filter = FilterTemplate::parse("gone = 1").expect("a filter").bind(&|_| None, &catalog()).expect("a filter");
    let mut rules = crate::Rules::default();
    rules.filter("main", "payroll", filter);
    let refused = crate::testing::engine("SELECT 1 FROM payroll", &rules).expect_err("a refusal");
    assert!(matches!(refused.kind, ErrorKind::Ungovernable { .. }));
}

/// Whatever a caller carries, it is one bound value.
#[test]
fn values_never_become_text_of_the_statement() {
    let evil = "x' OR TRUE --";
    let template = FilterTemplate::parse("iban = 'a-{region}'").expect("a filter");
    let filter = template.bind(&|_| Some(evil.to_owned()), &catalog()).expect("a filter");
    let mut rules = crate::Rules::default();
    rules.filter("main", "payroll", filter);
    let made = crate::testing::engine("SELECT id FROM payroll", &rules).expect("engine SQL");
    assert!(!made.sql.contains("TRUE"), "{}", made.sql);
    assert_eq!(made.binds, [crate::Bind::Text(format!("a-{evil}"))]);
}
