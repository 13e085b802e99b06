//! `report`: what is in it, and what never is.

use std::process::Command;

use ::crds::Environment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde_json::{Value, json};

use super::{environment, kubectl_sluice};
use kubernetes::World;

use crate::objects::create;

/// Every file of the archive, one after the other.
fn unpacked(archive: &str) -> String {
    let tar = Command::new("tar").args(["-xzOf", archive]).output().unwrap();
    assert!(tar.status.success(), "{}", String::from_utf8_lossy(&tar.stderr));
    String::from_utf8(tar.stdout).unwrap()
}

#[tokio::test]
async fn a_report_holds_everything_but_the_values_of_secrets() {
    let world = World::new("plugin").await;
    create::<Environment>(&world, environment()).await;
    let labels = json!({"app.kubernetes.io/instance": "acme-prod", "app.kubernetes.io/managed-by": "sluice-operator"});
    let copy = r#"{"stringData":{"tls.key":"plain-value"}}"#;
    let annotations = json!({"kubectl.kubernetes.io/last-applied-configuration": copy});
    let metadata = json!({"name": "acme-prod-tls", "labels": labels, "annotations": annotations});
    create::<Secret>(&world, json!({"metadata": metadata, "stringData": {"tls.key": "plain-value"}})).await;
    let config = json!({"metadata": {"name": "acme-prod-config", "labels": labels}, "data": {"url": "postgresql://u:plain-value@db/x"}});
    create::<ConfigMap>(&world, config).await;
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("report.tar.gz").to_str().unwrap().to_owned();
    let said = kubectl_sluice(&world, &["report", "acme-prod", "--file", &archive, "-o", "json"]).await;
    assert_eq!(said.code, 0, "{}", said.err);
    let told: Value = serde_json::from_str(&said.out).unwrap();
    let entries: Vec<_> = told["entries"].as_array().unwrap().iter().map(|entry| entry.as_str().unwrap()).collect();
    for wanted in [
        "about.txt",
        "acme-prod/environment.yaml",
        "acme-prod/status.txt",
        "acme-prod/children/Secret-acme-prod-tls.yaml",
        "events.txt",
    ] {
        assert!(entries.contains(&wanted), "{wanted} in {entries:?}");
    }
    let all = unpacked(&archive);
    assert!(all.contains("acme-prod-tls") && all.contains("postgresql://u:[redacted]@db/x"), "{all}");
    assert!(!all.contains("plain-value") && !all.contains("cGxhaW4tdmFsdWU"), "{all}");
}

#[tokio::test]
async fn a_report_of_a_namespace_has_every_environment_and_takes_no_files_place() {
    let world = World::new("plugin").await;
    create::<Environment>(&world, environment()).await;
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("report.tar.gz").to_str().unwrap().to_owned();
    let said = kubectl_sluice(&world, &["report", "--file", &archive]).await;
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(unpacked(&archive).contains("name: acme-prod\n"));
    let again = kubectl_sluice(&world, &["report", "--file", &archive]).await;
    assert!(again.code == 2 && again.err.contains("exists"), "{}", again.err);
}
