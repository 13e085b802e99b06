//! External tables: read by their own name under its rules, over the files of their last refresh, and over no others.

use contract::Code;
use contract::policy::MaskFunction;
use contract::policy::abac::{Action, Condition};
use dataplane::testing::{filtering, masking, owner_id, rule, ruled};

use crate::copied::{put, ran, refused, staged};
use crate::pgwire::{simple, wired};
use crate::world::{World, world};

const MADE: &str = "create external table sales (
  region varchar as (split_part(metadata$filename, '/', 2)), id integer as (value:c1::integer), note varchar as ($1:c2::varchar))
  partition by (region) location = @s/sales auto_refresh = false file_format = (type = csv)";

/// A stage of two regions with a table over it; the stage's id.
async fn sales(world: &World) -> String {
    let id = staged(world, "create stage s").await;
    put(world, &id, "sales/EU/a.csv", "1,x\n2,y\n");
    put(world, &id, "sales/US/b.csv", "3,z\n");
    put(world, &id, "sales2/EU/c.csv", "9,other\n");
    ran(world, MADE).await;
    id
}

#[tokio::test]
async fn the_rows_are_those_of_the_files_of_the_last_refresh() {
    let world = world().await;
    let id = sales(&world).await;
    let all = "select region, id, note from sales order by id";
    assert_eq!(ran(&world, all).await, r#"["EU",1,"x"],["EU",2,"y"],["US",3,"z"]"#);
    assert_eq!(ran(&world, "select value:c1::integer from sales where note = 'z'").await, "[3]");
    put(&world, &id, "sales/EU/d.csv", "4,w\n");
    assert_eq!(ran(&world, "select count(*) from sales").await, "[3]", "a new file waits for a refresh");
    ran(&world, "alter external table sales refresh 'US/'").await;
    assert_eq!(ran(&world, "select count(*) from sales").await, "[3]");
    ran(&world, "alter external table sales refresh").await;
    assert_eq!(ran(&world, "select count(*) from sales").await, "[4]");
    put(&world, &id, "sales/EU/a.csv", "1,changed\n");
    let stale = "external table main.sales: its files have changed: say ALTER EXTERNAL TABLE main.sales REFRESH";
    assert_eq!(refused(&world, all).await, stale);
    assert_eq!(refused(&world, "select id from sales where region = 'US'").await, stale, "whatever is asked of it");
    ran(&world, "alter external table sales refresh 'EU/'").await;
    assert_eq!(ran(&world, "select note from sales where id = 1").await, r#"["changed"]"#);
    ran(&world, "remove @s/sales/US").await;
    assert_eq!(refused(&world, all).await, stale);
    ran(&world, "alter external table sales refresh").await;
    assert_eq!(ran(&world, "select count(*) from sales").await, "[2]");
    assert_eq!(std::fs::read_dir(world.spool()).unwrap().count(), 0, "a file is left");
    world.stop().await;
}

#[tokio::test]
async fn it_is_in_the_log_by_its_name_with_the_files_that_were_read() {
    let world = world().await;
    sales(&world).await;
    let (started, _) = world.last();
    assert!(started.sql.starts_with("CREATE EXTERNAL TABLE sales AS SELECT "), "{}", started.sql);
    assert_eq!(started.tables_accessed, ["main.@s", "main.sales"]);
    ran(&world, "select id from sales where region = 'US'").await;
    let (started, _) = world.last();
    assert_eq!(started.tables_accessed, ["main.sales"]);
    let read = started.sql_transpiled.unwrap();
    assert!(read.contains("read main.sales/sales/US/b.csv") && !read.contains("EU/a.csv"), "{read}");
    for sql in ["select id from sales where region in ('US', 'XX')", "select id from sales where 'US' = sales.region"] {
        assert_eq!(ran(&world, sql).await, "[3]", "{sql}");
        let read = world.last().0.sql_transpiled.unwrap();
        assert!(!read.contains("EU/a.csv"), "{sql}: {read}");
    }
    ran(&world, "select a.id from sales a join sales b on a.id = b.id where a.region = 'US'").await;
    assert!(world.last().0.sql_transpiled.unwrap().contains("EU/a.csv"));
    world.stop().await;
}

#[tokio::test]
async fn rules_of_its_name_hold_and_the_whole_record_hides_what_a_mask_hides() {
    let world = world().await;
    let id = sales(&world).await;
    world.change(|rules| {
        rules.policies = vec![masking("sales", "note", MaskFunction::Full), filtering("sales", "region = '{region}'")];
    });
    let seen = async |sql: &str| world.analyst(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}")).json;
    assert_eq!(seen("select id, note from sales order by id").await, r#"[1,"***"],[2,"***"]"#);
    assert_eq!(seen("select value from sales").await, "[null],[null]");
    assert_eq!(seen("select count(*) from sales where value:c2::varchar = 'x'").await, "[0]");
    assert_eq!(seen("select count(*) from sales where region = 'US'").await, "[0]");
    let read = world.last().0.sql_transpiled.unwrap();
    assert!(
        read.contains("EU/a.csv") && read.contains("US/b.csv"),
        "files are left out for nobody a rule binds: {read}"
    );
    ran(&world, "create view v as select note, value from sales").await;
    assert_eq!(seen("select * from v limit 1").await, r#"["***",null]"#);
    assert_eq!(ran(&world, "select note from sales where id = 1").await, r#"["x"]"#, "the owner is exempt");
    // a hidden file that is broken is told of by no name, whatever is asked
    put(&world, &id, "sales/US/b.csv", "no number,z\n");
    ran(&world, "alter external table sales refresh").await;
    let told = async |sql: &str| world.analyst(sql).await.unwrap_err().to_string();
    let broken = told("select id from sales").await;
    assert!(!broken.contains("US") && !broken.contains("b.csv") && !broken.contains("no number"), "{broken}");
    assert_eq!(told("select id from sales where region = 'EU'").await, broken);
    world.stop().await;
}

#[tokio::test]
async fn a_reader_needs_no_right_to_the_stage_and_a_maker_does() {
    let world = world().await;
    sales(&world).await;
    world.change(|rules| {
        let denied = rule(Condition::TableIs, &["main.@s"], Action::Deny);
        rules.abac_policies = vec![ruled("stages", vec![denied])];
    });
    assert_eq!(world.analyst("select count(*) from sales").await.unwrap().json, "[3]");
    assert!(world.run("create external table other location = @s").await.is_err());
    world.change(|rules| {
        let denied = rule(Condition::TableIs, &["sales"], Action::Deny);
        rules.abac_policies = vec![ruled("tables", vec![denied])];
    });
    for sql in ["select count(*) from sales", "alter external table sales refresh", "drop external table sales"] {
        assert!(world.run(sql).await.is_err(), "{sql}");
    }
    world.change(|rules| rules.abac_policies.clear());
    for sql in [MADE, "alter external table sales refresh", "drop external table sales"] {
        let error = world.analyst(sql).await.unwrap_err();
        assert_eq!(error.code().stable(), "FORBIDDEN", "{sql}: {error}");
    }
    // rows that a rule of the stage hides from somebody are shown to nobody by another name
    world.change(|rules| rules.policies = vec![masking("main.@s", "$1", MaskFunction::Full)]);
    for sql in ["create external table other location = @s", "alter external table sales refresh"] {
        assert!(world.run(sql).await.unwrap_err().to_string().contains("exempt"), "{sql}");
    }
    assert_eq!(ran(&world, "select count(*) from sales").await, "[3]");
    world.stop().await;
}

#[tokio::test]
async fn a_rule_that_its_stage_gets_later_closes_it_to_whom_it_binds_until_a_policy_names_it() {
    let world = world().await;
    sales(&world).await;
    ran(&world, "create view seen as select id from sales").await;
    assert_eq!(world.analyst("select count(*) from sales").await.unwrap().json, "[3]");
    for policy in [masking("@s", "$1", MaskFunction::Full), filtering("main.@s", "false")] {
        world.change(|rules| rules.policies = vec![policy]);
        for sql in ["select count(*) from sales", "select 1 from sales where false", "select id from seen"] {
            let error = world.analyst(sql).await.err().unwrap_or_else(|| panic!("{sql}"));
            assert_eq!(error.code(), Code::TableDenied, "{sql}: {error}");
        }
        let listed = "select table_name from information_schema.tables where table_name in ('sales', 'customer')";
        assert_eq!(world.analyst(listed).await.unwrap().json, r#"["customer"]"#);
        assert_eq!(ran(&world, "select count(*) from sales").await, "[3]", "the owner is exempt");
        ran(&world, "create or replace table copied as select id from sales").await;
        let error = world.analyst("select id from copied").await.unwrap_err();
        assert_eq!(error.code(), Code::TableDenied, "a copy is of the same rows: {error}");
        world.change(|rules| rules.policies.push(masking("sales", "note", MaskFunction::Full)));
        assert_eq!(world.analyst("select note from sales where id = 1").await.unwrap().json, r#"["***"]"#);
    }
    world.change(|rules| rules.policies.clear());
    assert_eq!(world.analyst("select count(*) from sales").await.unwrap().json, "[3]");
    world.stop().await;
}

#[tokio::test]
async fn its_rows_are_not_changed_and_its_name_is_taken() {
    let world = world().await;
    sales(&world).await;
    for sql in [
        "insert into sales (id) values (1)",
        "update sales set id = 1",
        "delete from sales",
        "truncate table sales",
        "drop table sales",
        "alter table sales rename to other",
        "create or replace table sales (id integer)",
        "create or replace view sales as select 1 as x",
    ] {
        let error = world.run(sql).await.unwrap_err();
        assert!(error.to_string().contains("external table main.sales"), "{sql}: {error}");
    }
    for sql in
        [MADE, "create table sales (id integer)", "create external table customer location = @s", "drop view sales"]
    {
        assert!(world.run(sql).await.is_err(), "{sql}");
    }
    assert_eq!(ran(&world, "select count(*) from sales").await, "[3]");
    ran(&world, &MADE.replace("table sales", "table if not exists sales")).await;
    ran(&world, &MADE.replace("create external", "create or replace external")).await;
    assert_eq!(ran(&world, "select count(*) from sales").await, "[3]");
    assert_eq!(world.count("select count(*) from raw._svc_loads.external_files").await, 3);
    ran(&world, "drop external table sales").await;
    assert!(refused(&world, "select * from sales").await.contains("does not exist"));
    assert_eq!(world.count("select count(*) from raw._svc_loads.external_files").await, 0);
    ran(&world, "drop external table if exists sales").await;
    ran(&world, "create schema more").await;
    ran(&world, &MADE.replace("sales (", "more.sales (")).await;
    assert_eq!(ran(&world, "select count(*) from more.sales").await, "[3]");
    ran(&world, "drop schema more cascade").await;
    assert_eq!(world.count("select count(*) from raw._svc_loads.external_files").await, 0);
    world.stop().await;
}

#[tokio::test]
async fn the_catalogue_lists_it_and_its_columns() {
    let world = world().await;
    sales(&world).await;
    let listed = "select table_name, table_type from information_schema.tables where table_type <> 'BASE TABLE'";
    assert_eq!(ran(&world, listed).await, r#"["sales","EXTERNAL TABLE"]"#);
    let columns = ran(&world, "describe external table sales").await;
    assert!(columns.starts_with(r#"["VALUE","VARIANT""#) && columns.contains(r#"["region","#), "{columns}");
    let shown = ran(&world, "show external tables like 'SALES'").await;
    assert!(shown.contains(r#""main.s","@main.s/sales/",null,"CSV""#), "{shown}");
    world.stop().await;
}

#[tokio::test]
async fn json_and_parquet_are_read_and_a_stage_of_another_id_is_not() {
    let world = world().await;
    let id = staged(&world, "create stage j file_format = (type = json)").await;
    put(&world, &id, "a.json", "{\"id\": 1, \"tags\": [\"x\"]}\n{\"id\": 2}\n");
    ran(&world, "create external table plain location = @j").await;
    assert_eq!(
        ran(&world, "select value:id::integer, value:tags[0]::varchar from plain order by 1").await,
        r#"[1,"x"],[2,null]"#
    );
    let made = world.spool().join("made.parquet");
    let rows = "select id, name from raw.main.customer";
    world.behind_our_back(&format!("copy ({rows}) to '{}' (format parquet)", made.display())).await;
    let parquet = staged(&world, "create stage p file_format = (type = parquet)").await;
    put(&world, &parquet, "day=1/c.parquet", std::fs::read(&made).unwrap());
    std::fs::remove_file(&made).unwrap();
    ran(&world, "create external table people (name varchar as (value:name::varchar)) location = @p/day=1/").await;
    assert_eq!(ran(&world, "select count(*) from people where name = 'Bob'").await, "[1]");
    staged(&world, "create or replace stage p file_format = (type = parquet)").await;
    let gone = "the stage of the external table main.people is not there any more: create the table anew";
    assert_eq!(refused(&world, "select * from people").await, gone);
    world.stop().await;
}

#[tokio::test]
async fn it_is_made_and_read_in_a_clients_transaction_and_with_parameters() {
    let wired = wired().await;
    let client = wired.owner().await;
    let id = staged(&wired.world, "create stage s").await;
    put(&wired.world, &id, "sales/EU/a.csv", "1,x\n2,y\n");
    for end in ["rollback", "commit"] {
        simple(&client, "begin").await;
        simple(&client, MADE).await;
        assert_eq!(simple(&client, "select count(*) from sales").await[0], "2");
        simple(&client, end).await;
    }
    let rows = client.query("select note from sales where id = $1", &[&2_i32]).await.unwrap();
    assert_eq!(rows[0].get::<_, String>(0), "y");
    wired.stop().await;
}

#[tokio::test]
async fn what_leads_elsewhere_is_refused() {
    let world = world().await;
    sales(&world).await;
    let id = staged(&world, "create stage secret").await;
    put(&world, &id, "x.csv", "42\n");
    for sql in [
        "create external table t location = @s/../secret",
        "create external table t location = '@s/sales/../../secret'",
        "create external table t location = @other_environment.main.s",
        "create external table t location = 'file:///etc/'",
        "create external table t (x varchar as ((select max($1) from @secret))) location = @s",
        "create external table t (x varchar as (read_text('/etc/passwd'))) location = @s",
        "create external table t (x varchar as (nextval('q'))) location = @s",
        "alter external table sales refresh '../secret'",
        "alter external table sales refresh 'a\\..'",
        "select metadata$filename from sales",
        "select * from sales at (offset => -60)",
        "select * from (select region, id from sales) pivot (count(id) for region in (any))",
    ] {
        assert!(world.run(sql).await.is_err(), "{sql}");
    }
    let odd = "select count(*) from sales where region in ('EU'' or ''1'' = ''1', 'US')";
    assert_eq!(ran(&world, odd).await, "[1]");
    let mut bound = world.ask(owner_id(), "select count(*) from sales where region = $1");
    bound.params = vec![engine::Value::Text("EU".to_owned())];
    assert_eq!(world.whole(bound).await.unwrap().json, "[2]");
    world.stop().await;
}

#[tokio::test]
async fn no_search_path_is_taken_for_the_definition_of_a_stage() {
    let wired = wired().await;
    let client = wired.owner().await;
    let id = staged(&wired.world, "create stage secret").await;
    put(&wired.world, &id, "x.csv", "sesame\n");
    let forged = format!("x\ncreate stage mine id = ''{id}'' file_format = (type = ''csv'') /*");
    simple(&client, &format!("set search_path = main, '{forged}'")).await;
    simple(&client, "create stage mine file_format = (type = csv null_if = ('*/--'))").await;
    assert_eq!(simple(&client, "select count($1) from @mine").await[0], "0", "they are the files of another stage");
    assert_eq!(simple(&client, "select count($1) from @secret").await[0], "1");
    wired.stop().await;
}

#[tokio::test]
async fn columns_of_parquet_are_read_as_far_as_they_are_asked_for() {
    let world = world().await;
    let id = staged(&world, "create stage p file_format = (type = parquet)").await;
    let made = world.spool().join("made.parquet");
    let rows = "select range as id, 'n' || range as note, range * 2 as more from range(20000)";
    world.behind_our_back(&format!("copy ({rows}) to '{}' (format parquet)", made.display())).await;
    put(&world, &id, "in/a.parquet", std::fs::read(&made).unwrap());
    std::fs::remove_file(&made).unwrap();
    let columns = "id integer as (value:id::integer), note varchar as (value:note::varchar), \
                   folder varchar as (split_part(metadata$filename, '/', 1))";
    ran(&world, &format!("create external table e ({columns}) location = @p")).await;
    // its second column cannot be made of records without the member
    let tight = "id integer as (value:id::integer), twice integer as (coalesce(value:more::varchar, 'x')::integer)";
    ran(&world, &format!("create external table tight ({tight}) location = @p")).await;
    ran(&world, "create view v as select id, value from e").await;
    for (sql, rows) in [
        ("select count(*) from e", "[20000]"),
        ("select max(id) from tight", "[19999]"),
        ("select max(twice) from tight", "[39998]"),
        ("select max(id) from e where note = 'n7'", "[7]"),
        ("select folder, max(x.id) from e x group by folder", r#"["in",19999]"#),
        ("select a.note from e a join e b on a.id = b.id + 1 where b.note = 'n4'", r#"["n5"]"#),
        ("select value:more::integer from e where id = 3", "[6]"),
        ("select value:more::integer from v where id = 4", "[8]"),
        ("select * from e where id = 1", r#"[{"id":1,"note":"n1","more":2},1,"n1","in"]"#),
        ("select note from (select * from e) x where id = 2", r#"["n2"]"#),
    ] {
        assert_eq!(ran(&world, sql).await, rows, "{sql}");
    }
    assert_eq!(std::fs::read_dir(world.spool()).unwrap().count(), 0, "a file is left");
    world.stop().await;
}
