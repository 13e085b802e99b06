//! A file of a stage, read by its parts: an object of a bucket, or a file of the environment.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;

use super::external::ObjectParts;
use super::{blocking, unavailable};
use crate::Error;
use crate::error::StageFileFault;

/// A file as it was listed, whose bytes are asked for by their places.
#[derive(Debug, Clone)]
pub enum FileParts {
    Object(ObjectParts),
    /// What replaces or removes it meanwhile does not change what is read.
    OnDisk {
        file: Arc<File>,
        bytes: u64,
    },
}

impl FileParts {
    /// How many it has.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Object(object) => object.bytes(),
            Self::OnDisk { bytes, .. } => *bytes,
        }
    }

    /// The bytes of a part, which is not empty. Who asks bounds how many they are, and how long it takes.
    pub fn read(&self, part: Range<u64>) -> BoxFuture<'_, Result<Bytes, Error>> {
        let file = match self {
            Self::Object(object) => return object.read(part),
            Self::OnDisk { file, .. } => Arc::clone(file),
        };
        Box::pin(blocking(move || {
            let length = usize::try_from(part.end - part.start).map_err(|_| StageFileFault::Unavailable)?;
            let mut bytes = vec![0; length];
            file.read_exact_at(&mut bytes, part.start).map_err(|error| unavailable(&error))?;
            Ok(Bytes::from(bytes))
        }))
    }
}
