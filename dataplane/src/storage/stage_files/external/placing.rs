//! Files that are written whole, placed in an external stage together: one by one, and taken back where one cannot be.

use std::fs::File;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::task::TaskTracker;

use super::bucket_writer::BucketWriter;
use super::folder_writer::FolderWriter;
use super::{ExternalFiles, ExternalKind};
use crate::Error;
use crate::error::StageFileFault;
use crate::storage::stage_files::{StageFile, StageWriter, blocking, unavailable};

/// Bytes that are sent at a time.
const PIECE_BYTES: u64 = 1 << 20;

/// A file on its way into an external stage.
#[derive(Debug)]
enum ExternalUpload {
    Folder(FolderWriter),
    Bucket(Box<BucketWriter>),
}

impl ExternalFiles {
    /// Sends all of the files, then has each be there. That goes on to its end though nobody waits for it any more.
    pub async fn place_all(
        &self,
        writers: Vec<StageWriter>,
        (tasks, begun): (&TaskTracker, &AtomicBool),
    ) -> Result<Vec<StageFile>, Error> {
        let are_several = writers.len() > 1;
        let mut uploads = Vec::with_capacity(writers.len());
        for writer in &writers {
            let upload = Box::pin(self.upload(writer.path(), writer.replaces())).await?;
            let mut upload = Box::pin(sent(upload, writer.reader()?)).await?;
            if are_several {
                Box::pin(upload.send_rest()).await?; // so that no more is held than of one
            }
            let is_there = are_several && writer.replaces() && self.has(writer.path()).await?;
            uploads.push((upload, is_there));
        }
        let files = self.clone();
        begun.store(true, Ordering::Release);
        let finished = tasks.spawn(async move { Box::pin(files.finished(uploads)).await });
        finished.await.unwrap_or_else(|_| Err(StageFileFault::Unavailable.into()))
    }

    /// Has each of them be there. Where one cannot be, the others are taken back, but for those that have replaced a
    /// file: each of these is whole, and without it there would be neither the old nor the new one.
    async fn finished(&self, uploads: Vec<(ExternalUpload, bool)>) -> Result<Vec<StageFile>, Error> {
        let (mut placed, mut new) = (Vec::with_capacity(uploads.len()), Vec::new());
        for (upload, is_there) in uploads {
            match Box::pin(upload.finish()).await {
                Ok(file) => {
                    if !is_there {
                        new.push(file.clone());
                    }
                    placed.push(file);
                }
                Err(error) => {
                    Box::pin(self.take_back(&new)).await?;
                    return Err(error);
                }
            }
        }
        Ok(placed)
    }

    async fn has(&self, path: &str) -> Result<bool, Error> {
        let found = Box::pin(self.list(path)).await?;
        Ok(found.iter().any(|file| file.path == path))
    }

    /// Removes files that were placed here, but for those in whose place another has come.
    pub async fn take_back(&self, placed: &[StageFile]) -> Result<(), Error> {
        for file in placed {
            self.remove_listed(file).await?;
        }
        Ok(())
    }

    /// A file that is there once it is whole; one that is there stays, unless it is to be replaced.
    async fn upload(&self, path: &str, replaces: bool) -> Result<ExternalUpload, Error> {
        let path = self.allowed(path)?;
        match &self.kind {
            ExternalKind::Folder(folder) => {
                let folder = folder.clone();
                let made = blocking(move || FolderWriter::create(&folder, path, replaces)).await;
                made.map(ExternalUpload::Folder)
            }
            ExternalKind::Bucket(bucket) => {
                let made = BucketWriter::create(bucket.clone(), path, replaces).await;
                made.map(Box::new).map(ExternalUpload::Bucket)
            }
        }
    }
}

impl ExternalUpload {
    /// The same with these bytes behind the others.
    async fn with(self, bytes: Vec<u8>) -> Result<Self, Error> {
        match self {
            Self::Folder(mut writer) => {
                let written = blocking(move || {
                    writer.write(&bytes)?;
                    Ok(writer)
                });
                written.await.map(Self::Folder)
            }
            Self::Bucket(mut writer) => {
                writer.write(&bytes).await?;
                Ok(Self::Bucket(writer))
            }
        }
    }

    /// No more bytes come: what is held of it is let go.
    async fn send_rest(&mut self) -> Result<(), Error> {
        match self {
            Self::Folder(writer) => {
                writer.fill_up();
                Ok(())
            }
            Self::Bucket(writer) => writer.send_rest().await,
        }
    }

    /// All of it is written: it is there from now on.
    async fn finish(self) -> Result<StageFile, Error> {
        match self {
            Self::Folder(writer) => blocking(move || writer.finish()).await,
            Self::Bucket(writer) => writer.finish().await,
        }
    }
}

/// The upload with all bytes of the file.
async fn sent(mut upload: ExternalUpload, mut file: File) -> Result<ExternalUpload, Error> {
    loop {
        let read = blocking(move || {
            let mut piece = Vec::new();
            let read = file.by_ref().take(PIECE_BYTES).read_to_end(&mut piece);
            read.map_err(|error| unavailable(&error))?;
            Ok((file, piece))
        });
        let (rest, piece) = read.await?;
        if piece.is_empty() {
            return Ok(upload);
        }
        upload = upload.with(piece).await?;
        file = rest;
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    /// A file of this text, put there.
    pub async fn put(files: &ExternalFiles, path: &str, text: &str, replaces: bool) -> Result<StageFile, Error> {
        let upload = files.upload(path, replaces).await?;
        upload.with(text.as_bytes().to_vec()).await?.finish().await
    }

    /// A file that is begun and never finished.
    pub async fn begun(files: &ExternalFiles, path: &str, text: &str) {
        let upload = files.upload(path, true).await.unwrap();
        drop(upload.with(text.as_bytes().to_vec()).await.unwrap());
    }
}
