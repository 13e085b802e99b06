use serde_json::{Value, json};

use super::*;

fn masks(rules: Value) -> Rules {
    Rules::ColumnMasking(serde_json::from_value(rules).unwrap())
}

fn filters(rules: Value) -> Rules {
    Rules::RowLevelSecurity(serde_json::from_value(rules).unwrap())
}

fn missing(what: Missing, name: &str, there: &[&str]) -> Binding {
    let there = there.iter().map(|name| (*name).to_owned()).collect();
    Binding::Missing { what, name: name.to_owned(), there }
}

fn refused(rules: &Rules, told: &[Binding], accept_missing: bool) -> String {
    let unbound = unbound(&places(rules), told).unwrap();
    match admit(&unbound, accept_missing) {
        Ok(()) => format!("{} kept", unbound.len()),
        Err(error) => {
            let problem = error.problem();
            format!("{} {}", problem.code.http(), problem.details["field"].as_str().unwrap())
        }
    }
}

#[test]
fn what_is_missing_is_refused_by_the_member_that_names_it_or_kept_where_that_is_accepted() {
    let mask = masks(json!([
        {"table": "customer", "column": "ssn", "function": "full"},
        {"table": "custmer", "column": "snn", "function": "full"},
    ]));
    let filter = filters(json!([{"table": "customer", "filter": "id in (select id from gone)"}]));
    let (no_table, no_column) = (missing(Missing::Table, "main.custmer", &[]), missing(Missing::Column, "c", &["d"]));
    for (rules, told, strict, accepting) in [
        (&mask, vec![Binding::Bound, Binding::Bound], "0 kept", "0 kept"),
        (&mask, vec![Binding::Bound, no_table.clone()], "422 rules[1].table", "1 kept"),
        (&mask, vec![no_column.clone(), no_table], "422 rules[0].column", "2 kept"),
        (&filter, vec![missing(Missing::Table, "MAIN.customer", &[])], "422 rules[0].table", "1 kept"),
        (&filter, vec![missing(Missing::Table, "main.gone", &[])], "422 rules[0].filter", "1 kept"),
        (&filter, vec![no_column], "422 rules[0].filter", "1 kept"),
        (&filter, vec![Binding::Fails { message: "m".to_owned() }], "422 rules[0].filter", "422 rules[0].filter"),
    ] {
        assert_eq!(refused(rules, &told, false), strict, "{told:?}");
        assert_eq!(refused(rules, &told, true), accepting, "{told:?}");
    }
}

#[test]
fn tables_of_the_runtime_are_only_marked() {
    let mask = masks(json!([{"table": "SVC_runtime.tasks", "column": "x", "function": "full"}]));
    for told in [missing(Missing::Table, "svc_runtime.tasks", &[]), missing(Missing::Column, "x", &[])] {
        assert_eq!(refused(&mask, &[told], false), "1 kept");
    }
}

#[test]
fn masks_and_filters_on_what_agents_leave_are_only_marked_whatever_is_told_of_them() {
    let mask = masks(json!([{"table": "SVC_Memory.memories", "column": "content", "function": "full"}]));
    let filter = filters(json!([{"table": "svc_thoughts.steps", "filter": "agent_id = 'a'"}]));
    let fails = Binding::Fails { message: "m".to_owned() };
    let gone = missing(Missing::Table, "svc_memory.memories", &[]);
    for (rules, own) in [(&mask, "`svc_memory.memories`"), (&filter, "`svc_thoughts.steps`")] {
        for told in [&fails, &gone, &Binding::Unknown, &Binding::Bound] {
            let unbound = unbound(&places(rules), std::slice::from_ref(told)).unwrap();
            assert!(admit(&unbound, false).is_ok(), "{told:?}");
            let [told_so] = unbound.as_slice() else { panic!("{unbound:?}") };
            assert_eq!((told_so.rule, told_so.field.as_str()), (0, "rules[0].table"));
            let message = &told_so.message;
            assert!(message.contains(own) && message.contains("`TableIs`"), "{message}");
        }
    }
}

#[test]
fn the_refusal_says_what_there_is_and_how_the_rule_is_kept() {
    let mask = masks(json!([{"table": "customer", "column": "snn", "function": "full"}]));
    let told = [missing(Missing::Column, "main.customer.snn", &["ssn", "name"])];
    let message = admit(&unbound(&places(&mask), &told).unwrap(), false).unwrap_err().to_string();
    let wanted = "column `main.customer.snn` does not exist; there is ssn, name. \
        With `accept_missing: true` the rule is kept, and rules nothing yet";
    assert_eq!(message, wanted);
}

#[test]
fn a_rule_of_which_nothing_is_known_leaves_its_policy_not_yet_bound() {
    let mask = masks(json!([
        {"table": "a", "column": "b", "function": "full"},
        {"table": "c", "column": "d", "function": "full"},
    ]));
    assert_eq!(unbound(&places(&mask), &[Binding::Bound, Binding::Unknown]), None);
    assert_eq!(unbound(&places(&mask), &[Binding::Bound]), None);
    assert_eq!(unbound(&places(&mask), &[Binding::Bound, Binding::Bound]), Some(vec![]));
}

#[test]
fn questions_hold_no_more_than_a_data_plane_takes_and_leave_nothing_out() {
    let rule = |bytes: usize| Named::Filter { table: "t".to_owned(), filter: "x".repeat(bytes) };
    let small: Vec<_> = (0..=RULES_MAX).map(|_| rule(1)).collect();
    let big: Vec<_> = (0..100).map(|_| rule(16 * 1024)).collect();
    for rules in [small, big, Vec::new()] {
        let questions = questions(&rules);
        assert_eq!(questions.concat(), rules);
        for question in questions {
            assert!(question.len() <= RULES_MAX && question.iter().map(Named::bytes).sum::<usize>() <= BYTES_MAX);
        }
    }
}

#[test]
fn of_an_attribute_policy_each_table_that_is_not_there_is_marked_and_none_refused() {
    let rules = json!([
        {"condition": "TimeOfDay", "start": "22:00", "end": "06:00", "action": "deny"},
        {"condition": "TableIs", "values": ["salaries", "pay_*"], "action": "deny"},
        {"condition": "StageIs", "values": ["raw.landing"], "action": "deny"},
    ]);
    let rules: Vec<AbacRule> = serde_json::from_value(rules).unwrap();
    let places = places_by_attribute(&rules);
    let named: Vec<_> = places.iter().map(|place| place.named.clone()).collect();
    let pattern = |pattern: &str| Named::Pattern { pattern: pattern.to_owned() };
    assert_eq!(named, [pattern("salaries"), pattern("pay_*"), pattern("raw.@landing")]);
    let told = [Binding::Bound, missing(Missing::Table, "main.pay_*", &["main.payroll"]), Binding::Bound];
    let unbound = unbound(&places, &told).unwrap();
    assert_eq!((unbound.len(), unbound[0].rule, unbound[0].field.as_str()), (1, 1, "rules[1].values[1]"));
    assert!(admit(&unbound, false).is_ok());
}
