use crds::{ApiKey, Environment, Organization};
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::DeleteParams;
use kubernetes::killing::{is_change_of, is_step_of};
use kubernetes::wait::says;
use kubernetes::{absent, ready, until};
use serde_json::{Value, json};

use super::CrashTest;

fn counted(line: &str) -> bool {
    is_change_of(line, &["apikeys", "apikeys/status", "secrets"])
        || is_step_of(line, "ApiKey", &["put", "delivered", "revoke"])
}

impl CrashTest {
    /// With an environment that the control plane knows.
    async fn with_an_environment(purpose: &str) -> Self {
        let test = Self::new(purpose).await;
        let operator = test.bench.operator("builder").await;
        let name = test.bench.tenant("acme", "prod").await;
        test.bench.settled(&name).await;
        // what is done about the owner is none of a key's steps
        until(&test.bench.world.api::<Organization>(), "acme", "settled", |it| says(it, "CredentialsSynced")).await;
        let uid = test.bench.world.api::<Environment>().get(&name).await.unwrap().uid().unwrap();
        test.row(&format!("select max(env_id) from environments where env_id = '{uid}'")).await;
        operator.stop().await;
        test
    }

    async fn key(&self, name: &str, more: Value) {
        let mut spec = json!({
            "environmentRef": {"name": "acme-prod"}, "name": name, "scopes": ["query:read"], "secretRef": {"name": name},
        });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let object =
            json!({"apiVersion": "sluice.dev/v1alpha1", "kind": "ApiKey", "metadata": {"name": name}, "spec": spec});
        self.bench.world.apply(object).await;
    }

    async fn opens(&self, text: &str) -> bool {
        let asked = self.status(|http, url| http.get(url).header("x-api-key", text), "/v1/auth/me").await;
        assert!([200, 401].contains(&asked), "{asked}");
        asked == 200
    }

    /// Records of this name, those among them that live, their present texts, and old ones in their grace.
    async fn recorded(&self, name: &str) -> String {
        let sql = format!(
            "select concat_ws(' ', count(distinct key_id), count(distinct key_id) filter (where revoked_at is null),
                count(prefix) filter (where not_after is null), count(prefix) filter (where not_after is not null))
             from api_keys left join api_key_secrets using (key_id) where name = '{name}'"
        );
        self.row(&sql).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_every_step_of_a_keys_creation_one_key_lives_and_its_secret_opens() {
    let test = CrashTest::with_an_environment("minted").await;
    let name = |step: u64| format!("k{step}");
    let steps = test
        .killed_at_every_step(
            counted,
            async |step| test.key(&name(step), json!({})).await,
            async |step| {
                ready(&test.bench.world.api::<ApiKey>(), &name(step)).await;
                assert_eq!(test.recorded(&name(step)).await, "1 1 1 0", "after step {step}");
                assert!(test.opens(&test.held(&name(step), "key").await).await, "after step {step}");
            },
        )
        .await;
    assert!(steps >= 5, "the finalizer, the key, its Secret, word of it, the status: {steps}");
    test.done().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_every_step_of_a_rotation_one_text_is_present_and_the_old_ones_have_their_grace() {
    let test = CrashTest::with_an_environment("turned").await;
    test.key("ci", json!({})).await;
    let operator = test.bench.operator("builder").await;
    ready(&test.bench.world.api::<ApiKey>(), "ci").await;
    operator.stop().await;
    let first = test.held("ci", "key").await;
    let rotation = |step: u64| json!({"rotation": {"id": format!("r{step}"), "gracePeriodHours": 1}});
    let steps = test
        .killed_at_every_step(
            counted,
            async |step| test.key("ci", rotation(step)).await,
            async |step| {
                ready(&test.bench.world.api::<ApiKey>(), "ci").await;
                assert_eq!(test.recorded("ci").await, format!("1 1 1 {step}"), "after step {step}");
                let present = test.held("ci", "key").await;
                assert!(present != first && test.opens(&present).await, "after step {step}");
                assert!(test.opens(&first).await, "after step {step}");
            },
        )
        .await;
    assert!(steps >= 4, "the text, its Secret, word of it, the status: {steps}");
    test.done().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_every_step_of_a_keys_deletion_nothing_is_left_and_nothing_opens() {
    let test = CrashTest::with_an_environment("ended").await;
    let (keys, secrets) = (test.bench.world.api::<ApiKey>(), test.bench.world.api::<Secret>());
    let name = |step: u64| format!("k{step}");
    let opened = std::sync::Mutex::new(Vec::new());
    let begin = async |step| {
        test.key(&name(step), json!({})).await;
        let operator = test.bench.operator("builder").await;
        ready(&keys, &name(step)).await;
        operator.stop().await;
        let secret = test.held(&name(step), "key").await;
        opened.lock().unwrap().push(secret);
        keys.delete(&name(step), &DeleteParams::default()).await.unwrap();
    };
    let steps = test
        .killed_at_every_step(counted, begin, async |step| {
            absent(&keys, &name(step)).await;
            absent(&secrets, &name(step)).await;
            assert!(test.recorded(&name(step)).await.starts_with("1 0 "), "after step {step}");
            let secret = opened.lock().unwrap().last().unwrap().clone();
            assert!(!test.opens(&secret).await, "after step {step}");
        })
        .await;
    assert!(steps >= 2, "the revocation, the finalizer: {steps}");
    test.done().await;
}
