//! Attacks of a hostile reader of the engine's source, and their refusals.

use contract::Code;
use contract::Role;
use contract::policy::{MaskFunction, Policy, Rules};
use dataplane::testing::{denying, filtering, masking};
use serde_json::json;

use crate::agents_router::{router, tool};
use crate::memory::done;
use crate::world::{World, world};

/// Nobody is exempt.
fn on_all(table: &str, filter: &str) -> Policy {
    let mut policy = filtering(table, filter);
    if let Rules::RowLevelSecurity(rules) = &mut policy.rules {
        for rule in rules {
            rule.exempt_roles.clear();
        }
    }
    policy
}

/// Filters that the engine does not apply before everything else.
const FILTERS: [&str; 4] = [
    "region in ({region}, 'DE')",
    "region = {region} or region = {user_id}",
    "region in (select code from lookup l where l.label = 'Europe')",
    "exists (select 1 from lookup l where l.code = region and l.label = 'Europe')",
];

async fn filtered() -> World {
    let world = world().await;
    for sql in [
        "create table lookup (code varchar, label varchar)",
        "insert into lookup values ('EU', 'Europe'), ('DE', 'Europe'), ('US', 'America')",
        "insert into customer values (9, 'Zed', 'US', '000-00-0000', 1)",
        "create table own as select range as id from range(50) t(range)",
    ] {
        world.run(sql).await.unwrap();
    }
    world
}

/// The analyst's answers, or the codes of what is refused, stay the same with every insert of hidden rows.
async fn answered_alike(world: &World, statements: &[String], hides: &[String]) {
    let answers = async || {
        let mut answers = Vec::new();
        for sql in statements {
            answers.push(match world.analyst(sql).await {
                Ok(got) => got.json,
                Err(error) => error.code().to_string(),
            });
        }
        answers
    };
    let before = answers().await;
    for hide in hides {
        world.run(hide).await.unwrap();
        for ((sql, one), other) in statements.iter().zip(&before).zip(answers().await) {
            assert_eq!(*one, other, "after {hide}: {sql}");
        }
    }
}

/// Fails on a hidden row only, by errors of every kind.
#[tokio::test]
async fn no_error_tells_of_a_hidden_row() {
    let world = filtered().await;
    for filter in FILTERS {
        world.change(|rules| rules.policies = vec![filtering("customer", filter)]);
        for (condition, count) in [
            ("name like 'Ze!' escape '!'", 0),
            ("name ilike 'ze!' escape '!'", 0),
            ("name not like '%ed!' escape '!'", 2),
            ("name like 'A%' escape (case when name like 'Z%' then 'xx' else '!' end)", 1),
            ("like_escape(name, 'Ze!', '!')", 0),
            (
                "date_diff(case when name like 'Z%' then 'timezone' else 'day' end, current_date, current_date) is not null",
                2,
            ),
            (
                "date_sub(case when name like 'Z%' then 'timezone' else 'day' end, current_date, current_date) is not null",
                2,
            ),
            ("(case name when 'Ada' then true when 'Cleo' then true else cast(name as boolean) end)", 2),
            // numbers that fit no common DECIMAL
            ("case when name = 'Zed' then 99999 else 0 end < 0.0000000000000000000000000000000000001", 2),
            ("case when name = 'Zed' then 99999 else 0 end in (0.0000000000000000000000000000000000001, 0)", 2),
            ("case when name = 'Zed' then 99999 else 0 end between -1 and 0.0000000000000000000000000000000000001", 2),
            (
                "case when name = 'Zed' then 99999 when id = -1 then 0.0000000000000000000000000000000000001 end is null",
                2,
            ),
            ("case when name = 'Zed' then 99999 else 0 end < try_cast('0.1' as decimal(38,37))", 2),
            // casts that only try
            (
                "try_cast(case when name = 'Zed' then '{a=1, a=2}' else '{}' end as map(varchar, integer)) is not null",
                2,
            ),
            (
                "try_cast(try_cast(case when name = 'Zed' then '9999-01-01' else '2024-01-01' end as timestamp) \
              as timestamp_ntz(9)) is not null",
                2,
            ),
            // signs that are no sign
            ("case when name = 'Zed' then name like 'b' escape 'é' else true end", 2),
            ("name not ilike 'ZeD' escape 'd'", 2),
            // functions of no text
            ("case when name = 'Zed' then uuid_extract_version('abc') is null else true end", 2),
        ] {
            let sql = format!("select count(*) from customer where {condition}");
            match world.analyst(&sql).await {
                Ok(got) => assert_eq!(got.json, format!("[{count}]"), "{filter}: {sql}"),
                Err(error) => assert_eq!(error.code(), Code::UnsupportedSql, "{filter}: {sql}: {error}"),
            }
        }
    }
    let visible = world.analyst("select count(*) from customer where name like 'Ad!' escape '!'").await;
    assert_eq!(visible.unwrap_err().code(), Code::InvalidArgument);
    world.stop().await;
}

/// The engine goes about a join by the sizes of its tables, in which hidden rows count.
#[tokio::test]
async fn what_fails_on_a_visible_row_does_so_whatever_is_hidden() {
    let world = filtered().await;
    world.run("create table t (id integer, name varchar, region varchar)").await.unwrap();
    world.run("insert into t values (1, '1', 'EU'), (200, 'abc', 'EU')").await.unwrap();
    world.change(|rules| rules.policies = vec![filtering("t", "region = {region}")]);
    let joined = [
        "t.name is distinct from 5",
        "t.name is not distinct from 1",
        "case t.name when 5 then true else true end",
        "t.name",
        "not t.name",
        "t.name and true",
        "t.name is true",
        "case when t.name then true else true end",
        "map {t.name: 1, '1': 2} is not null",
        "coalesce(t.name, 5) > 0",
        "nullif(t.name, 5) is null",
        "t.name in (select 5)",
    ];
    let mut statements: Vec<String> = joined
        .iter()
        .map(|condition| format!("select count(*) from own s join t on s.id = t.id where {condition}"))
        .collect();
    statements.push("select count(*) from (select id as name from own) s join t using (name)".to_owned());
    statements.push("select count(*) from (select id as name from own) s natural join t".to_owned());
    let hides =
        [50, 100, 1_000].map(|hidden| format!("insert into t select range + 1000, 'x', 'US' from range({hidden})"));
    answered_alike(&world, &statements, &hides).await;
    world.stop().await;
}

/// Which rows come first follows the engine's plan, and that the sizes of tables.
#[tokio::test]
async fn what_is_taken_of_a_join_is_the_same_whatever_is_hidden() {
    let world = filtered().await;
    for sql in [
        "create table c (id integer, region varchar)",
        "insert into c select range, 'EU' from range(40)",
        "create table o (id integer, region varchar)",
        "insert into o select range, 'EU' from range(60)",
    ] {
        world.run(sql).await.unwrap();
    }
    world.change(|rules| {
        rules.policies = vec![filtering("c", "region = {region}"), filtering("o", "region = {region}")];
    });
    let three = "from c join o on o.region = c.region join o p on p.region = o.region and p.id <> o.id";
    let two = "from c join o on o.region = c.region";
    let statements = [
        format!("select c.id, o.id, p.id {three} limit 1"),
        format!("select c.id, o.id, p.id {three} order by c.region limit 1"),
        format!("select count(*) from (select c.id {two} offset 2399) where id > 3"),
        format!("select any_value(c.id), any_value(o.id), last(o.id) {two}"),
        format!("select max_by(c.id, c.region), mode(o.id) {two}"),
        format!("select c.id, o.id {two} qualify row_number() over (order by c.region) = 1"),
        format!("select distinct on (c.region) c.id, o.id {two}"),
        "select id from c where id in (select id from o limit 1)".to_owned(),
    ];
    for sql in &statements {
        world.analyst(sql).await.unwrap();
    }
    let hides = [("c", 3_000), ("o", 9_000), ("c", 27_000)]
        .map(|(table, hidden)| format!("insert into {table} select range + 1000, 'US' from range({hidden})"));
    answered_alike(&world, &statements, &hides).await;
    world.stop().await;
}

/// A denied name is answered alike whether or not there is such a table, by whatever way it is named.
#[tokio::test]
async fn no_way_to_name_a_denied_table_tells_whether_it_is_there() {
    let world = world().await;
    world.run("create schema hr").await.unwrap();
    world.change(|rules| {
        rules.abac_policies = vec![denying("secret", &[Role::Owner]), denying("hr.secret", &[Role::Owner])];
    });
    for there in [false, true] {
        if there {
            world.run("create table secret (id integer)").await.unwrap();
            world.run("create table hr.secret (id integer)").await.unwrap();
        }
        for (schema, sql) in [
            ("main", "select * from secret"),
            ("main", "select * from demo.secret"),
            ("main", "select * from demo.hr.secret"),
            ("hr", "select * from secret"),
            ("hr", "select * from demo.secret"),
        ] {
            let mut ask = world.ask(dataplane::testing::analyst_id(), sql);
            ask.names.schema = schema.to_owned();
            let refused = world.whole(ask).await.unwrap_err();
            assert_eq!(refused.code(), Code::TableDenied, "{schema}: {sql}, there: {there}: {refused}");
        }
    }
    world.stop().await;
}

/// What a MERGE does by its clauses is an operation of the statement, and so is reading beside a write.
#[tokio::test]
async fn an_operation_is_refused_wherever_it_stands() {
    let world = world().await;
    world.run("create table t (id integer)").await.unwrap();
    for (denied, sql) in [
        ("update", "merge into t using t s on t.id = s.id when matched then update set id = 1"),
        ("insert", "merge into t using t s on t.id = s.id when not matched then insert values (1)"),
        ("delete", "merge into t using t s on t.id = s.id when matched then delete"),
        ("select", "merge into t using t s on t.id = s.id when matched then delete"),
        ("select", "update t set id = 1 from customer where customer.id = t.id"),
        ("select", "delete from t using customer where customer.id = t.id"),
        ("select", "delete from t returning id"),
    ] {
        world.change(|rules| {
            let mut policy = denying("nothing", &[]);
            for rule in &mut policy.rules {
                rule.condition = contract::policy::abac::Condition::OperationIs;
                rule.values = vec![denied.to_owned()];
            }
            rules.abac_policies = vec![policy];
        });
        let refused = world.run(sql).await.unwrap_err();
        assert_eq!(refused.code(), Code::PolicyDenied, "{denied}: {sql}: {refused}");
    }
    world.stop().await;
}

/// A short statement that would become a very long one is refused before it is made.
#[tokio::test]
async fn no_statement_grows_without_bounds() {
    let world = world().await;
    world.run("create function squared(x number) returns number as 'x * x'").await.unwrap();
    world.run("create table t (id integer)").await.unwrap();
    let nested = |deep: usize| format!("select {}2{}", "squared(".repeat(deep), ")".repeat(deep));
    assert_eq!(world.run(&nested(3)).await.unwrap().json, "[256]");
    let first = |many: usize| {
        let whens: Vec<String> = (0..many).map(|n| format!("when id = {n} then into t values (id)")).collect();
        format!("insert first {} select range as id from range(9)", whens.join(" "))
    };
    world.run(&first(20)).await.unwrap();
    let days = "select len(range(date '2024-01-01', current_date, interval '1 day')) > 300";
    assert_eq!(world.run(days).await.unwrap().json, "[true]");
    let seconds = "select len(range(timestamp '0001-01-01', timestamp '9999-01-01', interval '1 second'))";
    assert!(world.run(seconds).await.is_err());
    for sql in [nested(40), first(1_500)] {
        let refused = world.run(&sql).await.unwrap_err();
        assert_eq!(refused.code(), Code::UnsupportedSql, "{refused}");
    }
    world.stop().await;
}

/// Of two errors the one that a thread meets first would be told; which, follows where rows lie.
#[tokio::test]
async fn of_several_errors_none_is_told_where_rows_are_hidden() {
    let world = filtered().await;
    let both = "select name::int from customer union all select 1 / (id - id) from customer";
    assert_eq!(world.run("select 1 / 0, 'x'::int").await.unwrap_err().code(), Code::DivisionByZero);
    world.change(|rules| rules.policies = vec![on_all("customer", "region = {region}")]);
    for _ in 0..5 {
        assert_eq!(world.analyst(both).await.unwrap_err().code(), Code::DataException);
    }
    let one = world.analyst("select name::int, name::date from customer").await.unwrap_err();
    assert_eq!(one.code(), Code::ConversionFailed);
    world.stop().await;
}

/// What the engine would compare until its process is ended, with the transactions of others.
#[tokio::test]
async fn no_comparison_of_texts_takes_longer_than_they_are_long() {
    let world = world().await;
    world.run("create table long as select repeat('a', 200) as text, '%a%a%a%a%a%a%a%a%b' as pattern").await.unwrap();
    for (asked, answer) in [
        ("text like '%a%a%_a%a%a%a%a%b'", false),
        ("text like '%a%a%_a%a%a%a%a%a'", true),
        ("text not like '%a%a%_a%a%a%a%a%b'", true),
        ("text ilike '%A%a%_a%a%a%a%a%b'", false),
        ("text ilike '%A%a%_a%a%a%a%a%A'", true),
        ("text like pattern", false),
        ("text like replace(pattern, 'b', '')", true),
        ("text ilike upper(replace(pattern, 'b', ''))", true),
        ("text like pattern escape '!'", false),
        ("text like '%!%%a%a%a%a%a%b' escape '!'", false),
        ("text like any ('x', '%a%a%_a%a%a%a%a%b')", false),
        ("like(text, pattern)", false),
        ("levenshtein(left(text, 3), 'aab') = 1", true),
        ("editdistance(text, 'a', 3) = 3", true),
    ] {
        let got = world.run(&format!("select {asked} from long")).await;
        let got = got.unwrap_or_else(|error| panic!("{asked}: {error}"));
        assert_eq!(got.json, format!("[{answer}]"), "{asked}");
    }
    let none = world.run("select null like pattern, text like null, text like pattern escape null from long").await;
    assert_eq!(none.unwrap().json, "[null,null,null]");
    for sql in ["text like '%a' escape 'ab'", "text like text || '!' escape '!'", "levenshtein(repeat(text, 9), text)"]
    {
        let refused = world.run(&format!("select {sql} from long")).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{sql}: {refused}");
    }
    let named = world.run("select \"~~\"(text, pattern) from long").await.unwrap_err();
    assert!(matches!(named.code(), Code::UnsupportedSql | Code::UndefinedFunction), "{named}");
    world.stop().await;
}

/// A row that its filter hides cannot be written, however the value is spelled.
#[tokio::test]
async fn no_row_is_written_past_the_filter() {
    let world = filtered().await;
    world.run("create table grants (region varchar, owner varchar)").await.unwrap();
    world.run("create table owned (id integer, region varchar, owner varchar)").await.unwrap();
    world.run("create table dated (id integer, day date, tenant integer)").await.unwrap();
    for sql in [
        "insert into grants values ('EU', 'me'), ('EV', 'you')",
        "insert into owned values (2, 'EU', 'me')",
        "insert into dated values (1, date '2024-06-01', 1)",
    ] {
        world.run(sql).await.unwrap();
    }
    world.change(|rules| {
        rules.policies = vec![
            on_all("customer", "region = 'EU'"),
            on_all("owned", "exists (select 1 from grants g where g.region = owned.region and g.owner = owned.owner)"),
            on_all("dated", "day > date '2024-01-01' and tenant < 10"),
        ];
    });
    for sql in [
        "insert into customer (id, region.name, name.region) values (20, 'US', 'EU')",
        "insert into customer (id, region) values (21, 'eu' collate nocase)",
        "insert into customer (id, region) select 22, 'eu' collate nocase",
        "insert into customer (id, region) values (23, 'ÉU' collate nocase.noaccent)",
        "update customer set region = 'eu' collate nocase where id = 1",
        "update customer set name = 'x', region = 'eu' collate nocase where id = 1",
        "insert into dated values (24, timestamp '2024-01-01 12:00', 1)",
        "update dated set day = timestamp '2024-01-01 12:00'",
        "insert into dated values (25, date '2024-02-01', 9.7)",
        "update dated set tenant = 9.7",
        "update owned as g set region = 'EV' where id = 2",
        "update owned as grants set region = 'EV' where id = 2",
        "update owned as _filter_1 set region = 'EV' where id = 2",
        "update owned as \"_FILTER_0\" set region = 'EV' where id = 2",
    ] {
        let refused = world.run(sql).await;
        assert!(refused.is_err(), "{sql}: {}", refused.unwrap().json);
    }
    for (sql, of) in [
        ("select count(*) from raw.main.customer where id > 9 or (id = 1 and region <> 'EU')", 0),
        ("select count(*) from raw.main.owned where region <> 'EU'", 0),
        ("select count(*) from raw.main.dated where id > 1 or tenant >= 10 or day <= date '2024-01-01'", 0),
    ] {
        assert_eq!(world.count(sql).await, of, "{sql}");
    }
    for sql in [
        "insert into customer (id, region) values (30, 'EU')",
        "insert into customer (id, region, balance) values (31, 'EU', '7.5')",
        "update customer set region = upper('eu'), balance = balance + 1 where id = 1",
        "insert into dated values (32, '2024-02-01', '9')",
        "update dated set day = timestamp '2024-03-01 12:00', tenant = 2.2",
        "update owned as o set owner = 'me' where o.region = 'EU' returning o.id",
    ] {
        world.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    world.stop().await;
}

/// A branch tells what is other than it was: a guess that is right would be no change.
#[tokio::test]
async fn nobody_guesses_masked_values_on_a_branch() {
    let world = world().await;
    let mut mask = masking("customer", "ssn", MaskFunction::Full);
    if let Rules::ColumnMasking(rules) = &mut mask.rules {
        for rule in rules {
            rule.exempt_roles.clear();
        }
    }
    world.change(|rules| rules.policies = vec![mask]);
    let router = router(&world);
    let branch = done(&router, "create_branch", json!({"tables": ["customer"]})).await["branch_id"].clone();
    let deleting = json!({"branch_id": branch, "sql": "delete from customer where id = 1"});
    done(&router, "branch_query", deleting).await;
    let guess = "insert into customer values (1, 'Ada', 'EU', '078-05-1120', 10.50)";
    let guessing = json!({"branch_id": branch, "sql": guess});
    let (refused, is_error) = tool(&router, dataplane::testing::demo_key(), "branch_query", guessing).await;
    assert!(is_error, "{refused}");
    assert_eq!(refused["error"]["code"], "POLICY_DENIED", "{refused}");
    world.stop().await;
}

/// An answer is kept until a table is written that it was made of: one that a filter asks is such a table.
#[tokio::test]
async fn no_kept_answer_outlives_what_its_filter_asked() {
    let world = filtered().await;
    let filter = "region in (select code from lookup l where l.label = 'Europe')";
    world.change(|rules| rules.policies = vec![filtering("customer", filter)]);
    let sql = "select name from customer order by id";
    assert_eq!(world.analyst(sql).await.unwrap().json, r#"["Ada"],["Cleo"]"#);
    assert!(world.analyst(sql).await.unwrap().answer.cache_hit);
    world.run("delete from lookup where label = 'Europe'").await.unwrap();
    assert_eq!(world.analyst(sql).await.unwrap().json, "");
    world.stop().await;
}

/// The values of a PIVOT would be names of columns, and a view over the catalogue what its maker may see.
#[tokio::test]
async fn a_view_shows_nobody_what_its_makers_rules_or_its_readers_hide() {
    let world = filtered().await;
    world.change(|rules| {
        rules.policies = vec![on_all("customer", "region = 'EU'"), masking("customer", "ssn", MaskFunction::Full)];
    });
    for sql in [
        "create view p as select * from (select id, ssn from customer) pivot (count(id) for upper(ssn) in (any))",
        "create view p as select * from (select id, ssn from customer) pivot (count(id) for cast(ssn as varchar) in \
         (select distinct ssn from customer))",
        "create view c as select * from information_schema.columns",
    ] {
        let error = world.run(sql).await.expect_err(sql);
        assert_eq!(error.code(), Code::UnsupportedSql, "{sql}: {error}");
    }
    world.stop().await;
}

/// Under another name it would be denied to nobody.
#[tokio::test]
async fn a_table_that_a_rule_names_keeps_its_name_also_for_who_is_exempt() {
    let world = world().await;
    world.change(|rules| rules.abac_policies = vec![denying("customer", &[Role::Owner])]);
    for sql in ["alter table customer rename to c", "alter table customer rename column ssn to s2"] {
        assert_eq!(world.run(sql).await.expect_err(sql).code(), Code::Conflict, "{sql}");
    }
    world.stop().await;
}
