//! ABAC policies: who may query what, from where and when.
//!
//! "`rules` array, each rule: `condition` string, `values` string[] (or `start`, `end` as HH:MM and
//! `timezone` for a time window), `action` string, `message` string (optional)"; "400 invalid rule
//! or missing fields, 404, 409 duplicate policy name in the environment, 422 `INVALID_RULE` for
//! unknown attributes." The endpoints are deprecated: "They keep working". Ours: PUT and DELETE.
//!
//! How rules decide is `contract::policy::abac`, one evaluator: the data plane's stage 3 enforces
//! with it, `simulation` and `summary` only ask it.

mod admission;
mod http;
mod promotion;
mod simulation;
mod store;
mod summary;

use contract::{Access, Code, Scope};
use platform::http::routes::Routes;

pub use promotion::promote;
pub use store::{by_table, governed};

pub fn routes() -> Routes {
    use Access::{Admin, Member};
    use Scope::{PolicyRead, PolicyWrite};
    const ALL: &str = "/v1/environments/{env_id}/abac-policies";
    const ONE: &str = "/v1/environments/{env_id}/abac-policies/{policy_id}";
    const SIMULATE: &str = "/v1/environments/{env_id}/abac-policies/simulate";
    const SUMMARY: &str = "/v1/environments/{env_id}/abac-policies/agent-summary";
    Routes::new()
        .get(ALL, Member, PolicyRead, http::list)
        .says("Lists the attribute policies.")
        .deprecated()
        .post(ALL, Admin, PolicyWrite, http::create)
        .says("Makes an attribute policy.")
        .own_role()
        .refuses(&[Code::InvalidRule])
        .deprecated()
        .put(ONE, Admin, PolicyWrite, http::update)
        .says("Changes what is given of an attribute policy.")
        .own_role()
        .refuses(&[Code::InvalidRule])
        .deprecated()
        .ours()
        .delete(ONE, Admin, PolicyWrite, http::delete)
        .says("Deletes an attribute policy.")
        .own_role()
        .deprecated()
        .ours()
        .post(SIMULATE, Admin, PolicyRead, simulation::simulate)
        .says("Tells what the attribute policies would decide.")
        .deprecated()
        .get(SUMMARY, Member, PolicyRead, summary::of_agents)
        .says("Tells what each agent framework may do.")
        .deprecated()
}

#[cfg(test)]
mod tests;
