//! `status`, and how a run ends when it cannot be answered.

use ::crds::Environment;
use serde_json::{Value, json};

use super::{environment, kubectl_sluice, status};
use crate::place::{Place, program};

#[tokio::test]
async fn status_ends_with_whether_it_is_ready() {
    let place = Place::new().await;
    place.create::<Environment>(environment()).await;
    let new = kubectl_sluice(&place, &["status", "acme-prod"]).await;
    assert_eq!(new.code, 1, "{}", new.err);
    assert!(new.out.contains("the operator has not looked at it yet"), "{}", new.out);
    place.set_status::<Environment>("acme-prod", status(1, "active", "True", "AsSpecified")).await;
    let ready = kubectl_sluice(&place, &["status", "acme-prod", "-o", "json"]).await;
    assert_eq!(ready.code, 0, "{}", ready.err);
    let told: Value = serde_json::from_str(&ready.out).unwrap();
    assert_eq!((&told["ready"], &told["why"]), (&json!(true), &json!([])));
    assert_eq!(told["unread"], json!([]));
    let all = kubectl_sluice(&place, &["status"]).await;
    assert_eq!(all.code, 0);
    assert!(all.out.starts_with("ENVIRONMENT   ORGANIZATION") && all.out.contains("acme-prod"), "{}", all.out);
    place.remove().await;
}

/// Its children and events are found by labels and names; of a Secret nothing but its name is read.
#[tokio::test]
async fn status_shows_children_and_events_and_no_secret() {
    let place = Place::new().await;
    place.create::<Environment>(environment()).await;
    let labels = json!({"app.kubernetes.io/instance": "acme-prod", "app.kubernetes.io/managed-by": "sluice-operator"});
    let secret =
        json!({"metadata": {"name": "acme-prod-tls", "labels": labels}, "stringData": {"tls.key": "plain-value"}});
    place.create::<k8s_openapi::api::core::v1::Secret>(secret).await;
    let event = json!({
        "metadata": {"name": "one"}, "reason": "RollingOut", "type": "Normal", "message": "a new version",
        "involvedObject": {"kind": "Environment", "name": "acme-prod", "namespace": place.namespace},
    });
    place.create::<k8s_openapi::api::core::v1::Event>(event).await;
    for output in ["table", "json"] {
        let said = kubectl_sluice(&place, &["status", "acme-prod", "-o", output]).await;
        assert!(said.out.contains("acme-prod-tls") && said.out.contains("RollingOut"), "{}", said.out);
        assert!(!said.out.contains("plain-value") && !said.out.contains("cGxhaW4tdmFsdWU"), "{}", said.out);
    }
    place.remove().await;
}

#[tokio::test]
async fn a_run_that_cannot_be_answered_ends_by_its_class() {
    let place = Place::new().await;
    let missing = kubectl_sluice(&place, &["status", "acme-dev"]).await;
    assert_eq!(missing.code, 3, "{}", missing.err);
    assert_eq!(
        missing.err,
        format!("kubectl sluice: environment acme-dev in namespace {} not found\n", place.namespace)
    );
    let unusable = kubectl_sluice(&place, &["status", "acme-dev", "--context", "nowhere"]).await;
    assert_eq!(unusable.code, 2, "{}", unusable.err);
    let usage = kubectl_sluice(&place, &["statuss"]).await;
    assert_eq!(usage.code, 2, "{}", usage.err);
    place.remove().await;
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
