//! The account that the pods run under. It may do nothing, and its token is not mounted.

use k8s_openapi::api::core::v1::ServiceAccount;

use super::owned;
use crate::environment::validate::Desired;

pub fn service_account(desired: &Desired) -> ServiceAccount {
    ServiceAccount {
        metadata: owned(desired, desired.name.to_string()),
        automount_service_account_token: Some(false),
        ..ServiceAccount::default()
    }
}
