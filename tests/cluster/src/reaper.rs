//! Removes what a cluster leaves on disk, whatever ended it.
//!
//! Processes, devices, rules and mounts vanish with the namespaces; a folder and empty cgroups do
//! not. A second process waits for its standard input to end, which it does when the first one is
//! gone, also by `kill -9`, and cleans up then.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{
    io::AsyncReadExt,
    time::{Instant, sleep},
};

use crate::{Error, layout::Layout};

const CGROUPS: &str = "/sys/fs/cgroup";
/// containerd's namespace of what Kubernetes asks for.
const CONTAINERS: &str = "k8s.io";
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);

/// Waits for the end of standard input, then for the last process to be gone, and removes all.
pub(crate) async fn wait_and_remove(folder: &Path) -> Result<(), Error> {
    let mut rest = Vec::new();
    tokio::io::stdin().read_to_end(&mut rest).await.map_err(Error::io("standard input"))?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match remove(folder) {
            Ok(()) => return Ok(()),
            Err(error) if Instant::now() > deadline => return Err(error),
            Err(_) => sleep(POLL).await, // something of it still dies
        }
    }
}

fn remove(folder: &Path) -> Result<(), Error> {
    let layout = Layout::new(folder);
    for cgroup in cgroups(&layout) {
        remove_cgroup(&cgroup).map_err(Error::at(&cgroup))?;
    }
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::at(folder)(error)),
        _ => Ok(()),
    }
}

/// The cgroups of its containers, by the identifiers that its containerd has kept: one in each
/// hierarchy of version 1, or one in version 2. What other clusters have there is not touched.
fn cgroups(layout: &Layout) -> Vec<PathBuf> {
    let hierarchies = names(Path::new(CGROUPS)).into_iter().map(|name| Path::new(CGROUPS).join(name));
    let homes: Vec<PathBuf> = hierarchies.chain([PathBuf::from(CGROUPS)]).map(|home| home.join(CONTAINERS)).collect();
    let known = ["sandboxes", "containers"].map(|kind| layout.at("containerd/io.containerd.grpc.v1.cri").join(kind));
    let mut found = Vec::new();
    for id in known.iter().flat_map(|folder| names(folder)) {
        found.extend(homes.iter().map(|home| home.join(&id)).filter(|cgroup| cgroup.is_dir()));
    }
    found
}

fn names(folder: &Path) -> Vec<OsString> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect()
}

/// A cgroup's files cannot be removed and need not be: its folders are, from the inside out.
fn remove_cgroup(cgroup: &Path) -> io::Result<()> {
    for entry in fs::read_dir(cgroup)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_cgroup(&entry.path())?;
        }
    }
    fs::remove_dir(cgroup)?;
    if let Some(home) = cgroup.parent().filter(|home| home.ends_with(CONTAINERS)) {
        let _ = fs::remove_dir(home); // the last one out; others may still be in
    }
    Ok(())
}
