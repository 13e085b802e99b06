//! PostgreSQL's own bench: clients that look up rows by key as fast as they are answered.

use std::path::PathBuf;
use std::process::Stdio;

use tempfile::TempDir;
use tokio::process::Command;

use super::PeerAddress;
use crate::amounts::Amounts;
use crate::sides::threads;

pub(super) const CLIENTS: [usize; 3] = [1, 16, 64];
/// As `-M` names them.
pub(super) const PROTOCOLS: [&str; 2] = ["simple", "prepared"];

/// The program, and the statement that it runs.
pub(super) struct Pgbench {
    program: PathBuf,
    script: PathBuf,
    seconds: u64,
    _folder: TempDir,
}

impl Pgbench {
    /// None where it is not installed.
    pub fn found(amounts: &Amounts) -> Option<Self> {
        let program = installed("pgbench")?;
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("lookup.sql");
        let last = amounts.points - 1;
        let text = format!("\\set id random(0, {last})\nselect id, name, amount from points where id = :id;\n");
        std::fs::write(&script, text).unwrap();
        Some(Self { program, script, seconds: amounts.turn.as_secs().max(1), _folder: folder })
    }

    /// Statements a second of so many clients.
    pub async fn rate(&self, at: &PeerAddress, protocol: &str, clients: usize) -> f64 {
        let mut bench = Command::new(&self.program);
        bench.arg("-n").args(["-M", protocol]).arg("-f").arg(&self.script);
        bench.args(["-c", &clients.to_string(), "-j", &clients.min(threads()).to_string()]);
        bench.args(["-T", &self.seconds.to_string()]);
        bench.args(["-h", &at.host, "-p", &at.port.to_string(), "-U", &at.user, &at.database]);
        let ran = bench.env("PGPASSWORD", &at.password).stdin(Stdio::null()).output().await.unwrap();
        let (told, faults) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success(), "{protocol}, {clients} clients: {told} {faults}");
        let rate = told.lines().find_map(|line| line.strip_prefix("tps = "));
        rate.and_then(|rest| rest.split_whitespace().next()).unwrap().parse().unwrap()
    }
}

/// A program of the PATH, or of where a server's programs are that no person runs.
pub(super) fn installed(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    folders.map(|folder| folder.join(program)).find(|file| file.is_file())
}
