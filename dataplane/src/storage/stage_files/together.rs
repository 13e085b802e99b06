//! Several files of one stage that come to be there together, or not at all.
//!
//! A list of them is written before the first is moved to its place, and removed behind the last. A process that finds
//! such a list when it starts takes back what it names: whoever asked for the files was not told that they are there.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::{StageFile, StageFiles, StageWriter, UNFINISHED, unavailable};
use crate::Error;

/// How the name of a list ends.
const LIST: &str = "list";

impl StageFiles {
    /// All of these files of a stage are written: they are there from now on, all of them or none.
    /// A file that one of them has replaced is gone also where none of them stays.
    pub fn finish_all(&self, stage_id: &str, writers: Vec<StageWriter>) -> Result<Vec<StageFile>, Error> {
        if writers.len() < 2 {
            return writers.into_iter().map(StageWriter::finish).collect();
        }
        let list = listed(stage_id, &writers).map_err(|error| unavailable(&error))?;
        let mut placed = Vec::with_capacity(writers.len());
        let moved: Result<(), Error> = writers.into_iter().try_for_each(|writer| {
            placed.push(writer.finish()?);
            Ok(())
        });
        let done = moved.and_then(|()| forgotten(&list).map_err(|error| unavailable(&error)));
        let Err(error) = done else { return Ok(placed) };
        for file in &placed {
            self.take_back(stage_id, &file.path, file.inode)?; // the list stays where this fails
        }
        if let Err(error) = forgotten(&list)
            && error.kind() != ErrorKind::NotFound
        {
            tracing::warn!(%error, "the list of files that came together cannot be removed");
        }
        Err(error)
    }

    /// Removes the files that a dead process had begun to move to their places.
    pub(super) fn take_back_listed(&self) -> io::Result<()> {
        let lists = match fs::read_dir(self.root.join(UNFINISHED)) {
            Ok(lists) => lists,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        for entry in lists {
            let path = entry?.path();
            if path.extension() != Some(OsStr::new(LIST)) {
                continue;
            }
            for line in String::from_utf8_lossy(&fs::read(&path)?).lines() {
                let mut parts = line.splitn(3, ' ');
                let inode = parts.next().and_then(|inode| inode.parse().ok());
                if let (Some(inode), Some(stage_id), Some(file)) = (inode, parts.next(), parts.next()) {
                    let taken = self.take_back(stage_id, file, inode);
                    taken.map_err(|error| io::Error::other(error.to_string()))?;
                }
            }
        }
        Ok(())
    }

    /// Removes the file if it is this one, and not another that has come in its place.
    fn take_back(&self, stage_id: &str, path: &str, inode: u64) -> Result<(), Error> {
        let found = self.open(stage_id, path).ok().and_then(|file| file.metadata().ok());
        if found.is_some_and(|metadata| metadata.ino() == inode) {
            self.remove(stage_id, path)?;
        }
        Ok(())
    }
}

/// Writes the list of what is moved to its place, so that the disk keeps it.
fn listed(stage_id: &str, writers: &[StageWriter]) -> io::Result<PathBuf> {
    let first = writers.first().ok_or(ErrorKind::InvalidInput)?;
    let list = first.aside().with_extension(LIST);
    let mut text = String::new();
    for writer in writers {
        let _ = writeln!(text, "{} {stage_id} {}", writer.inode()?, writer.path());
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&list)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    folder_kept(&list)?;
    Ok(list)
}

fn forgotten(list: &Path) -> io::Result<()> {
    fs::remove_file(list)?;
    folder_kept(list)
}

/// Has the disk keep the names of the folder that this is in.
fn folder_kept(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> (StageFiles, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        (StageFiles::new(folder.path().join("stages")), folder)
    }

    fn writers(files: &StageFiles, paths: &[&str]) -> Vec<StageWriter> {
        let write = |path: &&str| {
            let mut writer = files.writer("s", path).unwrap().keeping_others();
            writer.write(path.as_bytes()).unwrap();
            writer
        };
        paths.iter().map(write).collect()
    }

    fn paths(files: &StageFiles) -> Vec<String> {
        files.list("s", "").unwrap().into_iter().map(|file| file.path).collect()
    }

    fn unfinished(files: &StageFiles) -> usize {
        fs::read_dir(files.root().join(UNFINISHED)).unwrap().count()
    }

    #[test]
    fn files_are_there_together() {
        let (files, _folder) = files();
        let placed = files.finish_all("s", writers(&files, &["a", "b/c", "b/d e"])).unwrap();
        assert_eq!(placed, files.list("s", "").unwrap());
        assert_eq!((paths(&files).len(), unfinished(&files)), (3, 0));
        assert_eq!(files.finish_all("s", writers(&files, &["f"])).unwrap().len(), 1);
        assert!(files.finish_all("s", Vec::new()).unwrap().is_empty());
        files.forget_unfinished().unwrap();
        assert_eq!(paths(&files), ["a", "b/c", "b/d e", "f"]);
    }

    #[test]
    fn files_that_wait_for_others_are_not_held_open() {
        let (files, _folder) = files();
        let full: Vec<_> = writers(&files, &["a", "b"]).into_iter().map(StageWriter::full).collect();
        let open = fs::read_dir("/proc/self/fd").unwrap().flatten().filter_map(|one| fs::read_link(one.path()).ok());
        assert_eq!(open.filter(|path| full.iter().any(|writer| path == writer.aside())).count(), 0);
        let placed = files.finish_all("s", full).unwrap();
        assert_eq!(placed, files.list("s", "").unwrap());
        let mut writer = files.writer("s", "c").unwrap().full();
        assert!(writer.write(b"more").is_err());
    }

    #[test]
    fn none_is_there_where_one_cannot_be() {
        let (files, _folder) = files();
        files.finish_all("s", writers(&files, &["b"])).unwrap();
        let refused = files.finish_all("s", writers(&files, &["a/x", "b", "c"])).unwrap_err();
        assert!(refused.to_string().contains("has a file b already"), "{refused}");
        assert_eq!((paths(&files), unfinished(&files)), (vec!["b".to_owned()], 0));
    }

    #[test]
    fn what_a_dead_process_had_begun_to_place_is_taken_back_and_nothing_else() {
        let (files, _folder) = files();
        let mut begun = writers(&files, &["a", "b", "c"]);
        listed("s", &begun).unwrap();
        begun.remove(0).finish().unwrap();
        begun.remove(0).finish().unwrap();
        std::mem::forget(begun);
        let another = writers(&files, &["b"]); // made first, so that it is another file on disk
        files.remove("s", "b").unwrap();
        files.finish_all("s", another).unwrap();
        let other = files.list("s", "b").unwrap();
        files.forget_unfinished().unwrap();
        assert_eq!(files.list("s", "").unwrap(), other);
        assert!(!files.root().join(UNFINISHED).exists());
    }
}
