//! `plan`: the API server's own word on a manifest, and nothing stored.

use std::io::Write;

use ::crds::Environment;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::{environment, kubectl_sluice};
use kubernetes::World;

use crate::objects::{create, set_status};

fn file(manifest: &Value) -> NamedTempFile {
    let mut file = NamedTempFile::with_suffix(".yaml").unwrap();
    file.write_all(manifest.to_string().as_bytes()).unwrap();
    file
}

async fn plan(world: &World, manifest: &Value, more: &[&str]) -> super::Said {
    let file = file(manifest);
    let path = file.path().to_str().unwrap();
    kubectl_sluice(world, &[&["plan", "acme-prod", "-f", path][..], more].concat()).await
}

#[tokio::test]
async fn a_plan_says_what_would_change_and_stores_nothing() {
    let world = World::new("plugin").await;
    let new = plan(&world, &environment(), &[]).await;
    assert!(
        new.code == 1 && new.out.contains("would be created") && new.out.contains("+ spec.slug: \"prod\""),
        "{}",
        new.out
    );
    let made: Environment = create(&world, environment()).await;
    let same = plan(&world, &environment(), &[]).await;
    assert_eq!((same.code, same.out.as_str()), (0, "environment acme-prod is as the manifest says\n"), "{}", same.err);
    let mut changed = environment();
    changed["spec"]["suspended"] = json!(true);
    let differs = plan(&world, &changed, &[]).await;
    assert!(differs.code == 1 && differs.out.contains("~ spec.suspended: false → true"), "{}", differs.out);
    let stored = world.api::<Environment>().get("acme-prod").await.unwrap();
    assert_eq!(stored.metadata.resource_version, made.metadata.resource_version);
}

#[tokio::test]
async fn a_plan_is_refused_as_the_change_would_be() {
    let world = World::new("plugin").await;
    create::<Environment>(&world, environment()).await;
    let mut smaller = environment();
    smaller["spec"]["storage"] = json!({"size": "1Gi"});
    let refused = plan(&world, &smaller, &[]).await;
    assert!(refused.code == 4 && refused.err.contains("size may only grow"), "{} {}", refused.code, refused.err);
}

/// What a manager no longer mentions goes back to its default.
#[tokio::test]
async fn a_plan_as_a_field_manager_removes_what_that_manager_left_out() {
    let world = World::new("plugin").await;
    let mut first = environment();
    first["spec"]["network"] = json!({"allowedCidrs": ["10.0.0.0/8"]});
    let params = PatchParams::apply("gitops");
    world.api::<Environment>().patch("acme-prod", &params, &Patch::Apply(&first)).await.unwrap();
    let said = plan(&world, &environment(), &["--field-manager", "gitops"]).await;
    assert!(
        said.code == 1 && said.out.contains("~ spec.network.allowedCidrs: [\"10.0.0.0/8\"] → []"),
        "{}{}",
        said.out,
        said.err
    );
    let another = plan(&world, &environment(), &["--field-manager", "another"]).await;
    assert_eq!(another.code, 0, "{}", another.out);
}

#[tokio::test]
async fn a_plan_prints_what_the_operator_holds_back() {
    let world = World::new("plugin").await;
    let mut held = environment();
    held["metadata"]["annotations"] = json!({"sluice.dev/dry-run": "true"});
    create::<Environment>(&world, held.clone()).await;
    set_status::<Environment>(&world, "acme-prod", json!({"plannedChanges": ["Deployment/acme-prod: replaced"]})).await;
    let said = plan(&world, &held, &[]).await;
    assert!(
        said.code == 0 && said.out.contains("it would\n  Deployment/acme-prod: replaced"),
        "{}{}",
        said.out,
        said.err
    );
}
