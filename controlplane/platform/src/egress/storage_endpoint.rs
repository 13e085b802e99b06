//! Endpoints of stores: hosts of the public internet over HTTPS, and those that the operator names.

use reqwest::Url;

use super::address;
use crate::{Error, Result};

const FIELD: &str = "endpoint";

/// The endpoint without a slash at its end, or 400 with what is wrong. `named`: hosts that the operator allows by name.
pub fn admit(given: &str, named: &[String]) -> Result<String> {
    let refused = |constraint: &str, why: &str| Error::invalid(FIELD, constraint, format!("`{FIELD}` {why}"));
    let url = Url::parse(given).map_err(|_| refused("url", "is not an absolute URL"))?;
    let has_user = !url.username().is_empty() || url.password().is_some();
    if has_user || url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        return Err(refused("https://host", "is a scheme and a host alone, such as https://s3.example.com"));
    }
    let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| refused("host", "has no host"))?;
    let place = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let is_named = named.iter().any(|named| named.eq_ignore_ascii_case(&place));
    if !is_named || !matches!(url.scheme(), "http" | "https") {
        address::admit(given, false).map_err(of_field)?;
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

fn of_field(error: Error) -> Error {
    match error {
        Error::Invalid { constraint, message, .. } => {
            let message = message.replacen("`url`", &format!("`{FIELD}`"), 1);
            Error::Invalid { field: FIELD.to_owned(), constraint, message }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::admit;

    #[test]
    fn an_endpoint_is_a_public_host_or_one_that_the_operator_names() {
        let named = ["127.0.0.1:9000".to_owned(), "minio.storage.svc".to_owned()];
        for (given, kept) in [
            ("https://s3.example.com", "https://s3.example.com"),
            ("https://s3.example.com:8443/", "https://s3.example.com:8443"),
            ("http://127.0.0.1:9000/", "http://127.0.0.1:9000"),
            ("http://minio.storage.svc", "http://minio.storage.svc"),
            ("https://MINIO.storage.svc", "https://minio.storage.svc"),
        ] {
            assert_eq!(admit(given, &named).unwrap(), kept, "{given}");
        }
    }

    #[test]
    fn everything_else_is_refused_with_its_field() {
        let named = ["127.0.0.1:9000".to_owned(), "minio.storage.svc".to_owned()];
        for given in [
            "http://s3.example.com",
            "https://s3.example.com/bucket",
            "https://s3.example.com?x=1",
            "https://s3.example.com#x",
            "https://u:p@s3.example.com",
            "http://127.0.0.1:9001",
            "http://127.0.0.1",
            "https://10.0.0.1",
            "https://169.254.169.254",
            "https://[::1]",
            "https://store.internal",
            "https://localhost",
            "http://minio.storage.svc:9000",
            "ftp://minio.storage.svc",
            "s3.example.com",
            "",
        ] {
            let details = admit(given, &named).unwrap_err().problem().details;
            assert_eq!(details["field"], "endpoint", "{given}");
        }
    }
}
