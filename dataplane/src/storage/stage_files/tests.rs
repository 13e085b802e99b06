use std::io::Read;
use std::os::unix::fs::symlink;

use super::*;

fn files() -> (StageFiles, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (StageFiles::new(folder.path().join("stages")), folder)
}

fn put(files: &StageFiles, stage: &str, path: &str, text: &str) -> StageFile {
    let mut writer = files.writer(stage, path).unwrap();
    for piece in text.as_bytes().chunks(3) {
        writer.write(piece).unwrap();
    }
    writer.finish().unwrap()
}

fn text(files: &StageFiles, stage: &str, path: &str) -> String {
    let mut text = String::new();
    files.open(stage, path).unwrap().read_to_string(&mut text).unwrap();
    text
}

fn paths(files: &StageFiles, stage: &str, prefix: &str) -> Vec<String> {
    files.list(stage, prefix).unwrap().into_iter().map(|file| file.path).collect()
}

#[test]
fn a_file_is_listed_read_replaced_and_removed() {
    let (files, _folder) = files();
    assert!(files.list("s-1", "").unwrap().is_empty() && files.stages().unwrap().is_empty());
    let whole = put(&files, "s-1", "2026/a.csv", "hello world");
    assert_eq!((whole.bytes, whole.md5.as_str()), (11, "5eb63bbbe01eeed093cb22bb8f5acdc3"));
    assert_eq!(files.list("s-1", "").unwrap(), [whole]);
    assert_eq!(text(&files, "s-1", "2026/a.csv"), "hello world");
    let again = put(&files, "s-1", "2026/a.csv", "bye");
    assert_eq!(files.list("s-1", "").unwrap(), [again]);
    assert!(files.remove("s-1", "2026/a.csv").unwrap());
    assert!(!files.remove("s-1", "2026/a.csv").unwrap());
    assert!(files.list("s-1", "").unwrap().is_empty() && files.open("s-1", "2026/a.csv").is_err());
}

#[test]
fn a_file_that_was_listed_is_removed_and_no_other_in_its_place() {
    let (files, _folder) = files();
    let first = put(&files, "s", "in/a", "one");
    let second = put(&files, "s", "in/a", "two");
    assert!(!files.remove_listed("s", &first).unwrap());
    assert_eq!(text(&files, "s", "in/a"), "two");
    assert!(files.remove_listed("s", &second).unwrap() && files.remove_listed("s", &second).unwrap());
    assert!(paths(&files, "s", "").is_empty());
}

#[test]
fn a_list_is_by_what_paths_begin_with() {
    let (files, _folder) = files();
    for path in ["b", "a/2", "a/1", "a", "ab/3", "a/c/4"] {
        put(&files, "s", path, path);
    }
    assert_eq!(paths(&files, "s", ""), ["a", "a/1", "a/2", "a/c/4", "ab/3", "b"]);
    assert_eq!(paths(&files, "s", "a"), ["a", "a/1", "a/2", "a/c/4", "ab/3"]);
    assert_eq!(paths(&files, "s", "a/"), ["a/1", "a/2", "a/c/4"]);
    assert_eq!(paths(&files, "s", "a/c/4"), ["a/c/4"]);
    assert!(paths(&files, "s", "../").is_empty() && paths(&files, "other", "").is_empty());
}

#[test]
fn what_is_not_finished_has_never_been_there() {
    let (files, folder) = files();
    let mut writer = files.writer("s", "a").unwrap();
    writer.write(b"half").unwrap();
    assert!(files.list("s", "").unwrap().is_empty());
    drop(writer);
    let unfinished = folder.path().join("stages").join(UNFINISHED);
    assert_eq!(fs::read_dir(&unfinished).unwrap().count(), 0);
    std::mem::forget(files.writer("s", "a").unwrap());
    files.forget_unfinished().unwrap();
    assert!(!unfinished.exists());
    files.forget_unfinished().unwrap();
}

#[test]
fn of_two_that_replace_nothing_one_is_refused() {
    let (files, folder) = files();
    let writer = || files.writer("s", "a/b").unwrap().keeping_others();
    let (mut one, mut other) = (writer(), writer());
    one.write(b"one").unwrap();
    other.write(b"other").unwrap();
    let whole = one.finish().unwrap();
    assert!(other.finish().unwrap_err().to_string().contains("has a file a/b already"));
    assert_eq!(files.list("s", "").unwrap(), [whole]);
    assert_eq!(text(&files, "s", "a/b"), "one");
    assert_eq!(fs::read_dir(folder.path().join("stages").join(UNFINISHED)).unwrap().count(), 0);
}

#[test]
fn a_sum_is_of_the_file_that_is_there() {
    let (files, folder) = files();
    put(&files, "s", "a", "one");
    let at = folder.path().join("stages/s");
    fs::write(at.join("f.a"), "three").unwrap();
    let found = files.list("s", "").unwrap();
    assert_eq!((found[0].bytes, found[0].md5.as_str()), (5, "35d6d33467aae9a2e3dccb4b6b027878"));
    fs::remove_file(at.join("k.a")).unwrap();
    assert_eq!(files.list("s", "").unwrap(), found);
}

#[test]
fn a_file_that_was_not_summed_is_summed_when_it_is_listed() {
    let (files, folder) = files();
    let mut writer = files.writer("s", "a").unwrap().unsummed();
    writer.write(b"hello world").unwrap();
    let placed = writer.finish().unwrap();
    let known = folder.path().join("stages/s/k.a");
    assert!(placed.md5.is_empty() && !known.exists());
    let listed = files.list("s", "").unwrap();
    assert_eq!(listed, [StageFile { md5: "5eb63bbbe01eeed093cb22bb8f5acdc3".to_owned(), ..placed }]);
    assert!(known.exists());
}

#[test]
fn a_stage_goes_with_its_files_and_no_other() {
    let (files, _folder) = files();
    put(&files, "s", "a/b", "1");
    put(&files, "t", "a/b", "2");
    files.drop_stage("s").unwrap();
    files.drop_stage("s").unwrap();
    assert!(files.list("s", "").unwrap().is_empty());
    assert_eq!(files.stages().unwrap(), ["t"]);
    assert_eq!(text(&files, "t", "a/b"), "2");
}

#[test]
fn no_name_and_no_link_leads_out_of_a_stage() {
    let (files, folder) = files();
    put(&files, "s", "a/b", "mine");
    let secret = folder.path().join("secret");
    fs::write(&secret, "sesame").unwrap();
    for stage in ["", ".", "..", "s/d.a", "../stages/s", ".unfinished", "s\0"] {
        assert!(files.list(stage, "").is_err() && files.open(stage, "a/b").is_err(), "{stage:?}");
        assert!(files.writer(stage, "x").is_err() && files.drop_stage(stage).is_err(), "{stage:?}");
    }
    for path in ["../t/f.x", "a/../../secret", "/secret", "..", "a\\b"] {
        assert!(files.open("s", path).is_err() && files.writer("s", path).is_err(), "{path}");
        assert!(files.remove("s", path).is_err(), "{path}");
    }
    let at = folder.path().join("stages/s");
    symlink(&secret, at.join("f.link")).unwrap();
    symlink(folder.path(), at.join("d.out")).unwrap();
    fs::write(folder.path().join("f.inside"), "sesame").unwrap();
    assert!(files.open("s", "link").is_err() && files.open("s", "out/inside").is_err());
    assert!(files.remove("s", "out/inside").is_err() && files.writer("s", "out/new").unwrap().finish().is_err());
    assert!(files.list("s", "out/").unwrap_err().to_string().contains("try again"));
    assert_eq!(put(&files, "s", "link", "new").bytes, 3);
    assert_eq!(fs::read_to_string(&secret).unwrap(), "sesame");
    assert_eq!(text(&files, "s", "link"), "new");
    files.drop_stage("s").unwrap();
    assert!(secret.exists());
}
