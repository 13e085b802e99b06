use super::*;

fn asked(text: &str) -> Option<String> {
    question(text, "demo").map(|question| question.sql)
}

#[test]
fn a_question_is_all_about_the_catalogue() {
    for text in [
        "SELECT oid FROM pg_catalog.pg_class",
        "select relname from pg_class c join pg_namespace n on n.oid = c.relnamespace",
        "SELECT 't'::regclass",
        "select pg_catalog.format_type(23, -1)",
        "WITH t AS (SELECT * FROM pg_type) SELECT * FROM t",
        "select table_catalog from information_schema.tables",
        "select * from information_schema.table_constraints",
        "select * from demo.pg_catalog.pg_class",
        "select quote_ident(table_name) from information_schema.tables",
        "select 'it''s', repeat('x', 3), generate_series(1, array_length(conkey)) from pg_constraint",
        "select format('{:>20}', relname), printf('%5d', oid) from pg_class",
    ] {
        assert!(asked(text).is_some(), "{text}");
    }
}

#[test]
fn what_reads_anything_else_or_does_anything_else_is_the_pipelines() {
    for text in [
        "select 1",
        "select pg_typeof(1)",
        "select * from customer, pg_catalog.pg_class",
        "select * from other.pg_catalog.pg_class",
        "select * from main.pg_class",
        "select (select max(ssn) from customer) from pg_class",
        "with pg_class as (select * from customer) select * from pg_class",
        "delete from pg_catalog.pg_class",
        "insert into t select * from pg_class",
        "select table_name, data_type from information_schema.columns",
        "select count(*) from information_schema.tables where table_schema = 'main'",
        "select 'pg_class'",
        r"select 'a\''' as x, ' union select 1 --' from pg_class",
        "select 'a''''b' from pg_class",
        "select repeat('x', 4000000000) from pg_class",
        "select repeat('x', oid) from pg_class",
        "select range(4000000000) from pg_class",
        "select format('{:>4000000000}', relname) from pg_class",
        "select printf('%4000000000d', oid) from pg_class",
        "select printf('%*d', oid, oid) from pg_class",
        "select format(relname, oid) from pg_class",
        "select from pg_class where",
    ] {
        assert_eq!(asked(text), None, "{text}");
    }
}

#[test]
fn postgresqls_words_become_the_engines() {
    let cases = [
        ("select pg_catalog.pg_class.relname from pg_catalog.pg_class", "SELECT pg_class.relname FROM pg_class"),
        ("select a.x from information_schema.triggers a", "SELECT a.x FROM information_schema_triggers a"),
        (
            "select k from pg_constraint c cross join unnest(c.conkey) as k",
            "SELECT k FROM pg_constraint c CROSS JOIN UNNEST(c.conkey) AS k (k)",
        ),
        ("select x from information_schema.triggers", "SELECT x FROM information_schema_triggers AS triggers"),
        (
            "select 1 from pg_class where relname OPERATOR(pg_catalog.~) '^(t)$' COLLATE pg_catalog.default",
            "SELECT 1 AS \"?column?\" FROM pg_class WHERE (regexp_matches(relname, '^(t)$'))",
        ),
        (
            "select 1 from pg_class where relname !~* 'a'",
            "SELECT 1 AS \"?column?\" FROM pg_class WHERE (NOT (regexp_matches(relname, 'a', 'i')))",
        ),
        ("select 'pg_class'::pg_catalog.regclass", "SELECT regclass_of('pg_class') AS \"regclass\""),
        (
            "select c.oid::regclass::text from pg_class c",
            "SELECT CAST(regclass_name(c.oid) AS TEXT) AS \"regclass\" FROM pg_class c",
        ),
        ("select c.oid::regclass::oid from pg_class c", "SELECT c.oid FROM pg_class c"),
        (
            "select oid from pg_class where relkind = any('{r,v}'::\"char\"[])",
            "SELECT oid FROM pg_class WHERE relkind = ANY(CAST(['r', 'v'] AS varchar[]))",
        ),
        (
            "select oid from pg_class where relname like 'a\\_%'",
            "SELECT oid FROM pg_class WHERE relname LIKE 'a\\_%' ESCAPE '\\'",
        ),
        (
            "select typname, typreceive from pg_catalog.pg_type where typreceive != 0 and typreceive::text != 'array_recv'",
            "SELECT typname, regproc_name(typreceive) AS \"typreceive\" FROM pg_type \
             WHERE typreceive <> 0 AND regproc_name(typreceive) <> 'array_recv'",
        ),
        (
            "select t.n from (select typinput as n from pg_type) t",
            "SELECT t.n FROM (SELECT typinput AS n FROM pg_type) t",
        ),
        (
            "select oid from pg_class c where c.relkind = any($1) and c.oid = any($2)",
            "SELECT oid FROM pg_class c WHERE c.relkind = ANY(CAST($1 AS varchar[])) AND c.oid = ANY(CAST($2 AS bigint[]))",
        ),
        ("select c.xmin as x, xmax from pg_class c", "SELECT 2 AS x, 0 AS \"xmax\" FROM pg_class c"),
        (
            "select s[1] as x from pg_class, string_to_array('a,b', ',') s",
            "SELECT s[1] AS x FROM pg_class, LATERAL (SELECT string_to_array('a,b', ',') AS s) s (s)",
        ),
        (
            "select k.n from pg_index i, unnest(i.indkey, i.indoption) with ordinality k(a, b, n)",
            "SELECT k.n FROM pg_index i, LATERAL (SELECT unnest(i.indkey) AS a, unnest(i.indoption) AS b, \
             unnest(generate_series(1, greatest(len(i.indkey), len(i.indoption)))) AS n) k (a, b, n)",
        ),
        (
            "select l.tableoid, d.tableoid from pg_language l left join pg_description d on d.classoid = l.tableoid",
            "SELECT 2612 AS \"tableoid\", 2609 AS \"tableoid\" FROM pg_language l \
             LEFT JOIN pg_description d ON d.classoid = 2612",
        ),
        (
            "select tt.tableoid from (select tableoid from pg_class) tt",
            "SELECT tt.tableoid AS \"tableoid\" FROM (SELECT 1259 AS \"tableoid\" FROM pg_class) tt",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(asked(text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn vectors_count_from_zero_and_texts_name_what_they_spell() {
    let cases = [
        (
            "select i.indkey, a.attname from pg_index i left join pg_attribute a on a.attnum = any (i.indkey)",
            "SELECT array_to_string(i.indkey, ' ') AS \"indkey\", a.attname FROM pg_index i \
             LEFT JOIN pg_attribute a ON list_contains(i.indkey, a.attnum)",
        ),
        ("select i.indkey[0] as first from pg_index i", "SELECT i.indkey[(0) + 1] AS first FROM pg_index i"),
        (
            "select indkey[generate_subscripts(indkey, 1)] as k, indkey::text as t from pg_index",
            "SELECT indkey[((generate_subscripts(indkey, 1) - 1)) + 1] AS k, array_to_string(indkey, ' ') AS t FROM pg_index",
        ),
        (
            "select (quote_ident(table_schema) || '.' || quote_ident(table_name))::regclass as id from pg_tables",
            "SELECT regclass_of((quote_ident(table_schema) || '.' || quote_ident(table_name))) AS id FROM pg_tables",
        ),
        ("select 'int'::regtype::text", "SELECT regtype_name(regtype_of('int')) AS \"regtype\""),
    ];
    for (text, expected) in cases {
        assert_eq!(asked(text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn names_are_of_their_own_type_and_arrays_of_them_too() {
    let named = |text: &str| question(text, "demo").map(|asked| asked.named);
    let cases = [
        ("select relname, oid, 'x' from pg_class", vec![(0, "NAME")]),
        ("select c.oid, array_agg(a.attname) from pg_class c, pg_attribute a group by 1", vec![(1, "NAME[]")]),
        ("select array(select nspname from pg_namespace), 'a'::name", vec![(0, "NAME[]"), (1, "NAME")]),
        ("select attname::text, array_agg(attname::text) from pg_attribute group by 1", Vec::new()),
        ("select *, relname from pg_class", Vec::new()),
    ];
    for (text, expected) in cases {
        assert_eq!(named(text), Some(expected), "{text}");
    }
}

/// The walk is the parser crate's own, which has no guard of its own against depth.
#[test]
fn the_deepest_statement_that_is_read_fits_a_threads_stack() {
    for (level, times) in [(" + 1", 390), (" OR relname = 'a'", 190)] {
        let text = format!("select oid from pg_class where true OR 1{}", level.repeat(times));
        assert!(asked(&text).is_some(), "{level}");
    }
    let nested = format!("select {}1{} from pg_class", "(".repeat(60), ")".repeat(60));
    assert!(asked(&nested).is_some());
}
