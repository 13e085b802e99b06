//! API keys: "`name` required; unique within the environment", "plaintext key, returned only in
//! the create response, never retrievable later".
//!
//! "Rotate: the old value stays valid until `old_key_expires_at`" — a key has one present secret
//! and, while a grace runs, old ones; rotated again within a grace, the old ones end together, at
//! the earlier of their times. "Revoke: takes effect immediately": the row is read at each request
//! here, and data planes learn of it when the transaction commits.
//!
//! A key acts as a `service_account`, unless it was created with `user_id`: then it acts for that
//! user, with the role and attributes the user has now. Nobody makes a key that may do more than
//! they may: a key grants only scopes it has, and only the owner makes a key that acts for the
//! owner. Whoever becomes the owner keeps no key that somebody else may have the text of.
//!
//! PostgreSQL is the truth for keys, so that revoking one never waits for an API server. Where keys
//! are resources too, REST writes them afterwards, and what others wrote comes by way of the
//! operator (`resource`).

mod agent_keys;
mod bounds;
pub mod expiry;
mod http;
mod input;
mod life;
pub mod resource;
mod seed;
mod store;

use contract::{Access, Scope};
use platform::http::routes::Routes;

pub use life::{revoke_all_in, revoke_all_of, revoke_known_to_others};
pub use seed::{KeySeed, seed};
pub use store::{attribute_names, by_prefix, governed, used};

pub fn routes() -> Routes {
    use Access::Admin;
    use Scope::{KeyRead, KeyWrite};
    Routes::new()
        .get("/v1/environments/{env_id}/api-keys", Admin, KeyRead, http::list)
        .says("Lists the keys, without their values.")
        .post("/v1/environments/{env_id}/api-keys", Admin, KeyWrite, http::create)
        .says("Makes a key; the answer alone holds its value.")
        .own_role()
        .secret("key", "rotate the key, which tells another")
        .step_up()
        .post("/v1/environments/{env_id}/api-keys/{key_id}/rotate", Admin, KeyWrite, http::rotate)
        .says("Gives a key a new value; the old one holds for the grace period.")
        .own_role()
        .secret("new_key", "rotate the key once more")
        .step_up()
        .delete("/v1/environments/{env_id}/api-keys/{key_id}", Admin, KeyWrite, http::revoke)
        .says("Revokes a key, over every protocol and at once.")
        .and(agent_keys::routes())
}

#[cfg(test)]
mod tests;
