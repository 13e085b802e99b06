//! The cost of a data plane so far, its own process and those it started: processor time, and pages of memory.

use std::fs;
use std::time::Duration;

use super::Pod;
use super::weight::family;

/// The kernel counts by it, on whatever machine.
const TICK: Duration = Duration::from_millis(10);

/// Processor time, and pages of memory that had to be given: by the kernel's count.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    pub time: Duration,
    pub pages: u64,
}

impl Spent {
    /// Of this process.
    pub fn here() -> Self {
        Self::of(std::process::id())
    }

    /// What was spent after `before`.
    pub fn since(self, before: Self) -> Self {
        Self { time: self.time.saturating_sub(before.time), pages: self.pages.saturating_sub(before.pages) }
    }

    /// Nothing for a process that is gone.
    fn of(pid: u32) -> Self {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // its name stands in brackets and may hold anything
        let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let fields: Vec<u64> = fields.split_whitespace().skip(1).map(|field| field.parse().unwrap_or(0)).collect();
        let field = |at: usize| fields.get(at).copied().unwrap_or(0);
        let ticks = u32::try_from(field(10) + field(11)).unwrap_or(u32::MAX);
        Self { time: TICK * ticks, pages: field(6) }
    }
}

impl Pod {
    pub fn spent(&self) -> Spent {
        family(self.pid())
            .into_iter()
            .map(Spent::of)
            .fold(Spent::default(), |all, one| Spent { time: all.time + one.time, pages: all.pages + one.pages })
    }
}
