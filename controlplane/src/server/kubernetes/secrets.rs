//! Secrets that storage integrations name. The control plane's role has those that the chart names, and no other.

use contract::Redacted;
use k8s_openapi::api::core::v1::Secret;
use kube::api::Api;
use platform::Result;
use platform::resources::{NamespacedName, SECRET_ENVIRONMENTS, SECRET_HOSTS, SECRET_KEYS, SecretRead, SecretValues};

use super::Cluster;

const FORBIDDEN: u16 = 403;

impl Cluster {
    /// What the Secret holds. A refusal is an answer: what was read while it was permitted must not stay in force.
    pub(super) async fn secret_values(&self, place: &NamespacedName) -> Result<SecretRead> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &place.namespace);
        self.asked(async { read(secrets.get_opt(&place.name).await) }).await
    }
}

fn read(answer: kube::Result<Option<Secret>>) -> kube::Result<SecretRead> {
    match answer {
        Ok(Some(secret)) => Ok(SecretRead::There(values(secret))),
        Ok(None) => Ok(SecretRead::Absent),
        Err(kube::Error::Api(status)) if status.code == FORBIDDEN => Ok(SecretRead::Denied),
        Err(error) => Err(error),
    }
}

fn values(secret: Secret) -> SecretValues {
    let mut annotations = secret.metadata.annotations.unwrap_or_default();
    let (environments, hosts) =
        (names(annotations.remove(SECRET_ENVIRONMENTS)), names(annotations.remove(SECRET_HOSTS)));
    let said = annotations.remove(SECRET_KEYS).unwrap_or_default();
    let parts = said.split(',').filter_map(|one| one.split_once('='));
    let keys = parts.map(|(part, key)| (part.trim().to_owned(), key.trim().to_owned())).collect();
    // what is no text is no credential: the sign that stands for it is refused
    let text = |bytes: &[u8]| Redacted::new(String::from_utf8_lossy(bytes).into_owned());
    let values = secret.data.unwrap_or_default().into_iter().map(|(key, value)| (key, text(&value.0))).collect();
    SecretValues { environments, hosts, keys, values }
}

/// Those of an annotation, which has commas between them.
fn names(annotation: Option<String>) -> Vec<String> {
    let annotation = annotation.unwrap_or_default();
    annotation.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_is_for_the_environments_of_its_annotation_and_for_nobody_without_one() {
        let secret = |annotations: serde_json::Value| {
            let secret = json!({"metadata": {"annotations": annotations}, "data": {"id": "QUtJRA==", "raw": "/w=="}});
            values(serde_json::from_value(secret).unwrap())
        };
        let found = secret(json!({SECRET_ENVIRONMENTS: "acme-dev, acme-prod,"}));
        assert_eq!(found.environments, ["acme-dev", "acme-prod"]);
        assert!(found.hosts.is_empty());
        assert_eq!(
            secret(json!({SECRET_HOSTS: "db.acme.example, 10.0.0.1:6432"})).hosts.join(" "),
            "db.acme.example 10.0.0.1:6432"
        );
        assert_eq!(found.values["id"].expose(), "AKID");
        assert!(found.keys.is_empty());
        let said = secret(json!({SECRET_KEYS: "access_key_id = id,secret_access_key=raw, session_token"})).keys;
        assert_eq!((said.len(), said["access_key_id"].as_str(), said["secret_access_key"].as_str()), (2, "id", "raw"));
        assert!(!found.values["raw"].expose().is_ascii());
        assert!(secret(json!({"example.com/team": "data"})).environments.is_empty());
    }

    #[test]
    fn a_refusal_is_an_answer_and_an_outage_is_none() {
        let said = |code: u16| {
            let status = json!({"code": code, "message": "no", "reason": "R"});
            read(Err(kube::Error::Api(Box::new(serde_json::from_value(status).unwrap()))))
        };
        assert!(matches!(said(403), Ok(SecretRead::Denied)));
        assert!(said(503).is_err() && said(401).is_err());
        assert!(matches!(read(Ok(None)), Ok(SecretRead::Absent)));
    }
}
