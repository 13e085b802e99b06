//! Names of Secrets that somebody else has taken.

use crds::{ConditionType, Environment, Reason};
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::DeleteParams;
use kubernetes::until;
use operator::objects::child::Kind;
use serde_json::json;

use super::bench::Bench;

#[tokio::test]
async fn a_secret_of_somebody_else_under_the_name_of_one_of_ours_is_left_alone_and_told() {
    let bench = Bench::new("taken").await;
    let (secrets, environments) = (bench.world.api::<Secret>(), bench.world.api::<Environment>());
    let operator = bench.operator("one").await;
    bench.organization("acme").await;
    let mine = json!({"tls.crt": "mine", "tls.key": "mine"});
    for (slug, secret, kind) in [
        ("one", "acme-one-tls", "Opaque"),
        ("two", "acme-two-tls", "kubernetes.io/tls"),
        ("three", "acme-three-identity", "kubernetes.io/tls"),
    ] {
        let metadata = json!({"name": secret});
        let object =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": kind, "stringData": mine});
        bench.world.apply(object).await;
        let theirs = secrets.get(secret).await.unwrap();
        let name = bench.environment("acme", slug, json!({})).await;
        let refused = until(&environments, &name, "refused", |it: &Environment| {
            let mut conditions = it.status.iter().flat_map(|status| &status.conditions);
            conditions.any(|it| it.type_ == ConditionType::Ready && it.reason == Reason::ApplyFailed)
        })
        .await;
        let conditions = refused.status.unwrap().conditions;
        let ready = conditions.iter().find(|it| it.type_ == ConditionType::Ready).unwrap();
        assert!(ready.message.starts_with(&format!("Secret {secret} is there already")), "{}", ready.message);
        assert_eq!(secrets.get(secret).await.unwrap(), theirs, "not touched");
        assert!(bench.children(Kind::Deployment).get_opt(&name).await.unwrap().is_none(), "nothing starts without it");

        secrets.delete(secret, &DeleteParams::default()).await.unwrap();
        bench.merge::<Environment>(&name, json!({"spec": {"name": "Looked at again"}})).await;
        bench.settled(&name).await;
        assert!(secrets.get(secret).await.unwrap().labels().contains_key("app.kubernetes.io/managed-by"));
    }
    operator.stop().await;
}
