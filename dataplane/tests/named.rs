//! Names that rules use: they keep their meaning, and are denied whether or not there is anything of the name.

use contract::capability::{Capabilities, Grant};
use contract::policy::abac::{AbacRule, Action, Condition};
use contract::{Code, Role, Timestamp};
use dataplane::DeclaredAgent;
use dataplane::testing::{analyst_id, denying, filtering, owner_id, rule, ruled};

use crate::world::world;

/// Under another name it would be denied to nobody.
#[tokio::test]
async fn a_table_that_a_pattern_covers_keeps_a_name_that_it_covers() {
    let world = world().await;
    for sql in [
        "create table payroll_may (id integer)",
        "create table other (id integer)",
        "create view payroll_v as select 1 as one",
    ] {
        world.run(sql).await.unwrap();
    }
    let exempt = |action| {
        let rule = rule(Condition::TableIs, &["pay_*", "Payroll_*"], action);
        ruled("payroll", vec![AbacRule { exempt_roles: vec![Role::Owner], ..rule }])
    };
    for action in [Action::Deny, Action::ReadOnly] {
        world.change(|rules| rules.abac_policies = vec![exempt(action)]);
        for sql in [
            "alter table payroll_may rename to may",
            "alter table PAYROLL_may rename to \"may\"",
            "alter table main.payroll_may rename to may",
            "alter view payroll_v rename to v",
        ] {
            assert_eq!(world.run(sql).await.expect_err(sql).code(), Code::Conflict, "{action} {sql}");
        }
        for sql in [
            "alter table payroll_may rename to pay_may",
            "alter table pay_may rename to PAYROLL_MAY",
            "alter table payroll_may add column amount integer",
            "alter table payroll_may drop column amount",
            "alter table other rename to payroll_june",
            "drop table payroll_june",
            "create table other (id integer)",
        ] {
            world.run(sql).await.unwrap_or_else(|error| panic!("{action} {sql}: {error}"));
        }
    }
    world.change(|rules| rules.abac_policies.iter_mut().for_each(|policy| policy.enabled = false));
    world.run("alter table payroll_may rename to may").await.unwrap();
    world.stop().await;
}

#[tokio::test]
async fn what_a_view_names_is_denied_whether_or_not_it_is_there() {
    let world = world().await;
    for sql in [
        "create schema hr",
        "create table payroll (id integer)",
        "create table hr.pay (id integer)",
        "create view seen as select * from payroll",
        "create view hr.seen as select * from hr.pay",
        "create view above as select id from seen",
        "create view beside as select id from customer where id in (select id from payroll)",
        "create table open (id integer)",
        "create view open_seen as select * from open",
    ] {
        world.run(sql).await.unwrap();
    }
    world.change(|rules| rules.abac_policies = vec![denying("payroll", &[]), denying("hr.pay", &[])]);
    let grants = |tables: &[&str]| {
        let capabilities = Capabilities {
            allowed_tables: tables.iter().map(|table| (*table).to_owned()).collect(),
            allowed_operations: vec!["select".to_owned()],
            max_queries_per_hour: None,
            max_rows_per_query: None,
            column_restrictions: [].into(),
        };
        vec![Grant { grant_id: "g".into(), capabilities, expires_at: Timestamp::MAX_UTC }]
    };
    world.change(|rules| drop(rules.agent_capabilities.insert("bot".to_owned(), grants(&["main.open_seen"]))));
    let code = async |sql: &str, agent: Option<&str>| {
        let mut ask = world.ask(if agent.is_some() { owner_id() } else { analyst_id() }, sql);
        ask.agent = DeclaredAgent::told(("agent_id", agent.map(str::to_owned)), ("framework", None)).unwrap();
        world.whole(ask).await.err().map(|error| error.code())
    };
    let denied = ["select * from seen", "select 1 from hr.seen", "select * from above", "select id from beside"];
    for there in [true, false] {
        for sql in denied {
            assert_eq!(code(sql, None).await, Some(Code::TableDenied), "{there}: {sql}");
        }
        assert_eq!(code("select * from open_seen", Some("bot")).await, Some(Code::TableDenied), "{there}: an agent");
        let open = if there { None } else { Some(Code::TableNotFound) };
        assert_eq!(code("select * from open_seen", None).await, open, "what nobody denies");
        if there {
            world.change(|rules| rules.abac_policies.iter_mut().for_each(|policy| policy.enabled = false));
            for sql in ["drop table payroll", "drop table hr.pay", "drop table open"] {
                world.run(sql).await.unwrap();
            }
            world.change(|rules| rules.abac_policies.iter_mut().for_each(|policy| policy.enabled = true));
        }
    }
    world.stop().await;
}

/// Whether there is such a table, and rows of it that are hidden, is not told by what becomes of its schema.
#[tokio::test]
async fn a_schema_in_which_policies_hide_something_stays_whether_or_not_it_is_there() {
    let world = world().await;
    world.run("create schema hr").await.unwrap();
    world.change(|rules| {
        if let Some(member) = rules.members.get_mut(&"u-analyst".into()) {
            member.role = Role::Developer;
        }
    });
    let only_main = ruled("only", vec![rule(Condition::TableIs, &["main.*"], Action::DenyOutside)]);
    let hiding = [
        (vec![], vec![denying("hr.secret*", &[Role::Owner])], Code::PolicyDenied),
        (vec![], vec![only_main], Code::TableDenied),
        (vec![filtering("hr.secret", "id = 1")], vec![], Code::PolicyDenied),
    ];
    for there in [false, true] {
        for (policies, abac_policies, code) in &hiding {
            world.change(|rules| {
                rules.policies.clone_from(policies);
                rules.abac_policies.clone_from(abac_policies);
            });
            for sql in ["drop schema hr", "drop schema if exists hr cascade"] {
                let refused = world.analyst(sql).await.unwrap_err();
                assert_eq!(refused.code(), *code, "there: {there}, {abac_policies:?}: {refused}");
            }
        }
        world.run("create table if not exists hr.secret (id integer)").await.unwrap();
    }
    world.run("drop table hr.secret").await.unwrap();
    world.change(|rules| {
        rules.policies = vec![filtering("secret", "id = 1")];
        rules.abac_policies = vec![denying("payroll*", &[Role::Owner])];
    });
    world.analyst("drop schema hr").await.unwrap();
    world.stop().await;
}

#[tokio::test]
async fn a_schema_that_is_not_there_is_dropped_if_it_exists_and_told_so() {
    let world = world().await;
    let told = "the schema does not exist: nothing is dropped";
    for sql in ["drop schema if exists nowhere", "DROP SCHEMA IF EXISTS nowhere CASCADE"] {
        let got = world.run(sql).await.unwrap();
        assert_eq!(got.answer.warnings, [told], "{sql}");
        assert_eq!(world.last().1.outcome.as_str(), "completed", "{sql}");
    }
    assert_eq!(world.run("drop schema nowhere").await.unwrap_err().code(), Code::TableNotFound);
    world.run("create schema somewhere").await.unwrap();
    world.run("create table somewhere.one (id integer)").await.unwrap();
    let got = world.run("drop schema if exists somewhere cascade").await.unwrap();
    assert!(!got.answer.warnings.iter().any(|warning| warning == told), "{:?}", got.answer.warnings);
    assert_eq!(world.run("select * from somewhere.one").await.unwrap_err().code(), Code::TableNotFound);
    world.stop().await;
}
