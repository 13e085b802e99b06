//! How an operator is set up: arguments, each with its `SLUICE_*` variable.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use clap::Parser;
use clap::builder::RangedU64ValueParser;
use connections::ConnectionTimeouts;
use contract::plan_bounds::{BYTES_RANGE, IDLE_SECS_RANGE, IN_ENGINE_RANGE, PlanBounds};
use contract::wire::{TOOL_RESULT_BYTES, TOOL_RESULT_BYTES_RANGE, setting};
use crds::{CollectorSecret, GivenSecrets, ImageSource, SecretKey};
use telemetry::Destination;

use crate::cluster::lease::Timing;
use crate::cluster::limits::{AT_ONCE, Budget, Rate};
use crate::model::Model;
use crate::objects::dns::Dns;
use crate::objects::observed::Release;
use crate::objects::pods::{Account, Pods};
use crate::objects::rollout::Rollout;
use crate::objects::source::Source;
use crate::objects::storage_reach::StorageReach;

#[derive(Debug, Clone, Parser)]
#[command(
    name = "operator",
    version,
    about = "Turns Organization, Environment and ApiKey resources into data planes",
    after_help = "`operator check <url>…` waits until each URL answers well; `helm test` runs it."
)]
pub struct Config {
    /// Where operator and control plane live.
    #[arg(long, env = "SLUICE_RELEASE_NAMESPACE")]
    pub release_namespace: String,
    /// Namespaces whose resources are looked after; empty: all.
    #[arg(long, env = "SLUICE_WATCH_NAMESPACES", value_delimiter = ',')]
    pub watch_namespaces: Vec<String>,
    /// Name of this process among operators, usually its pod's.
    #[arg(long, env = "SLUICE_POD_NAME", default_value = "operator")]
    pub pod_name: String,
    /// Image of data planes, without a tag.
    #[arg(long, env = "SLUICE_DATAPLANE_IMAGE", default_value = "sluice-dataplane")]
    pub dataplane_image: String,
    /// The tag that data planes move to.
    #[arg(long, env = "SLUICE_DATAPLANE_VERSION", default_value = env!("CARGO_PKG_VERSION"))]
    pub dataplane_version: String,
    /// Always, `IfNotPresent` or Never.
    #[arg(long, env = "SLUICE_PULL_POLICY", default_value = "IfNotPresent", value_parser = ["Always", "IfNotPresent", "Never"])]
    pub pull_policy: String,
    /// Secrets that images are pulled with.
    #[arg(long, env = "SLUICE_PULL_SECRETS", value_delimiter = ',')]
    pub pull_secrets: Vec<String>,
    /// What is added to the pods of data planes, as JSON: `annotations`, `labels`, `securityContext`,
    /// `containerSecurityContext`, `env`.
    #[arg(long, env = "SLUICE_DATAPLANE_PODS", default_value = "{}", value_parser = Pods::parse)]
    pub dataplane_pods: Pods,
    /// What is added to the accounts of data planes, as JSON: `annotations`, `labels`.
    #[arg(long, env = "SLUICE_DATAPLANE_ACCOUNT", default_value = "{}", value_parser = Account::parse)]
    pub dataplane_account: Account,
    /// The address that data planes listen on: `::` where pods have IPv6.
    #[arg(long, env = "SLUICE_DATAPLANE_LISTEN", default_value = "0.0.0.0")]
    pub dataplane_listen: IpAddr,
    /// Of data planes.
    #[command(flatten)]
    pub connection_timeouts: ConnectionTimeouts,
    /// Bytes that one result of an agent's tool may hold; rows and long texts beyond are cut, and the result says so.
    #[arg(long, env = setting::TOOL_RESULT_BYTES, default_value_t = TOOL_RESULT_BYTES, value_parser = result_bytes())]
    pub tool_result_bytes: usize,
    /// Bytes that the plans may take which a data plane keeps of texts that come again; 0: it keeps none.
    #[arg(long, env = setting::PLAN_BYTES, default_value_t = PlanBounds::DEFAULT.bytes, value_parser = plan_bytes())]
    pub plan_bytes: u64,
    /// Seconds after which one goes that nobody uses.
    #[arg(
        long,
        env = setting::PLAN_IDLE_SECS,
        default_value_t = PlanBounds::DEFAULT.idle_secs,
        value_parser = idle_secs()
    )]
    pub plan_idle_secs: u64,
    /// Plans that each session of the engine keeps besides; 0: none.
    #[arg(long, env = setting::ENGINE_PLANS, default_value_t = PlanBounds::DEFAULT.in_engine, value_parser = in_engine())]
    pub engine_plans: u16,
    /// The cluster's DNS, as JSON: `ports`, and labels of its namespace and its pods, `namespaceSelector` and
    /// `podSelector`.
    #[arg(long, env = "SLUICE_DNS", default_value = "{}", value_parser = Dns::parse)]
    pub dns: Dns,
    /// `host:port` of the control plane's gRPC listener; by default that of the release.
    #[arg(long, env = "SLUICE_CONTROL_PLANE")]
    pub control_plane: Option<String>,
    #[arg(long, env = "SLUICE_CLUSTER_DOMAIN", default_value = "cluster.local")]
    pub cluster_domain: String,
    /// Data planes can serve storage.format lake.
    #[arg(long, env = "SLUICE_SERVES_LAKE", default_value_t = false)]
    pub serves_lake: bool,
    /// Objects that are looked at side by side. As many as there may be requests at once: more wait for each
    /// other, hold memory meanwhile, and are all late.
    #[arg(long, env = "SLUICE_CONCURRENCY", default_value_t = AT_ONCE, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub concurrency: u16,
    /// Requests to the API server in a second, at most.
    #[arg(long, env = "SLUICE_API_RATE", default_value_t = 200, value_parser = clap::value_parser!(u16).range(1..))]
    pub api_rate: u16,
    /// Environments that move to a new version at the same time.
    #[arg(long, env = "SLUICE_ROLLOUT_MAX_IN_FLIGHT", default_value_t = 10)]
    pub rollout_max_in_flight: usize,
    /// Rising percentages of the fleet that move to a new version before the rest.
    #[arg(long, env = "SLUICE_ROLLOUT_WAVES", value_delimiter = ',', default_value = "1,10,100")]
    pub rollout_waves: Vec<u8>,
    /// Health, readiness and metrics; `/log`, the level of the log, from loopback alone.
    #[arg(long, env = "SLUICE_LISTEN", default_value = "0.0.0.0:9090")]
    pub listen: SocketAddr,
    /// Seconds after which another operator takes over from one that vanished.
    #[arg(long, env = "SLUICE_LEASE_SECS", default_value_t = 15, value_parser = clap::value_parser!(u64).range(3..=300))]
    pub lease_secs: u64,
    /// A Secret, by this name beside each environment, with what data planes show a collector and believe
    /// it by.
    #[arg(long, env = "SLUICE_COLLECTOR_SECRET")]
    pub collector_secret: Option<String>,
    /// The key in it of headers, as `name=value,…`.
    #[arg(long, env = "SLUICE_COLLECTOR_HEADERS_KEY", requires = "collector_secret")]
    pub collector_headers_key: Option<String>,
    /// The key in it of the authority, as PEM, that the collector's certificate is of.
    #[arg(long, env = "SLUICE_COLLECTOR_CA_KEY", requires = "collector_secret")]
    pub collector_ca_key: Option<String>,
    /// What data planes ask.
    #[command(flatten)]
    pub model: Model,
    /// What data planes are started with.
    #[command(flatten)]
    pub collector: Destination,
    /// Where data planes read and write files.
    #[command(flatten)]
    pub storage: StorageReach,
}

fn result_bytes() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(TOOL_RESULT_BYTES_RANGE)
}

fn plan_bytes() -> RangedU64ValueParser {
    RangedU64ValueParser::new().range(BYTES_RANGE)
}

fn idle_secs() -> RangedU64ValueParser {
    RangedU64ValueParser::new().range(IDLE_SECS_RANGE)
}

fn in_engine() -> RangedU64ValueParser<u16> {
    RangedU64ValueParser::new().range(IN_ENGINE_RANGE)
}

impl Config {
    pub fn release(&self) -> Release {
        let control_plane = format!("sluice-controlplane.{}.svc:8081", self.release_namespace);
        Release {
            namespace: self.release_namespace.clone(),
            source: self.source(),
            version: self.dataplane_version.clone(),
            control_plane: self.control_plane.clone().unwrap_or(control_plane),
            cluster_domain: self.cluster_domain.clone(),
            listen: self.dataplane_listen,
            http_idle_secs: self.connection_timeouts.http_idle_secs,
            tool_result_bytes: self.tool_result_bytes,
            plans: PlanBounds { bytes: self.plan_bytes, idle_secs: self.plan_idle_secs, in_engine: self.engine_plans },
            account: self.dataplane_account.clone(),
            dns: self.dns.clone(),
            serves_lake: self.serves_lake,
            model: self.model.clone(),
            collector: self.collector.clone(),
            storage: self.storage.clone(),
        }
    }

    fn source(&self) -> Source {
        let image = ImageSource {
            name: self.dataplane_image.clone(),
            pull_policy: self.pull_policy.clone(),
            pull_secrets: self.pull_secrets.clone(),
        };
        let model = self.model.secret();
        let model = model.map(|(name, key)| SecretKey { name: name.to_owned(), key: key.to_owned() });
        let secrets = GivenSecrets { collector: self.secret_of_collector(), model };
        Source { image, secrets, pods: self.dataplane_pods.clone() }
    }

    /// None of which no key is named.
    fn secret_of_collector(&self) -> Option<CollectorSecret> {
        let (headers_key, ca_key) = (self.collector_headers_key.clone(), self.collector_ca_key.clone());
        let name = self.collector_secret.clone().filter(|_| headers_key.is_some() || ca_key.is_some())?;
        Some(CollectorSecret { name, headers_key, ca_key })
    }

    pub fn rollout(&self) -> Rollout {
        Rollout { max_in_flight: self.rollout_max_in_flight, waves: self.rollout_waves.clone() }
    }

    /// In the proportions of Kubernetes' own controllers: 15, 10 and 2 seconds.
    pub fn timing(&self) -> Timing {
        let lease = Duration::from_secs(self.lease_secs);
        Timing { lease, renew: lease * 2 / 3, retry: lease * 2 / 15 }
    }

    pub fn budget(&self) -> Budget {
        let rate = f64::from(self.api_rate);
        let default = Budget::default();
        let change = self.timing().lease.saturating_sub(self.timing().renew);
        Budget {
            rate: Rate { per_second: rate, burst: rate, ..default.rate },
            change: change.min(default.change),
            ..default
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_command_line_is_enough() {
        let config = Config::try_parse_from(["operator", "--release-namespace", "sluice"]).unwrap();
        assert_eq!(config.release().control_plane, "sluice-controlplane.sluice.svc:8081");
        assert_eq!(config.timing(), Timing::DEFAULT);
        assert_eq!(config.rollout(), Rollout::default());
        assert!(config.watch_namespaces.is_empty());
    }

    #[test]
    fn what_data_planes_get_is_checked_before_any_of_them_has_it() {
        let parse = |argument: &str| Config::try_parse_from(["operator", "--release-namespace", "s", argument]);
        for good in ["--dataplane-listen=::", "--http-idle-secs=350", r#"--dns={"ports": [53, 5353]}"#] {
            parse(good).unwrap();
        }
        for bad in [
            "--dataplane-listen=[::]",
            "--http-idle-secs=0",
            r#"--dns={"ports": []}"#,
            r#"--dns={"ports": [65536]}"#,
            r#"--dns={"podSelecter": {"k8s-app": "kube-dns"}}"#,
            r#"--dataplane-pods={"env": [{"name": "SLUICE_STATE", "value": "/tmp"}]}"#,
            r#"--dataplane-account={"labels": {"app.kubernetes.io/name": "x"}}"#,
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_late_change_is_given_up_before_another_leads() {
        for seconds in ["3", "15", "60"] {
            let arguments = ["operator", "--release-namespace", "s", "--lease-secs", seconds];
            let config = Config::try_parse_from(arguments).unwrap();
            let timing = config.timing();
            assert!(timing.renew + config.budget().change <= timing.lease);
        }
    }
}
