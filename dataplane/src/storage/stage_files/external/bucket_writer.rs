//! A file on its way into a bucket: in parts, of which nobody sees one before the last is there.

use object_store::{MultipartUpload, ObjectStoreExt, PutMode};
use tokio::runtime::Handle;

use super::bucket::BucketFiles;
use crate::Error;
use crate::error::StageFileFault;
use crate::storage::stage_files::aside_file::grown;
use crate::storage::stage_files::{StageFile, StagePath};

/// The bytes of a part: at most 10,000 of them make an object, and each but the last has at least 5 MiB.
const PART_BYTES: usize = 8 << 20;

/// An object that is being written; dropped before it is finished, it has never been there.
#[derive(Debug)]
pub(super) struct BucketWriter {
    files: BucketFiles,
    path: StagePath,
    /// Bytes that are in no part yet.
    held: Vec<u8>,
    parts: Option<Box<dyn MultipartUpload>>,
    bytes: u64,
    replaces: bool,
}

impl BucketWriter {
    pub async fn create(files: BucketFiles, path: StagePath, replaces: bool) -> Result<Self, Error> {
        keeps_another(&files, &path, replaces).await?;
        Ok(Self { files, path, held: Vec::new(), parts: None, bytes: 0, replaces })
    }

    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.bytes = grown(self.bytes, bytes.len())?;
        self.held.extend_from_slice(bytes);
        while self.held.len() >= PART_BYTES {
            let rest = self.held.split_off(PART_BYTES);
            let part = std::mem::replace(&mut self.held, rest);
            self.sent(part).await?;
        }
        Ok(())
    }

    /// Sends what is in no part yet. An object of nothing has no part.
    pub async fn send_rest(&mut self) -> Result<(), Error> {
        let held = std::mem::take(&mut self.held);
        if held.is_empty() { Ok(()) } else { self.sent(held).await }
    }

    /// All of it is written: it is there from now on.
    pub async fn finish(mut self) -> Result<StageFile, Error> {
        let key = self.files.key(self.path.as_str())?;
        if self.parts.is_some() {
            self.send_rest().await?;
            // A store knows no condition for the end of parts: that another has come meanwhile is looked for last.
            keeps_another(&self.files, &self.path, self.replaces).await?;
            if let Some(mut parts) = self.parts.take()
                && let Err(error) = parts.complete().await
            {
                self.parts = Some(parts);
                return Err(self.files.fault(&error, self.path.as_str()));
            }
        } else {
            let mode = if self.replaces { PutMode::Overwrite } else { PutMode::Create };
            keeps_another(&self.files, &self.path, self.replaces).await?;
            let held = std::mem::take(&mut self.held);
            let put = self.files.store.put_opts(&key, held.into(), mode.into()).await;
            put.map_err(|error| self.files.fault(&error, self.path.as_str()))?;
        }
        let there = self.files.store.head(&key).await.map_err(|error| self.files.fault(&error, self.path.as_str()));
        let told = there.and_then(|there| self.files.told(self.path.as_str().to_owned(), &there));
        if told.is_err() && self.files.remove(&self.path).await.is_err() {
            tracing::warn!("a file of a stage is in its store, and its writer was told that it is not");
        }
        told
    }

    async fn sent(&mut self, part: Vec<u8>) -> Result<(), Error> {
        let fault = |error: object_store::Error| self.files.fault(&error, self.path.as_str());
        if self.parts.is_none() {
            let key = self.files.key(self.path.as_str())?;
            self.parts = Some(self.files.store.put_multipart(&key).await.map_err(fault)?);
        }
        match &mut self.parts {
            Some(parts) => parts.put_part(part.into()).await.map_err(fault),
            None => Ok(()),
        }
    }
}

/// Where a file replaces nothing, an object that is there stays.
async fn keeps_another(files: &BucketFiles, path: &StagePath, replaces: bool) -> Result<(), Error> {
    if !replaces && files.has(path).await? {
        return Err(StageFileFault::Exists { path: path.as_str().to_owned() }.into());
    }
    Ok(())
}

impl Drop for BucketWriter {
    fn drop(&mut self) {
        let (Some(mut parts), Ok(runtime)) = (self.parts.take(), Handle::try_current()) else { return };
        // A store keeps parts until it is told; nobody waits for that, and one that is away forgets them by its own rules.
        runtime.spawn(async move {
            if parts.abort().await.is_err() {
                tracing::warn!("the parts of an unfinished file of a stage are left in its store");
            }
        });
    }
}
