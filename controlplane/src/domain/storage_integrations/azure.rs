//! Accounts of Azure as storage integrations.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use contract::Redacted;
use contract::storage_integration::{
    AccessKey, SasToken, StorageKind, azure_account_of, azure_host_of, is_azure_account, is_azure_host_of_another,
};
use platform::egress::storage_endpoint;
use platform::{App, Error, Result};
use reqwest::Url;

/// The port of an endpoint over HTTPS that names none.
pub const HTTPS_PORT: u16 = 443;

/// The account, if the installation lets its endpoint be reached.
pub fn kind(app: &App, account: Option<String>, endpoint: Option<String>, path_style: bool) -> Result<StorageKind> {
    let account = account.unwrap_or_default();
    if !is_azure_account(&account) {
        let message = "`account` is the name of a storage account: 3 to 24 lower-case letters and digits";
        return Err(Error::invalid("account", "a storage account", message));
    }
    let hosts = &app.config().storage.storage_hosts;
    let endpoint = endpoint.filter(|given| !given.is_empty());
    let endpoint = endpoint.map(|given| storage_endpoint::admit(&given, hosts)).transpose()?;
    let place = endpoint.as_deref().and_then(|endpoint| endpoint.split_once("://")).map(|(_, place)| place);
    // a port or a dot at its end changes nothing of whose host it is
    let host = place.and_then(|place| place.split(':').next()).map(|host| host.trim_end_matches('.'));
    if host.is_some_and(|host| is_azure_host_of_another(host, &account)) {
        // rules name files by their URLs, which would be those of this account
        let message = "`endpoint` is that of another account: name that as the `account`";
        return Err(Error::invalid("endpoint", "of the account", message));
    }
    if path_style && endpoint.is_none() {
        let message = "`path_style` is for an `endpoint` with the account in its paths: name that, or leave it out";
        return Err(Error::invalid("path_style", "false", message));
    }
    Ok(StorageKind::Azure { account, endpoint, path_style })
}

/// Whether a token of the surroundings may go there. It is sent as it is: whoever chooses another host could use it.
pub fn may_get_token(app: &App, account: &str, endpoint: Option<&str>) -> bool {
    let Some((scheme, place)) = endpoint.and_then(|endpoint| endpoint.split_once("://")) else {
        return endpoint.is_none();
    };
    let is_named = app.config().storage.storage_hosts.iter().any(|named| named.eq_ignore_ascii_case(place));
    is_named || (scheme == "https" && azure_account_of(place) == Some(account))
}

/// The key of the account, if it can be one.
pub fn access_key(account: &str, id: &str, key: Redacted<String>, has_token: bool) -> Result<AccessKey> {
    if id != account {
        let message = "`credentials.access_key_id` of the kind `azure` is the name of the account";
        return Err(Error::invalid("credentials.access_key_id", "the account", message));
    }
    if has_token {
        let message = "a key of the kind `azure` has no `session_token`: leave it out";
        return Err(Error::invalid("credentials.session_token", "absent", message));
    }
    if BASE64_STANDARD.decode(key.expose()).is_err() {
        let message = "`credentials.secret_access_key` of the kind `azure` is a key of the account, in Base64";
        return Err(Error::invalid("credentials.secret_access_key", "Base64", message));
    }
    let access_key_id = Redacted::new(account.to_owned());
    Ok(AccessKey { access_key_id, secret_access_key: key, session_token: Redacted::new(None) })
}

/// Where what is sent to the account goes, as `host:port`; none where its endpoint cannot be read.
pub fn place(account: &str, endpoint: Option<&str>) -> Option<String> {
    let Some(endpoint) = endpoint else { return Some(format!("{}:{HTTPS_PORT}", azure_host_of(account))) };
    let url = Url::parse(endpoint).ok()?;
    Some(format!("{}:{}", url.host_str()?, url.port_or_known_default()?))
}

/// Whether it can be a shared access signature: members of a query, one of which is the signature.
pub fn is_sas_token(text: &str) -> bool {
    let members: Vec<&str> = text.trim_start_matches('?').split('&').collect();
    let is_signed = members.iter().any(|member| member.starts_with("sig="));
    is_signed && members.iter().all(|member| member.contains('='))
}

/// The shared access signature, if it can be one.
pub fn sas_token(given: Redacted<String>) -> Result<SasToken> {
    if !is_sas_token(given.expose()) {
        let message = "`credentials.sas_token` is a shared access signature, such as sv=…&sp=…&sig=…";
        return Err(Error::invalid("credentials.sas_token", "a shared access signature", message));
    }
    Ok(SasToken { sas_token: given })
}
