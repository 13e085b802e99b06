//! AWS: a signed `GetCallerIdentity`, which only AWS can check.
//!
//! The caller sends the headers of a request that they signed; we make the request anew and ask AWS
//! who signed it. "Reconstruct, don't validate": method, host, path and body are ours, and of the
//! caller's headers only those of the signature go along. A request that was signed for somebody
//! else is of no use here: it has to have our provider's id under its signature.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{Duration, NaiveDateTime};
use contract::Timestamp;
use platform::oidc::issuers::Unbelieved;
use platform::{App, Result};
use serde::Deserialize;

use super::{INVALID, Proven};
use crate::domain::authentication::federation::{self, Aws, FederationConfig};

const BODY: &str = "Action=GetCallerIdentity&Version=2011-06-15";
/// AWS takes a signature for this long.
const SIGNATURE_GOOD_FOR: Duration = Duration::minutes(15);
const CLOCKS_DIFFER_BY: Duration = Duration::minutes(5);
const SERVER_ID: &str = "x-sluice-server-id";
const EXTERNAL_ID: &str = "x-sluice-external-id";
/// All that goes along.
const FORWARDED: [&str; 5] = ["authorization", "x-amz-date", "x-amz-security-token", SERVER_ID, EXTERNAL_ID];
/// The regions of the partition `aws` that have an STS.
const REGIONS: &str = "\
    us-east-1 us-east-2 us-west-1 us-west-2 af-south-1 ap-east-1 ap-east-2 ap-south-1 ap-south-2 ap-northeast-1 \
    ap-northeast-2 ap-northeast-3 ap-southeast-1 ap-southeast-2 ap-southeast-3 ap-southeast-4 ap-southeast-5 \
    ap-southeast-7 ca-central-1 ca-west-1 eu-central-1 eu-central-2 eu-north-1 eu-south-1 eu-south-2 eu-west-1 \
    eu-west-2 eu-west-3 il-central-1 me-central-1 me-south-1 mx-central-1 sa-east-1";

/// "An AWS bearer is `aws-sts.` + base64url(JSON `{region, headers}`)."
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signed {
    region: String,
    headers: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Response {
    get_caller_identity_response: Outer,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Outer {
    get_caller_identity_result: Identity,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Identity {
    account: String,
    arn: String,
}

pub async fn proven(app: &App, request: &str) -> Result<Proven> {
    let signed = read(request).ok_or(INVALID)?;
    let signed_at = signed.at().ok_or(INVALID)?;
    let now = app.now();
    if signed_at > now + CLOCKS_DIFFER_BY || signed_at + SIGNATURE_GOOD_FOR <= now {
        return Err(INVALID);
    }
    let provider_id = signed.headers.get(SERVER_ID).ok_or(INVALID)?;
    let mut conn = app.pool().acquire().await?;
    let provider = federation::find(&mut conn, provider_id).await?.ok_or(INVALID)?;
    drop(conn);
    let FederationConfig::AwsSts(aws) = &provider.config else {
        return Err(INVALID);
    };
    if !signed.covers(aws) {
        return Err(INVALID);
    }
    let url = app.config().clouds.aws_sts.replace("{region}", &signed.region);
    let headers: Vec<_> =
        FORWARDED.iter().filter_map(|name| Some((*name, signed.headers.get(*name)?.as_str()))).collect();
    let answered = app.issuers().fetch().ask::<Response>(&url, &headers, BODY).await.map_err(Unbelieved::refused)?;
    let identity = answered.get_caller_identity_response.get_caller_identity_result;
    let subject = assumed(&identity, aws).ok_or(INVALID)?;
    Proven::of(provider, subject, signed_at + SIGNATURE_GOOD_FOR)
}

fn read(request: &str) -> Option<Signed> {
    let bytes = URL_SAFE_NO_PAD.decode(request).ok()?;
    let given: Signed = serde_json::from_slice(&bytes).ok()?;
    let headers: BTreeMap<String, String> =
        given.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone())).collect();
    // Two spellings of one header: which was signed cannot be told.
    let plain = headers.len() == given.headers.len() && headers.values().all(|value| value.is_ascii());
    (plain && REGIONS.split(' ').any(|region| region == given.region))
        .then_some(Signed { region: given.region, headers })
}

impl Signed {
    fn at(&self) -> Option<Timestamp> {
        Some(NaiveDateTime::parse_from_str(self.headers.get("x-amz-date")?, "%Y%m%dT%H%M%SZ").ok()?.and_utc())
    }

    /// Does the signature cover what makes the request ours, for this region?
    fn covers(&self, aws: &Aws) -> bool {
        let Some(rest) = self.headers.get("authorization").and_then(|value| value.strip_prefix("AWS4-HMAC-SHA256 "))
        else {
            return false;
        };
        let parts: BTreeMap<&str, &str> = rest.split(',').filter_map(|part| part.trim().split_once('=')).collect();
        let signed: Vec<&str> = parts.get("SignedHeaders").map(|names| names.split(';').collect()).unwrap_or_default();
        let scope = parts.get("Credential").is_some_and(|credential| {
            let scope = format!("/{}/sts/aws4_request", self.region);
            credential.ends_with(&scope)
        });
        let external = aws.external_id.as_deref();
        let has_external = external.is_none() || self.headers.get(EXTERNAL_ID).map(String::as_str) == external;
        let all = ["host", "x-amz-date", SERVER_ID].iter().all(|name| signed.contains(name));
        let optional = ["x-amz-security-token", EXTERNAL_ID];
        let given = optional.iter().all(|name| !self.headers.contains_key(*name) || signed.contains(name));
        scope && has_external && all && given
    }
}

/// The role that was assumed, if it is the provider's. A user of IAM has assumed none.
fn assumed(identity: &Identity, aws: &Aws) -> Option<String> {
    let rest = identity.arn.strip_prefix("arn:aws:sts::")?;
    let (account, rest) = rest.split_once(":assumed-role/")?;
    let (role, session) = rest.split_once('/')?;
    let wanted = federation::role_of_arn(&aws.role_arn)?;
    let fits = account == identity.account && (account, role) == wanted && !session.is_empty();
    fits.then(|| aws.role_arn.clone())
}
