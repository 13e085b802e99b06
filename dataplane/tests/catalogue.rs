//! PostgreSQL's catalogue over the wire: what each caller sees of it, and what nobody does.

use contract::policy::MaskFunction;
use dataplane::testing::{denying, masking};

use crate::pgwire::{refused, simple, wired};

/// What psql sends for `\dt`, shortened by nothing that matters.
const DT: &str = r#"SELECT n.nspname as "Schema", c.relname as "Name",
  CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' END as "Type", pg_catalog.pg_get_userbyid(c.relowner) as "Owner"
FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r','p','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast'
  AND n.nspname <> 'information_schema' AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1,2"#;

#[tokio::test]
async fn what_a_caller_may_not_read_is_in_no_catalogue() {
    let wired = wired().await;
    wired.world.run("create table payroll (id integer, iban varchar)").await.unwrap();
    wired.world.run("create view pay as select iban from payroll").await.unwrap();
    wired.world.run("create view paid as select count(iban) as ibans from pay").await.unwrap();
    wired.world.change(|rules| rules.abac_policies.push(denying("payroll", &[])));
    let client = wired.owner().await;
    assert_eq!(simple(&client, DT).await, ["main|customer|table|owner@example.com", "(1)"]);
    for sql in [
        "select relname from pg_class where relname like '%payroll%'",
        "select attname from pg_attribute where attname = 'iban' and attrelid = 'payroll'::regclass",
        "select table_catalog from information_schema.tables where table_name = 'payroll'",
        "select table_name from information_schema.tables where table_name = 'payroll'",
        "select view_definition from information_schema.views where view_definition is not null",
        "select pg_get_viewdef(oid) from pg_class where pg_get_viewdef(oid) is not null",
        // a view over it would tell of its columns
        "select column_name from information_schema.columns where table_name in ('pay', 'paid')",
        "select attname from pg_attribute where attname like 'iban%'",
        "select table_name from information_schema.views where table_name in ('pay', 'paid')",
        "select to_regclass('payroll') where to_regclass('payroll') is not null",
    ] {
        assert_eq!(simple(&client, sql).await, ["(0)"], "{sql}");
    }
    wired.stop().await;
}

#[tokio::test]
async fn a_masked_column_is_text_for_who_sees_it_masked() {
    let wired = wired().await;
    wired.world.run("create view rich as select balance as b from customer").await.unwrap();
    wired.world.change(|rules| rules.policies = vec![masking("customer", "balance", MaskFunction::Full)]);
    let cases = [
        "select format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'customer'::regclass and attname = 'balance'",
        "select format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'rich'::regclass",
        "select data_type from information_schema.columns where table_name = 'customer' and column_name = 'balance'",
    ];
    let (owner, analyst) = (wired.owner().await, wired.analyst().await);
    let mut seen = Vec::new();
    for sql in cases {
        seen.push((simple(&owner, sql).await.remove(0), simple(&analyst, sql).await.remove(0)));
    }
    let expected = [("numeric(12,2)", "text"), ("numeric(12,2)", "text"), ("NUMBER", "TEXT")];
    assert_eq!(seen, expected.map(|(owner, analyst)| (owner.to_owned(), analyst.to_owned())));
    wired.stop().await;
}

#[tokio::test]
async fn keys_types_and_ids_are_those_of_postgresql() {
    let wired = wired().await;
    wired.world.run("create table keyed (a integer, b varchar, primary key (a, b))").await.unwrap();
    let client = wired.owner().await;
    let rows = client
        .query(
            "select a.attname, t.typname, a.attnotnull from pg_attribute a join pg_type t on t.oid = a.atttypid \
             where a.attrelid = $1 and a.attnum > 0 order by a.attnum",
            &[&oid_of(&client, "keyed").await],
        )
        .await
        .unwrap();
    let shown: Vec<(String, String, bool)> = rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    assert_eq!(shown, [("a".to_owned(), "int4".to_owned(), true), ("b".to_owned(), "varchar".to_owned(), true)]);
    let cases = [
        ("select pg_get_constraintdef(oid) from pg_constraint where contype = 'p'", "PRIMARY KEY (a, b)"),
        ("select indkey::text from pg_index where indrelid = 'keyed'::regclass and indisprimary", "1 2"),
        ("select constraint_name from information_schema.table_constraints", "keyed_pkey"),
        ("select 'pg_type'::regclass::oid", "1247"),
        ("select '\"main\" . \"keyed\"'::regclass = 'keyed'::regclass", "t"),
        (
            "select ta.attname from pg_attribute ta, pg_attribute ia, pg_index i where ta.attrelid = i.indrelid \
             and ia.attrelid = i.indexrelid and ta.attnum = i.indkey[ia.attnum - 1] and ia.attnum = 2",
            "b",
        ),
        ("select typreceive from pg_type where typname = '_int4' and typreceive::text like 'array%'", "array_recv"),
        ("select typinput = 'pg_catalog.array_in'::regproc from pg_type where oid = 1007", "t"),
        ("select proname from pg_proc p join pg_type t on p.oid = t.typsend where typname = 'numeric'", "numeric_send"),
        ("select l.tableoid, pg_class.tableoid from pg_language l, pg_class limit 1", "2612|1259"),
        ("select current_database(), current_schema(), oid from pg_type where typname = '_int4'", "demo|main|1007"),
        (
            "select string_agg(column_name, ',' order by ordinal_position) from information_schema.key_column_usage",
            "a,b",
        ),
    ];
    for (sql, expected) in cases {
        assert_eq!(simple(&client, sql).await.first().map(String::as_str), Some(expected), "{sql}");
    }
    let again = oid_of(&wired.owner().await, "keyed").await;
    assert_eq!(again, oid_of(&client, "keyed").await, "a table keeps its id");
    wired.stop().await;
}

#[tokio::test]
async fn jsonb_is_a_type_of_its_own_in_the_catalogue_and_on_the_wire() {
    let wired = wired().await;
    let client = wired.owner().await;
    for sql in [
        "create table doc (id integer, b jsonb, j json, v variant)",
        "insert into doc values (1, '{\"a\": [1]}', '[1]', '2')",
        "alter table doc add column late jsonb",
        "comment on column doc.b is 'binary'",
        "alter table doc rename column b to c",
        "alter table doc alter column j type jsonb",
        "create table if not exists doc (j json, v jsonb)",
        "create table copied as select c, j, v from doc",
        "create view seen as select v, c as d, c['a'] as e from doc",
        "create view above as select * from seen",
    ] {
        wired.world.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let told = "select string_agg(format_type(atttypid, atttypmod), ',' order by attnum) from pg_attribute where attnum > 0 \
                and attrelid = ";
    assert_eq!(simple(&client, &format!("{told}'doc'::regclass")).await[0], "integer,jsonb,jsonb,json,jsonb");
    assert_eq!(simple(&client, &format!("{told}'copied'::regclass")).await[0], "json,json,json");
    assert_eq!(simple(&client, &format!("{told}'above'::regclass")).await[0], "json,jsonb,json");
    let named = "select data_type || udt_name || coalesce(col_description('doc'::regclass, 2), '') \
                 from information_schema.columns where table_name = 'doc' and column_name = 'c' and udt_name is not null";
    assert_eq!(simple(&client, named).await[0], "jsonbjsonbbinary");
    let cases: [(&str, &[&str]); 10] = [
        ("select * from doc", &["int4", "jsonb", "jsonb", "json", "jsonb"]),
        ("select d.c as x, d.v from doc d join doc e on d.id = e.id", &["jsonb", "json"]),
        ("with w as (select c, v from doc) select v, c from w limit 1", &["json", "jsonb"]),
        ("select c from doc union all select v from doc", &["json"]),
        ("select c from doc union all select c from doc", &["jsonb"]),
        ("update doc set id = 2 returning *", &["int4", "jsonb", "jsonb", "json", "jsonb"]),
        ("insert into doc (id) values (3) returning v, late, id", &["json", "jsonb", "int4"]),
        ("delete from doc returning doc.c", &["jsonb"]),
        ("select c from copied", &["json"]),
        ("select * from above", &["json", "jsonb", "json"]),
    ];
    for (sql, types) in cases {
        let prepared = client.prepare(sql).await.unwrap_or_else(|error| panic!("{sql}: {:?}", error.as_db_error()));
        let found: Vec<_> = prepared.columns().iter().map(|column| column.type_().name().to_owned()).collect();
        assert_eq!(found, types, "{sql}");
    }
    assert_eq!(simple(&client, "select c, j, late from doc").await[0], "{\"a\": [1]}|[1]|NULL");
    wired.world.change(|rules| rules.policies = vec![masking("doc", "c", MaskFunction::Full)]);
    let analyst = wired.analyst().await;
    let prepared = analyst.prepare("select c, j from doc").await.unwrap();
    assert_eq!(prepared.columns().iter().map(|column| column.type_().name()).collect::<Vec<_>>(), ["text", "jsonb"]);
    wired.stop().await;
}

async fn oid_of(client: &tokio_postgres::Client, name: &str) -> i64 {
    let row = client.query_one("select oid from pg_catalog.pg_class where relname = $1", &[&name]).await.unwrap();
    row.get(0)
}

#[tokio::test]
async fn the_catalogue_holds_and_reaches_nothing_else() {
    let wired = wired().await;
    let client = wired.owner().await;
    for (sql, state) in [
        ("select count(*) from pg_class, read_csv('/etc/passwd')", "0A000"),
        ("select getvariable('relation_ids') from pg_class", "0A000"),
        ("select * from pg_class, duckdb_settings()", "0A000"),
        ("select relname, ssn from pg_class, customer", "42P01"),
        ("select nothing from pg_class", "42703"),
        ("delete from pg_class", "42P01"),
        ("create table pg_catalog.x (a integer)", "0A000"),
    ] {
        assert_eq!(refused(&client, sql).await.code().code(), state, "{sql}");
    }
    let unlisted = wired.world.run("select * from pg_timezone_names()").await;
    assert_eq!(unlisted.err().map(|error| error.code()), Some(contract::Code::UnsupportedSql));
    wired.stop().await;
}

/// What makes more and more of little.
const BOMBS: [&str; 3] = [
    "select list(repeat(a.typname || b.typname || c.typname, 100)) from pg_type a, pg_type b, pg_type c",
    "select a.*, b.*, c.* from pg_type a, pg_type b, pg_type c, pg_type d",
    "with recursive r(n) as (select oid::text from pg_class union all select n || n from r) select max(n) from r",
];
/// What is small, and goes on and on.
const ENDLESS: &str =
    "select max(md5(a.typname || b.typname || c.typname || d.typname)) from pg_type a, pg_type b, pg_type c, pg_type d";

#[tokio::test]
async fn a_question_that_grows_is_refused_and_harms_nobody() {
    let wired = wired().await;
    let (bomber, other) = (wired.owner().await, wired.analyst().await);
    for (sql, state) in BOMBS.map(|sql| (sql, "53200")).into_iter().chain([(ENDLESS, "57014")]) {
        if sql == ENDLESS {
            simple(&bomber, "set statement_timeout = '1s'").await;
        }
        let (error, asked) = tokio::join!(refused(&bomber, sql), simple(&other, DT));
        assert_eq!(error.code().code(), state, "{sql}: {error}");
        assert_eq!(asked, ["main|customer|table|analyst@example.com", "(1)"], "beside {sql}");
        simple(&bomber, "reset statement_timeout").await;
        assert_eq!(simple(&bomber, DT).await, ["main|customer|table|owner@example.com", "(1)"], "after {sql}");
    }
    assert_eq!(simple(&other, "select count(*) from customer").await, ["3", "(1)"]);
    wired.stop().await;
}

/// As often as there are places, and once more: none is lost.
#[tokio::test]
async fn questions_that_were_refused_leave_their_places() {
    let wired = wired().await;
    let client = wired.owner().await;
    for _ in 0..9 {
        assert_eq!(refused(&client, BOMBS[0]).await.code().code(), "53200");
    }
    assert_eq!(simple(&client, DT).await, ["main|customer|table|owner@example.com", "(1)"]);
    wired.stop().await;
}

#[tokio::test]
async fn a_question_of_many_joins_or_levels_is_refused_before_it_is_asked() {
    let wired = wired().await;
    let client = wired.owner().await;
    let joined = "select 1 from pg_class a".to_owned() + &" join pg_class b using (oid)".repeat(501);
    let nested = format!("select {}oid{} from pg_class", "(".repeat(401), ")".repeat(401));
    let long = format!("select 1 from pg_class where relname in ('{}')", "x".repeat(1 << 20));
    for (sql, state) in [(joined, "0A000"), (nested, "0A000"), (long, "54001")] {
        assert_eq!(refused(&client, &sql).await.code().code(), state, "{}", &sql[..40]);
    }
    let tables: Vec<_> = (0..17).map(|n| format!("information_schema.columns c{n}")).collect();
    let listed = format!("select count(*) from {}", tables.join(", "));
    assert_eq!(refused(&client, &listed).await.code().code(), "0A000");
    assert_eq!(simple(&client, DT).await, ["main|customer|table|owner@example.com", "(1)"]);
    wired.stop().await;
}

#[tokio::test]
async fn questions_about_the_catalogue_are_neither_billed_nor_audited() {
    let wired = wired().await;
    let before = wired.world.entries().len();
    let client = wired.owner().await;
    simple(&client, DT).await;
    client.prepare(DT).await.unwrap();
    assert_eq!(wired.world.entries().len(), before);
    simple(&client, "select 1").await;
    assert_eq!(wired.world.entries().len(), before + 2);
    wired.stop().await;
}

#[tokio::test]
async fn a_table_that_a_transaction_made_is_in_its_catalogue_alone() {
    let wired = wired().await;
    let (inside, outside) = (wired.owner().await, wired.owner().await);
    simple(&inside, "begin; create table fresh (a integer)").await;
    let sql = "select relname from pg_class where relname = 'fresh'";
    assert_eq!(simple(&inside, sql).await, ["fresh", "(1)"]);
    assert_eq!(simple(&outside, sql).await, ["(0)"]);
    simple(&inside, "rollback").await;
    assert_eq!(simple(&inside, sql).await, ["(0)"]);
    wired.stop().await;
}

#[tokio::test]
async fn the_caller_has_one_name_in_every_statement() {
    let wired = wired().await;
    let client = wired.owner().await;
    for sql in [
        "select current_user",
        "select session_user",
        "select session_user as u, 1 as one",
        "select current_user from customer limit 1",
        "select rolname from pg_roles",
        "select pg_get_userbyid(10)",
    ] {
        assert_eq!(simple(&client, sql).await[0].split('|').next(), Some("owner@example.com"), "{sql}");
    }
    let session = simple(&client, "select current_role, current_catalog, id from customer where id = 1").await;
    assert_eq!(session, ["owner|demo|1", "(1)"]);
    wired.stop().await;
}
