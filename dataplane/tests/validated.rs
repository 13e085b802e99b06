//! `VALIDATE`: the records that an earlier COPY INTO could not load, and who is told of them.

use contract::Role;
use contract::policy::MaskFunction;
use contract::policy::abac::{Action, Condition};
use dataplane::testing::{analyst_id, masking, rule, ruled};

use crate::copied::{loaded, put, ran, refused, staged};
use crate::pgwire::{self, simple, wired};
use crate::world::{World, world};

const CSV: &str = "create stage s file_format = (type = csv)";
const NO_INTEGER: &str = "column id has a value that is no INTEGER";
const UNKNOWN: &str = "no such COPY INTO is kept";

fn asked(table: &str, job: &str) -> String {
    let columns = "error, file, line, category, column_name";
    format!("select {columns} from table(validate({table}, job_id => '{job}')) order by file, line")
}

/// A table, and a stage with two files that have records which fail; the id of the stage.
async fn mixed(world: &World) -> String {
    ran(world, "create table t (id integer, note varchar(5))").await;
    let id = staged(world, CSV).await;
    put(world, &id, "in/a.csv", "1,x\ny,z\n2,too long\n");
    put(world, &id, "in/b.csv", "w,1\n3,k\n");
    put(world, &id, "other.csv", "v\n");
    id
}

fn told() -> String {
    let rows = [
        format!(r#"["{NO_INTEGER}","in/a.csv",2,"conversion","id"]"#),
        r#"["column note has a value longer than 5 characters","in/a.csv",3,"conversion","note"]"#.to_owned(),
        format!(r#"["{NO_INTEGER}","in/b.csv",1,"conversion","id"]"#),
    ];
    rows.join(",")
}

const LOAD: &str = "copy into t from @s/in/ on_error = continue";

#[tokio::test]
async fn all_records_that_a_load_left_out_are_told_by_its_query_id() {
    let world = world().await;
    let id = mixed(&world).await;
    let job = staged(&world, LOAD).await;
    assert_eq!(ran(&world, &asked("t", &job)).await, told());
    let (started, finished) = world.last();
    assert_eq!(started.tables_accessed, ["main.@s", "main.t"]);
    let transpiled = started.sql_transpiled.unwrap();
    assert!(transpiled.contains("main.@s/in/a.csv") && !transpiled.contains("spool"), "{transpiled}");
    assert!(finished.micro_credits > 0, "{finished:?}");
    let whole = ran(&world, &format!("select * from table(validate(main.t, job_id => '{job}')) where line = 3")).await;
    let reason = "column note has a value longer than 5 characters";
    let row = format!(r#"["{reason}","in/a.csv",3,null,null,"conversion",null,"22000","note",null,3,null]"#);
    assert_eq!(whole, row);
    // a file that has come since is none of the load's, and rows of the load stay as they are
    put(&world, &id, "in/c.csv", "u,u\n");
    let kept = format!("create or replace table kept as select * from table(validate(t, job_id => '{job}'))");
    ran(&world, &kept).await;
    assert_eq!(ran(&world, "select count(*) from kept").await, "[3]");
    assert_eq!(world.count("select count(*) from raw.main.t").await, 2);
    let counted =
        format!("select count(*) from table(validate(t, job_id => '{job}')) v join customer c on c.id = v.line");
    assert_eq!(ran(&world, &counted).await, "[3]");
    assert_eq!(std::fs::read_dir(world.spool()).unwrap().count(), 0, "a file is left");
    world.stop().await;
}

#[tokio::test]
async fn a_load_is_validated_by_what_it_was_asked_and_its_table_is_called() {
    let world = world().await;
    let id = mixed(&world).await;
    put(&world, &id, "named.csv", "NOTE|ID\nx|y\n");
    ran(&world, "create file format f type = csv field_delimiter = '|' parse_header = true").await;
    let named = "copy into t from @s/named.csv file_format = f match_by_column_name = case_insensitive \
                 on_error = skip_file";
    let named = staged(&world, named).await;
    let cut =
        staged(&world, "copy into t (id, note) from @s/in/a.csv truncatecolumns = true on_error = continue").await;
    ran(&world, "drop file format f").await;
    ran(&world, "alter stage s set file_format = (type = json)").await;
    ran(&world, "alter table t rename to u").await;
    let row = format!(r#"["{NO_INTEGER}","named.csv",2,"conversion","id"]"#);
    assert_eq!(ran(&world, &asked("u", &named)).await, row);
    assert_eq!(ran(&world, &asked("u", &cut)).await, told().split("],[").next().unwrap().to_owned() + "]");
    ran(&world, "create table v (id integer, note varchar(5))").await;
    assert!(refused(&world, &asked("v", &cut)).await.contains("that load filled another table"));
    ran(&world, "truncate table u").await;
    assert!(refused(&world, &asked("u", &cut)).await.contains(UNKNOWN));
    assert_eq!(world.count("select count(*) from raw._svc_loads.asked").await, 0);
    world.stop().await;
}

#[tokio::test]
async fn a_file_that_has_changed_is_named_and_one_that_is_gone_is_told() {
    let world = world().await;
    let id = mixed(&world).await;
    put(&world, &id, "in/c.csv", "4,d\n");
    let job = staged(&world, &format!("{LOAD} purge = true")).await;
    let missing = r#"["the file is missing: the stage has it no more","in/c.csv",null,"parsing",null]"#;
    assert_eq!(ran(&world, &asked("t", &job)).await, format!("{},{missing}", told()));
    put(&world, &id, "in/b.csv", "w,1\n3,m\n");
    let changed = "in/b.csv: it has changed since that load: load it again, and validate that load";
    assert_eq!(refused(&world, &asked("t", &job)).await, changed);
    ran(&world, "create or replace stage s").await;
    assert!(refused(&world, &asked("t", &job)).await.contains("the stage of that load is gone"));
    world.stop().await;
}

#[tokio::test]
async fn loads_that_abort_tell_nothing_and_those_of_a_query_are_refused() {
    let world = world().await;
    mixed(&world).await;
    let whole = staged(&world, "copy into t from @s/in/b.csv on_error = skip_file").await;
    let row = format!(r#"["{NO_INTEGER}","in/b.csv",1,"conversion","id"]"#);
    assert_eq!(ran(&world, &asked("t", &whole)).await, row);
    ran(&world, "create table texts (a varchar, b varchar)").await;
    let aborting = staged(&world, "copy into texts from @s/in/").await;
    assert_eq!(ran(&world, &asked("texts", &aborting)).await, "");
    let query = "copy into texts from (select $1, $2 from @s/in/) force = true on_error = continue";
    let query = staged(&world, query).await;
    let told = refused(&world, &asked("texts", &query)).await;
    assert!(told.contains("VALIDATE of a COPY INTO from a query is not supported"), "{told}");
    let failed = world.ask(dataplane::testing::owner_id(), "copy into t from @s/in/");
    let failed_id = failed.query_id.to_string();
    assert!(world.whole(failed).await.is_err());
    for job in [failed_id.as_str(), "nonsense"] {
        assert!(refused(&world, &asked("t", job)).await.contains(UNKNOWN), "{job}");
    }
    let last = refused(&world, &asked("t", "_last")).await;
    assert_eq!(last, "'_last' is of a session over the PostgreSQL wire: say the query id of the COPY INTO");
    let looked_at = staged(&world, "copy into t from @s/in/ validation_mode = return_errors").await;
    assert!(refused(&world, &asked("t", &looked_at)).await.contains(UNKNOWN), "it has loaded nothing");
    world.stop().await;
}

#[tokio::test]
async fn a_load_is_told_to_whoever_asked_it_and_may_read_its_table_and_stage() {
    let world = world().await;
    mixed(&world).await;
    let job = staged(&world, LOAD).await;
    let code = async |sql: &str| world.analyst(sql).await.unwrap_err().code().stable();
    let foreign = world.analyst(&asked("t", &job)).await.unwrap_err();
    let none = world.analyst(&asked("t", "nonsense")).await.unwrap_err();
    assert_eq!((foreign.to_string(), foreign.code()), (none.to_string(), none.code()));
    let role = |role: Role| {
        world.change(move |rules| rules.members.get_mut(&"u-analyst".into()).unwrap().role = role);
    };
    role(Role::Developer);
    let own = world.ask(analyst_id(), "copy into t from @s/in/ force = true on_error = continue");
    let own_id = own.query_id.to_string();
    world.whole(own).await.unwrap();
    role(Role::Analyst);
    assert_eq!(world.analyst(&asked("t", &own_id)).await.unwrap().json, told());
    assert_eq!(ran(&world, &asked("t", &own_id)).await, told(), "the owner manages who asked it");
    for (denied, read) in [("main.t", "select * from t"), ("main.@s", "select $1 from @s")] {
        world.change(|rules| {
            let denied = rule(Condition::TableIs, &[denied], Action::Deny);
            rules.abac_policies = vec![ruled("none", vec![denied])];
        });
        assert_eq!(code(&asked("t", &own_id)).await, code(read).await, "{denied}");
    }
    world.change(|rules| rules.abac_policies.clear());
    world.change(|rules| rules.policies = vec![masking("main.@s", "x", MaskFunction::Full)]);
    assert_eq!(code(&asked("t", &own_id)).await, "SVC_ERR_403_TABLE_DENIED");
    world.stop().await;
}

#[tokio::test]
async fn the_last_load_of_a_session_is_its_own() {
    let wired = wired().await;
    let (client, other) = (wired.owner().await, wired.owner().await);
    mixed(&wired.world).await;
    let last = "select error, line from table(validate(t, job_id => '_last')) where file = 'in/b.csv'";
    let none = pgwire::refused(&client, last).await;
    assert!(none.message().contains("this session has loaded nothing"), "{none:?}");
    simple(&client, LOAD).await;
    let row = format!("{NO_INTEGER}|1");
    assert_eq!(simple(&client, last).await[0], row);
    assert!(pgwire::refused(&other, last).await.message().contains("this session has loaded nothing"));
    let rows = client.query(last, &[]).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.get::<_, i64>(1)).collect::<Vec<_>>(), [1]);
    simple(&client, "begin").await;
    simple(&client, &format!("{LOAD} force = true")).await;
    assert_eq!(simple(&client, last).await[0], row, "its own transaction has it");
    simple(&client, "rollback").await;
    assert!(pgwire::refused(&client, last).await.message().contains(UNKNOWN));
    // the first record that fails is its error, and no other is told
    pgwire::refused(&client, "copy into t from @s/in/ force = true").await;
    assert_eq!(simple(&client, last).await, ["(0)"]);
    wired.stop().await;
}

#[tokio::test]
async fn what_a_view_or_a_parameter_asks_of_a_load_is_refused() {
    let world = world().await;
    let id = mixed(&world).await;
    let job = staged(&world, LOAD).await;
    let view = format!("create view v as {}", asked("t", &job));
    assert!(refused(&world, &view).await.contains("VALIDATE in a view is not supported"));
    put(&world, &id, "x.csv", "7,ok\n");
    assert_eq!(ran(&world, "copy into t from @s/x.csv on_error = continue").await, loaded("x.csv", 1));
    let bound = format!("select $1 from table(validate(t, job_id => '{job}'))");
    assert!(world.run(&bound).await.is_err());
    let explained = ran(&world, &format!("explain {}", asked("t", &job))).await;
    assert!(!explained.is_empty() && !explained.contains("in/a.csv"), "{explained}");
    world.stop().await;
}

#[tokio::test]
async fn of_many_loads_of_a_table_the_newest_are_kept() {
    let world = world().await;
    mixed(&world).await;
    let first = staged(&world, LOAD).await;
    let many = "insert into raw._svc_loads.asked select 'made' || range, 'own', 'main.t', 's', null, '', 0, '', \
                9000000000000000 + range from range(25000)";
    world.behind_our_back(many).await;
    let newest = staged(&world, &format!("{LOAD} force = true")).await;
    assert_eq!(world.count("select count(*) from raw._svc_loads.asked").await, 10_000 + 3, "with its two files");
    assert_eq!(ran(&world, &asked("t", &newest)).await, told());
    assert!(refused(&world, &asked("t", &first)).await.contains(UNKNOWN));
    world.stop().await;
}

#[tokio::test]
async fn files_that_were_read_are_in_the_log_where_too_many_records_fail() {
    let world = world().await;
    ran(&world, "create table t (id integer)").await;
    let id = staged(&world, CSV).await;
    for number in 10..31 {
        put(&world, &id, &format!("in/{number}.csv"), "x\n".repeat(1_000));
    }
    let job = staged(&world, LOAD).await;
    let told = refused(&world, &format!("select * from table(validate(t, job_id => '{job}'))")).await;
    assert!(told.starts_with("more than 20000 records of it failed"), "{told}");
    let (started, _) = world.last();
    let transpiled = started.sql_transpiled.unwrap();
    assert!(transpiled.contains("main.@s/in/10.csv, 2000 bytes") && transpiled.contains("in/30.csv"), "{transpiled}");
    world.stop().await;
}

#[tokio::test]
async fn a_load_into_a_temporary_table_hides_no_file_from_another_of_its_name() {
    let wired = wired().await;
    let (client, other) = (wired.owner().await, wired.owner().await);
    let id = staged(&wired.world, CSV).await;
    put(&wired.world, &id, "a.csv", "1\n2\n");
    for client in [&client, &other] {
        simple(client, "create temporary table picked (id integer)").await;
        let told = simple(client, "copy into picked from @s").await;
        assert_eq!(told[0], "a.csv|LOADED|2|2|1|0|NULL|NULL|NULL|NULL");
        assert_eq!(simple(client, "select count(*) from picked").await[0], "2");
    }
    simple(&client, "drop table picked").await;
    simple(&client, "create temporary table picked (id integer)").await;
    simple(&client, "copy into picked from @s").await;
    assert_eq!(simple(&client, "select count(*) from picked").await[0], "2");
    assert_eq!(wired.world.count("select count(*) from raw._svc_loads.files").await, 0);
    let last = "select error from table(validate(picked, job_id => '_last'))";
    assert!(pgwire::refused(&client, last).await.message().contains(UNKNOWN));
    wired.stop().await;
}
