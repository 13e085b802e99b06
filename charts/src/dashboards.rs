//! The dashboards for Grafana, and what each of their panels asks for.
//!
//! Four: whether all is well, what queries cost, the control plane, and the governed runtime with all
//! else that waits its turn. Every metric of the table is on one of them.

use serde_json::{Value, json};

use crate::Error;

/// One question and its graph.
struct Panel {
    title: &'static str,
    /// As Grafana names units.
    unit: &'static str,
    /// What each line is called, and what it asks for.
    lines: &'static [(&'static str, &'static str)],
}

struct Dashboard {
    /// Below `charts/sluice/dashboards`.
    path: &'static str,
    uid: &'static str,
    title: &'static str,
    panels: &'static [Panel],
}

macro_rules! panels {
    ($($title:literal $unit:literal [$($line:literal: $expr:literal),+ $(,)?];)+) => {
        &[$(Panel { title: $title, unit: $unit, lines: &[$(($line, $expr)),+] }),+]
    };
}

const ALL: &[Dashboard] = &[
    Dashboard {
        path: "charts/sluice/dashboards/overview.json",
        uid: "sluice-overview",
        title: "Sluice / Overview",
        panels: panels! {
            "Environments by phase" "short" ["{{phase}}": "sum by (phase) (sluice_operator_environment_phase)"];
            "Data planes that take queries" "short" [
                "ready": "sum(sluice_dataplane_ready)",
                "engine up": "sum(sluice_dataplane_engine_up)",
                "control plane connected": "sum(sluice_dataplane_control_plane_connected)",
            ];
            "Queries" "reqps" ["{{door}}": "sum by (door) (rate(sluice_dataplane_queries_total[$__rate_interval]))"];
            "Queries that ended in an error" "reqps" [
                "{{code}}": "sum by (code) (rate(sluice_dataplane_queries_total{code!=\"ok\"}[$__rate_interval]))",
            ];
            "Requests to the control plane" "reqps" [
                "{{status}}": "sum by (status) (rate(sluice_controlplane_requests_total[$__rate_interval]))",
            ];
            "Operators that lead" "short" ["leaders": "sum(sluice_operator_leader)"];
            "Oldest change that is not acted upon" "s" [
                "lag": "max(sluice_operator_environment_generation_lag_seconds)",
            ];
            "Oldest reconcile that waits" "s" ["{{kind}}": "max by (kind) (sluice_operator_queue_oldest_seconds)"];
        },
    },
    Dashboard {
        path: "charts/sluice/dashboards/queries.json",
        uid: "sluice-queries",
        title: "Sluice / Queries",
        panels: panels! {
            "Execution, 50 and 99 of 100" "s" [
                "p50 {{door}}": "histogram_quantile(0.5, sum by (le, door) (rate(sluice_dataplane_execution_seconds_bucket[$__rate_interval])))",
                "p99 {{door}}": "histogram_quantile(0.99, sum by (le, door) (rate(sluice_dataplane_execution_seconds_bucket[$__rate_interval])))",
            ];
            "Each stage, 99 of 100" "s" [
                "{{stage}}": "histogram_quantile(0.99, sum by (le, stage) (rate(sluice_dataplane_stage_seconds_bucket[$__rate_interval])))",
            ];
            "Time by stage" "s" [
                "{{stage}}": "sum by (stage) (rate(sluice_dataplane_stage_seconds_sum[$__rate_interval]))",
            ];
            "Rows delivered or changed" "rowsps" ["rows": "sum(rate(sluice_dataplane_rows_total[$__rate_interval]))"];
            "Credits" "short" ["credits a minute": "60 * sum(rate(sluice_dataplane_credits_total[$__rate_interval]))"];
            "Places of the semaphore" "short" [
                "{{state}}": "sum by (state) (sluice_dataplane_slots)",
                "waiting": "sum(sluice_dataplane_waiting)",
            ];
            "Requests to models" "reqps" [
                "{{purpose}} {{outcome}}": "sum by (purpose, outcome) (rate(sluice_dataplane_model_requests_total[$__rate_interval]))",
            ];
            "Time that models take" "s" [
                "p99 {{purpose}}": "histogram_quantile(0.99, sum by (le, purpose) (rate(sluice_dataplane_model_seconds_bucket[$__rate_interval])))",
            ];
            "Audit entries on their way" "short" ["waiting": "sum(sluice_dataplane_reports_waiting)"];
            "Plans of texts that come again" "reqps" [
                "{{outcome}}": "sum by (outcome) (rate(sluice_dataplane_plans_total[$__rate_interval]))",
                "engine {{outcome}}": "sum by (outcome) (rate(sluice_dataplane_engine_plans_total[$__rate_interval]))",
            ];
        },
    },
    Dashboard {
        path: "charts/sluice/dashboards/controlplane.json",
        uid: "sluice-controlplane",
        title: "Sluice / Control plane",
        panels: panels! {
            "Slowest routes, 99 of 100" "s" [
                "{{method}} {{route}}": "topk(10, histogram_quantile(0.99, sum by (le, method, route) (rate(sluice_controlplane_request_seconds_bucket[$__rate_interval]))))",
            ];
            "Busiest routes" "reqps" [
                "{{method}} {{route}}": "topk(10, sum by (method, route) (rate(sluice_controlplane_request_seconds_count[$__rate_interval])))",
            ];
            "Answers of 5xx" "reqps" [
                "{{route}} {{status}}": "sum by (route, status) (rate(sluice_controlplane_requests_total{status=~\"5..\"}[$__rate_interval]))",
            ];
            "Connections to PostgreSQL" "short" [
                "{{state}}": "sum by (state) (sluice_controlplane_database_connections)",
            ];
            "PostgreSQL answers" "short" ["up": "min(sluice_controlplane_database_up)"];
            "Rules of policies that rule nothing, or are not bound yet" "short" [
                "{{state}}": "max by (state) (sluice_controlplane_policy_rules_unbound)",
            ];
        },
    },
    Dashboard {
        path: "charts/sluice/dashboards/runtime.json",
        uid: "sluice-runtime",
        title: "Sluice / Runtime and operator",
        panels: panels! {
            "Jobs" "short" ["{{state}}": "max by (state) (sluice_controlplane_jobs)"];
            "Oldest job that is due" "s" ["age": "max(sluice_controlplane_jobs_oldest_seconds)"];
            "Webhook deliveries that are due" "short" [
                "deliveries": "max(sluice_controlplane_webhook_deliveries_due)",
            ];
            "Oldest webhook delivery that is due" "s" [
                "age": "max(sluice_controlplane_webhook_deliveries_oldest_seconds)",
            ];
            "Leases that no sweep has ended" "short" ["leases": "max(sluice_controlplane_leases_overdue)"];
            "Audit entries set aside in an hour" "short" ["entries": "sum(increase(sluice_controlplane_reports_set_aside_total[1h]))"];
            "Reconciles" "ops" [
                "{{kind}} {{outcome}}": "sum by (kind, outcome) (rate(sluice_operator_reconciles_total[$__rate_interval]))",
            ];
            "Steps of a reconcile, 99 of 100" "s" [
                "{{step}}": "histogram_quantile(0.99, sum by (le, step) (rate(sluice_operator_step_seconds_bucket[$__rate_interval])))",
            ];
            "Objects that wait" "short" ["{{kind}}": "sum by (kind) (sluice_operator_queue_depth)"];
            "Requests to the API server" "reqps" [
                "{{verb}} {{resource}} {{code}}": "sum by (verb, resource, code) (rate(sluice_operator_api_requests_total[$__rate_interval]))",
            ];
            "Watches that began again" "ops" [
                "{{kind}}": "sum by (kind) (rate(sluice_operator_watch_restarts_total[$__rate_interval]))",
            ];
            "Objects that cannot be read, Events that were dropped" "short" [
                "unreadable {{kind}}": "sum by (kind) (sluice_operator_unreadable_objects)",
                "dropped": "sum(increase(sluice_operator_events_dropped_total[$__rate_interval]))",
            ];
        },
    },
];

/// Path and text of each.
pub fn all() -> Result<Vec<(&'static str, String)>, Error> {
    ALL.iter().map(|dashboard| Ok((dashboard.path, text(dashboard)?))).collect()
}

fn text(dashboard: &Dashboard) -> Result<String, Error> {
    let panels: Vec<_> = dashboard.panels.iter().zip(0..).map(|(panel, index)| graph(panel, index)).collect();
    let whole = json!({
        "uid": dashboard.uid,
        "title": dashboard.title,
        "tags": ["sluice"],
        "schemaVersion": 39,
        "editable": false,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [{"name": "datasource", "type": "datasource", "query": "prometheus"}]},
        "panels": panels,
    });
    let mut text = serde_json::to_string_pretty(&whole)?;
    text.push('\n');
    Ok(text)
}

/// Two beside each other, of the 24 columns of a page.
fn graph(panel: &Panel, index: u32) -> Value {
    let source = json!({"type": "prometheus", "uid": "${datasource}"});
    let target = |(line, expr): &(&str, &str), letter: char| json!({"refId": letter.to_string(), "datasource": source, "expr": expr, "legendFormat": line});
    let targets: Vec<_> = panel.lines.iter().zip('A'..).map(|(line, letter)| target(line, letter)).collect();
    json!({
        "id": index + 1,
        "type": "timeseries",
        "title": panel.title,
        "datasource": source,
        "gridPos": {"x": 12 * (index % 2), "y": 8 * (index / 2), "w": 12, "h": 8},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": targets,
    })
}

/// Everything that is asked for.
#[cfg(test)]
pub fn questions() -> impl Iterator<Item = &'static str> {
    ALL.iter().flat_map(|dashboard| dashboard.panels).flat_map(|panel| panel.lines).map(|(_, expr)| *expr)
}
