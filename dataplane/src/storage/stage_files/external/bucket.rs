//! Objects of a bucket that speaks S3, or of a container of Azure, below a prefix.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use contract::StorageIntegration;
use contract::storage_integration::{StorageCredentials, StorageKind};
use futures::StreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::path::Path;
use object_store::{GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt, RetryConfig};
use sql::BUCKET_SCHEME;

use super::ambient;
use super::azure::{self, AzureAccount};
use super::egress::{EgressConnector, ReachableHosts, is_refused_host};
use super::object_read::ObjectRead;
use crate::Error;
use crate::error::StageFileFault;
use crate::storage::stage_files::store::{ReadBounds, replaced};
use crate::storage::stage_files::{FILE_BYTES_MAX, LISTED_MAX, StageFile, StagePath};

/// How often a request is sent again that the store did not answer, and for how long.
const RETRIES_MAX: usize = 3;
const RETRIED_FOR: Duration = Duration::from_mins(1);
/// Objects that one list looks at, whether their keys begin as they are asked for or not.
const LOOKED_AT_MAX: usize = 100_000;

/// The objects of a bucket whose keys begin with a prefix.
#[derive(Debug, Clone)]
pub(super) struct BucketFiles {
    pub store: Arc<dyn ObjectStore>,
    /// What stands before the paths of files: nothing, or it ends with a slash.
    prefix: String,
    integration: String,
}

impl BucketFiles {
    /// The bucket and prefix of this URL; none where the integration or the URL is not of this kind.
    pub fn of(integration: &StorageIntegration, url: &str, hosts: &ReachableHosts) -> Result<Option<Self>, Error> {
        let unusable = |_| Error::from(StageFileFault::Unusable { integration: integration.name.clone() });
        let no_ambient = || Error::from(StageFileFault::NoAmbient { integration: integration.name.clone() });
        // One crypto provider, named before the first handshake; a second call is no harm.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let retry = RetryConfig { max_retries: RETRIES_MAX, retry_timeout: RETRIED_FOR, ..RetryConfig::default() };
        let (store, prefix): (Arc<dyn ObjectStore>, &str) = match &integration.kind {
            StorageKind::S3 { endpoint, region, path_style } => {
                let place = url.strip_prefix(BUCKET_SCHEME).and_then(|rest| rest.split_once('/'));
                let Some((bucket, prefix)) = place else { return Ok(None) };
                let mut builder = signed_by(&integration.credentials, hosts)
                    .ok_or_else(no_ambient)?
                    .with_bucket_name(bucket)
                    .with_region(region.as_str())
                    .with_virtual_hosted_style_request(!path_style)
                    .with_disable_bulk_delete(true)
                    .with_retry(retry)
                    .with_http_connector(EgressConnector::new(hosts));
                if let Some(endpoint) = endpoint {
                    builder = builder.with_endpoint(endpoint_of(endpoint, bucket, *path_style));
                }
                (Arc::new(builder.build().map_err(unusable)?), prefix)
            }
            StorageKind::Azure { account, endpoint, path_style } => {
                let Some((container, prefix)) = azure::place(url, account) else { return Ok(None) };
                let account = AzureAccount { name: account, endpoint: endpoint.as_deref(), path_style: *path_style };
                let signed = azure::signed_by(&integration.credentials, account, hosts).ok_or_else(no_ambient)?;
                let store = azure::store(signed, account, container, (hosts, retry)).map_err(unusable)?;
                (Arc::new(store), prefix)
            }
            StorageKind::File { .. } | StorageKind::Postgres { .. } => return Ok(None),
        };
        Ok(Some(Self { store, prefix: prefix.to_owned(), integration: integration.name.clone() }))
    }

    pub async fn list(&self, prefix: &str) -> Result<Vec<StageFile>, Error> {
        let folder = prefix.rsplit_once('/').map_or("", |(folder, _)| folder);
        let Ok(begin) = self.key(folder) else { return Ok(Vec::new()) }; // no object has such a key
        let (mut found, mut looked_at) = (Vec::new(), 0_usize);
        let mut listed = self.store.list(Some(&begin));
        while let Some(object) = listed.next().await {
            let object = match object {
                Ok(object) => object,
                Err(error) => return Err(self.unlisted(&error, (prefix, &begin)).await),
            };
            looked_at += 1;
            if looked_at > LOOKED_AT_MAX {
                return Err(StageFileFault::Many { limit: LOOKED_AT_MAX }.into());
            }
            // a key that is that of the folder itself is how some make one
            let key: &str = object.location.as_ref();
            let Some(path) = key.strip_prefix(self.prefix.as_str()) else { continue };
            if path.is_empty() || !path.starts_with(prefix) {
                continue;
            }
            if found.len() == LISTED_MAX {
                return Err(StageFileFault::Many { limit: LISTED_MAX }.into());
            }
            found.push(self.told(path.to_owned(), &object)?);
        }
        Ok(found)
    }

    /// The object of this path, if it is there.
    pub async fn found(&self, path: &StagePath) -> Result<Option<StageFile>, Error> {
        match self.store.head(&self.key(path.as_str())?).await {
            Ok(object) => self.told(path.as_str().to_owned(), &object).map(Some),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.fault(&error, path.as_str())),
        }
    }

    pub async fn open_listed(
        &self,
        path: &StagePath,
        listed: &StageFile,
        bounds: &ReadBounds,
    ) -> Result<Box<dyn Read + Send>, Error> {
        if listed.bytes > FILE_BYTES_MAX {
            return Err(StageFileFault::TooLarge { limit: FILE_BYTES_MAX }.into());
        }
        // asked for again at each retry, so that what comes is one object throughout
        let options = GetOptions { if_match: Some(format!("\"{}\"", listed.md5)), ..GetOptions::default() };
        let got = self.store.get_opts(&self.key(path.as_str())?, options).await;
        let got = got.map_err(|error| self.fault(&error, path.as_str()))?;
        if self.told(path.as_str().to_owned(), &got.meta)?.md5 != listed.md5 || got.meta.size != listed.bytes {
            return Err(replaced(path.as_str()));
        }
        Ok(Box::new(ObjectRead::of(got.into_stream(), listed.bytes, bounds)))
    }

    pub async fn remove(&self, path: &StagePath) -> Result<bool, Error> {
        if !self.has(path).await? {
            return Ok(false);
        }
        let removed = self.store.delete(&self.key(path.as_str())?).await;
        removed.map_err(|error| self.fault(&error, path.as_str()))?;
        Ok(true)
    }

    /// Whether the object that was listed is gone now; another that has come in its place stays.
    pub async fn remove_listed(&self, path: &StagePath, listed: &StageFile) -> Result<bool, Error> {
        let key = self.key(path.as_str())?;
        let found = match self.store.head(&key).await {
            Ok(found) => self.told(path.as_str().to_owned(), &found)?,
            Err(object_store::Error::NotFound { .. }) => return Ok(true),
            Err(error) => return Err(self.fault(&error, path.as_str())),
        };
        if (&found.md5, found.bytes) != (&listed.md5, listed.bytes) {
            return Ok(false);
        }
        let removed = self.store.delete(&key).await;
        removed.map_err(|error| self.fault(&error, path.as_str()))?;
        Ok(true)
    }

    /// Whether there is such an object.
    pub async fn has(&self, path: &StagePath) -> Result<bool, Error> {
        match self.store.head(&self.key(path.as_str())?).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(self.fault(&error, path.as_str())),
        }
    }

    /// The object of a path below the prefix.
    pub fn key(&self, path: &str) -> Result<Path, Error> {
        Path::parse(format!("{}{path}", self.prefix)).map_err(|_| StageFileFault::Unavailable.into())
    }

    pub fn told(&self, path: String, object: &ObjectMeta) -> Result<StageFile, Error> {
        // without a tag nobody can tell whether it is the same later on
        let tag = object.e_tag.as_deref().ok_or_else(|| self.away())?;
        let md5 = tag.trim_matches('"').to_owned();
        Ok(StageFile { path, bytes: object.size, md5, modified: object.last_modified.into(), inode: 0 })
    }

    /// The fault of a listing. Of refused credentials the library tells for an object alone, so one is asked for.
    async fn unlisted(&self, error: &object_store::Error, (prefix, begin): (&str, &Path)) -> Error {
        use object_store::Error as Answer;
        match self.store.head(begin).await {
            Err(denied @ (Answer::PermissionDenied { .. } | Answer::Unauthenticated { .. })) => {
                self.fault(&denied, prefix)
            }
            _ => self.fault(error, prefix),
        }
    }

    /// What a caller is told of it. What the store has answered may name keys and hosts: it is not told or written down.
    pub fn fault(&self, error: &object_store::Error, path: &str) -> Error {
        use object_store::Error as Answer;
        let (path, integration) = (path.to_owned(), self.integration.clone());
        match error {
            Answer::NotFound { .. } => StageFileFault::Missing { path }.into(),
            Answer::AlreadyExists { .. } => StageFileFault::Exists { path }.into(),
            Answer::Precondition { .. } | Answer::NotModified { .. } => replaced(&path),
            Answer::PermissionDenied { .. } | Answer::Unauthenticated { .. } => {
                StageFileFault::Unauthorized { integration }.into()
            }
            _ if is_refused_host(error) => StageFileFault::Unreachable { integration }.into(),
            _ => self.away(),
        }
    }

    fn away(&self) -> Error {
        StageFileFault::Away { integration: self.integration.clone() }.into()
    }
}

/// What makes a store whose requests are signed so; none: the surroundings give no credentials, or may not.
fn signed_by(credentials: &StorageCredentials, hosts: &ReachableHosts) -> Option<AmazonS3Builder> {
    Some(match credentials {
        // a password is a database's, and a shared access signature Azure's
        StorageCredentials::Anonymous | StorageCredentials::Password(_) | StorageCredentials::SasToken(_) => {
            AmazonS3Builder::new().with_skip_signature(true)
        }
        // as the environment's service account is let in
        StorageCredentials::Ambient if !hosts.lends_ambient() => return None,
        StorageCredentials::Ambient => ambient::signed_by(&AmazonS3Builder::from_env())?,
        StorageCredentials::AccessKey(key) => {
            let builder = AmazonS3Builder::new()
                .with_access_key_id(key.access_key_id.expose().as_str())
                .with_secret_access_key(key.secret_access_key.expose().as_str());
            match key.session_token.expose() {
                Some(token) => builder.with_token(token.as_str()),
                None => builder,
            }
        }
        // what could not be opened reaches nothing
        StorageCredentials::Sealed { .. } => return None,
    })
}

/// Whether an object is another than the one that was asked for.
pub(super) fn is_replaced(error: &object_store::Error) -> bool {
    use object_store::Error as Answer;
    matches!(error, Answer::Precondition { .. } | Answer::NotModified { .. } | Answer::NotFound { .. })
}

/// The endpoint as the store wants it: with the bucket in its host's name, unless the bucket stands in paths.
fn endpoint_of(endpoint: &str, bucket: &str, is_path_style: bool) -> String {
    match endpoint.split_once("://") {
        Some((scheme, host)) if !is_path_style => format!("{scheme}://{bucket}.{host}"),
        _ => endpoint.to_owned(),
    }
}
