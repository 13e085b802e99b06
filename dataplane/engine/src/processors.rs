//! Which processors a thread may run on.
//!
//! The kernel puts a thread that is woken wherever a processor is idle. On few processors each statement moves so from one
//! to another several times, and finds caches there that are full of other work: that took a third of its processor time.

use std::cell::Cell;
use std::io;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::{Pid, getpid};

thread_local! {
    static IS_BOUND: Cell<bool> = const { Cell::new(false) };
}

/// Processors of a runtime's workers, one for each.
#[derive(Debug)]
pub struct WorkerProcessors {
    own: Vec<usize>,
    taken: AtomicUsize,
}

impl WorkerProcessors {
    /// None where the process may use more of them than it has workers: there the kernel finds one that is idle.
    pub fn of(workers: NonZeroUsize) -> Self {
        let numbers = of_process().map(|set| numbers(&set)).unwrap_or_default();
        let own = if numbers.len() == workers.get() { numbers } else { Vec::new() };
        Self { own, taken: AtomicUsize::new(0) }
    }

    /// Keeps the thread that calls to one of them, from the first call on. Threads and processes that it makes are kept
    /// to the same one, until they [`unbind`].
    pub fn bind(&self) {
        if IS_BOUND.get() {
            return;
        }
        let Some(number) = self.own.get(self.taken.fetch_add(1, Ordering::Relaxed)) else { return };
        let mut one = CpuSet::new();
        // one that the system does not allow any more is done without
        IS_BOUND.set(one.set(*number).and_then(|()| sched_setaffinity(THIS_THREAD, &one)).is_ok());
    }
}

const THIS_THREAD: Pid = Pid::from_raw(0);

/// Lets the thread that calls run on each processor of the process, whichever thread has made it.
pub fn unbind() {
    if let Ok(set) = of_process() {
        let _ = sched_setaffinity(THIS_THREAD, &set);
        IS_BOUND.set(false);
    }
}

/// How many processors the process may use; as [`available_parallelism`], which counts those of a thread.
pub fn available() -> io::Result<NonZeroUsize> {
    if !IS_BOUND.get() {
        return available_parallelism();
    }
    let count = numbers(&of_process()?).len();
    NonZeroUsize::new(count).ok_or_else(|| io::Error::other("the process has no processor"))
}

/// Those of its first thread, which nobody binds.
fn of_process() -> nix::Result<CpuSet> {
    sched_getaffinity(getpid())
}

fn numbers(set: &CpuSet) -> Vec<usize> {
    (0..CpuSet::count()).filter(|number| set.is_set(*number).unwrap_or(false)).collect()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn own() -> Vec<usize> {
        numbers(&sched_getaffinity(THIS_THREAD).unwrap())
    }

    #[test]
    fn each_worker_keeps_to_a_processor_of_its_own_and_what_it_makes_does_not() {
        let all = numbers(&of_process().unwrap());
        let processors = WorkerProcessors::of(NonZeroUsize::new(all.len()).unwrap());
        let bound = || {
            processors.bind();
            processors.bind();
            let made = thread::scope(|scope| {
                let unbound = || {
                    unbind();
                    own()
                };
                scope.spawn(unbound).join().unwrap()
            });
            assert_eq!(made, all);
            own()
        };
        let each: Vec<_> = all.iter().flat_map(|_| thread::scope(|scope| scope.spawn(bound).join().unwrap())).collect();
        assert_eq!(each, all);
        let further = thread::scope(|scope| scope.spawn(bound).join().unwrap());
        assert_eq!(further, all, "there is none left for it");
    }

    #[test]
    fn workers_are_bound_to_none_where_there_is_not_one_for_each() {
        let all = numbers(&of_process().unwrap());
        let bound = || {
            WorkerProcessors::of(NonZeroUsize::new(all.len() + 1).unwrap()).bind();
            own()
        };
        assert_eq!(thread::scope(|scope| scope.spawn(bound).join().unwrap()), all);
    }

    #[test]
    fn a_bound_thread_knows_how_many_processors_there_are() {
        let all = numbers(&of_process().unwrap());
        let bound = || {
            WorkerProcessors::of(NonZeroUsize::new(all.len()).unwrap()).bind();
            available().unwrap().get()
        };
        assert_eq!(thread::scope(|scope| scope.spawn(bound).join().unwrap()), all.len());
    }
}
