//! Files of external stages: objects of a bucket or container, or files of a folder of the host, reached by a storage
//! integration.
//!
//! The integration is held against the URL when a store is opened, and against each file that is read, written or removed.
//! Nothing of a store or its credentials reaches the engine's process, an error or a log.

mod ambient;
mod azure;
mod bucket;
mod bucket_writer;
mod egress;
mod folder;
mod folder_writer;
mod object_parts;
mod object_read;
mod placing;

use std::io::Read;
use std::sync::Arc;

use contract::StorageIntegration;
use contract::storage_integration::{StorageCredentials, StorageDenied, StorageKind};
use sql::StageLocation;

use super::store::ReadBounds;
use super::{StageFile, StagePath, blocking};
use crate::Error;
use crate::error::StageFileFault;

use bucket::BucketFiles;
use folder::FolderFiles;

pub use egress::ReachableHosts;
pub use object_parts::ObjectParts;
pub use object_read::ReadFault;

/// The files below the URL of an external stage.
#[derive(Debug, Clone)]
pub struct ExternalFiles {
    integration: Arc<StorageIntegration>,
    url: String,
    kind: ExternalKind,
}

#[derive(Debug, Clone)]
enum ExternalKind {
    Folder(FolderFiles),
    Bucket(BucketFiles),
}

impl ExternalFiles {
    /// The files of this place, if the integration allows it. Nothing is asked of the store yet.
    pub fn open(
        integration: &StorageIntegration,
        location: &StageLocation,
        hosts: &ReachableHosts,
    ) -> Result<Self, Error> {
        let url = location.url.clone();
        integration.permits(&url).map_err(StageFileFault::Denied)?;
        if matches!(integration.credentials, StorageCredentials::Sealed { .. }) {
            return Err(StageFileFault::Sealed { integration: integration.name.clone() }.into());
        }
        let kind = match &integration.kind {
            StorageKind::File { folder } => FolderFiles::below(folder, &url).map(ExternalKind::Folder),
            StorageKind::S3 { .. } | StorageKind::Azure { .. } => {
                BucketFiles::of(integration, &url, hosts)?.map(ExternalKind::Bucket)
            }
            StorageKind::Postgres { .. } => None, // a database has no files
        };
        let kind = kind.ok_or_else(|| StageFileFault::Unusable { integration: integration.name.clone() })?;
        Ok(Self { integration: Arc::new(integration.clone()), url, kind })
    }

    /// The files whose paths begin so, sorted by path; those that the integration does not allow are not among them.
    pub async fn list(&self, prefix: &str) -> Result<Vec<StageFile>, Error> {
        let found = match &self.kind {
            ExternalKind::Folder(folder) => {
                let (folder, prefix) = (folder.clone(), prefix.to_owned());
                blocking(move || folder.list(&prefix)).await?
            }
            ExternalKind::Bucket(bucket) => Box::pin(bucket.list(prefix)).await?,
        };
        let mut allowed = Vec::with_capacity(found.len());
        for file in found {
            match self.permitted(&file.path) {
                Ok(()) if StagePath::read(&file.path).is_ok() => allowed.push(file),
                // left out, its rows would be missing without a word; but what is blocked has no name here
                Ok(()) | Err(StorageDenied::Malformed(_)) if !self.hides(&file.path) => {
                    return Err(StageFileFault::Unnameable { path: file.path }.into());
                }
                Ok(()) | Err(_) => {}
            }
        }
        allowed.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(allowed)
    }

    /// The file of a path. One that the integration does not allow is missing, as in a list.
    pub async fn find(&self, path: &str) -> Result<StageFile, Error> {
        let missing = || StageFileFault::Missing { path: path.to_owned() };
        let wanted = StagePath::read(path)?;
        self.permitted(path).map_err(|_| missing())?;
        let found = match &self.kind {
            ExternalKind::Folder(folder) => {
                let folder = folder.clone();
                blocking(move || folder.found(&wanted)).await?
            }
            ExternalKind::Bucket(bucket) => Box::pin(bucket.found(&wanted)).await?,
        };
        found.ok_or_else(|| missing().into())
    }

    /// The file that was listed, to be read. If it is another by its end, reading it fails.
    pub async fn open_listed(&self, listed: &StageFile, bounds: &ReadBounds) -> Result<Box<dyn Read + Send>, Error> {
        let path = self.allowed(&listed.path)?;
        match &self.kind {
            ExternalKind::Folder(folder) => {
                let (folder, listed) = (folder.clone(), listed.clone());
                blocking(move || folder.open_listed(&path, &listed)).await
            }
            ExternalKind::Bucket(bucket) => Box::pin(bucket.open_listed(&path, listed, bounds)).await,
        }
    }

    /// The object that was listed, to be read by its parts; none of a folder, whose files may change meanwhile.
    pub fn parts(&self, listed: &StageFile) -> Result<Option<ObjectParts>, Error> {
        let path = self.allowed(&listed.path)?;
        match &self.kind {
            ExternalKind::Folder(_) => Ok(None),
            ExternalKind::Bucket(bucket) => Ok(Some(ObjectParts::of(bucket.clone(), path, listed.clone()))),
        }
    }

    /// Whether there was such a file, which is gone now.
    pub async fn remove(&self, path: &str) -> Result<bool, Error> {
        let path = self.allowed(path)?;
        match &self.kind {
            ExternalKind::Folder(folder) => {
                let folder = folder.clone();
                blocking(move || folder.remove(&path)).await
            }
            ExternalKind::Bucket(bucket) => Box::pin(bucket.remove(&path)).await,
        }
    }

    /// Whether the file that was listed is gone now. Another that has come in its place stays: it is looked at just before,
    /// since not every store removes by a tag.
    pub async fn remove_listed(&self, listed: &StageFile) -> Result<bool, Error> {
        let path = self.allowed(&listed.path)?;
        match &self.kind {
            ExternalKind::Folder(folder) => {
                let (folder, listed) = (folder.clone(), listed.clone());
                blocking(move || folder.remove_listed(&path, &listed)).await
            }
            ExternalKind::Bucket(bucket) => Box::pin(bucket.remove_listed(&path, listed)).await,
        }
    }

    /// The path, if no part of it leads elsewhere and the integration allows it.
    fn allowed(&self, path: &str) -> Result<StagePath, Error> {
        let path = StagePath::read(path)?;
        self.permitted(path.as_str()).map_err(StageFileFault::Denied)?;
        Ok(path)
    }

    /// Whether a folder that it is in is blocked.
    fn hides(&self, path: &str) -> bool {
        let mut folders = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
        folders.any(|folder| matches!(self.permitted(folder), Err(StorageDenied::Blocked(_))))
    }

    fn permitted(&self, path: &str) -> Result<(), StorageDenied> {
        self.integration.permits(&format!("{}{path}", self.url)).map(drop)
    }
}

#[cfg(test)]
mod tests;
