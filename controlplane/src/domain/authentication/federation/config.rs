//! The configuration of a provider, by its type.

use contract::Role;
use platform::http::text;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const SUBJECTS_MAX: usize = 50;
const TEXT_MAX: usize = 300;
/// Matches every subject of the provider.
const ANY: &str = "*";

/// Type and config of a provider, as they are sent, stored and answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "config", rename_all = "snake_case", deny_unknown_fields)]
pub enum FederationConfig {
    AwsSts(Aws),
    GcpWorkloadIdentity(Gcp),
    AzureAd(Azure),
}

/// A role of AWS IAM: whoever has assumed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AwsFederation")]
#[serde(deny_unknown_fields)]
pub struct Aws {
    pub role_arn: String,
    /// Signed along with the request, where there is one.
    pub external_id: Option<String>,
    #[serde(default)]
    pub subjects: Vec<Subject>,
}

/// Service accounts of one project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "GcpFederation")]
#[serde(deny_unknown_fields)]
pub struct Gcp {
    pub project_id: String,
    pub workload_identity_pool: String,
    pub provider: String,
    #[serde(default)]
    pub subjects: Vec<Subject>,
}

/// Identities of one directory, for one application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AzureFederation")]
#[serde(deny_unknown_fields)]
pub struct Azure {
    pub tenant_id: String,
    pub audience: String,
    #[serde(default)]
    pub subjects: Vec<Subject>,
}

/// Who of them may come, and as what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FederatedSubject")]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// The subject whole, or `*`.
    #[serde(rename = "match")]
    pub matches: String,
    pub role: SubjectRole,
}

contract::some_roles! {
    /// Never `owner` or `admin`; a service account stands under the scopes of a key, and here is none.
    #[schemars(rename = "FederatedRole")]
    pub enum SubjectRole { Developer, Analyst, Auditor }
}

impl FederationConfig {
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::AwsSts(_) => "aws_sts",
            Self::GcpWorkloadIdentity(_) => "gcp_workload_identity",
            Self::AzureAd(_) => "azure_ad",
        }
    }

    pub fn subjects(&self) -> &[Subject] {
        match self {
            Self::AwsSts(Aws { subjects, .. })
            | Self::GcpWorkloadIdentity(Gcp { subjects, .. })
            | Self::AzureAd(Azure { subjects, .. }) => subjects,
        }
    }

    /// The role of a subject: the first that matches it. None: outside.
    pub fn role_of(&self, subject: &str) -> Option<Role> {
        let mut subjects = self.subjects().iter();
        subjects.find(|of| of.matches == ANY || of.matches == subject).map(|of| of.role.role())
    }

    /// Refuses what could match nobody, or somebody who is not meant.
    pub fn checked(&self) -> Result<()> {
        match self {
            Self::AwsSts(aws) => {
                if role_of_arn(&aws.role_arn).is_none() {
                    let message = "`config.role_arn` is a role's, such as arn:aws:iam::123456789012:role/etl";
                    return Err(Error::invalid("config.role_arn", "arn:aws:iam::<account>:role/<name>", message));
                }
                if let Some(external_id) = &aws.external_id {
                    text::checked("config.external_id", external_id, TEXT_MAX)?;
                }
            }
            Self::GcpWorkloadIdentity(gcp) => {
                let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
                if !(6..=30).contains(&gcp.project_id.len()) || !gcp.project_id.chars().all(plain) {
                    let message = "`config.project_id` is a project's id, such as acme-prod-1";
                    return Err(Error::invalid("config.project_id", "[a-z0-9-]{6,30}", message));
                }
                text::checked("config.workload_identity_pool", &gcp.workload_identity_pool, TEXT_MAX)?;
                text::checked("config.provider", &gcp.provider, TEXT_MAX)?;
            }
            Self::AzureAd(azure) => {
                let digits = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c) || c == '-';
                if azure.tenant_id.len() != 36 || !azure.tenant_id.chars().all(digits) {
                    let message = "`config.tenant_id` is a directory's UUID in lower case";
                    return Err(Error::invalid("config.tenant_id", "UUID", message));
                }
                text::checked("config.audience", &azure.audience, TEXT_MAX)?;
            }
        }
        let subjects = self.subjects();
        if subjects.len() > SUBJECTS_MAX {
            let message = format!("`config.subjects` names at most {SUBJECTS_MAX} subjects, or `*`, each with a role");
            return Err(Error::invalid("config.subjects", format!("0..{SUBJECTS_MAX}"), message));
        }
        subjects.iter().try_for_each(|of| text::checked("config.subjects", &of.matches, TEXT_MAX).map(drop))
    }
}

/// Account and name of a role in IAM; its path is not part of who has assumed it.
pub fn role_of_arn(arn: &str) -> Option<(&str, &str)> {
    let rest = arn.strip_prefix("arn:aws:iam::")?;
    let (account, role) = rest.split_once(":role/")?;
    let name = role.rsplit('/').next()?;
    let is_account = account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit());
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_+=,.@-".contains(c);
    (is_account && !name.is_empty() && name.chars().all(is_name)).then_some((account, name))
}
