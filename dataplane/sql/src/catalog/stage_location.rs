//! Where the files of an external stage are: a URL, and the storage integration by which it is reached.

use contract::storage_integration::{AZURE_SCHEME, azure_account_of, is_azure_container};
use sqlparser::ast::helpers::key_value_options::{KeyValueOption, KeyValueOptions};

use crate::ast::error::Error;
use crate::ast::quote;
use crate::catalog::file_format::word;

const URL: &str = "URL";
const INTEGRATION: &str = "STORAGE_INTEGRATION";
/// Before the bucket.
pub const BUCKET_SCHEME: &str = "s3://";
/// Before the path of a folder, which begins with a slash.
pub const FOLDER_SCHEME: &str = "file://";
/// Before a bucket of Google: no integration reaches one.
const GOOGLE_SCHEME: &str = "gcs://";
const URL_BYTES_MAX: usize = 1_024;

/// A folder of a bucket or of a disk, named by a URL that has one form, and what reaches it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageLocation {
    /// `s3://bucket/folder/`, `azure://account.blob.core.windows.net/container/folder/` or `file:///folder/`, with a
    /// slash at its end.
    pub url: String,
    /// The name of the storage integration.
    pub integration: String,
}

impl StageLocation {
    /// The location that these options name, if they do, and the other options.
    pub(crate) fn taken_of(options: &KeyValueOptions) -> Result<(Option<Self>, KeyValueOptions), Error> {
        let (own, others): (Vec<_>, Vec<_>) = options.options.iter().cloned().partition(is_own);
        let others = KeyValueOptions { options: others, delimiter: options.delimiter.clone() };
        let find = |name: &str| own.iter().find(|option| option.option_name.eq_ignore_ascii_case(name));
        let location = match (find(URL), find(INTEGRATION)) {
            (None, None) => None,
            (Some(_), None) => return Err(Error::unsupported("URL of a stage without STORAGE_INTEGRATION")),
            (None, Some(_)) => return Err(Error::syntax("STORAGE_INTEGRATION of a stage stands beside its URL")),
            (Some(url), Some(integration)) => {
                Some(Self { url: folder_url(word(url)?)?, integration: unquoted(word(integration)?) })
            }
        };
        Ok((location, others))
    }

    /// As options, with a space before them.
    pub(crate) fn written(&self) -> String {
        format!(" {URL} = {} {INTEGRATION} = {}", quote::text(&self.url), quote::text(&self.integration))
    }

    /// The cloud that it is in, as SHOW STAGES tells it.
    pub(crate) fn cloud(&self) -> Option<&'static str> {
        let clouds = [(BUCKET_SCHEME, "AWS"), (AZURE_SCHEME, "AZURE")];
        clouds.into_iter().find(|(scheme, _)| self.url.starts_with(*scheme)).map(|(_, cloud)| cloud)
    }
}

fn is_own(option: &KeyValueOption) -> bool {
    [URL, INTEGRATION].iter().any(|name| option.option_name.eq_ignore_ascii_case(name))
}

/// The name, where it is written with quotes.
fn unquoted(name: &str) -> String {
    let within = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    within.map_or_else(|| name.to_owned(), |within| within.replace("\"\"", "\""))
}

/// The URL with a slash at its end. One that another reader could take for another place is refused.
fn folder_url(written: &str) -> Result<String, Error> {
    let refused = |why: &str| Err(Error::syntax(format!("URL of a stage {why}")));
    if written.len() > URL_BYTES_MAX {
        return refused("has at most 1024 bytes");
    }
    if written.starts_with(GOOGLE_SCHEME) {
        return Err(Error::unsupported("URL = 'gcs://…' of a stage"));
    }
    let is_odd =
        |letter: char| letter.is_control() || letter.is_whitespace() || matches!(letter, '\\' | '%' | '?' | '#' | '*');
    if written.contains(is_odd) {
        return refused("has no spaces, and none of % ? # * and backslash");
    }
    let url = if written.ends_with('/') { written.to_owned() } else { format!("{written}/") };
    let (bucket, container) = (url.strip_prefix(BUCKET_SCHEME), url.strip_prefix(AZURE_SCHEME));
    let folder = url.strip_prefix(FOLDER_SCHEME).and_then(|rest| rest.strip_prefix('/'));
    let Some(parts) = bucket.or(container).or(folder) else {
        return refused(
            "is 's3://bucket/folder/', 'azure://account.blob.core.windows.net/container/folder/' or 'file:///folder/'",
        );
    };
    let mut names = parts.strip_suffix('/').unwrap_or(parts).split('/');
    if names.clone().any(|name| matches!(name, "" | "." | "..")) {
        return refused("is names with single slashes between them, none of which is . or ..");
    }
    let (first, second) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
    if bucket.is_some() && !is_bucket_name(first) {
        return refused("names a bucket by 3 to 63 lower-case letters, digits, dots and hyphens");
    }
    if container.is_some() && !(azure_account_of(first).is_some() && is_azure_container(second)) {
        return refused("names an account of Azure as account.blob.core.windows.net, and a container of it");
    }
    Ok(url)
}

fn is_bucket_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    (3..=63).contains(&bytes.len())
        && name.bytes().all(fits)
        && ends(bytes.first())
        && ends(bytes.last())
        && !name.contains("..")
}

#[cfg(test)]
mod tests {
    use super::folder_url;

    #[test]
    fn a_url_is_a_folder_that_has_one_form() {
        for (written, url) in [
            ("s3://load/files/", "s3://load/files/"),
            ("s3://load", "s3://load/"),
            ("s3://my.load-1/a_b", "s3://my.load-1/a_b/"),
            ("file:///data/in", "file:///data/in/"),
            ("azure://lake1.blob.core.windows.net/load", "azure://lake1.blob.core.windows.net/load/"),
            ("azure://lake1.blob.core.windows.net/load/in/", "azure://lake1.blob.core.windows.net/load/in/"),
        ] {
            assert_eq!(folder_url(written).expect(written), url);
        }
    }

    #[test]
    fn a_url_that_could_lead_elsewhere_is_refused() {
        let long = format!("s3://load/{}", "a".repeat(1_024));
        for refused in [
            "",
            "load",
            "/data",
            "s3://",
            "s3:///files/",
            "s3://a/",
            "s3://Load/",
            "s3://.load/",
            "s3://a..b/",
            "s3://key:secret@load/",
            "s3://load/../other/",
            "s3://load/a/./b/",
            "s3://load//a/",
            "s3://load/%2e%2e/",
            "s3://load/a?versionId=1",
            "s3://load/a#b",
            "s3://load/a*",
            "s3://load\\a/",
            "s3://load/a\nb/",
            "S3://load/",
            "http://169.254.169.254/latest/",
            "https://load.s3.amazonaws.com/",
            "gcs://load/",
            "azure://load/in/",
            "azure://lake1.blob.core.windows.net/",
            "azure://lake1.blob.core.windows.net/Load/",
            "azure://lake1.blob.core.windows.net:443/load/",
            "azure://key@lake1.blob.core.windows.net/load/",
            "azure://lake1.blob.core.windows.net.evil.example/load/",
            "azure://lake1.blob.core.windows.net/load/../other/",
            "file://",
            "file:///",
            "file://host/data/",
            "file:///data/../etc/",
            long.as_str(),
        ] {
            assert!(folder_url(refused).is_err(), "{refused:?}");
        }
    }
}
