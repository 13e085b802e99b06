//! The two halves of a sign-on: off to the provider, and back.

use axum::http::header::{CACHE_CONTROL, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{AppendHeaders, IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::Duration;
use contract::{Code, Redacted};
use platform::http::call::Visit;
use platform::http::json::Query;
use platform::http::signature::{Answers, ResponseSignature, Signature};
use platform::http::text::Email;
use platform::oidc::issuers::Unbelieved;
use platform::{App, Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use subtle::ConstantTimeEq;

use super::claims::{self, IdToken, Redeemed};
use super::people::{self, Person};
use super::store::{self, SignOnAttempt, SsoConnection};
use crate::domain::accounts::sessions::{Method, Proof, sha256};
use crate::domain::authentication::browser::{self, Browser, BrowserAnswer, WithCookies, is_person};
use crate::domain::authentication::opening::{self, Login, UserAgent};
use crate::domain::tenancy::organizations;

/// How long somebody may take at their provider.
const GOOD_FOR: Duration = Duration::minutes(10);
/// Characters of base62 that hold 256 bits.
const RANDOM_CHARACTERS: usize = 43;
const COOKIE_NAME: &str = "sluice_sso";
const SUBJECT_MAX: usize = 255;
/// Neither way holds what anybody else may be shown.
const NO_STORE: &str = "no-store";

const ABSENT: Error = Error::NotFound { kind: "single sign-on" };
const INVALID: Error = Error::BadCredential(Code::InvalidToken);

pub fn redirect_uri(app: &App) -> String {
    format!("{}/v1/auth/sso/callback", app.config().public_url())
}

/// Off to another place, with a cookie.
#[derive(Debug)]
pub struct Off {
    to: String,
    cookie: String,
}

impl IntoResponse for Off {
    fn into_response(self) -> Response {
        (StatusCode::FOUND, [(CACHE_CONTROL, NO_STORE.to_owned()), (LOCATION, self.to), (SET_COOKIE, self.cookie)])
            .into_response()
    }
}

impl Answers for Off {
    fn answers(said: &mut Signature<'_>) {
        let headers = &["cache-control", "location", "set-cookie"];
        said.says(ResponseSignature { status: StatusCode::FOUND, content: Vec::new(), headers });
    }
}

/// Back from the provider; the cookie of the way is taken back.
pub struct SignOnReturn {
    end: SignOnOutcome,
    cookie: String,
}

enum SignOnOutcome {
    SignedIn(Box<WithCookies<BrowserAnswer<Login>>>),
    /// A person is told by the sign-in page, which knows the codes.
    Refused(Code),
}

impl IntoResponse for SignOnReturn {
    fn into_response(self) -> Response {
        let headers = AppendHeaders([(CACHE_CONTROL, NO_STORE.to_owned()), (SET_COOKIE, self.cookie)]);
        match self.end {
            SignOnOutcome::SignedIn(kept) => (headers, *kept).into_response(),
            SignOnOutcome::Refused(code) => {
                let to = format!("/?sign_on={}", code.stable());
                (StatusCode::SEE_OTHER, headers, [(LOCATION, to)]).into_response()
            }
        }
    }
}

impl Answers for SignOnReturn {
    fn answers(said: &mut Signature<'_>) {
        let content = vec![("application/json", Some(said.shape::<Login>()))];
        said.says(ResponseSignature { status: StatusCode::OK, content, headers: &["cache-control", "set-cookie"] });
        let headers = &["cache-control", "location", "set-cookie"];
        said.says(ResponseSignature { status: StatusCode::SEE_OTHER, content: Vec::new(), headers });
    }
}

/// Off to the provider.
pub async fn begin(visit: Visit) -> Result<Off> {
    let app = &visit.app;
    let slug = visit.path.get("org_slug").unwrap_or_default();
    let mut conn = app.pool().acquire().await?;
    let org_id = organizations::store::by_slug(&mut conn, slug).await?.ok_or(ABSENT)?;
    let connection = store::connection(&mut conn, &org_id).await?.ok_or(ABSENT)?;
    // The provider may take its time: no connection is held meanwhile.
    drop(conn);
    let document = app.issuers().document(&connection.issuer, visit.now()).await.map_err(Unbelieved::unavailable)?;
    let endpoint = document.authorization_endpoint.ok_or(Error::Unavailable("the identity provider"))?;
    let mut url = app.issuers().fetch().admit("issuer", &endpoint)?;
    let fresh = || app.entropy().base62(RANDOM_CHARACTERS);
    let (state, nonce, browser, verifier) = (fresh(), fresh(), fresh(), fresh());
    let challenge = URL_SAFE_NO_PAD.encode(sha256(&verifier));
    url.query_pairs_mut()
        .append_pair("response_type", "code")
        .append_pair("client_id", &connection.client_id)
        .append_pair("redirect_uri", &redirect_uri(app))
        .append_pair("scope", "openid email profile")
        .append_pair("state", &state)
        .append_pair("nonce", &nonce)
        .append_pair("code_challenge", &challenge)
        .append_pair("code_challenge_method", "S256");
    let record = store::attempt_record(&nonce);
    let verifier = app.keyring().seal(&record, &Redacted::new(verifier), app.entropy()).map_err(Error::internal)?;
    let browser_sha256 = sha256(&browser).to_vec();
    let attempt = SignOnAttempt { org_id, browser_sha256, nonce, verifier, expires_at: visit.now() + GOOD_FOR };
    store::begin(&mut *app.pool().acquire().await?, &sha256(&state), &attempt).await?;
    Ok(Off { to: url.into(), cookie: cookie(app, &browser, GOOD_FOR) })
}

/// Only this browser has it, and only these paths see it.
fn cookie(app: &App, value: &str, good_for: Duration) -> String {
    let secure = if app.config().public_url().starts_with("https:") { "; Secure" } else { "" };
    let seconds = good_for.num_seconds();
    format!("{COOKIE_NAME}={value}; Path=/v1/auth/sso; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}")
}

#[derive(Deserialize, JsonSchema)]
pub struct SingleSignOnCallback {
    state: String,
    code: Option<String>,
    /// RFC 9207: whoever sends the browser back says who they are.
    iss: Option<String>,
}

/// Back from the provider. An attempt that failed is over: the person begins again.
pub async fn callback(
    visit: Visit,
    agent: UserAgent,
    headers: HeaderMap,
    Query(callback): Query<SingleSignOnCallback>,
) -> Result<SignOnReturn> {
    let failed = |error| visit.app.limits().after_failed_credential(visit.peer, error);
    let end = match sign_on(&visit, agent, &headers, &callback).await.map_err(failed) {
        Ok(opened) => SignOnOutcome::SignedIn(Box::new(Browser::arrives(&visit.app, &headers, opened))),
        Err(error) if is_person(&visit.app, &headers) => {
            tracing::info!(%error, "a sign-on was refused");
            SignOnOutcome::Refused(error.code())
        }
        Err(error) => return Err(error),
    };
    Ok(SignOnReturn { end, cookie: cookie(&visit.app, "", Duration::zero()) })
}

async fn sign_on(
    visit: &Visit,
    agent: UserAgent,
    headers: &HeaderMap,
    callback: &SingleSignOnCallback,
) -> Result<Login> {
    let app = &visit.app;
    let mut conn = app.pool().acquire().await?;
    let attempt = store::take(&mut conn, &sha256(&callback.state)).await?.ok_or(INVALID)?;
    let connection = store::connection(&mut conn, &attempt.org_id).await?.ok_or(INVALID)?;
    drop(conn);
    let held = browser::cookie(headers, COOKIE_NAME).ok_or(INVALID)?;
    if !bool::from(sha256(held).as_slice().ct_eq(&attempt.browser_sha256)) {
        return Err(INVALID);
    }
    if attempt.expires_at <= visit.now() {
        return Err(Error::BadCredential(Code::ExpiredToken));
    }
    if callback.iss.as_ref().is_some_and(|iss| *iss != connection.issuer) {
        return Err(INVALID);
    }
    // Without a code the provider has refused.
    let code = callback.code.as_deref().ok_or(INVALID)?;
    let person = person(visit, &connection, &attempt, code).await?;
    let mut tx = visit.begin().await?;
    let holder = people::user(visit, &mut tx, &connection, &person).await?;
    let proof = Proof { method: Method::Sso, second_factor_at: None };
    let opened = opening::open(visit, agent, &mut tx, None, &holder, proof).await?;
    tx.commit().await?;
    Ok(opened)
}

/// Redeems the code, and believes what the provider signed for this very attempt.
async fn person(visit: &Visit, connection: &SsoConnection, attempt: &SignOnAttempt, code: &str) -> Result<Person> {
    let app = &visit.app;
    let open = |record: &str, sealed: &[u8]| app.keyring().open(record, sealed).map_err(Error::internal);
    let verifier = open(&store::attempt_record(&attempt.nonce), &attempt.verifier)?;
    let secret = open(&store::record(&connection.org_id), &connection.client_secret)?;
    let document = app.issuers().document(&connection.issuer, visit.now()).await.map_err(Unbelieved::unavailable)?;
    let endpoint = document.token_endpoint.as_ref().ok_or(Error::Unavailable("the identity provider"))?;
    let redirect_uri = redirect_uri(app);
    let form = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", redirect_uri.as_str()),
        ("client_id", connection.client_id.as_str()),
        ("code_verifier", verifier.expose().as_str()),
    ];
    let credential = (connection.client_id.as_str(), secret.expose().as_str());
    let fetch = app.issuers().fetch();
    let answered: Redeemed =
        fetch.post(endpoint, credential, document.takes_secret(), &form).await.map_err(Unbelieved::refused)?;
    let token: IdToken = app
        .issuers()
        .claims(&answered.id_token, &connection.issuer, &connection.client_id, visit.now())
        .await
        .map_err(Unbelieved::refused)?;
    let ours = bool::from(token.nonce.as_bytes().ct_eq(attempt.nonce.as_bytes()))
        && token.azp.is_none_or(|azp| azp == connection.client_id)
        && (1..=SUBJECT_MAX).contains(&token.sub.len());
    if !ours {
        return Err(INVALID);
    }
    let about = claims::completed(fetch, &document, &token.sub, token.about, answered.access_token.as_deref()).await;
    if about.email_verified == Some(false) {
        return Err(INVALID);
    }
    let email = about.email.and_then(|email| Email::try_from(email).ok());
    let email = email.ok_or(Error::Forbidden("the provider says no e-mail address: allow it the scope `email`"))?;
    let name = about.name.filter(|name| !name.chars().any(char::is_control) && !name.trim().is_empty());
    Ok(Person { subject: token.sub, email, name })
}
