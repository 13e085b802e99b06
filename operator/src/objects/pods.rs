//! The additions of an installation to the pods of data planes: labels, annotations, security contexts, variables.
//!
//! It comes as JSON in one variable of the operator, and is written down beside the image that runs: a change of it
//! restarts a data plane, so it moves with the fleet's rollout as all of [`super::source`] does.

use std::collections::BTreeMap;

use contract::wire::setting;
use crds::EnvironmentStatus;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Capabilities, EnvVar, PodSecurityContext, SeccompProfile, SecurityContext};
use serde::{Deserialize, Serialize};

use super::json;
use super::names::{annotation, label};

/// Labels or annotations.
pub type Texts = BTreeMap<String, String>;

/// The additions to pods. A field with its default is left out, so an installation that adds nothing writes nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Pods {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: Texts,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: Texts,
    /// In place of [`security`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_context: Option<PodSecurityContext>,
    /// In place of [`container_security`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_security_context: Option<SecurityContext>,
    /// Variables beside ours.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<EnvVar>,
}

/// The additions to the service accounts of data planes. No pod is restarted for them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Account {
    pub annotations: Texts,
    pub labels: Texts,
}

/// Of the image; nobody else's.
const USER: i64 = 65_532;

/// Of a pod, where the installation says nothing: what the standard `restricted` admits.
pub fn security() -> PodSecurityContext {
    PodSecurityContext {
        run_as_non_root: Some(true),
        run_as_user: Some(USER),
        run_as_group: Some(USER),
        fs_group: Some(USER),
        // a large volume is not walked at each start
        fs_group_change_policy: Some("OnRootMismatch".to_owned()),
        seccomp_profile: Some(SeccompProfile { type_: "RuntimeDefault".to_owned(), localhost_profile: None }),
        ..PodSecurityContext::default()
    }
}

/// Of its container.
pub fn container_security() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        read_only_root_filesystem: Some(true),
        capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), add: None }),
        ..SecurityContext::default()
    }
}

impl Pods {
    /// From a setting of the operator.
    pub fn parse(text: &str) -> Result<Self, String> {
        let given: Self = json::whole(text)?;
        free(given.annotations.keys().chain(given.labels.keys()))?;
        values(&given.labels)?;
        variables(&given.env)?;
        Ok(Self {
            security_context: given.security_context.filter(|it| *it != security()),
            container_security_context: given.container_security_context.filter(|it| *it != container_security()),
            ..given
        })
    }

    /// As it is written down; nothing: nothing is added.
    pub fn text(&self) -> Option<String> {
        // to write plain fields as JSON does not fail
        (*self != Self::default()).then(|| serde_json::to_string(self).unwrap_or_default())
    }

    fn written(text: Option<&String>) -> Option<Self> {
        text.map_or_else(|| Some(Self::default()), |text| serde_json::from_str(text).ok())
    }

    /// What the status says of those that run. Nothing: nobody can read it.
    pub fn of_status(status: &EnvironmentStatus) -> Option<Self> {
        Self::written(status.pods.as_ref())
    }

    /// What those of a Deployment are made with. Nothing: nobody can read it.
    pub fn of(deployment: &Deployment) -> Option<Self> {
        Self::written(deployment.metadata.annotations.as_ref().and_then(|all| all.get(annotation::PODS)))
    }
}

impl Account {
    /// From a setting of the operator.
    pub fn parse(text: &str) -> Result<Self, String> {
        let given: Self = json::whole(text)?;
        free(given.annotations.keys().chain(given.labels.keys()))?;
        values(&given.labels)?;
        Ok(given)
    }
}

/// Names that the operator sets, or finds objects by, are its own.
fn free<'a>(mut names: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let ours = |name: &&String| ["app.kubernetes.io/", "sluice.dev/"].iter().any(|own| name.starts_with(own));
    names.find(ours).map_or(Ok(()), |name| Err(format!("{name} is the operator's own")))
}

fn values(labels: &Texts) -> Result<(), String> {
    let bad = labels.iter().find(|(_, value)| !value.is_empty() && !label::is_value(value));
    bad.map_or(Ok(()), |(name, value)| Err(format!("{value:?} cannot be the value of the label {name}")))
}

/// A variable of the container is stronger than a setting, so none may have a setting's name.
fn variables(env: &[EnvVar]) -> Result<(), String> {
    // the contract leaves them out of its list
    let others = [setting::OTLP_HEADERS, setting::OBJECT_STORE];
    for (place, variable) in env.iter().enumerate() {
        let name = variable.name.as_str();
        if others.contains(&name) || setting::ALL.contains(&name) {
            return Err(format!("{name} is set by the operator itself"));
        }
        if name.is_empty() || env.iter().take(place).any(|other| other.name == name) {
            return Err(format!("each variable has a name of its own, and {name:?} is not"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::controllers::environment::build::SETTINGS;
    use crate::objects::json::LONGEST;

    #[test]
    fn what_is_as_it_is_anyway_is_nothing() {
        let same = json!({"annotations": {}, "labels": {}, "env": [], "securityContext": security(),
                          "containerSecurityContext": container_security()});
        assert_eq!(Pods::parse(&same.to_string()), Ok(Pods::default()));
        assert_eq!(Pods::default().text(), None);
    }

    #[test]
    fn what_was_written_down_is_what_is_read() {
        let given = json!({"annotations": {"a": "b"}, "labels": {"team": "data", "none": ""},
                           "securityContext": {"runAsNonRoot": true, "supplementalGroups": [5]},
                           "containerSecurityContext": {"capabilities": {"drop": ["ALL"]}},
                           "env": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"},
                                   {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]});
        let pods = Pods::parse(&given.to_string()).unwrap();
        assert_eq!(serde_json::to_value(&pods).unwrap(), given);
        assert_eq!(Pods::written(pods.text().as_ref()), Some(pods));
        assert_eq!(Pods::written(Some(&"{".to_owned())), None);
    }

    #[test]
    fn what_would_be_dropped_or_replace_what_is_ours_is_refused_by_name() {
        let long = json!({"annotations": {"a": "x".repeat(LONGEST)}}).to_string();
        for (given, says) in [
            (r#"{"label": {}}"#, "unknown field `label`"),
            (r#"{"securityContext": {"runAsUsr": 7}}"#, "securityContext.runAsUsr"),
            (r#"{"containerSecurityContext": {"capabilities": {"dorp": ["ALL"]}}}"#, "capabilities.dorp"),
            (r#"{"labels": {"app.kubernetes.io/instance": "x"}}"#, "app.kubernetes.io/instance is the operator's own"),
            (r#"{"annotations": {"sluice.dev/pods": "{}"}}"#, "sluice.dev/pods is the operator's own"),
            (r#"{"labels": {"a": "b c"}}"#, "cannot be the value of the label a"),
            (r#"{"env": [{"name": "SLUICE_ENV_ID", "value": "x"}]}"#, "SLUICE_ENV_ID is set by the operator"),
            (r#"{"env": [{"name": "SLUICE_MODEL_KEY", "value": "x"}]}"#, "SLUICE_MODEL_KEY is set by the operator"),
            (r#"{"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "1"}]}"#, "a name of its own"),
            (r#"{"env": [{"name": "A", "valeu": "1"}]}"#, "env.A.valeu"),
            (&long, "longer than"),
            ("[]", "invalid"),
        ] {
            let refused = Pods::parse(given).unwrap_err();
            assert!(refused.contains(says), "{refused}");
        }
        assert!(Account::parse(r#"{"labels": {"sluice.dev/organization": "x"}}"#).is_err());
        assert!(Account::parse(r#"{"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/r"}}"#).is_ok());
    }

    #[test]
    fn every_setting_of_the_contract_is_the_operators_own() {
        for name in setting::ALL.into_iter().chain(SETTINGS.iter().map(|it| it.name)) {
            assert!(variables(&[EnvVar { name: name.to_owned(), ..EnvVar::default() }]).is_err(), "{name}");
        }
    }
}
