//! Reports of wrong answers on the engine, through compiler and engine: `reports.jsonl`, one case a line.
//!
//! A case holds the verdict of its line. What is wrong and stays so is in the list with its reason; that it has become
//! right fails as well.

use std::collections::BTreeSet;

use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::agents_router::as_json;
use crate::rest::query;
use crate::world::{World, world};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EngineReport {
    report: u32,
    fault: String,
    verdict: ReportVerdict,
    /// What is done about it, or why it does not arise.
    #[serde(default)]
    how: String,
    #[serde(default)]
    setup: Vec<String>,
    /// None where the fault needs what a test does not have.
    #[serde(default)]
    sql: Option<String>,
    /// The right answer.
    #[serde(default)]
    rows: Option<Value>,
    /// A word of the message that refuses it.
    #[serde(default)]
    refused: Option<String>,
}

#[derive(Deserialize, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
enum ReportVerdict {
    /// Not wrong on the pinned engine.
    Right,
    /// A rule of the optimizer is switched off.
    Disabled,
    Rewritten,
    Refused,
    /// The statement of the report cannot be written here, or answers right here.
    Unreachable,
    Wrong,
}

fn reports() -> Vec<EngineReport> {
    include_str!("reports.jsonl").lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

async fn answer(world: &World, sql: &str) -> (StatusCode, Value) {
    let answer = query(world, json!({"sql": sql})).await;
    (answer.status(), as_json(answer).await)
}

/// What does not hold of the report, if anything.
async fn judged(world: &World, report: &EngineReport) -> Option<String> {
    for sql in &report.setup {
        let (status, got) = answer(world, sql).await;
        if !status.is_success() {
            return Some(format!("#{} {}: {sql}\n  {}", report.report, report.fault, got["error"]["message"]));
        }
    }
    let sql = report.sql.as_deref()?;
    let (status, got) = answer(world, sql).await;
    let message = got["error"]["message"].as_str().unwrap_or_default();
    let holds = match (report.verdict, &report.rows, &report.refused) {
        (ReportVerdict::Right | ReportVerdict::Disabled | ReportVerdict::Rewritten, Some(rows), None) => {
            &got["rows"] == rows
        }
        (ReportVerdict::Wrong, rows, None) => status.is_success() && rows.as_ref() != Some(&got["rows"]),
        (ReportVerdict::Refused | ReportVerdict::Unreachable, None, Some(words)) => {
            status.is_client_error() && message.to_lowercase().contains(&words.to_lowercase())
        }
        _ => false,
    };
    let told = got.get("rows").unwrap_or(&got["error"]["message"]);
    (!holds).then(|| format!("#{} {} {:?}: {sql}\n  got {told}", report.report, report.fault, report.verdict))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_report_on_the_engine_has_the_verdict_of_its_line() {
    let world = world().await;
    let (mut wrong, mut count) = (Vec::new(), 0);
    for report in reports() {
        wrong.extend(judged(&world, &report).await);
        count += 1;
    }
    assert!(wrong.is_empty(), "{} of {count} do not hold\n{}", wrong.len(), wrong.join("\n"));
    world.stop().await;
}

#[tokio::test]
async fn every_rule_that_the_list_says_is_switched_off_is() {
    let world = world().await;
    let disabled = reports().into_iter().filter(|report| report.verdict == ReportVerdict::Disabled);
    let rules: BTreeSet<_> = disabled.filter_map(|report| Some(report.how.split('`').nth(1)?.to_owned())).collect();
    assert!(!rules.is_empty());
    for rule in rules {
        let at = format!("select strpos(current_setting('disabled_optimizers'), '{rule}')");
        assert!(world.count(&at).await > 0, "{rule}");
    }
    world.stop().await;
}

/// A statement without a verdict, a verdict without a statement, or a verdict without its reason says nothing.
#[test]
fn every_line_says_what_is_done_and_why() {
    for report in reports() {
        let bare = report.verdict == ReportVerdict::Right || !report.how.is_empty();
        let stated =
            report.sql.is_some() || matches!(report.verdict, ReportVerdict::Unreachable | ReportVerdict::Wrong);
        assert!(bare && stated, "#{} {}", report.report, report.fault);
    }
    let numbers: Vec<_> = reports().iter().map(|report| report.report).collect();
    assert!(numbers.is_sorted_by(|a, b| a >= b), "newest first");
    let distinct: BTreeSet<_> = numbers.into_iter().collect();
    assert!(distinct.len() >= 60, "{}", distinct.len());
}
