//! The account that the pods run under. Here it may do nothing, and its token is not mounted; a cloud may know it.

use k8s_openapi::api::core::v1::ServiceAccount;

use super::owned;
use crate::controllers::environment::validate::Desired;

pub fn service_account(desired: &Desired) -> ServiceAccount {
    let (mut metadata, added) = (owned(desired, desired.name.to_string()), &desired.release.account);
    let ours = metadata.labels.take().unwrap_or_default();
    metadata.labels = Some(added.labels.clone().into_iter().chain(ours).collect());
    metadata.annotations = Some(added.annotations.clone()).filter(|annotations| !annotations.is_empty());
    ServiceAccount { metadata, automount_service_account_token: Some(false), ..ServiceAccount::default() }
}
