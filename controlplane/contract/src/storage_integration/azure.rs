//! Names of storage accounts and containers of Azure, as URLs of their files have them.

/// What a URL of files in Azure begins with; the host of an account and a container follow.
pub const AZURE_SCHEME: &str = "azure://";
/// What the host of each account ends with in a URL, whatever the endpoint at which the account is reached.
const HOST_END: &str = ".blob.core.windows.net";
/// What stands behind the account in the host of its copy elsewhere, which is only read.
const SECONDARY_END: &str = "-secondary";

/// Whether an account may have this name.
pub fn is_azure_account(name: &str) -> bool {
    (3..=24).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// The account that a URL names by this host.
pub fn azure_account_of(host: &str) -> Option<&str> {
    host.strip_suffix(HOST_END).filter(|account| is_azure_account(account))
}

/// Whether the public service has this host for another account, or for none that could be told.
pub fn is_azure_host_of_another(host: &str, account: &str) -> bool {
    host.strip_suffix(HOST_END).is_some_and(|name| name.strip_suffix(SECONDARY_END).unwrap_or(name) != account)
}

/// The host that an account has where no other endpoint is named.
pub fn azure_host_of(account: &str) -> String {
    format!("{account}{HOST_END}")
}

/// Whether a container may have this name.
pub fn is_azure_container(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_whole = !name.starts_with('-') && !name.ends_with('-') && !name.contains("--");
    (3..=63).contains(&name.len()) && name.bytes().all(fits) && is_whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_the_first_part_of_its_host_and_of_no_other() {
        assert_eq!(azure_account_of("lake1.blob.core.windows.net"), Some("lake1"));
        assert_eq!(azure_account_of(&azure_host_of("lake1")), Some("lake1"));
        for other in [
            "lake1",
            "blob.core.windows.net",
            ".blob.core.windows.net",
            "la.blob.core.windows.net",
            "a.lake1.blob.core.windows.net",
            "Lake1.blob.core.windows.net",
            "lake-1.blob.core.windows.net",
            "u@lake1.blob.core.windows.net",
            "lake1.blob.core.windows.net:443",
            "lake1.blob.core.windows.net.evil.example",
        ] {
            assert_eq!(azure_account_of(other), None, "{other}");
        }
    }

    #[test]
    fn a_public_host_is_of_its_account_and_of_no_other() {
        let is_anothers = |host: &str| is_azure_host_of_another(host, "lake1");
        for own in ["lake1.blob.core.windows.net", "lake1-secondary.blob.core.windows.net", "lake2.example.com", ""] {
            assert!(!is_anothers(own), "{own}");
        }
        for other in ["lake2", "lake2-secondary", "lake1-secondary-secondary", "a.lake1", "lake1.privatelink", ""] {
            assert!(is_anothers(&format!("{other}.blob.core.windows.net")), "{other}");
        }
    }

    #[test]
    fn a_container_is_of_lower_case_letters_digits_and_single_hyphens() {
        assert!(is_azure_container("load") && is_azure_container("a-1"));
        for other in ["", "ab", "Load", "-load", "load-", "lo--ad", "$web", "lo_ad", "lo.ad", &"a".repeat(64)] {
            assert!(!is_azure_container(other), "{other}");
        }
    }
}
