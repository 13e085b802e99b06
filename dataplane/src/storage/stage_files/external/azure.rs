//! Containers of Azure as stores of objects, and the credentials by which they are asked.
//!
//! Blocks of an upload are seen by nobody before all of them are named in one request; Azure forgets those that are left
//! after a week. A URL names an account by its public host; where that account is reached, its integration says.

use contract::storage_integration::{AZURE_SCHEME, StorageCredentials, azure_account_of};
use object_store::azure::{AzureConfigKey, MicrosoftAzure, MicrosoftAzureBuilder};
use object_store::{Result, RetryConfig};

use super::egress::{EgressConnector, ReachableHosts};

/// An account of Azure as its integration has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct AzureAccount<'i> {
    pub name: &'i str,
    pub endpoint: Option<&'i str>,
    pub path_style: bool,
}

impl AzureAccount<'_> {
    /// Whether a token of the surroundings may go there: it is sent as it is, and whoever gets it could use it elsewhere.
    fn may_get_token(self, hosts: &ReachableHosts) -> bool {
        self.endpoint.is_none_or(|endpoint| {
            let public = endpoint.strip_prefix("https://").and_then(azure_account_of);
            public == Some(self.name) || hosts.names_endpoint(endpoint)
        })
    }
}

/// The container of a URL of this account, and what follows it in the URL.
pub(super) fn place<'u>(url: &'u str, account: &str) -> Option<(&'u str, &'u str)> {
    let (host, path) = url.strip_prefix(AZURE_SCHEME)?.split_once('/')?;
    if azure_account_of(host)? == account { path.split_once('/') } else { None }
}

/// The container, signed for as the builder has it.
pub(super) fn store(
    signed: MicrosoftAzureBuilder,
    account: AzureAccount<'_>,
    container: &str,
    (hosts, retry): (&ReachableHosts, RetryConfig),
) -> Result<MicrosoftAzure> {
    let builder = signed
        .with_account(account.name)
        .with_container_name(container)
        .with_retry(retry)
        .with_http_connector(EgressConnector::new(hosts));
    let builder = match account.endpoint {
        Some(endpoint) if account.path_style => builder.with_endpoint(format!("{endpoint}/{}", account.name)),
        Some(endpoint) => builder.with_endpoint(endpoint.to_owned()),
        None => builder,
    };
    builder.build()
}

/// What makes a store that is asked so; none: the surroundings give no credentials, or may not.
pub(super) fn signed_by(
    credentials: &StorageCredentials,
    account: AzureAccount<'_>,
    hosts: &ReachableHosts,
) -> Option<MicrosoftAzureBuilder> {
    Some(match credentials {
        // a password is a database's
        StorageCredentials::Anonymous | StorageCredentials::Password(_) => anonymous(),
        StorageCredentials::Ambient if !hosts.lends_ambient() || !account.may_get_token(hosts) => return None,
        StorageCredentials::Ambient => of_workload(&MicrosoftAzureBuilder::from_env())?,
        StorageCredentials::AccessKey(key) => MicrosoftAzureBuilder::new()
            .with_access_key(key.secret_access_key.expose().as_str())
            .with_credential_type("access_key"),
        StorageCredentials::SasToken(token) => MicrosoftAzureBuilder::new()
            .with_config(AzureConfigKey::SasKey, token.sas_token.expose().as_str())
            .with_credential_type("sas_token"),
        // what could not be opened reaches nothing
        StorageCredentials::Sealed { .. } => return None,
    })
}

/// Without credentials. The type is named all the same: without it the node's metadata address would be asked.
fn anonymous() -> MicrosoftAzureBuilder {
    MicrosoftAzureBuilder::new()
        .with_skip_signature(true)
        .with_sas_authorization(Vec::<(String, String)>::new())
        .with_credential_type("sas_token")
}

/// As the workload identity of the data plane's service account. Of what the surroundings say, only who asks is taken, and
/// who gives tokens; no node and no program is asked. None: they give no whole identity.
fn of_workload(around: &MicrosoftAzureBuilder) -> Option<MicrosoftAzureBuilder> {
    use AzureConfigKey::{AuthorityHost, AuthorityId, ClientId, FederatedTokenFile};
    let given = |key: AzureConfigKey| around.get_config_value(&key).filter(|value| !value.is_empty());
    let builder = MicrosoftAzureBuilder::new()
        .with_client_id(given(ClientId)?)
        .with_tenant_id(given(AuthorityId)?)
        .with_federated_token_file(given(FederatedTokenFile)?)
        .with_credential_type("workload_identity");
    Some(match given(AuthorityHost) {
        // it is told with a slash at its end, and the path begins with one
        Some(host) => builder.with_authority_host(host.trim_end_matches('/')),
        None => builder,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_the_account_has_a_container_and_a_prefix() {
        for (url, found) in [
            ("azure://lake1.blob.core.windows.net/load/", Some(("load", ""))),
            ("azure://lake1.blob.core.windows.net/load/in/a/", Some(("load", "in/a/"))),
            ("azure://lake2.blob.core.windows.net/load/", None),
            ("azure://lake1.blob.core.windows.net/", None),
            ("s3://lake1/load/", None),
        ] {
            assert_eq!(place(url, "lake1"), found, "{url}");
        }
    }

    #[test]
    fn a_whole_workload_identity_is_taken_of_the_surroundings_and_nothing_else() {
        use AzureConfigKey::{
            AccessKey, AuthorityHost, AuthorityId, ClientId, ClientSecret, Endpoint, FederatedTokenFile, MsiEndpoint,
        };
        let given = [
            (ClientId, "client"),
            (AuthorityId, "tenant"),
            (FederatedTokenFile, "/var/run/token"),
            (AuthorityHost, "https://login.microsoftonline.com/"),
            (AccessKey, "a2V5"),
            (ClientSecret, "secret"),
            (Endpoint, "http://169.254.169.254"),
            (MsiEndpoint, "http://169.254.169.254"),
        ];
        let around = |given: &[(AzureConfigKey, &str)]| {
            given.iter().fold(MicrosoftAzureBuilder::new(), |builder, (key, value)| builder.with_config(*key, *value))
        };
        let taken = of_workload(&around(&given)).unwrap();
        let value = |key: AzureConfigKey| taken.get_config_value(&key);
        assert_eq!(value(FederatedTokenFile).as_deref(), Some("/var/run/token"));
        assert_eq!(value(AuthorityHost).as_deref(), Some("https://login.microsoftonline.com"));
        for other in [AccessKey, ClientSecret, Endpoint, MsiEndpoint] {
            assert_eq!(value(other), None, "{other:?}");
        }
        for half in [&given[1..], &given[..2], &[(ClientId, ""), given[1], given[2]], &[]] {
            assert!(of_workload(&around(half)).is_none());
        }
    }

    #[test]
    fn surroundings_are_asked_where_the_operator_allows_it_and_what_is_sealed_signs_nothing() {
        let hosts = ReachableHosts::default();
        let account = AzureAccount { name: "lake1", endpoint: None, path_style: false };
        let signed = |credentials: &StorageCredentials| signed_by(credentials, account, &hosts);
        assert!(signed(&StorageCredentials::Ambient).is_none());
        assert!(signed(&StorageCredentials::Sealed { text: String::new() }).is_none());
        assert!(signed(&StorageCredentials::Anonymous).is_some());
    }

    #[test]
    fn a_token_of_the_surroundings_goes_to_the_account_and_to_hosts_that_the_operator_names_alone() {
        let hosts = ReachableHosts::new(["127.0.0.1:10000".to_owned(), "lake.internal".to_owned()]);
        let goes =
            |endpoint: Option<&str>| AzureAccount { name: "lake1", endpoint, path_style: false }.may_get_token(&hosts);
        for endpoint in [
            None,
            Some("https://lake1.blob.core.windows.net"),
            Some("http://127.0.0.1:10000"),
            Some("https://LAKE.internal"),
        ] {
            assert!(goes(endpoint), "{endpoint:?}");
        }
        for endpoint in [
            "https://lake2.blob.core.windows.net",
            "http://lake1.blob.core.windows.net",
            "https://lake1.blob.core.windows.net.evil.example",
            "https://evil.example",
            "http://127.0.0.1:10001",
        ] {
            assert!(!goes(Some(endpoint)), "{endpoint}");
        }
    }
}
