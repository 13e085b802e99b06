//! The memory of a data plane: its own process and those it started, its engine above all.

use std::collections::HashSet;
use std::fs;
use std::pin::pin;
use std::time::{Duration, Instant};

use super::Pod;

const EVERY: Duration = Duration::from_millis(50);
const FIRST: Duration = Duration::from_secs(1);

/// Bytes, while something was done.
#[derive(Debug, Clone, Copy, Default)]
pub struct Weight {
    /// The most within the first second.
    pub first: u64,
    pub highest: u64,
    pub took: Duration,
}

impl Pod {
    /// Bytes that its processes have in memory now.
    pub fn memory(&self) -> u64 {
        family(self.pid()).iter().map(|pid| resident(*pid)).sum()
    }

    /// Weighs it again and again until the work is done.
    pub async fn weighed<T>(&self, work: impl Future<Output = T>) -> (T, Weight) {
        let (began, mut weight) = (Instant::now(), Weight::default());
        let mut ticks = tokio::time::interval(EVERY);
        let mut work = pin!(work);
        loop {
            let done = tokio::select! {
                done = &mut work => Some(done),
                _ = ticks.tick() => None,
            };
            weight.took = began.elapsed();
            weight.highest = weight.highest.max(self.memory());
            if weight.took < FIRST {
                weight.first = weight.highest;
            }
            if let Some(done) = done {
                return (done, weight);
            }
        }
    }
}

/// A process and its descendants.
pub(super) fn family(head: u32) -> HashSet<u32> {
    let all: Vec<(u32, u32)> = fs::read_dir("/proc").unwrap().filter_map(|entry| parent(&entry.unwrap())).collect();
    let mut family = HashSet::from([head]);
    loop {
        let known = family.len();
        let children: Vec<_> = all.iter().filter(|(_, parent)| family.contains(parent)).map(|(pid, _)| *pid).collect();
        family.extend(children);
        if family.len() == known {
            return family;
        }
    }
}

/// A process and who started it; none where it is no process, or gone.
fn parent(entry: &fs::DirEntry) -> Option<(u32, u32)> {
    let pid = entry.file_name().to_str()?.parse().ok()?;
    let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
    // its name stands in brackets and may hold anything
    let (_, rest) = stat.rsplit_once(')')?;
    Some((pid, rest.split_whitespace().nth(1)?.parse().ok()?))
}

/// Nothing for a process that is gone.
fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let kib =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")).and_then(|rest| rest.split_whitespace().next());
    kib.map_or(0, |kib| kib.parse::<u64>().unwrap() * 1_024)
}
