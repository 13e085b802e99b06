//! A data plane as a process: settings from the command line and the environment, logs as JSON,
//! signals.

use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use clap::Parser;
use contract::{Entropy, SystemClock};
use engine::processors::{self, WorkerProcessors};
use telemetry::{Log, Telemetry, Tracer};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::DataPlane;
use crate::agents::memory::comparing;
use crate::pipeline;
use crate::server::config::Arguments;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The name of its spans.
pub const SERVICE: &str = "sluice-dataplane";

/// The whole of the engine's process.
pub fn engine() -> ExitCode {
    engine::child::run(Some(comparing()), Some(pipeline::agrees))
}

/// The whole of `main`.
pub fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|first| first == "engine") {
        return engine();
    }
    let arguments = Arguments::parse();
    let log = Log::start(std::io::stdout);
    match block_on_processors(move || run(arguments, log)).map_err(BoxError::from).flatten() {
        Ok(code) => code,
        Err(error) => {
            tracing::error!(%error, "the data plane cannot run");
            ExitCode::FAILURE
        }
    }
}

/// Runs a program on threads that can walk the deepest statement; for whatever runs a data plane.
///
/// Its own future is on one too. It may be the last that holds kept plans and filters, whose trees are dropped by
/// recursion, and the first thread of a process has the stack that the system chose.
pub fn block_on<F>(program: impl FnOnce() -> F + Send + 'static) -> std::io::Result<F::Output>
where
    F: Future,
    F::Output: Send + 'static,
{
    on_main_thread(|| runtime().build(), program)
}

/// The same, of a program that is a data plane and nothing else: each thread of statements keeps to a processor of its
/// own, where there is one for each.
pub fn block_on_processors<F>(program: impl FnOnce() -> F + Send + 'static) -> std::io::Result<F::Output>
where
    F: Future,
    F::Output: Send + 'static,
{
    let bound = || {
        let workers = thread::available_parallelism()?;
        let own = WorkerProcessors::of(workers);
        let mut runtime = runtime();
        // other threads than workers never park, and are made by workers that are bound
        runtime.worker_threads(workers.get()).on_thread_start(processors::unbind).on_thread_park(move || own.bind());
        runtime.build()
    };
    on_main_thread(bound, program)
}

fn on_main_thread<F>(
    runtime: impl FnOnce() -> std::io::Result<Runtime> + Send + 'static,
    program: impl FnOnce() -> F + Send + 'static,
) -> std::io::Result<F::Output>
where
    F: Future,
    F::Output: Send + 'static,
{
    let work = move || -> std::io::Result<F::Output> { Ok(runtime()?.block_on(program())) };
    let main = thread::Builder::new().name("main".to_owned()).stack_size(sql::STACK_BYTES).spawn(work)?;
    main.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn runtime() -> Builder {
    let mut runtime = Builder::new_multi_thread();
    runtime.enable_all().thread_stack_size(sql::STACK_BYTES);
    runtime
}

async fn run(arguments: Arguments, log: Log) -> Result<ExitCode, BoxError> {
    // Before anything else: from here on a stop is orderly.
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let (clock, entropy) = (Arc::new(SystemClock), Entropy::system()?);
    let tracer = Tracer::to(&arguments.collector, SERVICE, clock.clone(), entropy.clone())?;
    let telemetry = Telemetry { tracer: tracer.clone(), log: Some(log) };
    let settings = arguments.settings(clock, entropy, telemetry)?;
    let shutdown = CancellationToken::new();
    let running = DataPlane::start(settings, shutdown.clone()).await?;
    tracing::info!(pgwire = %running.pgwire, tools = %running.tools, rest = %running.rest, probes = %running.probes, "listening");
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = running.leaving() => {}
    }
    tracing::info!("stopping");
    shutdown.cancel();
    running.stopped().await;
    tracer.finish().await;
    tracing::info!("stopped");
    Ok(if running.has_failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

#[cfg(test)]
mod tests {
    use tokio_util::task::TaskTracker;

    use super::*;

    /// More than the first thread of a process has by default, and less than a thread of statements.
    const PAGES: usize = 8_000;

    /// Has so many pages of the stack in use at once; says how many.
    fn used(pages: usize) -> usize {
        let page = [1u8; 4096];
        let below = pages.checked_sub(1).map_or(0, used);
        below + usize::from(std::hint::black_box(&page)[0])
    }

    #[test]
    fn a_program_that_is_started_on_a_small_thread_has_the_stack_of_a_statement() {
        let start = || block_on(|| async { used(PAGES) }).unwrap();
        let small = thread::Builder::new().stack_size(1 << 20).spawn(start).unwrap();
        assert_eq!(small.join().unwrap(), PAGES + 1);
    }

    /// Processors that the thread may run on, as the kernel lists them.
    fn allowed() -> String {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_owned()
    }

    #[test]
    fn workers_of_a_data_plane_keep_to_a_processor_each_and_no_other_thread_does() {
        const TURNS_MAX: usize = 10_000;
        let work = || async {
            let (tasks, mut of_worker) = (TaskTracker::new(), allowed());
            for _ in 0..TURNS_MAX {
                // bound when it has waited once
                of_worker = tasks.spawn(async { allowed() }).await.unwrap();
                if of_worker.parse::<usize>().is_ok() {
                    break;
                }
            }
            let blocking = async { tokio::task::spawn_blocking(allowed).await.unwrap() };
            let made_by_worker = tasks.spawn(blocking).await.unwrap();
            (of_worker, made_by_worker, allowed())
        };
        let (of_worker, made_by_worker, of_main) = block_on_processors(work).unwrap();
        assert!(of_worker.parse::<usize>().is_ok(), "{of_worker}");
        assert_eq!((made_by_worker, of_main), (allowed(), allowed()));
    }
}
