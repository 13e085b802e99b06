//! Whether what the rules of policies name is there, told to the control plane.

use contract::Code;
use contract::binding::RULES_MAX;
use contract::policy::MaskFunction;
use contract::runtime_tables::Table;
use dataplane::testing::{filtering, masking, owner_id};
use serde_json::{Value, json};

use crate::agents_router::as_json;
use crate::rest::post;
use crate::world::{World, world};

async fn bind(world: &World, rules: Value) -> Value {
    let body = json!({"rules": rules});
    as_json(post(world, "/v1/environments/env-1/policies/bind", owner_id().as_str(), body).await).await
}

async fn told(world: &World, rule: Value) -> Value {
    bind(world, json!([rule])).await["rules"][0].clone()
}

fn mask(table: &str, column: &str) -> Value {
    json!({"kind": "mask", "table": table, "column": column})
}

fn filter(table: &str, filter: &str) -> Value {
    json!({"kind": "filter", "table": table, "filter": filter})
}

#[tokio::test]
async fn of_each_rule_it_is_told_what_is_missing_and_what_there_is() {
    let world = world().await;
    world.run("create schema hr").await.unwrap();
    world.run("create table hr.pay (id integer, \"Gross Pay\" integer)").await.unwrap();
    world.run("create view regions as select region, count(*) as n from customer group by region").await.unwrap();
    for (rule, missing) in [
        (mask("customer", "ssn"), ""),
        (mask("MAIN.Customer", "SSN"), ""),
        (mask("hr.pay", "gross pay"), ""),
        (mask("regions", "n"), ""),
        (mask("pay", "id"), "table main.pay"),
        (mask("custmer", "ssn"), "table main.custmer"),
        (mask("customer", "snn"), "column main.customer.snn"),
        (mask("regions", "ssn"), "column main.regions.ssn"),
        (filter("customer", "region = {region}"), ""),
        (filter("customer", "Region = '{region}' and balance > 10"), ""),
        (filter("customers", "region = {region}"), "table main.customers"),
        (filter("customer", "regions = {region}"), "column main.customer.regions"),
        (filter("customer", "id in (select id from hr.pay where \"Gross Pay\" > 1)"), ""),
        (filter("customer", "id in (select id from hr.paid)"), "table hr.paid"),
        (filter("customer", "id in (select idd from hr.pay)"), "column main.customer.idd"),
        (json!({"kind": "pattern", "pattern": "cust*"}), ""),
        (json!({"kind": "pattern", "pattern": "hr.*"}), ""),
        (json!({"kind": "pattern", "pattern": "regions"}), ""),
        (json!({"kind": "pattern", "pattern": "svc_memory.memories"}), ""),
        (json!({"kind": "pattern", "pattern": "pay_*"}), "table main.pay_*"),
    ] {
        let told = told(&world, rule.clone()).await;
        let said =
            format!("{} {}", told["what"].as_str().unwrap_or_default(), told["name"].as_str().unwrap_or_default());
        assert_eq!(said.trim(), missing, "{rule}: {told}");
        assert_eq!(told["state"] == "missing", !missing.is_empty(), "{rule}: {told}");
    }
    assert_eq!(told(&world, mask("customer", "snn")).await["there"][0], "ssn");
    assert_eq!(told(&world, mask("custmer", "ssn")).await["there"][0], "main.customer");
    world.stop().await;
}

/// "A filter that does not evaluate on an empty table is refused": no row is needed to find out.
#[tokio::test]
async fn a_filter_is_tried_on_no_rows() {
    let world = world().await;
    world.run("create table empty_one (id integer, name varchar, seen_at timestamp, tags varchar[])").await.unwrap();
    for (text, state) in [
        ("name = {region}", "bound"),
        ("id > 1 and name like 'a%'", "bound"),
        ("seen_at < '2020-01-01'", "bound"),
        ("sqrt(seen_at) > 1", "fails"),
        ("name = ", "fails"),
        ("id = 1; drop table empty_one", "fails"),
    ] {
        let told = told(&world, filter("empty_one", text)).await;
        assert_eq!(told["state"], state, "{text}: {told}");
        assert_eq!(told["message"].is_string(), state == "fails", "{text}: {told}");
    }
    assert_eq!(world.count("select count(*) from empty_one").await, 0);
    world.stop().await;
}

/// What rules now is no answer to whether another rule would: neither filters, nor denied tables, nor the log.
#[tokio::test]
async fn it_is_asked_for_nobody_and_neither_judged_nor_written_down() {
    let world = world().await;
    world.change(|rules| rules.policies = vec![filtering("customer", "false")]);
    let before = world.entries().len();
    assert_eq!(told(&world, filter("customer", "region = {region}")).await["state"], "bound");
    assert_eq!(world.entries().len(), before);
    world.stop().await;
}

#[tokio::test]
async fn tables_of_the_runtime_are_there_where_the_runtime_is() {
    let world = world().await;
    let table = Table::ALL.first().unwrap();
    let (path, column) = (format!("svc_runtime.{}", table.as_str()), table.columns().first().unwrap().0);
    assert_eq!(told(&world, mask(&path, column)).await["what"], "table");
    world.change(|rules| rules.runtime = true);
    assert_eq!(told(&world, mask(&path, column)).await["state"], "bound");
    assert_eq!(told(&world, mask(&path, "nothing")).await["what"], "column");
    assert_eq!(told(&world, filter(&path, &format!("{column} = 'a'"))).await["state"], "bound");
    world.stop().await;
}

#[tokio::test]
async fn a_question_has_a_limit() {
    let world = world().await;
    let many: Vec<_> = (0..=RULES_MAX).map(|_| mask("customer", "ssn")).collect();
    assert_eq!(bind(&world, json!(many)).await["error"]["code"], Code::InvalidParams.stable());
    let most: Vec<_> = many.into_iter().skip(1).collect();
    assert_eq!(bind(&world, json!(most)).await["rules"].as_array().unwrap().len(), RULES_MAX);
    let long = bind(&world, json!([filter("customer", &"x".repeat(2 << 20))])).await;
    assert_eq!(long["error"]["code"], Code::InvalidParams.stable());
    world.stop().await;
}

/// "DROP stays allowed: a NOTICE … that the rule now rules nothing."
#[tokio::test]
async fn who_drops_a_ruled_table_is_told_that_its_rules_rule_nothing() {
    let world = world().await;
    world.change(|rules| rules.policies = vec![masking("customer", "ssn", MaskFunction::Full)]);
    world.run("create table plain (id integer)").await.unwrap();
    world.run("create schema hr").await.unwrap();
    world.run("create table hr.pay (id integer)").await.unwrap();
    world.run("create table pay (id integer)").await.unwrap();
    world.change(|rules| rules.policies.push(masking("hr.pay", "id", MaskFunction::Null)));
    for (sql, named) in [
        ("drop table plain", ""),
        ("drop table if exists nothing_here", ""),
        ("drop table pay", ""),
        ("create or replace table customer (id integer, ssn varchar)", ""),
        ("drop table customer", "main.customer"),
        ("drop table if exists customer", ""),
        ("create table customer (id integer, ssn varchar)", ""),
        ("drop schema hr cascade", "hr.pay"),
    ] {
        let warnings = world.run(sql).await.unwrap().answer.warnings;
        let told = warnings.iter().find(|warning| warning.contains("rule nothing now"));
        assert_eq!(told.is_some(), !named.is_empty(), "{sql}: {warnings:?}");
        assert!(told.is_none_or(|told| told.contains(named)), "{sql}: {warnings:?}");
    }
    world.run("insert into customer values (1, '078-05-1120')").await.unwrap();
    assert!(world.analyst("select ssn from customer").await.unwrap().json.contains("***"), "the next of that name");
    world.stop().await;
}
