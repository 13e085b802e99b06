//! The archive: a folder or a bucket outside the database, for what is to outlive it. Audit exports
//! and the signed heads of audit chains lie there; nothing is ever read from it but those heads.
//!
//! Several control planes write to one: a name says what lies under it, so writing it twice is no
//! harm.

use std::fmt;
use std::os::unix::fs::DirBuilderExt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::TryStreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, RetryConfig};

use crate::{Error, Result};

/// What a bucket does not take within this time has failed.
const WITHIN: Duration = Duration::from_mins(1);

#[derive(Clone)]
pub struct Archive {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    /// The place as callers are shown it.
    place: String,
}

/// A place that cannot be an archive.
#[derive(Debug, thiserror::Error)]
#[error("the audit store `{place}` cannot be used: {source}")]
pub struct Unusable {
    place: String,
    source: Box<dyn std::error::Error + Send + Sync>,
}

impl Archive {
    /// A folder, made if it is not there, or `s3://bucket/prefix`, reached as the variables
    /// `AWS_…` say.
    pub fn open(place: &str) -> Result<Self, Unusable> {
        let opened = match place.strip_prefix("s3://") {
            Some(rest) => bucket(rest.trim_end_matches('/')),
            None => folder(place.strip_prefix("file://").unwrap_or(place)),
        };
        let (store, prefix, place) = opened.map_err(|source| Unusable { place: place.to_owned(), source })?;
        Ok(Self { store, prefix, place })
    }

    /// Where `name` lies, as callers are shown it.
    pub fn shown(&self, name: &str) -> String {
        format!("{}/{name}", self.place)
    }

    /// Writes an object whole, over whatever was there.
    pub async fn put(&self, name: &str, bytes: Bytes) -> Result<()> {
        self.store.put(&self.path(name), bytes.into()).await.map_err(|error| away(&error))?;
        Ok(())
    }

    /// Writes an object that is never written again; one that is there stays.
    pub(crate) async fn put_once(&self, name: &str, bytes: Bytes) -> Result<()> {
        match self.store.put_opts(&self.path(name), bytes.into(), PutMode::Create.into()).await {
            Ok(_) | Err(object_store::Error::AlreadyExists { .. }) => Ok(()),
            Err(error) => Err(away(&error)),
        }
    }

    pub async fn get(&self, name: &str) -> Result<Bytes> {
        let found = self.store.get(&self.path(name)).await.map_err(|error| away(&error))?;
        found.bytes().await.map_err(|error| away(&error))
    }

    /// The last parts of the names below `folder`, in order.
    pub async fn names(&self, folder: &str) -> Result<Vec<String>> {
        let found = self.store.list(Some(&self.path(folder)));
        let name = |path: Path| path.filename().map(str::to_owned);
        let mut names: Vec<String> = found
            .try_filter_map(async |meta| Ok(name(meta.location)))
            .try_collect()
            .await
            .map_err(|error| away(&error))?;
        names.sort_unstable();
        Ok(names)
    }

    fn path(&self, name: &str) -> Path {
        name.split('/').fold(self.prefix.clone(), Path::join)
    }
}

impl fmt::Debug for Archive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Archive({})", self.place)
    }
}

type OpenedStore = Result<(Arc<dyn ObjectStore>, Path, String), Box<dyn std::error::Error + Send + Sync>>;

fn folder(place: &str) -> OpenedStore {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(place)?;
    let store = LocalFileSystem::new_with_prefix(place)?.with_automatic_cleanup(false);
    let whole = std::fs::canonicalize(place)?;
    Ok((Arc::new(store), Path::default(), format!("file://{}", whole.display())))
}

fn bucket(rest: &str) -> OpenedStore {
    // One crypto provider, named before the first handshake; a second call is no harm.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    if bucket.is_empty() {
        return Err("no bucket is named".into());
    }
    let retry = RetryConfig { max_retries: 3, retry_timeout: WITHIN, ..RetryConfig::default() };
    let store = AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retry).build()?;
    Ok((Arc::new(store), Path::parse(prefix)?, format!("s3://{rest}")))
}

/// What asked is refused or tried again; what was wrong is for the log.
fn away(error: &object_store::Error) -> Error {
    tracing::warn!(%error, "the audit store failed");
    Error::Unavailable("the audit store cannot be reached")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_folder_keeps_what_was_written_once_and_lists_it_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let archive = Archive::open(folder.path().join("new").to_str().unwrap()).unwrap();
        assert_eq!(archive.names("heads/o").await.unwrap(), Vec::<String>::new());
        for name in ["heads/o/2", "heads/o/1", "other/3"] {
            archive.put_once(name, "first".into()).await.unwrap();
        }
        archive.put_once("heads/o/1", "second".into()).await.unwrap();
        assert_eq!(archive.get("heads/o/1").await.unwrap(), "first");
        archive.put("heads/o/2", "second".into()).await.unwrap();
        assert_eq!(archive.get("heads/o/2").await.unwrap(), "second");
        assert_eq!(archive.names("heads/o").await.unwrap(), ["1", "2"]);
        assert!(archive.shown("a").starts_with("file:///") && archive.shown("a").ends_with("/new/a"));
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for place in ["", "/dev/null/x", "s3://"] {
            assert!(Archive::open(place).is_err(), "{place}");
        }
    }
}
