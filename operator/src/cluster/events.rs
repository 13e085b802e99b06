//! Kubernetes Events about our objects: on transitions only, and never in the way.
//!
//! They wait in a short queue; what does not fit is dropped and counted, so that an API server that
//! is away costs neither memory nor time.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;

const WAITING_MAX: usize = 256;
/// A recorder keeps whole what it has written, to count what is repeated, and for a thousand environments
/// that is megabytes: after so many it begins anew. What is then repeated is an Event of its own.
const REMEMBERED_MAX: usize = 128;
/// Kubernetes refuses longer ones.
const NOTE_MAX: usize = 1_000;

#[derive(Clone)]
pub struct Events {
    sender: mpsc::Sender<(Event, ObjectReference)>,
    metrics: Metrics,
}

/// Writes the Events that wait.
pub struct Writer {
    waiting: mpsc::Receiver<(Event, ObjectReference)>,
    client: Client,
    reporter: Reporter,
}

impl Events {
    pub fn new(client: Client, instance: String, metrics: Metrics) -> (Self, Writer) {
        let (sender, waiting) = mpsc::channel(WAITING_MAX);
        let reporter = Reporter { controller: "sluice-operator".to_owned(), instance: Some(instance) };
        (Self { sender, metrics }, Writer { waiting, client, reporter })
    }

    pub fn say(&self, about: ObjectReference, warning: bool, reason: &str, action: &str, note: &str) {
        let event = Event {
            type_: if warning { EventType::Warning } else { EventType::Normal },
            reason: reason.to_owned(),
            action: action.to_owned(),
            note: Some(note.chars().take(NOTE_MAX).collect()),
            secondary: None,
        };
        if self.sender.try_send((event, about)).is_err() {
            self.metrics.event_dropped();
        }
    }

    /// An object that cannot be read is left alone, and whoever wrote it should know.
    pub fn invalid(&self, about: ObjectReference, error: &str) {
        tracing::error!(kind = ?about.kind, name = ?about.name, %error, "an object does not fit its type: left alone");
        self.say(about, true, "Unreadable", "Read", &format!("left alone, for it does not fit its type: {error}"));
    }
}

impl Writer {
    fn recorder(&self) -> Recorder {
        Recorder::new(self.client.clone(), self.reporter.clone())
    }

    pub async fn run(mut self, stop: CancellationToken) {
        let (mut recorder, mut written) = (self.recorder(), 0);
        loop {
            let (event, about) = tokio::select! {
                () = stop.cancelled() => return,
                next = self.waiting.recv() => match next {
                    Some(next) => next,
                    None => return,
                },
            };
            if let Err(error) = recorder.publish(&event, &about).await {
                tracing::debug!(%error, reason = event.reason, "an Event was not written");
            }
            written += 1;
            if written == REMEMBERED_MAX {
                (recorder, written) = (self.recorder(), 0);
            }
        }
    }
}
