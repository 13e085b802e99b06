//! An object of a bucket, read by its parts: each is one of the object that was listed, or an error.

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use futures::future::BoxFuture;
use object_store::{GetOptions, GetRange};

use super::bucket::{BucketFiles, is_replaced};
use super::object_read::ReadFault;
use crate::Error;
use crate::storage::stage_files::store::replaced;
use crate::storage::stage_files::{StageFile, StagePath};

/// An object as it was listed, whose bytes are asked for by their places.
#[derive(Debug, Clone)]
pub struct ObjectParts {
    bucket: BucketFiles,
    path: StagePath,
    listed: StageFile,
}

impl ObjectParts {
    pub(super) fn of(bucket: BucketFiles, path: StagePath, listed: StageFile) -> Self {
        Self { bucket, path, listed }
    }

    /// How many it has.
    pub fn bytes(&self) -> u64 {
        self.listed.bytes
    }

    /// The bytes of a part, which is not empty. Who asks bounds how many they are, and how long it takes.
    pub fn read(&self, part: Range<u64>) -> BoxFuture<'_, Result<Bytes, Error>> {
        Box::pin(async move {
            let path = self.path.as_str();
            // asked for again with each part, so that all of them are of one object
            let options = GetOptions {
                if_match: Some(format!("\"{}\"", self.listed.md5)),
                range: Some(GetRange::Bounded(part.clone())),
                ..GetOptions::default()
            };
            let got = self.bucket.store.get_opts(&self.bucket.key(path)?, options).await;
            let got = got.map_err(|error| self.bucket.fault(&error, path))?;
            let told = self.bucket.told(path.to_owned(), &got.meta)?;
            if (told.md5.as_str(), told.bytes) != (self.listed.md5.as_str(), self.listed.bytes) || got.range != part {
                return Err(replaced(path));
            }
            let length = usize::try_from(part.end - part.start).map_err(|_| replaced(path))?;
            let mut bytes = BytesMut::with_capacity(length);
            let mut pieces = got.into_stream();
            while let Some(piece) = pieces.next().await {
                let piece = piece.map_err(|error| broken_off(path, &error))?;
                if bytes.len() + piece.len() > length {
                    return Err(replaced(path));
                }
                bytes.extend_from_slice(&piece);
            }
            if bytes.len() == length { Ok(bytes.freeze()) } else { Err(ReadFault::BrokenOff.of_file(path)) }
        })
    }
}

fn broken_off(path: &str, error: &object_store::Error) -> Error {
    let fault = if is_replaced(error) { ReadFault::Replaced } else { ReadFault::BrokenOff };
    fault.of_file(path)
}
