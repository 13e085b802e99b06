//! Messages between replicas of the control plane, so that each can wait for the data planes
//! that follow another: which environments' data planes follow it, and what those rule by.
//!
//! Nothing is kept of it and nothing is owed: who hears of no replica waits for none.

use contract::EnvId;
use platform::dataplane_client::attached::Attached;
use platform::{Result, execute};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

/// The channel of PostgreSQL that they talk on.
pub(super) const CHANNEL: &str = "in_force";
/// Environments that are told of in one go.
const WORDS_MAX: usize = 1_000;

/// One replica among the others.
pub(super) struct Replica {
    pool: PgPool,
    name: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct ReplicaReport {
    replica: String,
    #[serde(flatten)]
    word: ReplicaMessage,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "word", rename_all = "snake_case")]
pub(super) enum ReplicaMessage {
    /// Whoever begins to listen does not know how the others stand.
    Asks,
    /// The data planes of the environment that follow this replica rule by `least`; `None`: there
    /// are none any more.
    Followed { env_id: EnvId, least: Option<u64> },
    /// Nobody follows this replica any more: it ends.
    Leaves,
}

impl Replica {
    /// A name that no other has, in every process another.
    pub fn new(pool: PgPool, name: String) -> Self {
        Self { pool, name }
    }

    /// Tells how those who follow here stand, as it changes.
    pub async fn tell(&self, attached: &Attached) -> Result<()> {
        loop {
            let news = attached.news(WORDS_MAX).await;
            self.say(news.into_iter().map(|(env_id, least)| ReplicaMessage::Followed { env_id, least })).await?;
        }
    }

    /// What was heard before may be out of date: from here on both sides begin anew.
    pub async fn ask(&self, attached: &Attached) -> Result<()> {
        attached.left(None);
        attached.tell_again();
        self.say([ReplicaMessage::Asks]).await
    }

    pub async fn say(&self, words: impl IntoIterator<Item = ReplicaMessage>) -> Result<()> {
        let said = words.into_iter().map(|word| ReplicaReport { replica: self.name.clone(), word });
        let said: Vec<String> = said.filter_map(|said| serde_json::to_string(&said).ok()).collect();
        execute!(&self.pool, "select pg_notify('in_force', said) from unnest($1::text[]) as said", &said)
    }

    /// Heard on the channel. What cannot be read is of another version of this program.
    pub fn hear(&self, attached: &Attached, text: &str) {
        let Ok(ReplicaReport { replica, word }) = serde_json::from_str(text) else {
            tracing::debug!(text, "another replica said what cannot be read");
            return;
        };
        match word {
            _ if replica == self.name => {}
            ReplicaMessage::Asks => attached.tell_again(),
            ReplicaMessage::Followed { env_id, least } => attached.elsewhere(&env_id, &replica, least),
            ReplicaMessage::Leaves => attached.left(Some(&replica)),
        }
    }
}
