//! The fifteen stages, whole.

use contract::policy::MaskFunction;
use contract::report::Outcome;
use contract::{Code, Role};
use dataplane::testing::{analyst_id, denying, filtering, masking, owner_id};
use futures::StreamExt;

use crate::world::world;

const THE_WAY: &str = "semaphore table_extraction policy_check cost_estimate quota_check row_filter vector_embed \
    transpile snapshot_pin execute dirty_tracking column_mask meter audit";

#[tokio::test]
async fn a_query_walks_the_stages_of_the_specification_and_is_metered_and_audited() {
    let world = world().await;
    let got = world.run("select id, name from customer where id = 2").await.unwrap();
    assert_eq!(got.json, r#"[2,"Bob"]"#);
    let (started, finished) = world.last();
    assert_eq!(world.last_stages(), THE_WAY);
    assert_eq!(started.sql, "SELECT id, name FROM customer WHERE id = ?");
    assert_eq!(started.tables_accessed, ["main.customer"]);
    assert_eq!((finished.outcome, finished.rows_returned, finished.micro_credits), (Outcome::Completed, 1, 1_000_000));
    assert_eq!(got.answer.rows.totals().row_count, 1);
    world.stop().await;
}

#[tokio::test]
async fn a_denied_query_stops_at_the_policy_check_and_is_still_audited() {
    let world = world().await;
    world.change(|rules| rules.abac_policies.push(denying("payroll", &[])));
    for sql in ["select * from payroll", "select * from demo.main.payroll"] {
        assert_eq!(world.run(sql).await.unwrap_err().code(), Code::TableDenied, "{sql}");
    }
    let (started, finished) = world.last();
    assert_eq!(world.last_stages(), "semaphore table_extraction policy_check meter audit");
    assert_eq!((finished.outcome, finished.micro_credits), (Outcome::Refused, 0));
    assert_eq!(started.abac_evaluation.unwrap().decision, "deny");
    world.stop().await;
}

#[tokio::test]
async fn a_masked_column_in_a_condition_is_in_the_record() {
    let world = world().await;
    world.change(|rules| {
        rules.policies =
            vec![masking("customer", "ssn", MaskFunction::Full), masking("customer", "balance", MaskFunction::Full)];
    });
    for sql in [
        "select count(*) from customer where ssn = '219-09-9999'",
        "select a.id from customer a join customer b using (ssn)",
        "select id from customer where id in (select id from customer where upper(ssn) like '2%')",
    ] {
        let got = world.analyst(sql).await.unwrap();
        assert!(got.answer.columns_masked.is_empty(), "the answer has none: {sql}");
        let (started, _) = world.last();
        let verdicts = started.policy_verdicts.iter().filter(|verdict| verdict.action == "mask");
        let verdicts: Vec<_> = verdicts.flat_map(|verdict| verdict.columns.clone()).collect();
        assert_eq!(
            (started.columns_masked, verdicts),
            (vec!["ssn".to_owned()], vec!["customer.ssn".to_owned()]),
            "{sql}"
        );
    }
    let both = world.analyst("select balance from customer where ssn = '1'").await.unwrap();
    assert_eq!(both.answer.columns_masked, ["balance"]);
    assert_eq!(world.last().0.columns_masked, ["balance", "ssn"]);
    world.stop().await;
}

#[tokio::test]
async fn a_statement_that_does_not_parse_is_its_callers() {
    let world = world().await;
    for (who, role, user_id) in [(owner_id(), Role::Owner, "u-owner"), (analyst_id(), Role::Analyst, "u-analyst")] {
        for sql in ["slct", "select * from customer where", "select 1; select 2"] {
            world.whole(world.ask(who.clone(), sql)).await.unwrap_err();
            let (started, finished) = world.last();
            assert_eq!((started.role, started.user_id), (role, Some(user_id.into())), "{sql}");
            assert_eq!(finished.error_code.as_deref(), Some("SVC_ERR_400_BAD_SQL"), "{sql}");
        }
    }
    world.stop().await;
}

#[tokio::test]
async fn masks_and_filters_hold_for_the_analyst_and_not_for_the_exempt_owner() {
    let world = world().await;
    world.change(|rules| {
        rules.policies = vec![
            masking("customer", "ssn", MaskFunction::Partial),
            masking("customer", "balance", MaskFunction::Full),
            filtering("customer", "region = {region}"),
        ];
    });
    let sql = "select name, ssn as s, balance from customer order by id";
    let got = world.analyst(sql).await.unwrap();
    assert_eq!(got.json, r#"["Ada","***1120","***"],["Cleo","***5462","***"]"#);
    assert_eq!(got.answer.columns_masked, ["ssn", "balance"]);
    let types: Vec<_> = got.answer.columns.iter().map(|column| (column.type_name.as_str(), column.masked)).collect();
    assert_eq!(types, [("VARCHAR", false), ("VARCHAR", true), ("VARCHAR", true)]);
    assert!(
        got.answer.warnings.contains(&"SVC_ERR_403_COLUMN_MASKED: ssn, balance".to_owned()),
        "{:?}",
        got.answer.warnings
    );
    let verdicts: Vec<_> = world.last().0.policy_verdicts.into_iter().map(|verdict| verdict.action).collect();
    assert_eq!(verdicts.iter().filter(|action| *action == "mask").count(), 2);
    assert_eq!(verdicts.iter().filter(|action| *action == "filter").count(), 1);
    let whole = world.run(sql).await.unwrap();
    assert!(whole.json.contains("219-09-9999") && whole.answer.columns_masked.is_empty());
    world.stop().await;
}

#[tokio::test]
async fn an_error_about_a_hidden_row_never_surfaces() {
    let world = world().await;
    world.change(|rules| rules.policies = vec![filtering("customer", "region in ('EU', 'XX')")]);
    let sql =
        "select id from customer where case when name = 'Bob' then cast(name as integer) else 1 end = 1 order by id";
    assert_eq!(world.run(sql).await.unwrap_err().code(), Code::ConversionFailed);
    assert_eq!(world.analyst(sql).await.unwrap().json, "[1],[3]");
    world.stop().await;
}

#[tokio::test]
async fn a_write_leaves_its_trace_and_costs_two_credits() {
    let world = world().await;
    let got = world.run("update customer set name = 'Ada L' where id = 1").await.unwrap();
    assert_eq!((got.answer.changed, got.answer.command.tag(1)), (Some(1), "UPDATE 1".to_owned()));
    let (started, finished) = world.last();
    assert_eq!((finished.micro_credits, finished.rows_returned), (2_000_000, 1));
    assert_eq!(started.operation.map(contract::policy::abac::Operation::as_str), Some("update"));
    assert_eq!(world.run("select name from customer where id = 1").await.unwrap().json, r#"["Ada L"]"#);
    assert_eq!(world.run("select * from raw._svc_dirty.changes").await.unwrap_err().code(), Code::TableNotFound);
    assert_eq!(world.analyst("delete from customer").await.unwrap_err().code(), Code::Forbidden);
    world.stop().await;
}

#[tokio::test]
async fn refusals_have_their_codes() {
    let world = world().await;
    let cases = [
        ("slct 1", Code::BadSql),
        ("select * from nowhere", Code::TableNotFound),
        ("select read_text('/etc/passwd')", Code::PolicyDenied),
        ("select * from read_csv('/etc/passwd')", Code::UnsupportedSql),
        ("attach 'x' as y", Code::UnsupportedSql),
        ("select 'a'::integer", Code::ConversionFailed),
        ("select * from svc_runtime.tasks", Code::TableNotFound),
        ("create table customer (x integer)", Code::DuplicateTable),
        ("select $1", Code::InvalidParams),
    ];
    for (sql, code) in cases {
        assert_eq!(world.run(sql).await.unwrap_err().code(), code, "{sql}");
    }
    world.stop().await;
}

#[tokio::test]
async fn a_statement_ends_at_its_timeout_and_at_its_callers_cancel() {
    let world = world().await;
    let slow = "select count(*) from range(10000000) a, range(10000000) b where a.range % 7 = b.range % 11";
    let mut ask = world.ask(owner_id(), slow);
    ask.timeout = Some(std::time::Duration::from_millis(300));
    assert_eq!(world.whole(ask).await.unwrap_err().code(), Code::QueryTimeout);
    let ask = world.ask(owner_id(), slow);
    ask.cancel.cancel();
    assert_eq!(world.whole(ask).await.unwrap_err().code(), Code::QueryCancelled);
    assert_eq!(world.last().1.outcome, Outcome::Cancelled);
    assert!(world.run("select 1").await.is_ok());
    world.stop().await;
}

#[tokio::test]
async fn rows_given_up_early_are_metered_as_delivered() {
    let world = world().await;
    let mut answer = world.pipeline.run(world.ask(owner_id(), "select * from range(5000000)")).await.unwrap();
    let first = answer.rows.next().await.unwrap().unwrap();
    drop(answer);
    let (_, finished) = world.last();
    assert_eq!((finished.outcome, finished.rows_returned), (Outcome::Cancelled, first.num_rows() as u64));
    world.stop().await;
}

#[tokio::test]
async fn more_rows_than_the_tier_allows_end_with_a_quota_error() {
    let world = world().await;
    world.change(|rules| rules.organization.limits.max_rows_per_query = Some(1_000));
    assert!(world.run("select * from range(1000)").await.is_ok());
    assert_eq!(world.run("select * from range(1001)").await.unwrap_err().code(), Code::QuotaExceeded);
    world.stop().await;
}

#[tokio::test]
async fn an_organization_with_a_limit_and_no_grant_may_not_spend() {
    let world = world().await;
    world.change(|rules| rules.organization.limits.monthly_credit_limit = Some(1_000));
    assert_eq!(world.run("select 1").await.unwrap_err().code(), Code::QuotaExceeded);
    assert_eq!(world.last_stages(), "semaphore table_extraction policy_check cost_estimate quota_check meter audit");
    world.stop().await;
}

#[tokio::test]
async fn who_does_not_stand_any_more_and_a_suspended_environment_are_refused() {
    let world = world().await;
    world.change(|rules| rules.environment.status = contract::governance::EnvironmentStatus::Suspended);
    assert_eq!(world.run("select 1").await.unwrap_err().code(), Code::Forbidden);
    world.change(|rules| rules.keys.clear());
    assert_eq!(world.run("select 1").await.unwrap_err().code(), Code::InvalidKey);
    world.rules.send_replace(None);
    assert_eq!(world.run("select 1").await.unwrap_err().code(), Code::ControlPlaneDown);
    world.stop().await;
}

#[tokio::test]
async fn a_clients_transaction_is_seen_by_others_only_when_it_is_committed() {
    let world = world().await;
    let transaction = world.pipeline.begin(world.ask(owner_id(), "").who);
    let within = |sql: &str| {
        let mut ask = world.ask(owner_id(), sql);
        ask.transaction = Some(transaction.clone());
        world.whole(ask)
    };
    within("delete from customer where id = 1").await.unwrap();
    assert_eq!(within("select count(*) from customer").await.unwrap().json, "[2]");
    assert_eq!(world.run("select count(*) from customer").await.unwrap().json, "[3]");
    transaction.lock().await.commit().await.unwrap();
    assert_eq!(world.run("select count(*) from customer").await.unwrap().json, "[2]");
    assert!(within("select cast(name as integer) from customer").await.is_err());
    assert_eq!(within("select 1").await.unwrap_err().code(), Code::FailedTransaction);
    transaction.lock().await.rollback().await.unwrap();
    world.stop().await;
}

#[tokio::test]
async fn a_table_made_in_a_transaction_is_there_for_the_transaction_alone() {
    let world = world().await;
    let transaction = world.pipeline.begin(world.ask(owner_id(), "").who);
    let within = |sql: &str| {
        let mut ask = world.ask(owner_id(), sql);
        ask.transaction = Some(transaction.clone());
        world.whole(ask)
    };
    within("create table fresh (x integer)").await.unwrap();
    within("insert into fresh values (1), (2)").await.unwrap();
    assert_eq!(within("select sum(x) from fresh").await.unwrap().json, "[3]");
    assert_eq!(world.run("select * from fresh").await.unwrap_err().code(), Code::TableNotFound);
    transaction.lock().await.commit().await.unwrap();
    assert_eq!(world.run("select count(*) from fresh").await.unwrap().json, "[2]");
    world.stop().await;
}

#[tokio::test]
async fn a_statement_is_described_with_its_parameters_and_not_run() {
    let world = world().await;
    let described = |sql: &'static str| {
        let ask = world.ask(owner_id(), sql);
        let pipeline = world.pipeline.clone();
        async move { Box::pin(pipeline.describe(&ask)).await.unwrap() }
    };
    let before = world.entries().len();
    let read = described("select id, name as n from customer where id = $1 and name like $2 limit $3").await;
    assert_eq!(read.parameters, ["INTEGER", "VARCHAR", "BIGINT"]);
    assert_eq!(read.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["id", "n"]);
    let write = described("insert into customer (id, name) values ($1, $2)").await;
    assert_eq!((write.parameters, write.columns.len()), (vec!["INTEGER".to_owned(), "VARCHAR".to_owned()], 0));
    assert_eq!(world.entries().len(), before);
    world.stop().await;
}

#[tokio::test]
async fn an_answer_is_kept_until_its_table_is_written_and_costs_nothing() {
    let world = world().await;
    let sql = "select name from customer where id = 1";
    let hit = async |sql: &str| world.run(sql).await.unwrap().answer.cache_hit;
    assert!(!hit(sql).await);
    assert!(hit(sql).await);
    let (_, finished) = world.last();
    assert_eq!((finished.cache_hit, finished.micro_credits, finished.rows_returned), (true, 0, 1));
    assert!(!world.last_stages().contains("execute"));
    world.run("create table other (a integer)").await.unwrap();
    hit(sql).await;
    world.run("insert into other values (1)").await.unwrap();
    assert!(hit(sql).await, "another table was written");
    world.run("update customer set name = 'Eva' where id = 1").await.unwrap();
    let got = world.run(sql).await.unwrap();
    assert_eq!((got.json.as_str(), got.answer.cache_hit), (r#"["Eva"]"#, false));
    for momentary in ["select name, now() from customer", "select name, random() from customer", "select 1"] {
        hit(momentary).await;
        assert!(!hit(momentary).await, "{momentary}");
    }
    world.stop().await;
}

#[tokio::test]
async fn no_answer_crosses_roles_attributes_parameters_or_policies() {
    let world = world().await;
    world.change(|rules| {
        rules.policies =
            vec![masking("customer", "ssn", MaskFunction::Full), filtering("customer", "region = {region}")];
    });
    let sql = "select name, ssn from customer order by id limit 1";
    assert_eq!(world.run(sql).await.unwrap().json, r#"["Ada","078-05-1120"]"#);
    let analyst = world.analyst(sql).await.unwrap();
    assert_eq!((analyst.json.as_str(), analyst.answer.cache_hit), (r#"["Ada","***"]"#, false));
    assert!(world.analyst(sql).await.unwrap().answer.cache_hit);
    world.change(|rules| {
        let member = rules.members.get_mut(&contract::UserId::from("u-analyst")).unwrap();
        member.attributes.insert("region".to_owned(), "US".to_owned());
    });
    let moved = world.analyst(sql).await.unwrap();
    assert_eq!((moved.json.as_str(), moved.answer.cache_hit), (r#"["Bob","***"]"#, false));
    world.change(|rules| rules.policies.clear());
    assert_eq!(world.analyst(sql).await.unwrap().json, r#"["Ada","078-05-1120"]"#);
    for (value, name) in [(1, "Ada"), (2, "Bob")] {
        let mut ask = world.ask(owner_id(), "select name from customer where id = $1");
        ask.params = vec![engine::Value::BigInt(value)];
        assert_eq!(world.whole(ask).await.unwrap().json, format!(r#"["{name}"]"#));
    }
    world.change(|rules| rules.environment.settings.cache_enabled = false);
    world.run(sql).await.unwrap();
    assert!(!world.run(sql).await.unwrap().answer.cache_hit);
    world.stop().await;
}

#[tokio::test]
async fn a_transaction_makes_kept_answers_stale_when_it_is_committed() {
    let world = world().await;
    let sql = "select count(*) from customer";
    let count = async || {
        let got = world.run(sql).await.unwrap();
        (got.json, got.answer.cache_hit)
    };
    count().await;
    let transaction = world.pipeline.begin(contract::wire::Who::Key { key_id: owner_id() });
    let mut ask = world.ask(owner_id(), "delete from customer where id = 1");
    ask.transaction = Some(transaction.clone());
    world.whole(ask).await.unwrap();
    assert_eq!(count().await, ("[3]".to_owned(), true), "not committed yet");
    transaction.lock().await.commit().await.unwrap();
    assert_eq!(count().await, ("[2]".to_owned(), false));
    world.stop().await;
}

#[tokio::test]
async fn a_full_organization_takes_no_more_and_still_reads_and_makes_room() {
    let world = world().await;
    world.change(|rules| rules.organization.limits.storage_limit_gb = Some(1));
    let inserted = "insert into customer values (9, 'Zoe', 'EU', '1', 1)";
    world.ledger.storage.told(999_999_999);
    world.run(inserted).await.unwrap();
    world.ledger.storage.told(1_000_000_000);
    for sql in [inserted, "create table other as select 1 as a", "update customer set name = 'x' where id = 9"] {
        let error = world.run(sql).await.unwrap_err();
        assert_eq!(error.code(), Code::Forbidden, "{sql}");
        assert_eq!(error.problem().details["quota"], "storage", "{sql}");
    }
    world.run("select count(*) from customer").await.unwrap();
    world.run("delete from customer where id = 9").await.unwrap();
    world.stop().await;
}

/// "Control plane away": what needs none of its rows goes on.
#[tokio::test]
async fn the_runtime_is_there_while_it_is_on_and_read_while_somebody_gives_its_rows() {
    let world = world().await;
    let listed = "select count(*) from information_schema.tables where table_schema = 'svc_runtime'";
    let read = "select id, count(*) as n from svc_runtime.tasks where project_id = $1 group by id";
    assert_eq!(world.run(listed).await.unwrap().json, "[0]");
    world.change(|rules| rules.runtime = true);
    assert_eq!(world.run(listed).await.unwrap().json, "[8]");
    let described = Box::pin(world.pipeline.describe(&world.ask(owner_id(), read))).await.unwrap();
    let columns: Vec<_> = described.columns.iter().map(|column| column.type_name.as_str()).collect();
    assert_eq!((described.parameters, columns), (vec!["VARCHAR".to_owned()], vec!["VARCHAR", "BIGINT"]));
    let mut ask = world.ask(owner_id(), read);
    ask.params = vec![engine::Value::Text("p1".to_owned())];
    assert_eq!(world.whole(ask).await.unwrap_err().code(), Code::ControlPlaneDown);
    assert_eq!(world.last().1.outcome, Outcome::Refused);
    let both = "select * from svc_runtime.tasks, customer";
    assert_eq!(world.run(both).await.unwrap_err().code(), Code::UnsupportedSql);
    assert!(world.run("select count(*) from customer").await.is_ok());
    world.change(|rules| rules.runtime = false);
    assert_eq!(world.run("select * from svc_runtime.tasks").await.unwrap_err().code(), Code::TableNotFound);
    world.stop().await;
}

/// The engine prepares it only if it may optimize it, and ended its process otherwise.
#[tokio::test]
async fn a_merge_changes_what_its_source_does_not_match() {
    let world = world().await;
    world.run("create table stock (id integer, n integer)").await.unwrap();
    world.run("insert into stock values (1, 1), (2, 2), (3, 3)").await.unwrap();
    let merge = "merge into stock using (select 1 as id) c on stock.id = c.id when not matched by source";
    world.run(&format!("{merge} and stock.id = 2 then update set n = 0")).await.unwrap();
    assert_eq!(world.run("select id, n from stock order by id").await.unwrap().json, "[1,1],[2,0],[3,3]");
    world.run(&format!("{merge} then delete")).await.unwrap();
    assert_eq!(world.run("select id from stock").await.unwrap().json, "[1]");
    world.stop().await;
}
