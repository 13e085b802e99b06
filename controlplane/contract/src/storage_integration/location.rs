//! Places of files and tables by URL, each in its one form: no URL leads out of the folder that it begins with.

use super::azure::{AZURE_SCHEME, azure_account_of, is_azure_container};

/// A bucket's folder or file, one of a disk, or a schema or table of a database, by its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    scheme: &'static str,
    /// Of a bucket, its name is the first; of a container, the host of its account, then its name.
    parts: Vec<String>,
}

/// A URL that names no place, or not in its one form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0}: write it as s3://bucket/folder/, azure://account.blob.core.windows.net/container/folder/, file:///folder/ or \
     postgres://schema/table"
)]
pub struct MalformedLocation(&'static str);

const BUCKET: &str = "s3://";
const FOLDER: &str = "file://";
const DATABASE: &str = "postgres://";
const URL_BYTES_MAX: usize = 2_048;

impl Location {
    /// The place that a URL names. A slash at its end changes nothing.
    pub fn of(url: &str) -> Result<Self, MalformedLocation> {
        if url.len() > URL_BYTES_MAX {
            return Err(MalformedLocation("the location is longer than 2048 bytes"));
        }
        if let Some(path) = url.strip_prefix(FOLDER) {
            return Self::of_folder(path);
        }
        if let Some(path) = url.strip_prefix(DATABASE) {
            return Ok(Self { scheme: DATABASE, parts: parts(path)? });
        }
        if let Some(path) = url.strip_prefix(AZURE_SCHEME) {
            return Self::of_azure(parts(path)?);
        }
        let path = url.strip_prefix(BUCKET).ok_or(MalformedLocation("the location is no bucket, folder or schema"))?;
        let parts = parts(path)?;
        if !parts.first().is_some_and(|bucket| is_bucket(bucket)) {
            return Err(MalformedLocation("the location names no bucket"));
        }
        Ok(Self { scheme: BUCKET, parts })
    }

    /// An account of Azure, or what is below a container of it.
    fn of_azure(parts: Vec<String>) -> Result<Self, MalformedLocation> {
        if parts.first().is_none_or(|host| azure_account_of(host).is_none()) {
            return Err(MalformedLocation("the location names no account of Azure by its host"));
        }
        if parts.get(1).is_some_and(|name| !is_azure_container(name)) {
            return Err(MalformedLocation("the location names no container of Azure"));
        }
        // Azure may leave such a dot out: the location would be another
        if parts.iter().any(|part| part.ends_with('.')) {
            return Err(MalformedLocation("the location has a part that ends with a dot"));
        }
        Ok(Self { scheme: AZURE_SCHEME, parts })
    }

    /// The place of an absolute path of a disk.
    pub fn of_folder(path: &str) -> Result<Self, MalformedLocation> {
        let path = path.strip_prefix('/').ok_or(MalformedLocation("the folder is not an absolute path"))?;
        let parts = if path.is_empty() { Vec::new() } else { parts(path)? };
        Ok(Self { scheme: FOLDER, parts })
    }

    /// Is the other place this one or below it?
    pub fn holds(&self, other: &Self) -> bool {
        self.scheme == other.scheme && other.parts.starts_with(&self.parts)
    }

    /// What its URL begins with.
    pub const fn scheme(&self) -> &'static str {
        self.scheme
    }

    /// The account of Azure that it is in, if it is in one.
    pub fn azure_account(&self) -> Option<&str> {
        let host = self.parts.first().filter(|_| self.scheme == AZURE_SCHEME);
        host.and_then(|host| azure_account_of(host))
    }

    /// Its bucket, if it is in one, and the parts of the path below that.
    pub fn split(&self) -> (Option<&str>, &[String]) {
        match self.parts.split_first() {
            Some((bucket, path)) if self.scheme == BUCKET => (Some(bucket), path),
            _ => (None, &self.parts),
        }
    }
}

fn parts(path: &str) -> Result<Vec<String>, MalformedLocation> {
    let path = path.strip_suffix('/').unwrap_or(path);
    if path.chars().any(|c| c.is_control() || matches!(c, '\\' | '?' | '#')) {
        return Err(MalformedLocation("the location has a control character, `\\`, `?` or `#`"));
    }
    if has_escape(path) {
        return Err(MalformedLocation("the location has an escape of `.`, `/`, `\\`, `%` or of a control character"));
    }
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(MalformedLocation("the location has an empty part, `.` or `..`"));
    }
    Ok(path.split('/').map(str::to_owned).collect())
}

/// Is there a percent escape that could make other parts of the path, for whoever decodes it once or twice?
fn has_escape(path: &str) -> bool {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    path.as_bytes().windows(3).any(|window| match window {
        [b'%', high, low] => match (digit(*high), digit(*low)) {
            (Some(high), Some(low)) => {
                let byte = high * 16 + low;
                byte < 0x20 || byte == 0x7f || [b'.', b'/', b'\\', b'%'].map(u32::from).contains(&byte)
            }
            _ => false,
        },
        _ => false,
    })
}

/// As S3 names buckets; a name never holds what a host, a port or a user's name is set off by.
fn is_bucket(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'_');
    (3..=63).contains(&name.len()) && name.bytes().all(fits) && !name.contains("..")
}
