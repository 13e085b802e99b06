//! The alerts for Prometheus: what somebody has to look at, and where to begin.

use std::fmt::Write;

use serde_json::json;

use crate::Error;

/// One alert. Its text begins with what users notice.
struct Alert {
    name: &'static str,
    severity: &'static str,
    /// How long it has to hold.
    lasting: &'static str,
    expr: &'static str,
    summary: &'static str,
    /// What to do first.
    action: &'static str,
}

const ALL: &[Alert] = &[
    Alert {
        name: "SluiceDataPlaneNotReady",
        severity: "critical",
        lasting: "5m",
        expr: "min by (namespace, pod) (sluice_dataplane_ready) == 0",
        summary: "Queries of an environment are refused: its data plane is not ready",
        action: "kubectl sluice status in the pod's namespace names the reason",
    },
    Alert {
        name: "SluiceControlPlaneAway",
        severity: "warning",
        lasting: "5m",
        expr: "min by (namespace, pod) (sluice_dataplane_control_plane_connected) == 0",
        summary: "A data plane has no control plane: the last rules hold, and revocations do not arrive",
        action: "look at the pods of the control plane, then at the data plane's log",
    },
    Alert {
        name: "SluiceDatabaseAway",
        severity: "critical",
        lasting: "2m",
        expr: "min(sluice_controlplane_database_up) == 0",
        summary: "The control plane cannot reach PostgreSQL: REST answers 503, and nothing can be changed",
        action: "look at PostgreSQL and at the Secret with its URL",
    },
    Alert {
        name: "SluiceErrors",
        severity: "warning",
        lasting: "10m",
        expr: "sum(rate(sluice_controlplane_requests_total{status=~\"5..\"}[5m])) > 0.05 * sum(rate(sluice_controlplane_requests_total[5m]))",
        summary: "More than one request in twenty ends in a 5xx",
        action: "the dashboard of the control plane shows the routes; the request id of an answer is in the log",
    },
    Alert {
        name: "SluiceQueriesWait",
        severity: "warning",
        lasting: "10m",
        expr: "max by (namespace, pod) (sluice_dataplane_waiting) > 0",
        summary: "Queries wait for a place of the semaphore",
        action: "raise max_concurrent_queries, or look for what holds the places on the dashboard of queries",
    },
    Alert {
        name: "SluiceAuditLags",
        severity: "warning",
        lasting: "10m",
        expr: "max by (namespace, pod) (sluice_dataplane_reports_waiting) > 1000",
        summary: "Audit entries of a data plane do not reach the control plane",
        action: "look at the data plane's log; the entries are kept on its volume until they arrive",
    },
    Alert {
        name: "SluiceAuditSetAside",
        severity: "warning",
        lasting: "0m",
        expr: "sum(increase(sluice_controlplane_reports_set_aside_total[1h])) > 0",
        summary: "PostgreSQL refused audit entries for what was in them: their texts are not stored, their credits are",
        action: "the control plane's log names environment, log and entry, and what PostgreSQL said",
    },
    Alert {
        name: "SluiceNoLeader",
        severity: "critical",
        lasting: "2m",
        expr: "sum(sluice_operator_leader) == 0",
        summary: "No operator leads: changes of resources are not carried out",
        action: "look at the pods of the operator and at the Lease sluice-operator",
    },
    Alert {
        name: "SluiceChangesNotCarriedOut",
        severity: "warning",
        lasting: "5m",
        expr: "max(sluice_operator_environment_generation_lag_seconds) > 300",
        summary: "An Environment was changed more than five minutes ago, and nothing has come of it",
        action: "kubectl get environments -A shows conditions and their reasons",
    },
    Alert {
        name: "SluiceJobsFailed",
        severity: "warning",
        lasting: "1m",
        expr: "max(sluice_controlplane_jobs{state=\"failed\"}) > 0",
        summary: "A job of the control plane has failed for good",
        action: "its last error stands in the table jobs",
    },
    Alert {
        name: "SluiceJobsLate",
        severity: "warning",
        lasting: "5m",
        expr: "max(sluice_controlplane_jobs_oldest_seconds) > 300",
        summary: "Jobs of the control plane are late: keys expire and leases end, but nobody is told",
        action: "look at the control plane's log and at the load of PostgreSQL",
    },
    Alert {
        name: "SluiceWebhooksLate",
        severity: "warning",
        lasting: "10m",
        expr: "max(sluice_controlplane_webhook_deliveries_oldest_seconds) > 600",
        summary: "Webhook deliveries are late",
        action: "look at the control plane's log for receivers that hang",
    },
    Alert {
        name: "SluicePolicyRulesNothing",
        severity: "warning",
        lasting: "15m",
        expr: "max(sluice_controlplane_policy_rules_unbound{state=\"rules_nothing\"}) > 0",
        summary: "A rule of a policy hides nothing: the table or column that it names is not there",
        action: "sluice policies list shows which policies rule nothing; sluice policies show names the rule and what there is",
    },
    Alert {
        name: "SluiceLeasesOverdue",
        severity: "warning",
        lasting: "2m",
        expr: "max(sluice_controlplane_leases_overdue) > 0",
        summary: "Attempts have lost their lease and nobody ends them",
        action: "look at the control plane's log for the job sweep_leases",
    },
];

/// `alerts.yaml`: the groups of a `PrometheusRule`.
pub fn text() -> Result<String, Error> {
    let rule = |alert: &Alert| {
        json!({
            "alert": alert.name,
            "expr": alert.expr,
            "for": alert.lasting,
            "labels": {"severity": alert.severity},
            "annotations": {"summary": alert.summary, "description": alert.action},
        })
    };
    let groups = json!({"groups": [{"name": "sluice", "rules": ALL.iter().map(rule).collect::<Vec<_>>()}]});
    Ok(serde_yaml_ng::to_string(&groups)?)
}

/// For the page of metrics.
pub fn table() -> String {
    let mut out = String::from("| Alert | Severity | What users notice | Begin with |\n|---|---|---|---|\n");
    for Alert { name, severity, summary, action, .. } in ALL {
        let _ = writeln!(out, "| `{name}` | {severity} | {summary} | {action} |");
    }
    out
}

/// Everything that is asked for.
#[cfg(test)]
pub fn questions() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|alert| alert.expr)
}
