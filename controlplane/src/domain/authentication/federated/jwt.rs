//! Tokens of GCP and Azure: OpenID tokens of one issuer each.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::DateTime;
use platform::oidc::issuers::Unbelieved;
use platform::{App, Error, Result};
use serde::Deserialize;

use super::{INVALID, Proven};
use crate::domain::authentication::federation::{self, Azure, FederationConfig, Gcp};

/// Claims of a token before it is verified: they only lead to the provider that decides.
#[derive(Debug, Deserialize)]
struct UnverifiedClaims {
    aud: String,
    tid: Option<String>,
}

pub async fn proven(app: &App, token: &str) -> Result<Proven> {
    let claimed = claimed(token).ok_or(INVALID)?;
    let mut conn = app.pool().acquire().await?;
    let provider = if let Some(tenant_id) = &claimed.tid {
        federation::by_audience(&mut conn, tenant_id, &claimed.aud).await?
    } else {
        let provider_id = claimed.aud.rsplit('/').next().unwrap_or_default();
        federation::find(&mut conn, provider_id).await?
    };
    // The issuer may take its time: no connection is held meanwhile.
    drop(conn);
    let provider = provider.ok_or(INVALID)?;
    let (subject, expires) = match &provider.config {
        FederationConfig::GcpWorkloadIdentity(gcp) => {
            let audience = federation::audience(app, &provider.org_id, &provider.provider_id);
            google(app, token, gcp, &audience).await?
        }
        FederationConfig::AzureAd(azure) => microsoft(app, token, azure).await?,
        FederationConfig::AwsSts(_) => return Err(INVALID),
    };
    let expires_at = DateTime::from_timestamp(expires, 0).ok_or(INVALID)?;
    Proven::of(provider, subject, expires_at)
}

fn claimed(token: &str) -> Option<UnverifiedClaims> {
    let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    serde_json::from_slice(&payload).ok()
}

#[derive(Deserialize)]
struct OfGoogle {
    exp: i64,
    email: String,
    email_verified: bool,
}

/// A service account of the project. Its address is the subject.
async fn google(app: &App, token: &str, gcp: &Gcp, audience: &str) -> Result<(String, i64)> {
    let issuer = &app.config().clouds.gcp_issuer;
    let claims = app.issuers().claims::<OfGoogle>(token, issuer, audience, app.now()).await;
    let claims = claims.map_err(Unbelieved::refused)?;
    let of_project = claims.email.strip_suffix(".iam.gserviceaccount.com");
    let of_project =
        of_project.and_then(|rest| rest.split_once('@')).is_some_and(|(_, project)| project == gcp.project_id);
    (of_project && claims.email_verified).then_some((claims.email, claims.exp)).ok_or(INVALID)
}

#[derive(Deserialize)]
struct OfMicrosoft {
    exp: i64,
    tid: String,
    /// The object in the directory: a user, or the principal of an application.
    oid: String,
}

async fn microsoft(app: &App, token: &str, azure: &Azure) -> Result<(String, i64)> {
    let issuer = app.config().clouds.azure_issuer.replace("{tenant_id}", &azure.tenant_id);
    let claims = app.issuers().claims::<OfMicrosoft>(token, &issuer, &azure.audience, app.now()).await;
    let claims: OfMicrosoft = claims.map_err(Unbelieved::refused)?;
    if claims.tid != azure.tenant_id {
        return Err::<_, Error>(INVALID);
    }
    Ok((claims.oid, claims.exp))
}
