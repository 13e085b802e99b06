//! Standard policies: column masking and row-level security.
//!
//! "`name` unique within the environment; `type` `column_masking` or `row_level_security`;
//! 400 invalid rule or missing fields, 404, 409 duplicate policy name in the environment, 422
//! `INVALID_RULE` for unknown attributes."
//!
//! A policy is admitted before it is stored (`admission`): what a data plane could not enforce is
//! refused here, by the one who writes it, and not there, by everybody who queries. What its rules name must be there,
//! too (`binding`), and it is looked again now and then whether it is (`checking`). How rules are
//! evaluated is `contract::policy`; how they change a query, the data plane's stage 6.

mod admission;
mod apply;
pub mod binding;
mod checking;
mod http;
mod promotion;
mod store;

use contract::{Access, Code, Scope};
use platform::http::routes::Routes;

pub use binding::store::count_unbound;
pub use checking::{CHECKED_EVERY, check, check_due};
pub use http::{attributes, name};
pub use promotion::promote;
pub use store::{governed, naming};

use crate::domain::query;

pub fn routes() -> Routes {
    use Access::{Admin, Member};
    use Scope::{PolicyRead, PolicyWrite};
    Routes::new()
        .get("/v1/environments/{env_id}/policies", Member, PolicyRead, http::list)
        .says("Lists the policies of masks and row filters.")
        .post("/v1/environments/{env_id}/policies", Admin, PolicyWrite, http::create)
        .says("Makes a policy; it rules when it is answered.")
        .own_role()
        .refuses(&[Code::InvalidRule])
        .put("/v1/environments/{env_id}/policies/{policy_id}", Admin, PolicyWrite, http::update)
        .says("Changes what is given of a policy.")
        .own_role()
        .versioned()
        .refuses(&[Code::InvalidRule])
        .delete("/v1/environments/{env_id}/policies/{policy_id}", Admin, PolicyWrite, http::delete)
        .says("Deletes a policy.")
        .own_role()
        .versioned()
        .post("/v1/environments/{env_id}/policies/apply", Admin, PolicyWrite, apply::apply)
        .ours()
        .says("Makes and changes policies, found by their names, all of them or none; a dry run changes nothing.")
        .own_role()
        .refuses(&[Code::InvalidRule])
        .post("/v1/environments/{env_id}/policies/test", Admin, PolicyRead, query::test)
        .ours()
        .says("Tells what the policies do with a statement that somebody imagined asks: verdict, filters, masks, SQL; runs nothing.")
        .refuses(query::REFUSALS)
}

#[cfg(test)]
mod tests;
