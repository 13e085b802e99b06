//! Which endpoint is asked, and for what.

use clap::Args;
use clap::builder::{StringValueParser, TypedValueParser};
use contract::Redacted;
use contract::model::ModelUrl;
use contract::wire::setting;

// No documentation, which would be taken for that of the program.
#[derive(Debug, Clone, Default, Args)]
pub struct ModelSettings {
    /// Base URL of an endpoint that speaks as OpenAI's does: `https://models.example.com/v1`, by the public
    /// authorities. What is sent to it leaves the platform. Absent: no model is asked.
    #[arg(id = "model_url", long = "model-url", value_name = "URL", env = setting::MODEL_URL)]
    pub url: Option<ModelUrl>,
    /// Ask an `http://` endpoint beyond this machine: only over a network that nobody else listens on.
    #[arg(id = "model_plain", long = "model-plain", env = setting::MODEL_PLAIN)]
    pub plain: bool,
    // every text is taken: clap prints one that it refuses
    /// The key that it wants, sent as a bearer token.
    #[arg(id = "model_key", long = "model-key", value_name = "KEY", env = setting::MODEL_KEY, hide_env_values = true, value_parser = StringValueParser::new().map(Redacted::new))]
    pub key: Option<Redacted<String>>,
    /// The model that makes vectors of memories, of 256 dimensions: the first 8 KiB of each, and of what is searched
    /// for, are sent to it. Absent: the built-in embedder makes them, memories are found by similar words, and nothing
    /// leaves.
    #[arg(id = "embedding_model", long = "embedding-model", value_name = "MODEL", env = setting::EMBEDDING_MODEL)]
    pub embedding: Option<String>,
    /// The model that is asked to correct a statement that failed and that the rules cannot heal, in an environment
    /// whose settings say `heal: auto`: sent are the statement, its error, and the names and types of columns that its
    /// caller may see. Absent: rules alone heal.
    #[arg(id = "healing_model", long = "healing-model", value_name = "MODEL", env = setting::HEALING_MODEL)]
    pub healing: Option<String>,
}
