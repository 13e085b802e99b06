//! The files of one stage, wherever they are: in the environment, or where a storage integration reaches.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::external::ExternalFiles;
use super::file_parts::FileParts;
use super::{StageFile, StageFiles, StageWriter, blocking};
use crate::Error;

/// Where the files of a stage are.
#[derive(Debug, Clone)]
pub enum StageStore {
    Internal { files: StageFiles, id: String },
    External(ExternalFiles),
}

/// The bounds of reading a file.
#[derive(Debug, Clone)]
pub struct ReadBounds {
    /// Those that shutdown waits for.
    pub tasks: TaskTracker,
    pub deadline: Instant,
    pub cancel: CancellationToken,
}

/// A file that is open, or why it is not.
type Opened = Result<Box<dyn Read + Send>, Error>;

// Each future is boxed with its bounds: statements nest deeply, and what they nest would be gone through to the store.
impl StageStore {
    /// Has it done in the environment, on a thread that may wait, or where the integration reaches.
    fn either<'a, T: Send + 'static>(
        &'a self,
        own: impl FnOnce(&StageFiles, &str) -> Result<T, Error> + Send + 'static,
        external: impl FnOnce(&'a ExternalFiles) -> BoxFuture<'a, Result<T, Error>>,
    ) -> BoxFuture<'a, Result<T, Error>> {
        match self {
            Self::Internal { files, id } => {
                let (files, id) = (files.clone(), id.clone());
                Box::pin(blocking(move || own(&files, &id)))
            }
            Self::External(files) => external(files),
        }
    }

    /// The files whose paths begin so, sorted by path.
    pub fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<StageFile>, Error>> {
        let wanted = prefix.to_owned();
        self.either(move |files, id| files.list(id, &wanted), |files| Box::pin(files.list(prefix)))
    }

    /// The file that was listed, to be read: that one or none.
    pub fn open_listed<'a>(&'a self, listed: &'a StageFile, bounds: &'a ReadBounds) -> BoxFuture<'a, Opened> {
        Box::pin(async move {
            match self {
                Self::Internal { files, id } => {
                    let opened = own(files.clone(), id.clone(), listed.clone()).await?;
                    Ok(Box::new(opened) as Box<dyn Read + Send>)
                }
                Self::External(files) => Box::pin(files.open_listed(listed, bounds)).await,
            }
        })
    }

    /// The file that was listed, where the environment has it.
    pub fn open_own<'a>(&'a self, listed: &'a StageFile) -> BoxFuture<'a, Result<Option<File>, Error>> {
        Box::pin(async move {
            match self {
                Self::Internal { files, id } => own(files.clone(), id.clone(), listed.clone()).await.map(Some),
                Self::External(_) => Ok(None),
            }
        })
    }

    /// The file that was listed, to be read by its parts; none of an external folder, whose files may change meanwhile.
    pub fn parts<'a>(&'a self, listed: &'a StageFile) -> BoxFuture<'a, Result<Option<FileParts>, Error>> {
        Box::pin(async move {
            if let Self::External(files) = self {
                return Ok(files.parts(listed)?.map(FileParts::Object));
            }
            let opened = self.open_own(listed).await?;
            Ok(opened.map(|file| FileParts::OnDisk { file: Arc::new(file), bytes: listed.bytes }))
        })
    }

    /// Whether there was such a file, which is gone now.
    pub fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<bool, Error>> {
        let own = path.to_owned();
        self.either(move |files, id| files.remove(id, &own), |files| Box::pin(files.remove(path)))
    }

    /// Whether the file that was listed is gone now; another that has come in its place stays.
    pub fn remove_listed<'a>(&'a self, listed: &'a StageFile) -> BoxFuture<'a, Result<bool, Error>> {
        let own = listed.clone();
        self.either(move |files, id| files.remove_listed(id, &own), |files| Box::pin(files.remove_listed(listed)))
    }

    /// Puts files that are written whole into the stage: all of them are there from now on, or none.
    /// Once it has `begun`, it goes on to its end.
    pub fn place_all<'a>(
        &'a self,
        writers: Vec<StageWriter>,
        (tasks, begun): (&'a TaskTracker, &'a AtomicBool),
    ) -> BoxFuture<'a, Result<Vec<StageFile>, Error>> {
        Box::pin(async move {
            match self {
                Self::Internal { files, id } => {
                    let (files, id) = (files.clone(), id.clone());
                    begun.store(true, Ordering::Release);
                    blocking(move || files.finish_all(&id, writers)).await
                }
                Self::External(files) => Box::pin(files.place_all(writers, (tasks, begun))).await,
            }
        })
    }

    /// Removes files that were placed in a stage which is gone meanwhile.
    pub fn take_back<'a>(&'a self, placed: &'a [StageFile]) -> BoxFuture<'a, Result<(), Error>> {
        self.either(StageFiles::drop_stage, |files| Box::pin(files.take_back(placed)))
    }
}

/// The file of the environment that was listed.
async fn own(files: StageFiles, id: String, listed: StageFile) -> Result<File, Error> {
    blocking(move || {
        let opened = files.open(&id, &listed.path)?;
        if is_listed(&opened, &listed) { Ok(opened) } else { Err(replaced(&listed.path)) }
    })
    .await
}

/// A file that is not the one that was listed.
pub(super) fn replaced(path: &str) -> Error {
    super::external::ReadFault::Replaced.of_file(path)
}

/// Whether an open file is the one that was listed: what is written down of a load is the sum of that.
fn is_listed(opened: &File, listed: &StageFile) -> bool {
    let is_it = |metadata: Metadata| {
        metadata.ino() == listed.inode
            && metadata.len() == listed.bytes
            && metadata.modified().is_ok_and(|modified| modified == listed.modified)
    };
    opened.metadata().is_ok_and(is_it)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_file_that_was_replaced_is_not_the_one_that_was_listed() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("a.csv");
        std::fs::write(&place, "1\n").unwrap();
        let opened = File::open(&place).unwrap();
        let metadata = opened.metadata().unwrap();
        let (modified, inode) = (metadata.modified().unwrap(), metadata.ino());
        let listed = StageFile { path: "a.csv".to_owned(), bytes: 2, md5: String::new(), modified, inode };
        assert!(!is_listed(&opened, &StageFile { inode: inode + 1, ..listed.clone() }));
        assert!(is_listed(&opened, &listed));
        assert!(!is_listed(&opened, &StageFile { bytes: 3, ..listed.clone() }));
        assert!(!is_listed(&opened, &StageFile { modified: modified - Duration::from_secs(1), ..listed }));
    }
}
