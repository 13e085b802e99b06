//! Storage integrations: by which endpoint and credentials an environment reaches files and databases elsewhere.
//!
//! Credentials are sealed in the database under the installation's secret key, travel in the snapshot, and are never
//! answered, recorded or logged. What an integration may name is bounded by whoever runs the installation
//! (`StorageSettings`): private endpoints, folders of the machine, credentials of the surroundings.

mod admission;
mod azure;
mod confinement;
mod credentials;
mod http;
mod kinds;
mod postgres;
mod secret;
mod store;

use contract::{Access, Scope};
use platform::http::routes::Routes;

pub use confinement::confine;
pub use secret::{REREAD_EVERY, reread};
pub use store::{delete_all_in, governed};

pub fn routes() -> Routes {
    use Access::Admin;
    use Scope::{SchemaRead, SchemaWrite};
    const ALL: &str = "/v1/environments/{env_id}/storage-integrations";
    const ONE: &str = "/v1/environments/{env_id}/storage-integrations/{storage_integration_id}";
    Routes::new()
        .get(ALL, Admin, SchemaRead, http::list)
        .says("Lists the storage integrations, without their credentials.")
        .ours()
        .post(ALL, Admin, SchemaWrite, http::create)
        .says("Makes a storage integration; its credentials are never answered.")
        .own_role()
        .ours()
        .get(ONE, Admin, SchemaRead, http::get)
        .says("Shows a storage integration, without its credentials.")
        .ours()
        .put(ONE, Admin, SchemaWrite, http::update)
        .says("Changes what is given of a storage integration; new credentials are in force at once.")
        .own_role()
        .versioned()
        .ours()
        .delete(ONE, Admin, SchemaWrite, http::delete)
        .says("Deletes a storage integration; stages that name it, and tables that it attaches, are reached no more.")
        .own_role()
        .versioned()
        .ours()
}

#[cfg(test)]
mod tests;
