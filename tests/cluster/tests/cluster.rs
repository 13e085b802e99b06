//! The promises of the binary to whoever runs a command in a cluster.
#![cfg(test)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Output, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    time::{sleep, timeout},
};

const PATIENCE: Duration = Duration::from_mins(2);

/// With a folder of its own for temporary files, so that what is left can be seen.
fn cluster(temporary: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cluster"));
    command.args(arguments).env("TMPDIR", temporary).stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    command
}

async fn run(temporary: &Path, script: &str) -> Output {
    let mut command = cluster(temporary, &["run", "--api-only", "--", "sh", "-c", script]);
    timeout(PATIENCE, command.stderr(Stdio::piped()).output()).await.unwrap().unwrap()
}

fn left(temporary: &Path) -> Vec<PathBuf> {
    fs::read_dir(temporary).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test]
async fn the_status_of_the_command_is_the_status_of_the_run() {
    let temporary = tempfile::tempdir().unwrap();
    for (script, status) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137)] {
        let done = run(temporary.path(), script).await;
        assert_eq!(done.status.code(), Some(status), "{script}: {}", String::from_utf8_lossy(&done.stderr));
        assert_eq!(left(temporary.path()), Vec::<PathBuf>::new(), "{script}");
    }
}

#[tokio::test]
async fn two_at_the_same_time_do_not_meet() {
    let temporary = tempfile::tempdir().unwrap();
    let script =
        "kubectl create namespace mine >/dev/null && kubectl config view -o jsonpath='{.clusters[0].cluster.server}'";
    let (one, other) = tokio::join!(run(temporary.path(), script), run(temporary.path(), script));
    assert!(one.status.success() && other.status.success(), "{one:?} {other:?}");
    assert_ne!(one.stdout, other.stdout);
}

/// Starts a cluster whose command says where it is and stays.
async fn staying(temporary: &Path, options: &[&str]) -> (Child, PathBuf) {
    let mut arguments = vec!["run"];
    arguments.extend(options);
    arguments.extend(["--", "sh", "-c", "echo $SLUICE_TEST_CLUSTER; exec sleep 1000"]);
    let mut child = cluster(temporary, &arguments).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let folder = timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap().expect("it ended");
    (child, folder.into())
}

/// Processes, of whatever namespace, that were started with a word of this folder.
fn processes(folder: &Path) -> Vec<String> {
    let folder = folder.to_string_lossy().into_owned();
    let all = fs::read_dir("/proc").unwrap().filter_map(|entry| fs::read(entry.unwrap().path().join("cmdline")).ok());
    all.map(|words| String::from_utf8_lossy(&words).replace('\0', " "))
        .filter(|words| words.contains(&folder))
        .collect()
}

async fn killed_leaves_nothing(options: &[&str]) {
    let temporary = tempfile::tempdir().unwrap();
    let (mut child, folder) = staying(temporary.path(), options).await;
    assert!(processes(&folder).len() > 2 && folder.starts_with(temporary.path()));
    child.kill().await.unwrap(); // SIGKILL: it cannot clean up
    let nothing = async {
        while !left(temporary.path()).is_empty() || !processes(&folder).is_empty() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    let gone = timeout(PATIENCE, nothing).await;
    assert!(gone.is_ok(), "left: {:?}, {:?}", left(temporary.path()), processes(&folder));
}

#[tokio::test]
async fn killed_by_force_nothing_of_it_is_left() {
    killed_leaves_nothing(&["--api-only"]).await;
}

#[tokio::test]
async fn killed_by_force_nothing_of_its_node_is_left() {
    let temporary = tempfile::tempdir().unwrap();
    let able = cluster(temporary.path(), &["check"]).stderr(Stdio::inherit()).status().await.unwrap().success();
    let ci = std::env::var_os("CI").is_some();
    assert!(able || !ci, "in CI nothing may be missing");
    if able {
        killed_leaves_nothing(&[]).await;
    }
}

#[tokio::test]
async fn what_is_missing_is_named_with_its_fix() {
    let temporary = tempfile::tempdir().unwrap();
    let mut command = cluster(temporary.path(), &["run", "--api-only", "--kubernetes", "/nowhere", "--", "true"]);
    let done = command.env_remove("KUBEBUILDER_ASSETS").stderr(Stdio::piped()).output().await.unwrap();
    assert_eq!(done.status.code(), Some(1));
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(said.contains("kube-apiserver: ./dev cluster builds it"), "{said}");
    assert_eq!(left(temporary.path()), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn an_image_without_a_tag_is_refused() {
    let temporary = tempfile::tempdir().unwrap();
    let output = temporary.path().join("x.tar");
    let words = ["image", "untagged", "/bin/true", "--output", output.to_str().unwrap()];
    let done = cluster(temporary.path(), &words).stderr(Stdio::piped()).output().await.unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(!done.status.success() && said.contains("ends in a tag"), "{said}");
}
