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

use super::{StageFile, StageFiles, StagePath, StageWriter, UNFINISHED, unavailable};
use crate::Error;

/// How the name of a list ends.
const LIST: &str = "list";
/// How the name ends that a file keeps which is replaced, until all that come with the other are there.
const REPLACED: &str = "old";

/// A file that is to be placed, as its list has it.
#[derive(Debug, PartialEq, Eq)]
struct PlacedFile {
    path: String,
    inode: u64,
    /// The other name of the file that it replaces.
    replaced: Option<PathBuf>,
}

impl StageFiles {
    /// All of these files of a stage are written: they are there from now on, all of them or none.
    /// A file that one of them has replaced is there again where none of them stays.
    pub fn finish_all(&self, stage_id: &str, writers: Vec<StageWriter>) -> Result<Vec<StageFile>, Error> {
        if writers.len() < 2 {
            return writers.into_iter().map(StageWriter::finish).collect();
        }
        let (list, files) = begun(stage_id, &writers).map_err(|error| unavailable(&error))?;
        let finished: Result<Vec<StageFile>, Error> = writers.into_iter().map(StageWriter::finish).collect();
        let done = finished.and_then(|placed| {
            forgotten(&list).map_err(|error| unavailable(&error))?;
            Ok(placed)
        });
        if done.is_err() {
            let mut taken_back = Ok(());
            for file in &files {
                taken_back = self.take_back(stage_id, file).and(taken_back);
            }
            taken_back?; // the list stays where one of them fails, and so do the files that were replaced
            if let Err(error) = forgotten(&list)
                && error.kind() != ErrorKind::NotFound
            {
                tracing::warn!(%error, "the list of files that came together cannot be removed");
            }
        }
        let_go(&files);
        done
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
                if let Some((stage_id, file)) = self.read(line) {
                    self.take_back(stage_id, &file).map_err(|error| io::Error::other(error.to_string()))?;
                }
            }
        }
        Ok(())
    }

    /// What a line of a list says: the inode, the stage and the path, and before them which file is replaced, if one is.
    fn read<'l>(&self, line: &'l str) -> Option<(&'l str, PlacedFile)> {
        let (replaced, line) = match line.strip_prefix(REPLACED) {
            Some(rest) => {
                let (name, rest) = rest.strip_prefix(' ')?.split_once(' ')?;
                let is_ours = name.bytes().all(|byte| byte.is_ascii_digit());
                let name = is_ours.then(|| self.root.join(UNFINISHED).join(name).with_extension(REPLACED));
                (Some(name?), rest)
            }
            None => (None, line),
        };
        let mut parts = line.splitn(3, ' ');
        let inode = parts.next()?.parse().ok()?;
        let (stage_id, path) = (parts.next()?, parts.next()?.to_owned());
        Some((stage_id, PlacedFile { path, inode, replaced }))
    }

    /// Removes the file if it is this one, and not another that has come in its place; the one that it replaced is back.
    fn take_back(&self, stage_id: &str, file: &PlacedFile) -> Result<(), Error> {
        let place = self.place(stage_id, &StagePath::read(&file.path)?)?;
        if !self.is_there(&place.folder)? {
            return Ok(());
        }
        // not opened: there may be too many files open, and one that cannot be looked at is not taken for another
        match fs::symlink_metadata(place.file()) {
            Ok(found) if found.ino() == file.inode => {}
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(unavailable(&error)),
        }
        match &file.replaced {
            Some(replaced) => fs::rename(replaced, place.file()).map_err(|error| unavailable(&error)),
            None => self.remove(stage_id, &file.path).map(drop),
        }
    }
}

/// Gives another name to each file that is replaced, and writes the list of what is moved to its place.
fn begun(stage_id: &str, writers: &[StageWriter]) -> io::Result<(PathBuf, Vec<PlacedFile>)> {
    let mut files = Vec::with_capacity(writers.len());
    let held: io::Result<()> = writers.iter().try_for_each(|writer| {
        let (path, inode, replaced) = (writer.path().to_owned(), writer.inode()?, writer.held_aside(REPLACED)?);
        files.push(PlacedFile { path, inode, replaced });
        Ok(())
    });
    match held.and_then(|()| listed(stage_id, writers, &files)) {
        Ok(list) => Ok((list, files)),
        Err(error) => {
            let_go(&files);
            Err(error)
        }
    }
}

/// Writes the list, so that the disk keeps it.
fn listed(stage_id: &str, writers: &[StageWriter], files: &[PlacedFile]) -> io::Result<PathBuf> {
    let first = writers.first().ok_or(ErrorKind::InvalidInput)?;
    let list = first.aside().with_extension(LIST);
    let mut text = String::new();
    for PlacedFile { path, inode, replaced } in files {
        let name = replaced.as_deref().and_then(Path::file_stem).and_then(OsStr::to_str);
        if let Some(name) = name {
            let _ = write!(text, "{REPLACED} {name} ");
        }
        let _ = writeln!(text, "{inode} {stage_id} {path}");
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&list)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    folder_kept(&list)?;
    Ok(list)
}

/// Removes the other names of files that are replaced, or that have come back.
fn let_go(files: &[PlacedFile]) {
    for replaced in files.iter().filter_map(|file| file.replaced.as_deref()) {
        if let Err(error) = fs::remove_file(replaced)
            && error.kind() != ErrorKind::NotFound
        {
            tracing::warn!(%error, "a file of a stage that was replaced cannot be removed");
        }
    }
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

    fn replacing(files: &StageFiles, paths: &[&str]) -> Vec<StageWriter> {
        let write = |path: &&str| {
            let mut writer = files.writer("s", path).unwrap();
            writer.write(b"new").unwrap();
            writer
        };
        paths.iter().map(write).collect()
    }

    #[test]
    fn files_that_are_replaced_are_there_until_all_of_the_others_are() {
        let (files, _folder) = files();
        let before = files.finish_all("s", writers(&files, &["a/x", "b", "c"])).unwrap();
        let mut some = replacing(&files, &["a/x", "b", "new"]);
        some.extend(writers(&files, &["c"])); // which replaces none, and so comes not
        let refused = files.finish_all("s", some).unwrap_err();
        assert!(refused.to_string().contains("has a file c already"), "{refused}");
        assert_eq!((files.list("s", "").unwrap(), unfinished(&files)), (before, 0));
        let placed = files.finish_all("s", replacing(&files, &["a/x", "b"])).unwrap();
        assert_eq!(placed.iter().map(|file| file.bytes).collect::<Vec<_>>(), [3, 3]);
        assert_eq!((paths(&files), unfinished(&files)), (vec!["a/x".to_owned(), "b".to_owned(), "c".to_owned()], 0));
    }

    #[test]
    fn what_cannot_be_looked_at_is_not_taken_for_another_file() {
        let (files, _folder) = files();
        files.finish_all("s", writers(&files, &["a/x", "b"])).unwrap();
        let mut some = replacing(&files, &["a/x", "b"]);
        let (list, placed) = super::begun("s", &some).unwrap();
        some.remove(0).finish().unwrap();
        let folder = files.root().join("s").join("d.a");
        fs::rename(&folder, folder.with_extension("moved")).unwrap();
        fs::write(&folder, b"").unwrap(); // a folder that cannot be read
        assert!(files.take_back("s", &placed[0]).is_err());
        assert!(files.take_back_listed().is_err() && list.exists(), "it is tried again");
        fs::remove_file(&folder).unwrap();
        fs::rename(folder.with_extension("moved"), &folder).unwrap();
        files.take_back_listed().unwrap();
        let back = fs::read(folder.join("f.x")).unwrap();
        assert_eq!(back, b"a/x", "the file that was replaced");
    }

    #[test]
    fn what_a_dead_process_had_begun_to_replace_is_back() {
        let (files, _folder) = files();
        let before = files.finish_all("s", writers(&files, &["a/x", "b"])).unwrap();
        let mut begun = replacing(&files, &["a/x", "b", "c"]);
        super::begun("s", &begun).unwrap();
        begun.remove(0).finish().unwrap();
        std::mem::forget(begun);
        files.forget_unfinished().unwrap();
        assert_eq!(files.list("s", "").unwrap(), before);
        assert!(!files.root().join(UNFINISHED).exists());
    }

    #[test]
    fn what_a_dead_process_had_begun_to_place_is_taken_back_and_nothing_else() {
        let (files, _folder) = files();
        let mut begun = writers(&files, &["a", "b", "c"]);
        super::begun("s", &begun).unwrap();
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
