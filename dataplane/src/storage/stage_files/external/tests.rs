use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use contract::storage_integration::StorageCredentials;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::placing::testing::{begun, put};
use super::*;
use crate::storage::stage_files::StageFiles;

fn integration(folder: &Path, blocked: &[String]) -> StorageIntegration {
    StorageIntegration {
        name: "disk".to_owned(),
        kind: StorageKind::File { folder: folder.to_str().unwrap().to_owned() },
        allowed_prefixes: vec!["*".to_owned()],
        blocked_prefixes: blocked.to_vec(),
        enabled: true,
        credentials: StorageCredentials::Anonymous,
    }
}

fn below(folder: &Path, path: &str) -> StageLocation {
    StageLocation { url: format!("file://{}/{path}", folder.display()), integration: "disk".to_owned() }
}

fn opened(folder: &Path, path: &str) -> Result<ExternalFiles, Error> {
    let blocked = [format!("file://{}/in/secret/", folder.display())];
    ExternalFiles::open(&integration(folder, &blocked), &below(folder, path), &ReachableHosts::default())
}

fn bounds() -> ReadBounds {
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    ReadBounds { tasks: TaskTracker::new(), deadline, cancel: CancellationToken::new() }
}

fn filled() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in [("in/b.csv", "2\n"), ("in/a/x.csv", "1\n"), ("in/secret/s.csv", "sesame"), ("out.csv", "no")] {
        let place = folder.path().join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }
    folder
}

async fn paths(files: &ExternalFiles, prefix: &str) -> String {
    let listed = files.list(prefix).await.unwrap();
    listed.into_iter().map(|file| file.path).collect::<Vec<_>>().join(" ")
}

async fn text(files: &ExternalFiles, path: &str) -> Result<String, String> {
    let listed = files.list(path).await.map_err(|error| error.to_string())?;
    let file = listed.first().ok_or("no such file")?;
    let mut read = files.open_listed(file, &bounds()).await.map_err(|error| error.to_string())?;
    let mut text = String::new();
    read.read_to_string(&mut text).map_err(|error| error.to_string())?;
    Ok(text)
}

#[tokio::test]
async fn the_files_of_a_folder_are_listed_read_written_and_removed() {
    let folder = filled();
    let files = opened(folder.path(), "in/").unwrap();
    assert_eq!(paths(&files, "").await, "a/x.csv b.csv", "what is blocked is not among them");
    assert_eq!(paths(&files, "a/").await, "a/x.csv");
    assert_eq!(text(&files, "b.csv").await.unwrap(), "2\n");
    let placed = put(&files, "new/c.csv", "3\n", false).await.unwrap();
    assert_eq!((placed.path.as_str(), placed.bytes), ("new/c.csv", 2));
    assert_eq!(text(&files, "new/c.csv").await.unwrap(), "3\n");
    let refused = put(&files, "new/c.csv", "", false).await.unwrap_err().to_string();
    assert!(refused.contains("already"), "{refused}");
    put(&files, "new/c.csv", "4", true).await.unwrap();
    assert_eq!(text(&files, "new/c.csv").await.unwrap(), "4");
    begun(&files, "new/d.csv", "5").await;
    assert_eq!(paths(&files, "new/d").await, "", "nobody sees a part of it");
    assert_eq!(fs::read_dir(folder.path().join("in/new")).unwrap().count(), 1, "nothing is left of it");
    assert!(files.remove("new/c.csv").await.unwrap() && !files.remove("new/c.csv").await.unwrap());
}

#[tokio::test]
async fn a_name_that_cannot_be_used_is_told_unless_its_folder_is_blocked() {
    let folder = filled();
    let files = opened(folder.path(), "in/").unwrap();
    fs::write(folder.path().join("in/secret/a\\hidden.csv"), "sesame").unwrap();
    assert_eq!(paths(&files, "").await, "a/x.csv b.csv");
    fs::write(folder.path().join("in/a/c\\d.csv"), "1\n").unwrap();
    let error = files.list("").await.unwrap_err().to_string();
    assert!(error.contains("cannot be used") && !error.contains("hidden"), "{error}");
}

#[tokio::test]
async fn nothing_outside_of_the_folder_is_reached() {
    let folder = filled();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("o.csv"), "sesame").unwrap();
    symlink(outside.path(), folder.path().join("in/link")).unwrap();
    symlink(outside.path().join("o.csv"), folder.path().join("in/l.csv")).unwrap();
    let files = opened(folder.path(), "in/").unwrap();
    assert_eq!(paths(&files, "").await, "a/x.csv b.csv", "links are not followed");
    for path in ["../out.csv", "a/../../out.csv", "/etc/passwd", "secret/s.csv", "secret/new.csv", "a\\b", ""] {
        assert!(put(&files, path, "", true).await.is_err() && files.remove(path).await.is_err(), "{path}");
    }
    for path in ["link/new.csv", "link/o.csv"] {
        assert!(put(&files, path, "", true).await.is_err() && files.remove(path).await.is_err(), "{path}");
    }
    let there = files.list("b.csv").await.unwrap();
    for path in ["link/o.csv", "l.csv", "secret/s.csv", "../out.csv"] {
        let listed = StageFile { path: path.to_owned(), ..there[0].clone() };
        assert!(files.open_listed(&listed, &bounds()).await.is_err(), "{path}");
    }
    assert!(opened(folder.path(), "in/secret/").is_err() && opened(folder.path(), "../").is_err());
    assert!(opened(folder.path(), "in/link/").unwrap().list("").await.is_err());
    let elsewhere =
        ExternalFiles::open(&integration(folder.path(), &[]), &below(outside.path(), ""), &ReachableHosts::default());
    assert!(elsewhere.unwrap_err().to_string().contains("does not allow"));
    assert_eq!(fs::read_to_string(outside.path().join("o.csv")).unwrap(), "sesame");
}

#[tokio::test]
async fn a_file_that_changes_is_not_read_to_its_end() {
    let folder = filled();
    let files = opened(folder.path(), "in/").unwrap();
    let listed = files.list("b.csv").await.unwrap().remove(0);
    let mut read = files.open_listed(&listed, &bounds()).await.unwrap();
    fs::write(folder.path().join("in/b.csv"), "2\n3\n").unwrap();
    let error = read.read_to_string(&mut String::new()).unwrap_err();
    assert!(error.to_string().contains("replaced"), "{error}");
    let error = files.open_listed(&listed, &bounds()).await.err().unwrap();
    assert!(error.to_string().contains("replaced"), "{error}");
}

#[tokio::test]
async fn a_file_that_is_replaced_is_whole_where_others_cannot_be_there() {
    let (folder, aside) = (filled(), tempfile::tempdir().unwrap());
    let files = opened(folder.path(), "in/").unwrap();
    let stages = StageFiles::new(aside.path().join("stages"));
    let written = |path: &str| {
        let mut writer = stages.writer("s", path).unwrap();
        writer.write(b"new").unwrap();
        writer.full()
    };
    // the last of them has the name of a folder
    let (tasks, begun) = (TaskTracker::new(), AtomicBool::new(false));
    assert!(files.place_all(["b.csv", "new.csv", "a"].map(written).into(), (&tasks, &begun)).await.is_err());
    assert!(begun.into_inner(), "it goes on to its end");
    assert_eq!(paths(&files, "").await, "a/x.csv b.csv");
    assert_eq!(text(&files, "b.csv").await.unwrap(), "new");
}
