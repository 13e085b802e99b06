//! Names on the wire: ports, paths, headers and the settings both sides spell alike.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::policy::abac::Origin;
use crate::{Heal, KeyId, SessionId, StandardStrings, UserId};

/// Ports of a deployment; local mode lets the system choose all but the demo's first two.
pub mod port {
    /// Control plane: HTTP.
    pub const CONTROL_HTTP: u16 = 8080;
    /// Control plane: gRPC to data planes.
    pub const CONTROL_GRPC: u16 = 8081;
    /// Data plane: the PostgreSQL wire.
    pub const PGWIRE: u16 = 5439;
    /// Data plane: Arrow Flight, tools, raw Arrow.
    pub const TOOLS: u16 = 5440;
    /// Data plane: REST, for the control plane alone.
    pub const INTERNAL_REST: u16 = 8090;
    /// Plain `/health`, `/ready` and `/metrics` of a data plane; `/metrics` of a control plane.
    pub const PROBES: u16 = 9090;
}

/// Paths of the plain listener.
pub mod probe {
    /// The process lives.
    pub const HEALTH: &str = "/health";
    /// It may be sent work.
    pub const READY: &str = "/ready";
    /// What it measures.
    pub const METRICS: &str = "/metrics";
    /// The type of that text.
    pub const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
}

/// Environment variables that a data plane reads: the operator writes what the data plane reads.
pub mod setting {
    macro_rules! settings {
        ($($(#[$doc:meta])* $name:ident = $variable:literal;)+) => {
            $($(#[$doc])* pub const $name: &str = $variable;)+

            /// Those that are arguments of a data plane.
            pub const ALL: [&str; [$($variable),+].len()] = [$($name),+];
        };
    }

    settings! {
        ENV_ID = "SLUICE_ENV_ID";
        CONTROL_PLANE = "SLUICE_CONTROL_PLANE";
        TLS_CA = "SLUICE_TLS_CA";
        TLS_CERT = "SLUICE_TLS_CERT";
        TLS_KEY = "SLUICE_TLS_KEY";
        PG_TLS_CERT = "SLUICE_PG_TLS_CERT";
        PG_TLS_KEY = "SLUICE_PG_TLS_KEY";
        STATE = "SLUICE_STATE";
        /// Address of all listeners: `0.0.0.0`, or `::` where pods have IPv6.
        LISTEN = "SLUICE_LISTEN";
        /// Seconds that an HTTP connection lives between two requests.
        HTTP_IDLE_SECS = "SLUICE_HTTP_IDLE_SECS";
        /// Bytes that one result of an agent's tool may hold.
        TOOL_RESULT_BYTES = "SLUICE_TOOL_RESULT_BYTES";
        /// Bytes of the plans of texts that a data plane keeps; 0: none.
        PLAN_BYTES = "SLUICE_PLAN_BYTES";
        /// Seconds after which one goes that nobody uses.
        PLAN_IDLE_SECS = "SLUICE_PLAN_IDLE_SECS";
        /// Plans that each session of the engine keeps; 0: none.
        ENGINE_PLANS = "SLUICE_ENGINE_PLANS";
        MAX_CONCURRENT_QUERIES = "SVC_MAX_CONCURRENT_QUERIES";
        ENGINE_MEMORY_BYTES = "SLUICE_ENGINE_MEMORY_BYTES";
        ENGINE_TEMP_BYTES = "SLUICE_ENGINE_TEMP_BYTES";
        ENGINE_THREADS = "SLUICE_ENGINE_THREADS";
        /// Seconds that a stop waits for queries that run.
        DRAIN_SECS = "SLUICE_DRAIN_SECS";
        /// Seconds between "not ready" and the first refusal, while load balancers learn of it.
        ENDPOINT_GRACE_SECS = "SLUICE_ENDPOINT_GRACE_SECS";
        /// Base URL of the endpoint whose models are asked; absent: none is.
        MODEL_URL = "SLUICE_MODEL_URL";
        /// It may be asked without TLS beyond this machine.
        MODEL_PLAIN = "SLUICE_MODEL_PLAIN";
        /// The key that it wants.
        MODEL_KEY = "SLUICE_MODEL_KEY";
        /// The model that makes vectors of memories; absent: the built-in embedder does, by similar words.
        EMBEDDING_MODEL = "SLUICE_EMBEDDING_MODEL";
        /// The model that is asked for a statement that failed; absent: rules alone heal.
        HEALING_MODEL = "SLUICE_HEALING_MODEL";
        /// Private hosts that storage integrations reach: `host` or `host:port`, with commas between them.
        STORAGE_HOSTS = "SLUICE_STORAGE_HOSTS";
        /// Storage integrations may use the credentials that a data plane's surroundings give it.
        STORAGE_AMBIENT = "SLUICE_STORAGE_AMBIENT";
        /// Where spans are sent to; absent: none are made.
        OTLP_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT";
        /// File of the authority that an `https` collector's certificate is of.
        OTLP_CA = "OTEL_EXPORTER_OTLP_CERTIFICATE";
        /// Of the requests that come without a trace, the part that is told of.
        TRACE_RATIO = "SLUICE_TRACE_RATIO";
    }

    /// Bucket and prefix of a lake's data; absent: a native file.
    pub const OBJECT_STORE: &str = "SLUICE_OBJECT_STORE";
    /// `name=value,…`: what a collector wants to be shown. A credential, and so never among settings: it comes
    /// from a Secret.
    pub const OTLP_HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
}

/// Header names.
pub mod header {
    pub const REQUEST_ID: &str = "x-request-id";
    /// JSON of [`super::Forwarded`]; accepted only under the control plane's certificate.
    pub const CALLER: &str = "x-sluice-caller";
    pub const API_KEY: &str = "x-api-key";
    pub const QUERY_ID: &str = "x-query-id";
    pub const COLUMNS_MASKED: &str = "x-columns-masked";
    pub const CACHE_HIT: &str = "x-cache-hit";
    /// Of a POST: sent again with the same key and body it is answered again, not done again.
    pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
    /// Of a load: the id under which it can be looked at and cancelled while it runs.
    pub const OPERATION: &str = "sluice-operation";
    /// Of an answer that was given before.
    pub const REPLAYED: &str = "idempotent-replayed";
    /// Of such an answer: the first one had rows, which are not kept.
    pub const ROWS_WITHHELD: &str = "x-rows-withheld";
    /// Of a call of Flight: how far its statements may be healed, as `heal` of a query's body.
    pub const HEAL: &str = "x-query-heal";
    /// Of a call of Flight: what a backslash in a string is, as `standard_conforming_strings` of a query's body.
    pub const STANDARD_STRINGS: &str = "x-standard-conforming-strings";
    /// What was corrected of the statement before it ran: there for those that were healed alone.
    pub const QUERY_HEALED: &str = "x-query-healed";
    /// Totals of rows in CSV or Arrow: headers of a short answer, trailers behind a long one.
    pub const ROW_COUNT: &str = "x-row-count";
    pub const CREDITS_CONSUMED: &str = "x-credits-consumed";
}

/// The longest `Idempotency-Key`.
pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 255;

/// Who the control plane has authenticated, for a query that it forwards. Never the credential:
/// the data plane looks the caller up in its own snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forwarded {
    #[serde(flatten)]
    pub who: Who,
    pub peer: Option<IpAddr>,
    /// The origin it came from, where that is another than the protocol it is forwarded to: `dashboard` or `shadow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The dashboard asks it for one of its own pages. The control plane alone says so, of a request whose statement or
    /// tool is its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_dashboard: bool,
}

impl Forwarded {
    /// A caller who asks for themselves, by the protocol that it is forwarded to.
    pub const fn of(who: Who, peer: Option<IpAddr>) -> Self {
        Self { who, peer, origin: None, by_dashboard: false }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "credential", rename_all = "snake_case")]
pub enum Who {
    Session { user_id: UserId, session_id: SessionId },
    Key { key_id: KeyId },
}

/// Whose a session's token is, as the control plane tells a data plane that was shown it.
pub type Vouched = Result<Who, VouchRefusal>;

/// Why nobody may ask with a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VouchRefusal {
    /// It is none of ours, or its session has ended, or is another organization's.
    Invalid,
    Expired,
    /// The organization asks for a second factor, and the session has shown none.
    SecondFactor,
}

/// Body of `POST /v1/environments/{env_id}/query`, on both planes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Query")]
#[serde(deny_unknown_fields)]
pub struct QueryBody {
    pub sql: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_framework: Option<String>,
    /// Default 30000, at most 300000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// A statement that fails is healed no further than this, and never further than the environment's `settings.heal`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heal: Option<Heal>,
    /// What a backslash in a string is: `on` (default), an ordinary character; `off`, an escape, as in the warehouse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_conforming_strings: Option<StandardStrings>,
    /// The branch that it runs on; the mainline if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch_id: Option<String>,
    #[serde(default)]
    pub format: Format,
    /// Of `format: json` alone: how its rows write numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbers: Option<Numbers>,
    /// `true`: a statement that would change something is refused, so that asking again is safe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_only: Option<bool>,
}

/// How rows of JSON write numbers. `json` (default): as numbers, with all their digits. `strings`: whole numbers beyond
/// ±(2^53 − 1) and decimals of more than 15 digits as text, so that readers that keep a double lose none of them.
/// Values of JSON columns stay as they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "QueryNumbers")]
#[serde(rename_all = "snake_case")]
pub enum Numbers {
    #[default]
    Json,
    Strings,
}

/// `format`: `json` (default), `csv`, `arrow`; and `parquet`, for a file of the rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "QueryFormat")]
#[serde(rename_all = "snake_case")]
pub enum Format {
    #[default]
    Json,
    Csv,
    Arrow,
    Parquet,
}

/// The largest `timeout_ms`.
pub const TIMEOUT_MS_MAX: u64 = 300_000;
/// A statement's largest size.
pub const SQL_BYTES_MAX: usize = 1_048_576;
/// Bytes of a tool's result that a model reads without losing sight of what it was asked.
pub const TOOL_RESULT_BYTES: usize = 51_200;
/// From room for a row to what fits in memory for each who calls.
pub const TOOL_RESULT_BYTES_RANGE: RangeInclusive<u64> = 4_096..=16_777_216;

/// The name in the certificate of the control plane, as data planes check it.
pub const CONTROL_PLANE_NAME: &str = "control-plane.sluice.internal";

/// The name in the certificate of the operator, as the control plane checks it.
pub const OPERATOR_NAME: &str = "operator.sluice.internal";

/// The name in the certificate of an environment's data plane.
pub fn environment_name(env_id: &crate::EnvId) -> String {
    format!("{env_id}.env.sluice.internal")
}

/// The environment that a certificate's name stands for.
pub fn environment_of(name: &str) -> Option<crate::EnvId> {
    name.strip_suffix(".env.sluice.internal").map(crate::EnvId::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environments_name_reads_back() {
        let env = crate::EnvId::from("0190-abc");
        assert_eq!(environment_of(&environment_name(&env)), Some(env));
        assert_eq!(environment_of("0190-abc.env.sluice.internal.evil"), None);
    }

    #[test]
    fn a_forwarded_caller_is_flat_json() {
        let (shadow, dashboard) = (Some(Origin::Shadow), Some(Origin::Dashboard));
        for (origin, by_dashboard, more) in [
            (None, false, ""),
            (shadow, false, r#","origin":"shadow""#),
            (dashboard, true, r#","origin":"dashboard","by_dashboard":true"#),
        ] {
            let flat = format!(r#"{{"credential":"key","key_id":"k","peer":"127.0.0.1"{more}}}"#);
            let caller = Forwarded::of(Who::Key { key_id: "k".into() }, Some([127, 0, 0, 1].into()));
            let forwarded = Forwarded { origin, by_dashboard, ..caller };
            let json = serde_json::to_string(&forwarded).unwrap();
            assert_eq!(json, flat);
            assert_eq!(serde_json::from_str::<Forwarded>(&json).unwrap(), forwarded);
        }
    }
}
