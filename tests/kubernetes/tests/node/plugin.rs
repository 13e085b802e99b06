//! `kubectl sluice` against what runs.

use std::process::{Output, Stdio};

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::ListParams;
use kubernetes::world::kubeconfig;

use super::installation::Tenant;
use crate::objects::program;

/// As kubectl starts it: under its own name, with the namespace behind.
async fn plugin(arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join("kubectl-sluice");
    std::os::unix::fs::symlink(program("sluice"), &name).unwrap();
    let mut command = tokio::process::Command::new(name);
    command.args(arguments).env("KUBECONFIG", kubeconfig()).stdin(Stdio::null()).kill_on_drop(true);
    command.output().await.unwrap()
}

fn ok(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Every value of every Secret of the namespace that is secret.
async fn secrets(tenant: &Tenant) -> Vec<String> {
    let all = tenant.world.api::<Secret>().list(&ListParams::default()).await.unwrap();
    let hidden = |name: &String| !["tls.crt", "ca.crt", "email", "url"].contains(&name.as_str());
    let of = |secret: Secret| {
        let owned = secret.name_any().starts_with(tenant.org);
        let data = secret.data.filter(|_| owned).unwrap_or_default();
        data.into_iter().filter(|(name, _)| hidden(name)).map(|(_, value)| String::from_utf8(value.0).unwrap())
    };
    all.into_iter().flat_map(of).collect()
}

#[tokio::test]
async fn the_plugin_asks_tells_and_reports_without_a_secret() {
    let tenant = Tenant::ready("asked").await;
    let (name, namespace) = (tenant.name.as_str(), tenant.world.namespace.as_str());
    let told = ok(plugin(&["psql", name, "-n", namespace, "--", "-At", "-c", "select 1"]).await);
    assert_eq!(told, "1\n");
    let status = ok(plugin(&["status", name, "-n", namespace]).await);
    assert!(status.contains(name) && status.contains("active"), "{status}");

    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("report.tar.gz");
    let path = archive.to_str().unwrap();
    ok(plugin(&["report", name, "-n", namespace, "--file", path]).await);
    let tar = tokio::process::Command::new("tar").args(["-xzOf", path]).output().await.unwrap();
    let report = ok(tar);
    assert!(report.contains(&format!("name: {name}\n")), "{report}");
    let secrets = secrets(&tenant).await;
    assert!(secrets.len() >= 4, "the key and three private keys");
    for secret in secrets {
        let hidden = secret.lines().filter(|line| line.len() > 20 && !line.contains("PRIVATE KEY"));
        for line in hidden {
            assert!(!report.contains(line), "a secret is in the report");
        }
    }
}
