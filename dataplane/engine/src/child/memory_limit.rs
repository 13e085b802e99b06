//! Holds the process to what it may keep in memory, by the kernel's count.
//!
//! The engine counts its buffers. What a function makes for itself it does not count, nor what it computes while a
//! statement is prepared. So the kernel's number is looked at while anything runs, by a clock that no statement has to
//! wake. While it is too high the process is given no more address space. The statement that asks for more is most
//! likely the one that has taken so much; it fails as one that needs too much memory. Where that does not help, the
//! process ends, and so it does where nobody can be told: in a destructor, or in a thread of ours. The parent knows
//! then why.
//!
//! The limit of address space alone cannot do it: what is reserved is many times what is used.
//!
//! The allocator keeps what statements give back, for the next ones. Once none has run for a while, the kernel gets it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, setrlimit};

use super::Notices;
use super::table::Busy;
use crate::ffi;
use crate::message::{Notice, Start};

/// Between two looks. Memory is filled by a gigabyte or two in a second.
const LOOK: Duration = Duration::from_millis(20);
/// How long nobody is given more.
const HELPS_WITHIN: Duration = Duration::from_secs(2);
/// How long no statement runs before the allocator hands back what it keeps.
const IDLE: Duration = Duration::from_secs(5);
/// What the process needs beside what its statements make.
const OWN_BYTES: u64 = 128 << 20;
/// More than the kernel says of a process with few groups.
const STATUS_BYTES: usize = 4 << 10;

pub struct MemoryLimit {
    /// What it may keep in memory.
    held: u64,
    /// Its limit of address space, in better times.
    space: u64,
    /// It is given no more address space, since.
    shut: Option<Instant>,
    gate: Arc<Gate>,
    notices: Notices,
}

/// Whether the allocator may keep memory that statements have given back.
#[derive(Default)]
struct Leftover {
    /// Statements that had begun when it was looked at last.
    begun: u64,
    /// When one had run last; none once all is handed back.
    since: Option<Instant>,
}

/// The kernel's account of this process, opened and given its memory once: a look asks for neither.
struct Account {
    status: File,
    text: Vec<u8>,
}

/// Open while the process is given address space. A thread that begins cannot be told that there is none: it waits here.
#[derive(Default)]
pub struct Gate {
    shut: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    /// Waits until it is open; it stays so while the guard lives.
    pub fn open(&self) -> MutexGuard<'_, bool> {
        self.opened.wait_while(self.locked(), |shut| *shut).unwrap_or_else(PoisonError::into_inner)
    }

    fn locked(&self) -> MutexGuard<'_, bool> {
        self.shut.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the kernel counts, in bytes.
struct Counted {
    space: u64,
    held: u64,
}

impl MemoryLimit {
    pub fn of(start: &Start, notices: Notices) -> Self {
        let memory = start.memory_limit_bytes;
        // Of databases in memory each counts for itself.
        let more = if start.data.is_some() { memory / 8 } else { memory };
        let held = memory.saturating_add(more).saturating_add(OWN_BYTES);
        Self { held, space: start.address_space_bytes, shut: None, gate: Arc::default(), notices }
    }

    pub fn gate(&self) -> Arc<Gate> {
        Arc::clone(&self.gate)
    }

    /// Looks for as long as the process lives, and has something else look with it.
    pub fn watch(mut self, busy: &Busy, mut also: impl FnMut(Instant)) {
        // What cannot be counted cannot be bounded.
        let Ok(mut account) = Account::open() else { super::die() };
        let mut leftover = Leftover::default();
        loop {
            let is_busy = busy.is_any();
            let looks = self.shut.is_some() || is_busy;
            if looks && (self.look(&mut account, Instant::now()).is_err() || self.is_hopeless(Instant::now())) {
                super::die();
            }
            if leftover.is_due(busy.begun(), is_busy, Instant::now()) {
                ffi::trim();
            }
            also(Instant::now());
            std::thread::park_timeout(LOOK);
        }
    }

    fn look(&mut self, account: &mut Account, now: Instant) -> io::Result<()> {
        let Counted { space, held } = account.counted()?;
        if held <= self.held {
            return self.shut.map_or(Ok(()), |_| self.give());
        }
        if self.shut.is_none() {
            self.refuse(space)?;
            self.shut = Some(now);
        }
        // What was given back may be kept for whoever asks next: the kernel counts it still.
        ffi::trim();
        Ok(())
    }

    fn refuse(&self, space: u64) -> io::Result<()> {
        self.notices.send(&Notice::Full)?;
        let mut shut = self.gate.locked();
        *shut = true;
        Ok(setrlimit(Resource::RLIMIT_AS, space.min(self.space), self.space)?)
    }

    fn give(&mut self) -> io::Result<()> {
        setrlimit(Resource::RLIMIT_AS, self.space, self.space)?;
        *self.gate.locked() = false;
        self.gate.opened.notify_all();
        self.shut = None;
        self.notices.send(&Notice::Fits)
    }

    fn is_hopeless(&self, now: Instant) -> bool {
        self.shut.is_some_and(|since| now.duration_since(since) > HELPS_WITHIN)
    }
}

impl Leftover {
    /// Whether it is to be handed back now: once after statements have run, when none has for a while.
    fn is_due(&mut self, begun: u64, is_busy: bool, now: Instant) -> bool {
        if is_busy || begun != self.begun {
            self.begun = begun;
            self.since = Some(now);
            return false;
        }
        let is_due = self.since.is_some_and(|since| now.duration_since(since) >= IDLE);
        if is_due {
            self.since = None;
        }
        is_due
    }
}

impl Account {
    fn open() -> io::Result<Self> {
        Ok(Self { status: File::open("/proc/self/status")?, text: vec![0; STATUS_BYTES] })
    }

    fn counted(&mut self) -> io::Result<Counted> {
        let mut length = self.status.read_at(&mut self.text, 0)?;
        while length == self.text.len() {
            // A process of very many groups: its account is longer.
            self.text.resize(length * 2, 0);
            length = self.status.read_at(&mut self.text, 0)?;
        }
        let said = self.text.get(..length).unwrap_or_default();
        let status = std::str::from_utf8(said).map_err(io::Error::other)?;
        let line = |name: &str| {
            let said =
                status.lines().find_map(|line| line.strip_prefix(name)).and_then(|rest| rest.split_whitespace().next());
            let kibibytes: Option<u64> = said.and_then(|number| number.parse().ok());
            kibibytes.map(|number| number.saturating_mul(1024)).ok_or_else(|| io::Error::other(format!("no {name}")))
        };
        Ok(Counted { space: line("VmSize:")?, held: line("RssAnon:")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_count_is_read_again_and_again() {
        let mut account = Account::open().unwrap();
        let before = account.counted().unwrap();
        assert!(0 < before.held && before.held < before.space, "{} of {}", before.held, before.space);
        let taken = vec![1_u8; 64 << 20];
        let after = account.counted().unwrap();
        assert!(after.held >= before.held + (48 << 20), "{} after {}", after.held, before.held);
        drop(taken);
    }

    #[test]
    fn memory_is_handed_back_once_behind_statements_that_have_ended() {
        let (mut leftover, start) = (Leftover::default(), Instant::now());
        assert!(!leftover.is_due(0, false, start + IDLE), "nothing has run");
        assert!(!leftover.is_due(1, true, start) && !leftover.is_due(1, true, start + IDLE), "it runs");
        assert!(!leftover.is_due(1, false, start + IDLE + LOOK));
        assert!(leftover.is_due(1, false, start + IDLE * 2) && !leftover.is_due(1, false, start + IDLE * 4));
        assert!(!leftover.is_due(2, false, start + IDLE * 5), "one was too short to be seen");
        assert!(leftover.is_due(2, false, start + IDLE * 6));
    }

    #[test]
    fn an_account_longer_than_its_place_is_read_whole() {
        let whole = Account::open().unwrap().counted().unwrap();
        let mut account = Account { text: vec![0; 16], ..Account::open().unwrap() };
        let counted = account.counted().unwrap();
        assert!(counted.space >= whole.space / 2 && counted.held >= whole.held / 2);
    }
}
