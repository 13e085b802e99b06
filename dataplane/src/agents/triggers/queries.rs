//! The source `query`: what an agent has asked, once the answer has ended well.
//!
//! Its text is the statement without its literals, as the log shows it. It waits in a queue and is judged
//! behind the answer, which neither waits for it nor fails of it; what finds the queue full is not judged,
//! nor is what waits when the data plane stops.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Map;
use tokio::sync::mpsc;

use super::{TriggerContent, TriggerSource, Triggers, telling};
use crate::Pipeline;
use crate::pipeline::{AgentStatement, StatementObserver};
use crate::storage::system_tables::{Author, ReadTarget};

/// Statements that may wait.
const WAITING_MAX: usize = 1_024;
const WITHIN: Duration = Duration::from_secs(30);

/// Statements that wait to be judged.
#[derive(Debug, Clone)]
pub struct TriggerQueue {
    enter: mpsc::Sender<AgentStatement>,
    /// Until somebody attends to it.
    leave: Arc<Mutex<Option<mpsc::Receiver<AgentStatement>>>>,
}

impl Default for TriggerQueue {
    fn default() -> Self {
        let (enter, leave) = mpsc::channel(WAITING_MAX);
        Self { enter, leave: Arc::new(Mutex::new(Some(leave))) }
    }
}

impl StatementObserver for TriggerQueue {
    /// Waits for nothing.
    fn ended(&self, asked: AgentStatement) {
        if let Err(mpsc::error::TrySendError::Full(asked)) = self.enter.try_send(asked) {
            tracing::warn!(query_id = %asked.query_id, "too many queries wait for the triggers: this one is not judged");
        }
    }
}

/// Judges what waits, one by one, until nothing begins any more.
pub async fn attend(pipeline: Arc<Pipeline>, triggers: Triggers) {
    let leave = triggers.asked.leave.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(mut leave) = leave else { return };
    while let Some(Some(asked)) = pipeline.closed.run_until_cancelled(leave.recv()).await {
        let Some(engine) = pipeline.engine.borrow().clone() else { continue };
        let AgentStatement { query_id, agent_id, sql, at } = asked;
        let trigger_content = TriggerContent {
            source: TriggerSource::Query,
            content: sql,
            content_id: Some(query_id.to_string()),
            agent_id,
            metadata: Map::new(),
        };
        let place = ReadTarget { engine: &engine, deadline: Instant::now() + WITHIN };
        telling::told((&pipeline, &triggers), Author { place, query_id: &query_id }, &trigger_content, at).await;
    }
}
