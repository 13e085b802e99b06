//! `psql` on an environment, from wherever kubectl works.
//!
//! A port of a ready pod is forwarded in this process, psql is started on it with the key in the Secret
//! of an `ApiKey`, and the server must prove its name: the certificate is checked against the authority
//! in the Secret of the environment's own certificate, although the address is loopback. The key goes
//! to psql in its environment, never on its command line.

use std::io::Write;
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};

use contract::Redacted;
use contract::wire::port::PGWIRE;
use crds::{ApiKey, ApiKeyPhase, Environment, TlsMode};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::ResourceExt;
use tempfile::NamedTempFile;
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};

use super::cluster::Cluster;
use super::error::Error;
use super::forward::Forward;
use super::{describe, gather};

#[derive(Debug, clap::Args)]
pub struct Psql {
    environment: String,
    /// The `ApiKey` whose Secret holds the key; needed when the environment has several.
    #[arg(long, conflicts_with = "key_secret")]
    key: Option<String>,
    /// A Secret that holds a key, under the name `key`.
    #[arg(long)]
    key_secret: Option<String>,
    /// The user name that psql sends; who asks is decided by the key alone.
    #[arg(long, default_value = "agent")]
    user: String,
    /// The program.
    #[arg(long = "psql", default_value = "psql")]
    program: PathBuf,
    /// Passed to psql.
    #[arg(last = true)]
    pub arguments: Vec<String>,
}

/// The entry of a key's Secret.
const ENTRY: &str = "key";

impl Psql {
    pub async fn run(self, cluster: &Cluster) -> Result<ExitCode, Error> {
        let environment: Environment = cluster.get(&self.environment).await?;
        let connection = environment.status.as_ref().and_then(|status| status.connection.clone());
        let name = &self.environment;
        let connection = connection.ok_or_else(|| not_ready(name, "has no address yet"))?;
        let pods = gather::pods(cluster, &environment).await?;
        let pod = serving(&pods).ok_or_else(|| not_ready(name, "has no ready pod"))?;
        let secret = match self.key_secret.clone() {
            Some(secret) => secret,
            None => self.secret_of_key(cluster).await?,
        };
        let key = key(&cluster.get(&secret).await?)?;
        let certificate: Secret = cluster.get(&certificate_of(&environment)).await?;
        let (roots, host) = (roots(&certificate)?, proven(&connection.host, &certificate));
        let forward = Forward::open(cluster.api::<Pod>(), pod, PGWIRE).await?;
        let target = format!(
            "host={} hostaddr={} port={} dbname={} user={} sslmode=verify-full sslrootcert={}",
            quoted(&host),
            forward.address.ip(),
            forward.address.port(),
            quoted(&connection.database),
            quoted(&self.user),
            roots.as_ref().map_or_else(|| "system".to_owned(), |file| quoted(&file.path().to_string_lossy())),
        );
        let ended = self.child(&target, &key).await;
        forward.close().await;
        ended
    }

    async fn secret_of_key(&self, cluster: &Cluster) -> Result<String, Error> {
        if let Some(name) = &self.key {
            let key: ApiKey = cluster.get(name).await?;
            if key.spec.environment_ref.name != self.environment {
                let other = &key.spec.environment_ref.name;
                return Err(Error::Unusable(format!("apikey {name} opens {other}, not {}", self.environment)));
            }
            let secret = key.spec.secret_ref.map(|secret| secret.name);
            return secret
                .ok_or_else(|| Error::Unusable(format!("apikey {name} has no Secret: it was made over REST")));
        }
        only(&cluster.list().await?, &self.environment)
    }

    /// psql with this terminal. An interrupt is psql's to handle: it cancels the query.
    async fn child(&self, target: &str, key: &Redacted<String>) -> Result<ExitCode, Error> {
        let unusable = |error: std::io::Error| Error::Unusable(format!("{}: {error}", self.program.display()));
        let mut interrupts = signal(SignalKind::interrupt()).map_err(unusable)?;
        let mut command = Command::new(&self.program);
        command.arg(target).args(&self.arguments).env("PGPASSWORD", key.expose()).kill_on_drop(true);
        command.stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
        let mut child = command.spawn().map_err(unusable)?;
        loop {
            tokio::select! {
                _ = interrupts.recv() => {}
                ended = child.wait() => {
                    let status = ended.map_err(unusable)?.code().and_then(|code| u8::try_from(code).ok());
                    return Ok(ExitCode::from(status.unwrap_or(u8::MAX)));
                }
            }
        }
    }
}

fn not_ready(name: &str, why: &str) -> Error {
    Error::Unreachable(format!("environment {name} {why}: kubectl sluice status {name} says more"))
}

/// A pod that takes queries; the newest, which a rollout does not end.
fn serving(pods: &[Pod]) -> Option<String> {
    let serving = pods.iter().filter(|pod| describe::pod_ready(pod) && pod.metadata.deletion_timestamp.is_none());
    serving.max_by_key(|pod| pod.creation_timestamp()).map(ResourceExt::name_any)
}

/// The Secret of the one key that opens this environment.
fn only(keys: &[ApiKey], environment: &str) -> Result<String, Error> {
    let opens = |key: &&ApiKey| {
        let phase = key.status.as_ref().and_then(|status| status.phase);
        key.spec.environment_ref.name == environment && phase == Some(ApiKeyPhase::Active)
    };
    let usable = |key: &ApiKey| Some((key.name_any(), key.spec.secret_ref.clone()?.name));
    let found: Vec<_> = keys.iter().filter(opens).filter_map(usable).collect();
    match found.as_slice() {
        [(_, secret)] => Ok(secret.clone()),
        [] => Err(Error::Unusable(format!(
            "no active ApiKey with a Secret opens {environment}: make one, or name a Secret with --key-secret"
        ))),
        several => {
            let names: Vec<_> = several.iter().map(|(name, _)| name.as_str()).collect();
            Err(Error::Unusable(format!(
                "several keys open {environment}: choose one with --key ({})",
                names.join(", ")
            )))
        }
    }
}

fn entry<'a>(secret: &'a Secret, name: &str) -> Option<&'a ByteString> {
    secret.data.as_ref().and_then(|data| data.get(name))
}

fn key(secret: &Secret) -> Result<Redacted<String>, Error> {
    let unusable = |why: &str| Error::Unusable(format!("secret {} {why}", secret.name_any()));
    let bytes = entry(secret, ENTRY).ok_or_else(|| unusable("has no entry `key`"))?;
    let text = String::from_utf8(bytes.0.clone()).map_err(|_| unusable("holds no text"))?;
    Ok(Redacted::new(text.trim().to_owned()))
}

/// The Secret of the certificate that clients see.
fn certificate_of(environment: &Environment) -> String {
    let tls = &environment.spec.tls;
    let given = tls.secret_ref.as_ref().filter(|_| tls.mode == TlsMode::Secret);
    given.map_or_else(|| format!("{}-tls", environment.name_any()), |secret| secret.name.clone())
}

/// The authorities to trust, as a file that psql reads; none: those that this machine trusts.
fn roots(certificate: &Secret) -> Result<Option<NamedTempFile>, Error> {
    let Some(bundle) = entry(certificate, "ca.crt").filter(|bundle| !bundle.0.is_empty()) else { return Ok(None) };
    let written = NamedTempFile::with_prefix("sluice-ca-").and_then(|mut file| {
        file.write_all(&bundle.0)?;
        file.flush()?;
        Ok(file)
    });
    written.map(Some).map_err(|error| Error::Unusable(format!("a temporary file: {error}")))
}

/// The name that the server proves: its own; or, where somebody gave it a certificate for other names, the first of
/// those. Which certificate it is to show, the Environment says.
fn proven(host: &str, certificate: &Secret) -> String {
    let pem = entry(certificate, "tls.crt").map(|pem| String::from_utf8_lossy(&pem.0).into_owned()).unwrap_or_default();
    let names = operator::authority::facts(&pem).map(|facts| facts.dns_names).unwrap_or_default();
    let wildcard = |name: &str| {
        name.strip_prefix('*')
            .is_some_and(|rest| host.split_once('.').is_some_and(|(_, of)| rest.strip_prefix('.') == Some(of)))
    };
    if names.iter().any(|name| name == host || wildcard(name)) {
        return host.to_owned();
    }
    // a wildcard stands for any one label
    names.first().map_or_else(|| host.to_owned(), |name| name.replacen('*', "sluice", 1))
}

/// A value of a connection string.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\\', r"\\").replace('\'', r"\'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn api_key(name: &str, phase: &str, secret: Option<&str>) -> ApiKey {
        let secret = secret.map(|name| json!({"name": name}));
        serde_json::from_value(json!({
            "apiVersion": "sluice.dev/v1alpha1", "kind": "ApiKey", "metadata": {"name": name},
            "spec": {"environmentRef": {"name": "a-b"}, "name": name, "scopes": ["query:read"], "secretRef": secret},
            "status": {"phase": phase},
        }))
        .unwrap()
    }

    #[test]
    fn the_one_usable_key_is_taken_and_several_are_told_apart() {
        let ci = api_key("ci", "active", Some("ci-key"));
        let unusable = [api_key("old", "revoked", Some("old-key")), api_key("rest", "active", None)];
        let keys = [vec![ci.clone()], unusable.to_vec()].concat();
        assert_eq!(only(&keys, "a-b").unwrap(), "ci-key");
        assert!(only(&keys, "a-c").unwrap_err().to_string().contains("no active ApiKey"));
        let two = [ci, api_key("dev", "active", Some("dev-key"))];
        assert!(only(&two, "a-b").unwrap_err().to_string().ends_with("--key (ci, dev)"));
    }

    fn pod(name: &str, created: &str, ready: &str, ending: Option<&str>) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": name, "creationTimestamp": created, "deletionTimestamp": ending},
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        }))
        .unwrap()
    }

    #[test]
    fn the_newest_pod_that_is_ready_and_stays_is_taken() {
        let (old, new) = ("2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z");
        let pods = [
            pod("old", old, "True", None),
            pod("stays", "2026-11-21T12:00:00Z", "True", None),
            pod("starts", new, "False", None),
            pod("ends", new, "True", Some(new)),
        ];
        assert_eq!(serving(&pods).as_deref(), Some("stays"));
        assert_eq!(serving(&pods[2..]), None);
    }

    #[test]
    fn a_connection_string_cannot_be_escaped_from() {
        assert_eq!(quoted(r"a' sslmode=disable \"), r"'a\' sslmode=disable \\'");
    }

    #[test]
    fn the_name_to_prove_is_one_of_the_certificate_that_is_shown() {
        let host = "a-b.tenants.svc.cluster.local";
        let secret = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let pem = rcgen::generate_simple_self_signed(names).unwrap().cert.pem();
            Secret { data: Some([("tls.crt".to_owned(), ByteString(pem.into_bytes()))].into()), ..Secret::default() }
        };
        for (names, proves) in [
            (&["a-b", host][..], host),
            (&["*.tenants.svc.cluster.local"], host),
            (&["sales.example.com", "also.example.com"], "also.example.com"),
            (&["*.example.com"], "sluice.example.com"),
        ] {
            assert_eq!(proven(host, &secret(names)), proves, "{names:?}");
        }
        assert_eq!(proven(host, &Secret::default()), host, "and psql says what is wrong");
    }

    #[test]
    fn the_authority_is_that_of_the_certificate_that_is_shown() {
        let environment = |tls: serde_json::Value| -> Environment {
            serde_json::from_value(json!({
                "apiVersion": "sluice.dev/v1alpha1", "kind": "Environment", "metadata": {"name": "a-b"},
                "spec": {"organizationRef": {"name": "a"}, "slug": "b", "name": "B", "tls": tls},
            }))
            .unwrap()
        };
        assert_eq!(certificate_of(&environment(json!({}))), "a-b-tls");
        let given = json!({"mode": "Secret", "secretRef": {"name": "mine"}});
        assert_eq!(certificate_of(&environment(given)), "mine");
        let secret = |data| serde_json::from_value::<Secret>(json!({"data": data})).unwrap();
        assert!(roots(&secret(json!({"tls.crt": "eA=="}))).unwrap().is_none());
        let file = roots(&secret(json!({"ca.crt": "eA=="}))).unwrap().unwrap();
        assert_eq!(std::fs::read(file.path()).unwrap(), b"x");
    }
}
