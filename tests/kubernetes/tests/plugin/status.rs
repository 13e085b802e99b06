//! `status`, and how a run ends when it cannot be answered.

use ::crds::Environment;
use serde_json::{Value, json};

use super::{environment, kubectl_sluice, status};
use kubernetes::World;

use crate::objects::{create, program, set_status};

#[tokio::test]
async fn status_ends_with_whether_it_is_ready() {
    let world = World::new("plugin").await;
    create::<Environment>(&world, environment()).await;
    let new = kubectl_sluice(&world, &["status", "acme-prod"]).await;
    assert_eq!(new.code, 1, "{}", new.err);
    assert!(new.out.contains("the operator has not looked at it yet"), "{}", new.out);
    set_status::<Environment>(&world, "acme-prod", status(1, "active", "True", "AsSpecified")).await;
    let ready = kubectl_sluice(&world, &["status", "acme-prod", "-o", "json"]).await;
    assert_eq!(ready.code, 0, "{}", ready.err);
    let told: Value = serde_json::from_str(&ready.out).unwrap();
    assert_eq!((&told["ready"], &told["why"]), (&json!(true), &json!([])));
    assert_eq!(told["unread"], json!([]));
    let all = kubectl_sluice(&world, &["status"]).await;
    assert_eq!(all.code, 0);
    assert!(all.out.starts_with("ENVIRONMENT   ORGANIZATION") && all.out.contains("acme-prod"), "{}", all.out);
}

/// Its children and events are found by labels and names; of a Secret nothing but its name is read.
#[tokio::test]
async fn status_shows_children_and_events_and_no_secret() {
    let world = World::new("plugin").await;
    create::<Environment>(&world, environment()).await;
    let labels = json!({"app.kubernetes.io/instance": "acme-prod", "app.kubernetes.io/managed-by": "sluice-operator"});
    let secret =
        json!({"metadata": {"name": "acme-prod-tls", "labels": labels}, "stringData": {"tls.key": "plain-value"}});
    create::<k8s_openapi::api::core::v1::Secret>(&world, secret).await;
    let event = json!({
        "metadata": {"name": "one"}, "reason": "RollingOut", "type": "Normal", "message": "a new version",
        "involvedObject": {"kind": "Environment", "name": "acme-prod", "namespace": world.namespace},
    });
    create::<k8s_openapi::api::core::v1::Event>(&world, event).await;
    for output in ["table", "json"] {
        let said = kubectl_sluice(&world, &["status", "acme-prod", "-o", output]).await;
        assert!(said.out.contains("acme-prod-tls") && said.out.contains("RollingOut"), "{}", said.out);
        assert!(!said.out.contains("plain-value") && !said.out.contains("cGxhaW4tdmFsdWU"), "{}", said.out);
    }
}

#[tokio::test]
async fn a_run_that_cannot_be_answered_ends_by_its_class() {
    let world = World::new("plugin").await;
    let missing = kubectl_sluice(&world, &["status", "acme-dev"]).await;
    assert_eq!(missing.code, 3, "{}", missing.err);
    assert_eq!(
        missing.err,
        format!("kubectl sluice: environment acme-dev in namespace {} not found\n", world.namespace)
    );
    let unusable = kubectl_sluice(&world, &["status", "acme-dev", "--context", "nowhere"]).await;
    assert_eq!(unusable.code, 2, "{}", unusable.err);
    let usage = kubectl_sluice(&world, &["statuss"]).await;
    assert_eq!(usage.code, 2, "{}", usage.err);
}

/// The way kubectl starts it: by its name alone, with nothing before the arguments.
#[tokio::test]
async fn under_the_name_kubectl_sluice_it_is_the_plugin() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("kubectl-sluice");
    std::os::unix::fs::symlink(program("sluice"), &link).unwrap();
    let help = tokio::process::Command::new(link).arg("--help").output().await.unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(help.contains("Usage: kubectl sluice [OPTIONS] <COMMAND>"), "{help}");
}
