//! The endpoints of authentication. Their shapes are ours: the specification does not show them.

use contract::caller::Credential;
use contract::{Access, EnvId, KeyId, OrgId, Role, Scopes, Tier, UserId};
use serde::Serialize;

use crate::http::call::{Call, Visit};
use crate::http::json::Json;
use crate::http::routes::Routes;
use crate::rooms;

pub fn routes() -> Routes {
    Routes::new()
        .get("/v1/auth/me", Access::Authenticated, None, me)
        .get("/.well-known/jwks.json", Access::Public, None, jwks)
        .ours()
}

#[derive(Debug, Serialize)]
struct Me {
    user_id: Option<UserId>,
    email: Option<String>,
    role: Role,
    org_id: OrgId,
    tier: Tier,
    #[serde(skip_serializing_if = "Option::is_none")]
    env_id: Option<EnvId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_id: Option<KeyId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scopes: Option<Scopes>,
    permissions: Vec<&'static str>,
}

async fn me(call: Call) -> Json<Me> {
    let permissions = rooms::permissions(&call.caller);
    let (env_id, key_id, scopes) = match call.caller.credential {
        Credential::Session { .. } => (None, None, None),
        Credential::Key { key_id, env_id, scopes, .. } => (Some(env_id), Some(key_id), Some(scopes)),
    };
    Json(Me {
        user_id: call.caller.user_id,
        email: call.caller.email,
        role: call.caller.role,
        org_id: call.caller.org_id,
        tier: call.tier,
        env_id,
        key_id,
        scopes,
        permissions,
    })
}

async fn jwks(visit: Visit) -> Json<jsonwebtoken::jwk::JwkSet> {
    Json(visit.app.tokens().published())
}
