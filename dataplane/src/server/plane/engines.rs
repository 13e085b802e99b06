//! Starts the engine once the first snapshot has brought its mask key, and again should that key
//! ever change: hashes under another key would not be those the policies promise.

use std::path::{Path, PathBuf};
use std::time::Duration;

use contract::governance::HexKey;
use tokio::sync::watch;

use crate::governance::link::Link;
use crate::governance::sessions::Snapshots;
use crate::server::config::{EngineSettings, Settings};
use crate::storage::catalogue::Catalogue;
use crate::storage::runtime_tables::RuntimeTables;

/// The engine of a process that was killed may have the file for a moment longer.
const RETRY_MIN: Duration = Duration::from_millis(5);
const RETRY_MAX: Duration = Duration::from_secs(1);
/// Address space is not memory: libraries and maps take gigabytes of it.
const ADDRESS_SPACE_EXTRA_BYTES: u64 = 16 << 30;

pub(super) struct Engines {
    settings: EngineSettings,
    run: PathBuf,
    sessions_max: u16,
    kept_statements: u16,
    snapshots: Snapshots,
    slot: watch::Sender<Option<engine::Engine>>,
}

impl Engines {
    pub fn new(settings: &Settings, snapshots: Snapshots, slot: watch::Sender<Option<engine::Engine>>) -> Self {
        let sessions_max = settings.max_concurrent_queries.saturating_mul(2).saturating_add(64);
        Self {
            settings: settings.engine.clone(),
            run: run(settings),
            sessions_max: u16::try_from(sessions_max).unwrap_or(u16::MAX),
            kept_statements: settings.plans.in_engine,
            snapshots,
            slot,
        }
    }

    /// Keeps the right engine in its slot. `tried` is called when there is one, and when it has not
    /// started for so long that nobody should wait for it.
    pub async fn keep(mut self, tried: impl Fn()) {
        let mut current: Option<HexKey> = None;
        loop {
            let mask_key = self.snapshots.borrow_and_update().as_ref().map(|rules| rules.mask_key);
            if mask_key.is_some() && current != mask_key {
                let stopped = self.slot.send_replace(None);
                if let Some(stopped) = stopped {
                    stopped.stop().await;
                }
                current = self.start(&tried).await;
                tried();
            }
            if self.snapshots.changed().await.is_err() {
                return;
            }
        }
    }

    /// Tries until it starts; says under which key.
    async fn start(&mut self, tried: &impl Fn()) -> Option<HexKey> {
        let mut pause = RETRY_MIN;
        loop {
            let key = self.snapshots.borrow_and_update().as_ref().map(|rules| rules.mask_key)?;
            match engine::Engine::start(self.config(key)).await {
                Ok(started) => {
                    self.slot.send_replace(Some(started));
                    return Some(key);
                }
                Err(error) => {
                    tracing::warn!(kind = ?error.kind, message = error.message, "the engine did not start");
                }
            }
            if pause == RETRY_MAX {
                tried();
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(RETRY_MAX);
        }
    }

    fn config(&self, mask_key: HexKey) -> engine::Config {
        engine::Config {
            sessions_max: self.sessions_max,
            kept_statements: self.kept_statements,
            mask_key: mask_key.0,
            ..config(&self.settings, &self.run)
        }
    }
}

fn config(settings: &EngineSettings, run: &Path) -> engine::Config {
    let memory = settings.memory_limit_bytes;
    engine::Config {
        program: settings.program.clone(),
        arguments: settings.arguments.clone(),
        data: Some(settings.data.clone()),
        run: run.to_owned(),
        memory_limit_bytes: memory,
        temp_limit_bytes: settings.temp_limit_bytes,
        threads: settings.threads,
        address_space_bytes: memory.saturating_mul(4).saturating_add(ADDRESS_SPACE_EXTRA_BYTES),
        sessions_max: 0,
        kept_statements: 0,
        mask_key: [0; 32],
    }
}

/// PostgreSQL's catalogue, in a process of its own once it is asked for.
pub(super) fn catalogue(settings: &Settings) -> Catalogue {
    Catalogue::new(config(&settings.engine, &run(settings)))
}

/// The runtime's tables, in a process of its own once they are read.
pub(super) fn runtime(settings: &Settings, link: Link) -> RuntimeTables {
    RuntimeTables::new(config(&settings.engine, &run(settings)), Some(link))
}

fn run(settings: &Settings) -> PathBuf {
    Path::new(&settings.state).join("run")
}
