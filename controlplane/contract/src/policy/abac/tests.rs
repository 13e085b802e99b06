//! Each condition and action has its effect; what cannot be evaluated is not admitted.

use std::collections::BTreeMap;

use chrono::Weekday;

use super::*;
use crate::policy::TableRef;

/// Of tables, stages or storage integrations.
type Names = &'static [&'static str];

fn rule(condition: &str, values: &[&str], action: Action) -> AbacRule {
    AbacRule {
        condition: Condition::try_from(condition.to_owned()).unwrap(),
        values: values.iter().map(|v| (*v).to_owned()).collect(),
        start: None,
        end: None,
        timezone: None,
        action,
        message: Some(format!("{condition} {action}")),
        exempt_roles: vec![Role::Owner],
    }
}

fn decide(rules: Vec<AbacRule>, change: impl FnOnce(&mut Context<'_>)) -> Effect {
    let policy = AbacPolicy {
        policy_id: "p".into(),
        name: "p".into(),
        description: None,
        rules,
        priority: 1,
        enabled: true,
        created_at: chrono::DateTime::UNIX_EPOCH,
    };
    let none = BTreeMap::new();
    let mut context = Context {
        role: Role::Analyst,
        user_id: Some("u"),
        attributes: &none,
        agent_id: None,
        agent_framework: None,
        origin: Origin::Rest,
        source_ip: Some([10, 1, 2, 3].into()),
        tables: vec![TableRef { schema: "main", name: "Payroll" }],
        storage: StorageUse::default(),
        operations: vec![Operation::Select],
        when: chrono::DateTime::from_timestamp(1_700_000_000, 0).unwrap().into(), // Tuesday 2023-11-14 22:13:20 UTC
    };
    change(&mut context);
    evaluate(&[policy], &context).effect
}

#[test]
fn each_condition_and_action_has_its_effect() {
    let window = |start: &str, end: &str, zone: &str, action| AbacRule {
        start: Some(start.into()),
        end: Some(end.into()),
        timezone: Some(zone.into()),
        ..rule("TimeOfDay", &[], action)
    };
    let cases = [
        (rule("TableIs", &["payroll"], Action::Deny), Effect::DenyTable),
        (rule("TableIs", &["main.pay*"], Action::Deny), Effect::DenyTable),
        (rule("TableIs", &["sales.payroll"], Action::Deny), Effect::Allow),
        (rule("RoleIs", &["analyst"], Action::ReadOnly), Effect::ReadOnly),
        (rule("UserIs", &["somebody"], Action::Allow), Effect::Deny),
        (rule("AgentFrameworkIs", &["langchain"], Action::Allow), Effect::Allow),
        (rule("AgentFrameworkIs", &["langchain"], Action::DenyOutside), Effect::Deny),
        (window("00:00", "24:00", "UTC", Action::Deny), Effect::Deny),
        (window("22:00", "24:00", "UTC", Action::Deny), Effect::Deny),
        (window("23:00", "24:00", "UTC", Action::Deny), Effect::Allow),
        (rule("SourceIpIn", &["10.0.0.0/8"], Action::Deny), Effect::Deny),
        (rule("SourceIpIn", &["10.0.0.0/8"], Action::DenyOutside), Effect::Allow),
        (rule("OperationIs", &["select"], Action::Deny), Effect::Deny),
        (rule("DayOfWeek", &["Tue"], Action::Deny), Effect::Deny),
        (rule("DayOfWeek", &["Mon", "Fri"], Action::Deny), Effect::Allow),
        (window("22:00", "23:00", "UTC", Action::Deny), Effect::Deny),
        (window("23:00", "06:00", "Europe/Berlin", Action::Deny), Effect::Deny),
        (window("09:00", "17:00", "UTC", Action::DenyOutside), Effect::Deny),
    ];
    for (rule, effect) in cases {
        assert_eq!(decide(vec![rule.clone()], |_| {}), effect, "{rule:?}");
    }
}

#[test]
fn a_simulated_clock_is_read_in_the_time_zone_of_the_rule() {
    let office = AbacRule {
        start: Some("09:00".into()),
        end: Some("17:00".into()),
        timezone: Some("Asia/Tokyo".into()),
        ..rule("TimeOfDay", &[], Action::DenyOutside)
    };
    for (time, effect) in [("09:00", Effect::Allow), ("16:59", Effect::Allow), ("17:00", Effect::Deny)] {
        let decided = decide(vec![office.clone()], |context| context.when.time_of_day = hour_and_minute(time));
        assert_eq!(decided, effect, "{time}");
    }
    let friday = rule("DayOfWeek", &["Fri"], Action::Deny);
    let decided = decide(vec![friday], |context| context.when.day_of_week = Some(Weekday::Fri));
    assert_eq!(decided, Effect::Deny);
}

/// An agent says of itself what it is.
#[test]
fn a_framework_is_the_same_in_other_capitals() {
    for said in ["langchain", "LangChain", "LANGCHAIN", " langchain "] {
        for listed in ["langchain", "LangChain"] {
            let rules = vec![rule("AgentFrameworkIs", &[listed], Action::Deny)];
            let decided = decide(rules, |context| context.agent_framework = Some(said));
            assert_eq!(decided, Effect::Deny, "{said} {listed}");
        }
    }
}

#[test]
fn the_end_of_a_day_is_its_last_minute_too() {
    let window = |start: &str, end: &str| AbacRule {
        start: Some(start.into()),
        end: Some(end.into()),
        ..rule("TimeOfDay", &[], Action::Deny)
    };
    for (start, end, time, effect) in [
        ("00:00", "24:00", "00:00", Effect::Deny),
        ("00:00", "24:00", "23:59", Effect::Deny),
        ("18:00", "24:00", "17:59", Effect::Allow),
        ("18:00", "24:00", "23:59", Effect::Deny),
        ("18:00", "24:00", "00:00", Effect::Allow),
        ("18:00", "00:00", "23:59", Effect::Deny),
    ] {
        let decided = decide(vec![window(start, end)], |context| context.when.time_of_day = hour_and_minute(time));
        assert_eq!(decided, effect, "{start} to {end} at {time}");
    }
    for (start, end) in [("24:00", "06:00"), ("24:00", "24:00"), ("00:00", "24:01"), ("00:00", "00:00")] {
        assert!(admit(&window(start, end)).is_err(), "{start} to {end}");
    }
    assert!(admit(&window("00:00", "24:00")).is_ok());
}

/// On the two days a year on which a clock is set anew, a window is of what the clock on the wall shows.
#[test]
fn a_window_follows_the_clock_on_the_days_on_which_it_is_changed() {
    let berlin = |rule: AbacRule| AbacRule { timezone: Some("Europe/Berlin".into()), ..rule };
    let window = |start: &str, end: &str| {
        berlin(AbacRule { start: Some(start.into()), end: Some(end.into()), ..rule("TimeOfDay", &[], Action::Deny) })
    };
    let sunday = || berlin(rule("DayOfWeek", &["Sun"], Action::Deny));
    for (rule, moment, effect) in [
        // in spring three o'clock follows a minute before two
        (window("01:30", "03:30"), "2026-03-29T00:29:59Z", Effect::Allow),
        (window("01:30", "03:30"), "2026-03-29T00:30:00Z", Effect::Deny),
        (window("01:30", "03:30"), "2026-03-29T00:59:59Z", Effect::Deny),
        (window("01:30", "03:30"), "2026-03-29T01:00:00Z", Effect::Deny),
        (window("01:30", "03:30"), "2026-03-29T01:30:00Z", Effect::Allow),
        (window("02:00", "03:00"), "2026-03-29T01:00:00Z", Effect::Allow),
        // in autumn the hour from two to three comes twice
        (window("02:00", "03:00"), "2026-10-24T23:59:59Z", Effect::Allow),
        (window("02:00", "03:00"), "2026-10-25T00:00:00Z", Effect::Deny),
        (window("02:00", "03:00"), "2026-10-25T01:00:00Z", Effect::Deny),
        (window("02:00", "03:00"), "2026-10-25T01:59:59Z", Effect::Deny),
        (window("02:00", "03:00"), "2026-10-25T02:00:00Z", Effect::Allow),
        // a day of 25 hours is one day
        (sunday(), "2026-10-24T21:59:59Z", Effect::Allow),
        (sunday(), "2026-10-24T22:00:00Z", Effect::Deny),
        (sunday(), "2026-10-25T22:59:59Z", Effect::Deny),
        (sunday(), "2026-10-25T23:00:00Z", Effect::Allow),
    ] {
        let when = moment.parse::<chrono::DateTime<chrono::Utc>>().unwrap();
        let decided = decide(vec![rule.clone()], |context| context.when = when.into());
        assert_eq!(decided, effect, "{rule:?} at {moment}");
    }
    for unknown in ["Mars/Olympus", "Europe/berlin/", "+02:00", ""] {
        let rule = AbacRule { timezone: Some(unknown.into()), ..window("01:00", "02:00") };
        assert!(admit(&rule).is_err(), "{unknown:?}");
    }
}

#[test]
fn deny_beats_read_only_beats_allow_and_the_exempt_are_not_concerned() {
    let rules = vec![rule("RoleIs", &["analyst"], Action::ReadOnly), rule("TableIs", &["payroll"], Action::Deny)];
    assert_eq!(decide(rules.clone(), |_| {}), Effect::DenyTable);
    assert_eq!(decide(rules, |context| context.role = Role::Owner), Effect::Allow);
}

#[test]
fn what_cannot_be_evaluated_is_refused_when_it_is_written() {
    for bad in [
        rule("RoleIs", &["emperor"], Action::Deny),
        rule("SourceIpIn", &["nowhere"], Action::Deny),
        rule("TimeOfDay", &[], Action::Deny),
        rule("TableIs", &[], Action::Deny),
        rule("DayOfWeek", &["Someday"], Action::Deny),
        rule("SourceIpIn", &["::ffff:10.0.0.0/104"], Action::Deny),
        rule("SourceIpIn", &["::ffff:10.0.0.1"], Action::Deny),
        AbacRule {
            start: Some("09:00".to_owned()),
            end: Some("09:00".to_owned()),
            ..rule("TimeOfDay", &[], Action::Deny)
        },
    ] {
        assert!(admit(&bad).is_err(), "{bad:?}");
    }
    for pattern in
        ["", " ", "payroll ", "pay*roll", "*_secret", "a.b.c", "acme.main.*", "\"payroll\"", "main.", ".t", ".*"]
    {
        assert!(admit(&rule("TableIs", &["orders", pattern], Action::Deny)).is_err(), "{pattern:?}");
    }
    for pattern in ["*", "payroll", "main.payroll", "pay*", "hr.*", "hr.pay*", "Gehälter 2026"] {
        assert!(admit(&rule("TableIs", &[pattern], Action::Deny)).is_ok(), "{pattern:?}");
    }
    assert!(Condition::try_from("MoonIs".to_owned()).is_err());
}

#[test]
fn a_rule_by_stage_says_nothing_of_tables() {
    let tables = |names: Names| {
        move |context: &mut Context<'_>| {
            context.tables = names.iter().map(|name| TableRef { schema: "main", name }).collect();
        }
    };
    let rule = |values: &[&str], action| vec![rule("StageIs", values, action)];
    let cases: [(Names, Action, Names, Effect); 10] = [
        (&["landing"], Action::Deny, &["@Landing"], Effect::DenyTable),
        (&["main.land*"], Action::Deny, &["orders", "@landing"], Effect::DenyTable),
        (&["raw.landing"], Action::Deny, &["@landing"], Effect::Allow),
        (&["landing"], Action::Deny, &["landing"], Effect::Allow),
        (&["landing"], Action::ReadOnly, &["@landing"], Effect::ReadOnly),
        (&["landing"], Action::Allow, &["@landing"], Effect::Allow),
        (&["landing"], Action::Allow, &["@other"], Effect::DenyTable),
        (&["landing"], Action::DenyOutside, &["@other"], Effect::DenyTable),
        (&["landing"], Action::Allow, &["orders"], Effect::Allow),
        (&["landing"], Action::DenyOutside, &[], Effect::Allow),
    ];
    for (values, action, names, effect) in cases {
        assert_eq!(decide(rule(values, action), tables(names)), effect, "{values:?} {action} {names:?}");
    }
}

#[test]
fn what_denies_a_stage_denies_each_that_shares_files_with_it() {
    let sharing = |context: &mut Context<'_>| {
        context.tables = vec![TableRef { schema: "main", name: "@copy" }];
        context.storage.sharing = vec![TableRef { schema: "main", name: "@landing" }];
    };
    for condition in ["StageIs", "TableIs"] {
        let value = if condition == "StageIs" { "landing" } else { "@landing" };
        for (action, effect) in [
            (Action::Deny, Effect::DenyTable),
            (Action::ReadOnly, Effect::ReadOnly),
            (Action::Allow, Effect::DenyTable),
            (Action::DenyOutside, Effect::DenyTable),
        ] {
            assert_eq!(decide(vec![rule(condition, &[value], action)], sharing), effect, "{condition} {action}");
        }
    }
}

#[test]
fn a_rule_by_storage_integration_holds_whatever_the_stage_is_called() {
    let uses = |names: Names| move |context: &mut Context<'_>| context.storage.integrations = names.to_vec();
    let cases: [(Action, Names, Effect); 9] = [
        (Action::Deny, &["LAKE"], Effect::Deny),
        (Action::Deny, &["other", "lake"], Effect::Deny),
        (Action::Deny, &["other"], Effect::Allow),
        (Action::Deny, &[], Effect::Allow),
        (Action::ReadOnly, &["lake"], Effect::ReadOnly),
        (Action::Allow, &["lake"], Effect::Allow),
        (Action::Allow, &["lake", "other"], Effect::Deny),
        (Action::DenyOutside, &["other"], Effect::Deny),
        (Action::DenyOutside, &[], Effect::Allow),
    ];
    for (action, names, effect) in cases {
        let rules = vec![rule("StorageIntegrationIs", &["lake"], action)];
        assert_eq!(decide(rules, uses(names)), effect, "{action} {names:?}");
    }
}

#[test]
fn a_stage_and_an_integration_are_named_as_they_are_called() {
    let stages: (Names, Names) =
        (&["*", "landing", "raw.landing", "raw.*", "~", "%orders"], &["@landing", "raw.@landing", "a.b.c", ""]);
    let integrations: (Names, Names) = (&["lake", "_2"], &["*", "lake*", "main.lake", "", "two words"]);
    for (condition, (fitting, refused)) in [("StageIs", stages), ("StorageIntegrationIs", integrations)] {
        for value in fitting {
            assert!(admit(&rule(condition, &[value], Action::Deny)).is_ok(), "{condition} {value:?}");
        }
        for value in refused {
            assert!(admit(&rule(condition, &["lake", value], Action::Deny)).is_err(), "{condition} {value:?}");
        }
    }
    assert_eq!(["landing", "raw.land*", "raw.*"].map(stage_as_table), ["@landing", "raw.@land*", "raw.@*"]);
}
