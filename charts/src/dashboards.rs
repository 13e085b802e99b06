//! The dashboards for Grafana, made of files that say what each of their panels asks for.
//!
//! Four: whether all is well, what queries cost, the control plane, and the governed runtime with all
//! else that waits its turn. Every metric of the table is on one of them.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::Error;

/// One question and its graph.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Panel {
    title: String,
    /// As Grafana names units.
    unit: String,
    /// What each line is called, and what it asks for.
    lines: Vec<(String, String)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Dashboard {
    uid: String,
    title: String,
    panels: Vec<Panel>,
}

/// Where each is printed, and what it has.
const ALL: [(&str, &str); 4] = [
    ("charts/sluice/dashboards/overview.json", include_str!("dashboards/overview.yaml")),
    ("charts/sluice/dashboards/queries.json", include_str!("dashboards/queries.yaml")),
    ("charts/sluice/dashboards/controlplane.json", include_str!("dashboards/controlplane.yaml")),
    ("charts/sluice/dashboards/runtime.json", include_str!("dashboards/runtime.yaml")),
];

/// Path and text of each.
pub fn all() -> Result<Vec<(&'static str, String)>, Error> {
    ALL.into_iter().map(|(path, dashboard)| Ok((path, text(&serde_yaml_ng::from_str(dashboard)?)?))).collect()
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
    let target = |(line, expr): &(String, String), letter: char| json!({"refId": letter.to_string(), "datasource": source, "expr": expr, "legendFormat": line});
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
    ALL.into_iter().flat_map(|(_, dashboard)| dashboard.lines())
}
