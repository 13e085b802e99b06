//! Rules of external stages: those of an integration whatever a stage is called, those of a stage whatever else leads to
//! its files.

use contract::capability::{Capabilities, ColumnRestriction, Grant};
use contract::policy::MaskFunction;
use contract::policy::abac::{AbacPolicy, AbacRule, Action, Condition};
use contract::{Code, Governance, Role, Timestamp};
use dataplane::DeclaredAgent;
use dataplane::testing::{filtering, masking, rule, ruled};

use super::Disk;

/// Stages at a folder, and beside, above and below it.
async fn folders() -> Disk {
    let disk = Disk::new().await;
    for (path, text) in [("in/a/x.csv", "1\n"), ("in/a/b/x.csv", "2\n"), ("in/other/x.csv", "3\n")] {
        disk.put(path, text);
    }
    for (stage, path) in
        [("first", "in/a"), ("same", "in/a/"), ("above", "in"), ("below", "in/a/b"), ("beside", "in/other")]
    {
        let made = disk.stage(stage, path).await;
        assert_eq!(made, "", "{stage}");
    }
    disk
}

fn denying(condition: Condition, value: &str, exempt_roles: &[Role]) -> Vec<AbacPolicy> {
    let rule = rule(condition, &[value], Action::Deny);
    vec![ruled("files", vec![AbacRule { exempt_roles: exempt_roles.to_vec(), ..rule }])]
}

#[tokio::test]
async fn a_rule_on_the_integration_holds_whatever_the_stage_is_called() {
    let disk = folders().await;
    disk.ran("create stage inner").await;
    disk.ran("create table t (id integer)").await;
    disk.ran(
        "create external table rows_of_first (id integer as (value:c1::integer)) location = @first auto_refresh = false \
         file_format = (type = csv)",
    )
    .await;
    let made = format!("create stage third url = '{}' storage_integration = disk", disk.url("in/"));
    disk.world.change(|rules| rules.abac_policies = denying(Condition::StorageIntegrationIs, "DISK", &[Role::Owner]));
    assert_eq!(disk.ran("select $1 from @first/x").await, r#"["1"]"#, "the owner is exempt");
    let refused = disk.world.analyst("select $1 from @first/x").await.unwrap_err();
    assert_eq!(refused.code(), Code::PolicyDenied, "{refused}");
    let catalogue = "select relname from pg_class where relname = 'rows_of_first'";
    assert!(disk.ran(catalogue).await.contains("rows_of_first"));
    assert!(!disk.world.analyst(catalogue).await.unwrap().json.contains("rows_of_first"), "who may not read it");
    disk.world.change(|rules| rules.abac_policies = denying(Condition::StorageIntegrationIs, "disk", &[]));
    for sql in [
        "list @first",
        "select $1 from @first",
        "select $1 from @above",
        "select id from rows_of_first",
        "copy into t from @first",
        "remove @first/x",
        "describe stage first",
        "drop stage first",
        "alter stage first rename to mine",
        made.as_str(),
    ] {
        let refused = disk.world.run(sql).await.unwrap_err();
        assert_eq!(refused.code(), Code::PolicyDenied, "{sql}: {refused}");
    }
    let unloaded = disk.tried("copy into @first/x from customer file_format = (type = csv)").await;
    assert!(unloaded.contains("there is no stage"), "{unloaded}");
    let shown = disk.ran("show stages").await;
    assert!(shown.contains("\"inner\"") && !shown.contains("\"first\""), "{shown}");
    disk.ran("list @inner").await;
    disk.world.change(|rules| {
        let allowed = rule(Condition::StorageIntegrationIs, &["other"], Action::Allow);
        rules.abac_policies = vec![ruled("files", vec![allowed])];
    });
    assert_eq!(disk.world.run("list @first").await.unwrap_err().code(), Code::PolicyDenied);
    disk.ran("select $1 from @inner").await;
    disk.world.stop().await;
}

#[tokio::test]
async fn a_second_stage_over_the_same_files_is_no_way_past_the_rules_of_the_first() {
    let disk = folders().await;
    let changes: [fn(&mut Governance); 4] = [
        |rules| rules.abac_policies = denying(Condition::StageIs, "first", &[Role::Owner]),
        |rules| rules.abac_policies = denying(Condition::TableIs, "main.@fir*", &[Role::Owner]),
        |rules| rules.policies = vec![filtering("main.@first", "false")],
        |rules| rules.policies = vec![masking("@first", "$1", MaskFunction::Null)],
    ];
    for (number, change) in changes.into_iter().enumerate() {
        disk.world.change(|rules| {
            (rules.policies, rules.abac_policies) = (Vec::new(), Vec::new());
            change(rules);
        });
        for stage in ["same", "above", "below"] {
            for sql in [format!("select $1 from @{stage}"), format!("list @{stage}"), format!("desc stage {stage}")] {
                let refused = disk.world.analyst(&sql).await.unwrap_err();
                assert_eq!(refused.code(), Code::TableDenied, "{number} {sql}: {refused}");
            }
            disk.ran(&format!("select $1 from @{stage}")).await;
        }
        assert_eq!(disk.world.analyst("select $1 from @beside").await.unwrap().json, r#"["3"]"#, "{number}");
        let shown = disk.world.analyst("show stages").await.unwrap().json;
        assert!(shown.contains("\"beside\"") && !shown.contains("\"above\""), "{number}: {shown}");
    }
    disk.world.stop().await;
}

#[tokio::test]
async fn whom_a_rule_binds_makes_no_other_stage_of_the_same_files() {
    let disk = folders().await;
    disk.world.change(|rules| rules.abac_policies = denying(Condition::StageIs, "first", &[]));
    for path in ["in/a", "in", "in/a/b/c"] {
        for made in ["create stage", "create or replace stage", "create stage if not exists"] {
            let sql = format!("{made} copy url = '{}' storage_integration = disk", disk.url(path));
            let refused = disk.world.run(&sql).await.unwrap_err();
            assert_eq!(refused.code(), Code::TableDenied, "{sql}: {refused}");
        }
    }
    assert_eq!(disk.stage("copy", "in/other").await, "");
    disk.world.stop().await;
}

#[tokio::test]
async fn a_column_that_is_denied_to_an_agent_is_not_read_by_another_stage() {
    let disk = folders().await;
    let denied = ColumnRestriction { denied_columns: vec!["$1".to_owned()] };
    let capabilities = Capabilities {
        allowed_tables: vec!["main.*".to_owned()],
        allowed_operations: vec!["select".to_owned()],
        max_queries_per_hour: None,
        max_rows_per_query: None,
        column_restrictions: [("main.@first".to_owned(), denied)].into(),
    };
    let grant = Grant { grant_id: "g".into(), capabilities, expires_at: Timestamp::MAX_UTC };
    disk.world.change(|rules| rules.agent_capabilities = [("bot".to_owned(), vec![grant])].into());
    let code = async |sql: &str| {
        let mut ask = disk.world.ask(dataplane::testing::owner_id(), sql);
        ask.agent = DeclaredAgent::told(("agent_id", Some("bot".to_owned())), ("framework", None)).unwrap();
        disk.world.whole(ask).await.err().map(|error| error.code())
    };
    assert_eq!(code("select $1 from @above").await, Some(Code::TableDenied));
    assert!(code("select $1 from @first").await.is_some());
    assert_eq!(code("select $1 from @beside").await, None);
    disk.world.stop().await;
}

#[tokio::test]
async fn a_table_of_files_under_rules_stays_closed_by_whatever_stage_they_were_read() {
    let disk = folders().await;
    disk.world.change(|rules| rules.policies = vec![masking("@first", "$1", MaskFunction::Null)]);
    disk.ran("create table copied as select $1 as c from @above").await;
    let refused = disk.world.analyst("select c from copied").await.unwrap_err();
    assert_eq!(refused.code(), Code::TableDenied, "{refused}");
    disk.world.stop().await;
}

#[tokio::test]
async fn a_stage_with_rules_is_neither_dropped_nor_replaced_by_whom_they_bind() {
    let disk = folders().await;
    let elsewhere =
        format!("create or replace stage first url = '{}' storage_integration = disk", disk.url("in/other"));
    disk.world.change(|rules| {
        rules.members.get_mut(&"u-analyst".into()).unwrap().role = Role::Developer;
        rules.policies = vec![masking("@first", "$1", MaskFunction::Null)];
    });
    for sql in ["drop stage first", "drop stage if exists main.first", "alter stage first rename to mine", &elsewhere] {
        let refused = disk.world.analyst(sql).await.unwrap_err();
        assert_eq!(refused.code(), Code::Conflict, "{sql}: {refused}");
    }
    disk.world.analyst("drop stage beside").await.unwrap();
    disk.ran("drop stage first").await;
    disk.world.stop().await;
}
