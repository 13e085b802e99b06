use crds::Organization;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kubernetes::absent;
use kubernetes::bench::eventually;
use kubernetes::killing::{is_change_of, is_step_of};
use kubernetes::until;
use kubernetes::wait::says;
use serde_json::json;

use super::CrashTest;

fn counted(line: &str) -> bool {
    is_change_of(line, &["organizations", "organizations/status", "secrets"])
        || is_step_of(line, "Organization", &["invite", "delivered"])
}

fn name(step: u64) -> String {
    format!("o{step}")
}

impl CrashTest {
    async fn settled(&self, name: &str) -> Organization {
        let settled = |it: &Organization| says(it, "Ready") && says(it, "CredentialsSynced");
        until(&self.bench.world.api::<Organization>(), name, "settled", settled).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_every_step_of_an_organizations_creation_its_owner_can_come_in() {
    let test = CrashTest::new("founded").await;
    let steps = test
        .killed_at_every_step(
            counted,
            async |step| test.bench.organization(&name(step)).await,
            async |step| {
                let uid = test.settled(&name(step)).await.uid().unwrap();
                let owners =
                    format!("select string_agg(role || ' ' || status, ', ') from users where org_id = '{uid}'");
                assert_eq!(test.row(&owners).await, "owner invited", "after step {step}");
                let token = test.held(&format!("{}-owner-invitation", name(step)), "token").await;
                let body = json!({"token": token, "password": "correct horse battery", "name": "Ada"});
                let accepted = test.status(|http, url| http.post(url).json(&body), "/v1/auth/accept-invitation").await;
                assert_eq!(accepted, 200, "after step {step}");
            },
        )
        .await;
    assert!(steps >= 6, "the authority, the finalizer, the status, the invitation, its Secret, word of it: {steps}");
    test.done().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_every_step_of_an_organizations_deletion_nothing_is_left() {
    let test = CrashTest::new("dissolved").await;
    let uids = std::sync::Mutex::new(Vec::new());
    let begin = async |step| {
        let operator = test.bench.operator("builder").await;
        test.bench.organization(&name(step)).await;
        let made = test.settled(&name(step)).await;
        operator.stop().await;
        uids.lock().unwrap().push(made.uid().unwrap());
        test.bench.delete_organization(&name(step)).await;
    };
    let steps = test
        .killed_at_every_step(counted, begin, async |step| {
            absent(&test.bench.world.api::<Organization>(), &name(step)).await;
            for secret in ["ca", "owner-invitation"] {
                absent(&test.bench.world.api::<Secret>(), &format!("{}-{secret}", name(step))).await;
            }
            let uid = uids.lock().unwrap().last().unwrap().clone();
            let status = format!("select status from organizations where org_id = '{uid}'");
            eventually("the record ends too", async || test.row(&status).await == "cancelled").await;
        })
        .await;
    assert!(steps >= 1, "the finalizer: {steps}");
    test.done().await;
}
