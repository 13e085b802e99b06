//! Every rule, both sides.

use std::path::Path;

use ::crds::cases::{self, Case, Rule};
use ::crds::{ApiKey, Environment, GROUP, Organization, VERSION};
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, Status};
use kube::{Error, Resource, ResourceExt};
use serde_json::{Value, json};

use kubernetes::World;

fn cases_of(kind: &str) -> Vec<Rule> {
    let folder = Path::new("../../crds/cases");
    cases::read(folder).into_iter().filter(|rule| rule.kind == kind).collect()
}

fn resource(kind: &str) -> ApiResource {
    let known = [
        ApiResource::erase::<Organization>(&()),
        ApiResource::erase::<Environment>(&()),
        ApiResource::erase::<ApiKey>(&()),
    ];
    let found = known.into_iter().find(|resource| resource.kind == kind).unwrap();
    assert_eq!((found.group.as_str(), found.version.as_str()), (GROUP, VERSION));
    found
}

fn refusal<T>(answer: Result<T, Error>) -> Option<Box<Status>> {
    match answer {
        Ok(_) => None,
        Err(Error::Api(status)) => Some(status),
        Err(other) => panic!("{other}"),
    }
}

/// What the API server says to a case; nothing of it is kept.
async fn judge(api: &Api<DynamicObject>, case: &Case) -> Option<Box<Status>> {
    let object: DynamicObject = serde_json::from_value(case.created.clone()).unwrap();
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let Some(change) = &case.change else { return refusal(api.create(&dry, &object).await) };
    let made = api.create(&PostParams::default(), &object).await.unwrap_or_else(|error| panic!("{case:?}: {error}"));
    let name = made.name_any();
    if let Some(status) = case.created.get("status") {
        // what an operator would have said since
        let patch = Patch::Merge(json!({"status": status}));
        api.patch_status(&name, &PatchParams::default(), &patch)
            .await
            .unwrap_or_else(|error| panic!("{case:?}: {error}"));
    }
    let params = PatchParams { dry_run: true, ..PatchParams::default() };
    let answer = api.patch(&name, &params, &Patch::<&Value>::Merge(change)).await;
    api.delete(&name, &DeleteParams::default()).await.unwrap();
    refusal(answer)
}

async fn check(kind: &str) {
    let world = World::new("crds").await;
    let api = Api::namespaced_with(world.client.clone(), &world.namespace, &resource(kind));
    for rule in cases_of(kind) {
        for case in &rule.accepted {
            let said = judge(&api, case).await;
            assert!(said.is_none(), "{}: {case:?}: {said:?}", rule.file.display());
        }
        for case in &rule.refused {
            let said =
                judge(&api, case).await.unwrap_or_else(|| panic!("{}: {case:?} is accepted", rule.file.display()));
            assert_eq!(said.code, 422, "{}: {case:?}: {}", rule.file.display(), said.message);
            assert!(said.message.contains(&rule.says), "{}: {case:?}: {}", rule.file.display(), said.message);
        }
    }
}

#[tokio::test]
async fn an_organization_is_judged_by_every_rule() {
    check(&Organization::kind(&())).await;
}

#[tokio::test]
async fn an_environment_is_judged_by_every_rule() {
    check(&Environment::kind(&())).await;
}

#[tokio::test]
async fn an_api_key_is_judged_by_every_rule() {
    check(&ApiKey::kind(&())).await;
}
