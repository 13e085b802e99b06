//! Threads that run parts of long statements: when they are there, when they rest, and who says so.

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use duckdb::ffi as c;
use nix::time::ClockId;

use super::Database;
use super::calls::CallsSeen;

/// How much processor time of its own thread a statement takes alone: more than any that asks for a few rows.
const SHORT: Duration = Duration::from_millis(1);
/// A statement that has taken so long by the clock is long all the same: it waits for a disk.
const WAITED: Duration = Duration::from_millis(20);
/// How long workers stay after a long statement: short statements would wake them meanwhile.
const LINGER: Duration = Duration::from_millis(20);
/// As much as the engine gives its own threads.
const WORKER_STACK_BYTES: usize = 8 << 20;

/// How long workers rest before they hand back the memory that they keep: the next long statement would need it again.
const IDLE: Duration = Duration::from_secs(2);
/// Tasks after which a worker asks whether it is still wanted.
const TASKS_AT_ONCE: u64 = 16;

/// When a statement began, by the clock and by the processor time of its thread.
pub(super) struct Beginning {
    at: Instant,
    used: Duration,
}

impl Beginning {
    pub fn now() -> Self {
        Self { at: Instant::now(), used: thread_time() }
    }

    /// Whether it has run for long. It does not while threads of others have the processors: where these are short,
    /// workers for each would only take them from all.
    pub fn is_long(&self) -> bool {
        is_long(self.at.elapsed(), || thread_time().saturating_sub(self.used))
    }
}

fn is_long(elapsed: Duration, used: impl FnOnce() -> Duration) -> bool {
    elapsed >= WAITED || (elapsed >= SHORT && used() >= SHORT)
}

/// Processor time of this thread; none where the kernel does not tell.
fn thread_time() -> Duration {
    ClockId::CLOCK_THREAD_CPUTIME_ID.now().map_or(Duration::ZERO, Duration::from)
}

/// Statements that have run for long.
#[derive(Default)]
pub(super) struct LongRuns {
    workers: u16,
    running: usize,
    /// When the last one has ended.
    ended: Option<Instant>,
}

impl LongRuns {
    /// Whether workers run parts of statements: while one is long, and for [`LINGER`] after that.
    fn have_workers(&self, now: Instant) -> bool {
        self.running > 0 || self.ended.is_some_and(|ended| now.duration_since(ended) < LINGER)
    }
}

impl Database {
    /// Starts threads that run parts of long statements for as long as the process lives, in place of the engine's own:
    /// those would be woken by each statement, and look for work for longer than most statements take.
    pub fn start_workers(self: &Arc<Self>, count: u16) -> io::Result<()> {
        if count == 0 {
            return Ok(());
        }
        for _ in 0..count {
            let database = Arc::clone(self);
            let worker = thread::Builder::new().name("engine worker".to_owned()).stack_size(WORKER_STACK_BYTES);
            worker.spawn(move || database.work())?;
        }
        self.long_runs().workers = count;
        Ok(())
    }

    fn work(&self) {
        let are_at_rest = |long: &mut LongRuns| !long.have_workers(Instant::now());
        let mut keeps_memory = false;
        loop {
            let long = self.long_runs();
            let is_idle = if keeps_memory {
                let waited = self.begun.wait_timeout_while(long, IDLE, are_at_rest);
                waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
            } else {
                drop(self.begun.wait_while(long, are_at_rest).unwrap_or_else(PoisonError::into_inner));
                false
            };
            if is_idle {
                self.hand_back();
            } else {
                self.execute_tasks(TASKS_AT_ONCE);
            }
            keeps_memory = !is_idle;
        }
    }

    fn long_runs(&self) -> MutexGuard<'_, LongRuns> {
        self.long.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a statement goes on by itself for now. Workers that wait for more take tasks of short ones too: one that has
/// none left for that is not long, or they would never rest.
pub(super) fn goes_on_alone(state: c::duckdb_pending_state, began: &Beginning) -> bool {
    let is_open = matches!(
        state,
        c::duckdb_pending_state_DUCKDB_PENDING_RESULT_NOT_READY
            | c::duckdb_pending_state_DUCKDB_PENDING_NO_TASKS_AVAILABLE
    );
    is_open && !began.is_long()
}

/// A call of the engine for a long statement: while it lives, and a little longer, the workers run parts of statements. One
/// whose rows are read slowly has none in between.
pub(super) struct LongRun(Arc<Database>);

impl LongRun {
    /// None where there are no workers.
    pub fn begin(database: &Arc<Database>) -> Option<Self> {
        let mut long = database.long_runs();
        if long.workers == 0 {
            return None;
        }
        let are_there = long.have_workers(Instant::now());
        long.running += 1;
        if !are_there {
            database.begun.notify_all();
        }
        drop(long);
        Some(Self(Arc::clone(database)))
    }
}

impl Drop for LongRun {
    fn drop(&mut self) {
        let mut long = self.0.long_runs();
        long.running = long.running.saturating_sub(1);
        long.ended = Some(Instant::now());
    }
}

/// Sees to the workers of a database from outside its statements, each time that it is asked.
pub struct WorkerWatch {
    database: Arc<Database>,
    /// There while a call of the engine is long, of which its statement cannot say so.
    long: Option<LongRun>,
    /// How often calls have begun or ended since workers were there last.
    turns: u64,
}

/// Each task of a short statement leaves a signal for a worker, who looks for a task by each later. This often workers do
/// that in between, so that it takes them a tenth of a second, and no minutes when a long statement comes.
const TURNS_MAX: u64 = 1 << 20;

impl WorkerWatch {
    pub fn of(database: &Arc<Database>) -> Self {
        Self { database: Arc::clone(database), long: None, turns: 0 }
    }

    pub fn look(&mut self, now: Instant) {
        let CallsSeen { is_any_long, turns } = self.database.calls.look();
        let are_there = self.database.long_runs().have_workers(now);
        self.turns = if are_there { 0 } else { self.turns.saturating_add(turns) };
        let are_wanted = is_any_long || self.turns >= TURNS_MAX;
        let begun = || LongRun::begin(&self.database);
        self.long = if are_wanted { self.long.take().or_else(begun) } else { None };
    }
}

#[cfg(test)]
mod tests;
