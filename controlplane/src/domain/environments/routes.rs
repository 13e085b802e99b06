//! The endpoints of environments.

use contract::{Access, Code, Scope};
use platform::http::routes::Routes;

use super::{http, lifecycle};
use crate::domain::promotion;

pub fn routes() -> Routes {
    use Access::{Admin, Member};
    use Scope::{EnvironmentRead, EnvironmentWrite};
    const ALL: &str = "/v1/organizations/{org_id}/environments";
    const ONE: &str = "/v1/organizations/{org_id}/environments/{env_id}";
    const SUSPEND: &str = "/v1/organizations/{org_id}/environments/{env_id}/suspend";
    const RESUME: &str = "/v1/organizations/{org_id}/environments/{env_id}/resume";
    const CONNECTION: &str = "/v1/organizations/{org_id}/environments/{env_id}/connection-info";
    const PROMOTE: &str = "/v1/organizations/{org_id}/environments/{env_id}/promote";
    Routes::new()
        .get(ALL, Member, EnvironmentRead, http::list)
        .says("Lists the environments.")
        .deprecated()
        .post(ALL, Admin, EnvironmentWrite, http::create)
        .says("Makes an environment; it is active when its data plane serves.")
        .deprecated()
        .get(ONE, Member, EnvironmentRead, http::get)
        .says("Reads an environment.")
        .deprecated()
        .put(ONE, Admin, EnvironmentWrite, http::put)
        .says("Changes what is given of an environment.")
        .own_role()
        .versioned()
        .deprecated()
        .post(PROMOTE, Admin, EnvironmentWrite, promotion::promote)
        .says("Makes another environment's policies like this one's, or tells how.")
        .deprecated()
        .own_role()
        .get(CONNECTION, Member, EnvironmentRead, http::connection_info)
        .says("Tells how to connect.")
        .refuses(&[Code::Conflict])
        .deprecated()
        .delete(ONE, Admin, EnvironmentWrite, lifecycle::remove)
        .says("Removes an environment: its keys are revoked, its data stays where it lies.")
        .ours()
        .own_role()
        .step_up()
        .post(SUSPEND, Admin, EnvironmentWrite, lifecycle::suspend)
        .says("Suspends an environment: nothing runs there, and everything is kept.")
        .ours()
        .own_role()
        .post(RESUME, Admin, EnvironmentWrite, lifecycle::resume)
        .says("Resumes a suspended environment; it is active when its data plane serves.")
        .ours()
        .own_role()
}
