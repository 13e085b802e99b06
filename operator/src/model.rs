//! The models that data planes may ask, as this installation is set up.
//!
//! The operator hands on where and which, and opens the way there. It never sees the key: each data plane's pod reads
//! it from a Secret of its own namespace.

use clap::Args;
use contract::model::ModelUrl;
use contract::wire::setting;

// No documentation, which would be taken for that of the program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct Model {
    /// Base URL of the endpoint whose models data planes ask, as `https://models.example.com/v1`. Absent: they ask none.
    #[arg(id = "model_url", long = "model-url", value_name = "URL", env = setting::MODEL_URL)]
    pub url: Option<ModelUrl>,
    /// They may ask an `http://` endpoint: only over a network that nobody else listens on.
    #[arg(id = "model_plain", long = "model-plain", env = setting::MODEL_PLAIN)]
    pub plain: bool,
    /// The model that makes vectors of memories. Absent: the built-in embedder does, by similar words.
    #[arg(id = "embedding_model", long = "embedding-model", value_name = "MODEL", env = setting::EMBEDDING_MODEL)]
    pub embedding: Option<String>,
    /// The model that is asked for a statement that failed. Absent: rules alone heal.
    #[arg(id = "healing_model", long = "healing-model", value_name = "MODEL", env = setting::HEALING_MODEL)]
    pub healing: Option<String>,
    /// Secret that holds the key of the endpoint, in the namespace of each environment. Absent: they ask without one.
    #[arg(id = "model_secret", long = "model-secret", value_name = "NAME", env = "SLUICE_MODEL_SECRET")]
    pub secret: Option<String>,
    /// The key of that Secret.
    #[arg(
        id = "model_secret_key",
        long = "model-secret-key",
        value_name = "KEY",
        env = "SLUICE_MODEL_SECRET_KEY",
        default_value = "key"
    )]
    pub secret_key: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the model endpoint {0} is asked without TLS: SLUICE_MODEL_PLAIN=true permits it")]
pub struct PlaintextEndpoint(String);

impl Model {
    /// No data plane starts with what it would refuse.
    pub fn check(&self) -> Result<(), PlaintextEndpoint> {
        match &self.url {
            Some(url) if !self.plain && !url.is_private() => Err(PlaintextEndpoint(url.to_string())),
            _ => Ok(()),
        }
    }

    /// The port of the endpoint, for whoever opens the way there.
    pub fn port(&self) -> Option<u16> {
        self.url.as_ref().map(ModelUrl::port)
    }

    /// Name and key of the Secret, where an endpoint is asked with one.
    pub fn secret(&self) -> Option<(&str, &str)> {
        self.url.as_ref()?;
        Some((self.secret.as_deref()?, &self.secret_key))
    }
}
