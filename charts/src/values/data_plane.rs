//! The data planes of an installation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pods::{Account, DataPlanePods, Variable};

values! {
/// What environments get that do not say otherwise.
pub struct DataPlane {
    /// Name of the image, below `image.registry`.
    #[schemars(length(min = 1, max = 200))]
    pub image: String = "sluice-dataplane".to_owned(),
    /// Tag that environments without `spec.dataPlane.version` run; empty: `image.tag`.
    #[schemars(length(max = 128), regex(pattern = "^[A-Za-z0-9_.-]*$"))]
    pub version: String,
    /// Secrets that pull the image, in the namespace of each environment.
    #[schemars(length(max = 16), inner(length(min = 1, max = 253)))]
    pub pull_secrets: Vec<String>,
    /// Suffix of the names that clients connect to.
    #[schemars(length(min = 1, max = 200))]
    pub cluster_domain: String = "cluster.local".to_owned(),
    /// Bytes that one result of an agent's tool may hold: what is more is cut, and a cursor gives the rest. A data plane
    /// learns of a change when its pod starts next.
    #[schemars(range(min = 4096, max = 16_777_216))]
    pub tool_result_bytes: i32 = 51_200,
    pub plans: Plans,
    /// Variables beside those that the operator sets, as of a container; a Secret is one of each environment's namespace.
    #[schemars(length(max = 64))]
    pub env: Vec<Variable>,
    /// Of each environment.
    pub service_account: Account,
    pub pods: DataPlanePods,
    pub rollout: Rollout,
    pub model: Model,
}

/// Plans that a data plane and its engine keep of texts that come again. A data plane learns of a change when its pod
/// starts next.
pub struct Plans {
    /// Bytes of all plans of the data plane, as far as they can be weighed; 0: it keeps none.
    #[schemars(range(min = 0, max = 1_073_741_824))]
    pub bytes: i32 = 16_777_216,
    /// Seconds after which one goes that nobody uses.
    #[schemars(range(min = 1, max = 86_400))]
    pub idle_secs: i32 = 600,
    /// Plans that each session of the engine keeps; 0: none.
    #[schemars(range(min = 0, max = 1000))]
    pub in_engine: i32 = 16,
}

/// Models that data planes ask, behind an endpoint that speaks as OpenAI's does. What is sent there leaves the platform.
pub struct Model {
    /// Base URL of the endpoint: `https://models.example.com/v1`. Empty: no model is asked. A data plane learns of a
    /// change when its pod starts next; its way to the endpoint opens and closes at once.
    #[schemars(length(max = 1000), regex(pattern = "^(https?://[^@?#]+)?$"))]
    pub url: String,
    /// Permits an `http://` endpoint: only over a network that nobody else listens on.
    pub plain: bool,
    /// A Secret with the endpoint's key, in the namespace of each environment. Empty: no key is sent. Naming another
    /// one restarts data planes, in the waves of `rollout`.
    #[schemars(length(max = 253))]
    pub existing_secret: String,
    /// The key of that Secret.
    #[schemars(length(min = 1, max = 253))]
    pub key: String = "key".to_owned(),
    /// The model that makes vectors of memories, of 256 dimensions. Empty: the built-in embedder makes them, and memories
    /// are found by similar words.
    #[schemars(length(max = 200))]
    pub embedding: String,
    /// The model that is asked to correct a statement that failed, in environments whose settings say `heal: auto`.
    /// Empty: rules alone do.
    #[schemars(length(max = 200))]
    pub healing: String,
}

/// How environments move to a new `version`. The first one that does not come up halts it.
pub struct Rollout {
    /// Environments that are being moved at the same time.
    #[schemars(range(min = 1, max = 1000))]
    pub max_in_flight: i32 = 10,
    /// Rising percentages of all environments; the next wave begins when one has arrived.
    #[schemars(length(min = 1, max = 16), inner(range(min = 1, max = 100)))]
    pub waves: Vec<u8> = vec![1, 10, 100],
}
}
