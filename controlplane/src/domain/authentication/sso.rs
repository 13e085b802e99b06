//! Single sign-on: an organization's own OpenID provider says who somebody is.
//!
//! "SSO configuration endpoints and payloads: not shown." One provider an organization; the
//! authorization code flow with PKCE, a nonce, and a cookie that binds the way back to the browser
//! that set out. "With `enforce_sso` password login is disabled": this way stays.
//!
//! A provider vouches for the organization that named it, and for nothing else. Only its owner may
//! name one (who controls the provider can be anybody in the organization, its owner too), it is
//! believed only for addresses of the domains that are named with it, and whoever it brings in gets
//! no account: their account, should they have one, is out of its reach.

mod claims;
mod people;
#[cfg(test)]
pub(crate) mod provider;
mod settings;
mod sign_on;
mod store;
#[cfg(test)]
mod tests;

use contract::{Access, Code};
use platform::http::routes::Routes;

pub use store::sweep;

pub fn routes() -> Routes {
    const SSO: &str = "/v1/organizations/{org_id}/sso";
    Routes::new()
        .get("/v1/auth/sso/{org_slug}", Access::Public, None, sign_on::begin)
        .says("Sends a browser to the organization's identity provider.")
        .get("/v1/auth/sso/callback", Access::Public, None, sign_on::callback)
        .says("Signs in whom the identity provider sends back.")
        .linked()
        .refuses(&[Code::InvalidToken, Code::Forbidden])
        .get(SSO, Access::Admin, None, settings::get)
        .says("Reads the organization's identity provider, without its secret.")
        .put(SSO, Access::Owner, None, settings::put)
        .says("Names the organization's identity provider.")
        .step_up()
        .delete(SSO, Access::Owner, None, settings::remove)
        .says("Lets the identity provider go; the sessions that it opened end.")
        .step_up()
        .all_ours()
}
