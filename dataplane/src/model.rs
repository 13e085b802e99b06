//! Models of somebody else, behind an endpoint that speaks as OpenAI's does. Off, unless it is set up.
//!
//! Two things ask one: healing a statement (`pipeline/heal`) and vectors of memories (`memory/embedder`). Neither
//! needs it: rules heal without, and the built-in embedder makes vectors from nothing but the text. What is sent is
//! named where it is asked, and what comes back is somebody else's word: a statement passes all gates again, a
//! vector is checked.
//!
//! Everything about a request is bounded (`endpoint`): where it leads, how long it takes, how large it and its
//! answer are, how many there are at once. An endpoint that fails is left alone for a while (`pause`).

mod chat;
mod embeddings;
mod endpoint;
mod measured;
mod pause;
mod settings;
#[cfg(test)]
mod tests;
pub(crate) mod vector;

use std::sync::Arc;

use contract::SharedClock;

pub use chat::{Healer, HealingRequest};
pub use embeddings::Embeddings;
pub use endpoint::{ModelFailure, WITHIN};
pub use measured::ModelMetrics;
pub use settings::ModelSettings;

pub(crate) use endpoint::tls;

use endpoint::Endpoint;

/// The models that are asked here.
#[derive(Debug, Clone, Default)]
pub struct Models {
    pub embedding: Option<Embeddings>,
    pub healing: Option<Healer>,
}

/// Why the settings cannot be used. None of them tells the key.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    #[error("the model endpoint {0} is asked without TLS beyond this machine: SLUICE_MODEL_PLAIN=true permits it")]
    Plain(String),
    #[error("SLUICE_MODEL_KEY has characters that no header takes")]
    Key,
    #[error("the client of the model endpoint: {0}")]
    Client(String),
}

impl Models {
    pub fn new(settings: &ModelSettings, clock: &SharedClock, measured: ModelMetrics) -> Result<Self, Unusable> {
        let Some(url) = &settings.url else { return Ok(Self::default()) };
        if !settings.plain && !url.is_private() {
            return Err(Unusable::Plain(url.to_string()));
        }
        let endpoint = Arc::new(Endpoint::new(url.clone(), settings.key.as_ref(), Arc::clone(clock), measured)?);
        let named = |name: &Option<String>| name.clone().filter(|name| !name.is_empty());
        Ok(Self {
            embedding: named(&settings.embedding).map(|model| Embeddings::new(Arc::clone(&endpoint), model)),
            healing: named(&settings.healing).map(|model| Healer::new(Arc::clone(&endpoint), model)),
        })
    }
}
