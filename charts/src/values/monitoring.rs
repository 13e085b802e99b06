//! Who looks on: Prometheus, Grafana, a collector of spans.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Texts;

values! {
/// For a cluster with the Prometheus operator.
pub struct ServiceMonitor {
    /// Make one for the metrics of the operator, and `PodMonitor`s for control plane and data planes. A
    /// Prometheus that scrapes data planes runs in the namespace of the release, which is all that their
    /// policies let in.
    pub enabled: bool,
    /// Between two scrapes.
    #[schemars(regex(pattern = "^[0-9]+(ms|s|m)$"))]
    pub interval: String = "30s".to_owned(),
    /// What the Prometheus selects monitors by.
    pub labels: Texts,
}
}

/// For a cluster with the Prometheus operator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PrometheusRule {
    /// Make one, with the alerts of `METRICS.md`.
    pub enabled: bool,
    /// What the Prometheus selects rules by.
    pub labels: Texts,
}

values! {
/// For a Grafana that reads dashboards from `ConfigMap`s.
pub struct Dashboards {
    /// Make the `ConfigMap`s, one for each dashboard.
    pub enabled: bool,
    /// What the Grafana selects `ConfigMap`s by.
    pub labels: Texts = Texts::from([("grafana_dashboard".to_owned(), "1".to_owned())]),
}

/// For a collector of spans.
pub struct Tracing {
    /// Where control plane and data planes send spans, OTLP over gRPC: `http://collector.observability:4317`,
    /// or `https://`. Empty: none are made. A data plane learns of a change when its pod starts next.
    #[schemars(length(max = 1000), regex(pattern = "^(https?://[^@]+)?$"))]
    pub endpoint: String,
    /// Of the requests that come without a trace, the part that is told of, from `0` to `1`.
    #[schemars(regex(pattern = r"^(0(\.[0-9]{1,6})?|1)$"))]
    pub ratio: String = "1".to_owned(),
    /// A Secret with what the collector wants to be shown, and whom to believe: by this name in the
    /// namespace of the release and beside each environment. A change of it replaces data planes, in the waves of
    /// `dataPlane.rollout`. Empty: none.
    #[schemars(length(max = 253), regex(pattern = "^([a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$"))]
    pub existing_secret: String,
    /// The key of that Secret that holds headers, as `authorization=Bearer%20…,x-scope=sluice`. Empty: none.
    #[schemars(length(max = 253), regex(pattern = "^[A-Za-z0-9._-]*$"))]
    pub headers_key: String = "headers".to_owned(),
    /// The key of that Secret that holds the authority, as PEM, which an `https://` collector's certificate
    /// is of. Empty: the public ones.
    #[schemars(length(max = 253), regex(pattern = "^[A-Za-z0-9._-]*$"))]
    pub ca_key: String,
}
}
