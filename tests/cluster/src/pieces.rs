//! The parts of a cluster, and those that this machine lacks.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

/// How much of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// etcd, API server, controllers: objects, and nothing that runs.
    ApiServer,
    /// And one node, whose pods are real.
    Node,
}

/// Where the pieces are.
#[derive(Debug, Clone)]
pub struct Pieces {
    /// Folders that hold `etcd`, `kube-apiserver` and the others; the first that has one gives it.
    pub kubernetes: Vec<PathBuf>,
    /// `bin/postgres` and its like; without it there is no database.
    pub postgres: Option<PathBuf>,
    /// Where the machine's own programs are looked for, as in `PATH`.
    pub path: OsString,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    pub what: String,
    pub fix: String,
}

const CONTROL: [&str; 3] = ["etcd", "kube-apiserver", "kube-controller-manager"];
const NODE: [&str; 5] = ["kube-scheduler", "kubelet", "kube-proxy", "coredns", "pause"];
const MACHINE: [(&str, &str); 10] = [
    ("containerd", "containerd"),
    ("ctr", "containerd"),
    ("runc", "runc"),
    ("iptables", "iptables"),
    ("conntrack", "conntrack"),
    ("ip", "iproute2"),
    ("nsenter", "util-linux"),
    ("unshare", "util-linux"),
    ("setpriv", "util-linux"),
    ("mount", "mount"),
];
const CNI_FOLDERS: [&str; 2] = ["/usr/lib/cni", "/opt/cni/bin"];
const CNI: [&str; 4] = ["ptp", "host-local", "portmap", "loopback"];

impl Pieces {
    /// One of Kubernetes' programs.
    pub(crate) fn kubernetes(&self, name: &str) -> PathBuf {
        let found = self.kubernetes.iter().map(|folder| folder.join(name)).find(|program| program.is_file());
        found.unwrap_or_else(|| name.into())
    }

    /// The folder with the plugins that give a pod its network.
    pub(crate) fn cni() -> Option<&'static Path> {
        let whole = |folder: &&Path| CNI.iter().all(|plugin| folder.join(plugin).is_file());
        CNI_FOLDERS.into_iter().map(Path::new).find(whole)
    }

    pub(crate) fn has(&self, program: &str) -> bool {
        env::split_paths(&self.path).any(|folder| folder.join(program).is_file())
    }

    /// Everything that is missing for such a cluster, each with what to do about it.
    pub fn missing(&self, level: Level) -> Vec<Missing> {
        let ours = CONTROL.iter().chain(NODE.iter().filter(|_| level == Level::Node));
        let mut missing: Vec<Missing> = ours
            .filter(|name| !self.kubernetes(name).is_file())
            .map(|&name| Missing { what: name.to_owned(), fix: "./dev cluster builds it".to_owned() })
            .collect();
        if level == Level::Node {
            let machine = MACHINE.iter().filter(|(program, _)| !self.has(program));
            missing.extend(machine.map(|(program, package)| Missing {
                what: (*program).to_owned(),
                fix: format!("apt-get install {package}"),
            }));
            if Self::cni().is_none() {
                let fix = "apt-get install containernetworking-plugins".to_owned();
                missing.push(Missing { what: format!("plugins {}", CNI.join(", ")), fix });
            }
            if !nix::unistd::geteuid().is_root() {
                missing.push(Missing { what: "root".to_owned(), fix: "or --api-only, which needs none".to_owned() });
            }
        }
        missing
    }
}
