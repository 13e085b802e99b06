//! An OpenID provider for tests: a real HTTP server on loopback, strict about the code flow, that
//! signs whatever it is told to say.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::extract::{Form, Query, State};
use axum::http::{HeaderMap, StatusCode, header::LOCATION};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;

use crate::testing::TestApp;

pub const CLIENT_ID: &str = "sluice at acme";
pub const CLIENT_SECRET: &str = "hush: 100% & secret";
/// What stands before the seed in an Ed25519 key's PKCS #8 form.
const PKCS8_HEAD: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

/// The behaviour of the provider.
#[derive(Debug, Clone)]
pub struct Says {
    /// Replaces claims of the token; null leaves one out.
    pub claims: Value,
    /// The seed of the key that signs, and its name.
    pub key: ([u8; 32], &'static str),
    /// Seeds and names of the keys that are published.
    pub published: Vec<([u8; 32], &'static str)>,
    /// What its userinfo endpoint says; null: there is none.
    pub userinfo: Value,
    /// It takes the client's secret in the form alone.
    pub secret_in_form: bool,
    pub now: i64,
}

type Shared = Arc<Mutex<(Says, Vec<Asked>, usize)>>;

/// An authorization that was asked for: its challenge, nonce and redirect.
#[derive(Debug, Clone)]
struct Asked {
    code: String,
    challenge: String,
    nonce: String,
    redirect_uri: String,
}

pub struct Provider {
    pub address: SocketAddr,
    shared: Shared,
    server: tokio::task::JoinHandle<()>,
}

fn key(seed: [u8; 32]) -> EncodingKey {
    EncodingKey::from_ed_der(&[PKCS8_HEAD.as_slice(), &seed].concat())
}

impl Provider {
    #[expect(clippy::disallowed_methods, reason = "ends with the provider")]
    pub async fn start(now: i64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let one = ([1; 32], "one");
        let says = Says {
            claims: json!({}),
            key: one,
            published: vec![one],
            userinfo: Value::Null,
            secret_in_form: false,
            now,
        };
        let shared = Arc::new(Mutex::new((says, Vec::new(), 0)));
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(document))
            .route("/userinfo", get(userinfo))
            .route("/keys", get(keys))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .with_state((address, Arc::clone(&shared)));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, shared, server }
    }

    pub fn issuer(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn says(&self, change: impl FnOnce(&mut Says)) {
        change(&mut self.shared.lock().unwrap().0);
    }

    /// A token of its own accord: these claims, and those that every token has.
    pub fn signed(&self, claims: &Value) -> String {
        let says = &self.shared.lock().unwrap().0;
        let mut whole = json!({
            "iss": self.issuer(), "sub": "1", "iat": says.now, "exp": says.now + 600, "email_verified": true,
        });
        whole.as_object_mut().unwrap().extend(claims.as_object().unwrap().clone());
        let header = Header { kid: Some(says.key.1.to_owned()), ..Header::new(Algorithm::EdDSA) };
        jsonwebtoken::encode(&header, &whole, &key(says.key.0)).unwrap()
    }

    /// How often its keys were asked for.
    pub fn keys_asked(&self) -> usize {
        self.shared.lock().unwrap().2
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.server.abort();
    }
}

type Here = State<(SocketAddr, Shared)>;

async fn document(State((address, shared)): Here) -> Json<Value> {
    let says = &shared.lock().unwrap().0;
    let mut document = json!({
        "issuer": format!("http://{address}"),
        "authorization_endpoint": format!("http://{address}/authorize"),
        "token_endpoint": format!("http://{address}/token"),
        "jwks_uri": format!("http://{address}/keys"),
    });
    if !says.userinfo.is_null() {
        document["userinfo_endpoint"] = json!(format!("http://{address}/userinfo"));
    }
    if says.secret_in_form {
        document["token_endpoint_auth_methods_supported"] = json!(["client_secret_post", "private_key_jwt"]);
    }
    Json(document)
}

async fn userinfo(State((_, shared)): Here, headers: HeaderMap) -> impl IntoResponse {
    let says = &shared.lock().unwrap().0;
    if headers["authorization"] == "Bearer x" {
        (StatusCode::OK, Json(says.userinfo.clone()))
    } else {
        (StatusCode::UNAUTHORIZED, Json(Value::Null))
    }
}

async fn keys(State((_, shared)): Here) -> Json<Value> {
    let mut shared = shared.lock().unwrap();
    shared.2 += 1;
    let jwk = |(seed, kid): &([u8; 32], &str)| {
        let mut jwk = Jwk::from_encoding_key(&key(*seed), Algorithm::EdDSA).unwrap();
        jwk.common.key_id = Some((*kid).to_owned());
        jwk
    };
    Json(json!({"keys": shared.0.published.iter().map(jwk).collect::<Vec<_>>()}))
}

async fn authorize(State((_, shared)): Here, Query(asked): Query<Value>) -> impl IntoResponse {
    let text = |name: &str| asked[name].as_str().unwrap().to_owned();
    assert_eq!((text("response_type"), text("client_id")), ("code".to_owned(), CLIENT_ID.to_owned()));
    assert_eq!((text("code_challenge_method"), text("scope")), ("S256".to_owned(), "openid email profile".to_owned()));
    let mut shared = shared.lock().unwrap();
    let code = format!("code-{}", shared.1.len());
    let redirect_uri = text("redirect_uri");
    let back = format!("{redirect_uri}?code={code}&state={}", text("state"));
    shared.1.push(Asked { code, challenge: text("code_challenge"), nonce: text("nonce"), redirect_uri });
    (StatusCode::FOUND, [(LOCATION, back)])
}

async fn token(State((address, shared)): Here, headers: HeaderMap, Form(form): Form<Value>) -> impl IntoResponse {
    let mut shared = shared.lock().unwrap();
    let text = |name: &str| form[name].as_str().unwrap_or_default();
    let encoded = |text: &str| text.replace('%', "%25").replace(':', "%3A").replace('&', "%26").replace(' ', "+");
    let credential = format!("Basic {}", STANDARD.encode(format!("{}:{}", encoded(CLIENT_ID), encoded(CLIENT_SECRET))));
    let Some(at) = shared.1.iter().position(|asked| asked.code == text("code")) else {
        return (StatusCode::BAD_REQUEST, Json(json!({"error": "invalid_grant"})));
    };
    let asked = shared.1.remove(at);
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(text("code_verifier")));
    let shows_secret = if shared.0.secret_in_form {
        !headers.contains_key("authorization") && text("client_secret") == CLIENT_SECRET
    } else {
        headers["authorization"].to_str().unwrap() == credential && text("client_secret").is_empty()
    };
    let fits = shows_secret
        && challenge == asked.challenge
        && text("redirect_uri") == asked.redirect_uri
        && text("grant_type") == "authorization_code";
    if !fits {
        return (StatusCode::BAD_REQUEST, Json(json!({"error": "invalid_request"})));
    }
    let says = &shared.0;
    let mut claims = json!({
        "iss": format!("http://{address}"), "aud": CLIENT_ID, "sub": "subject-1", "nonce": asked.nonce,
        "iat": says.now, "exp": says.now + 600, "email": "bob@acme.example", "email_verified": true, "name": "Bob",
    });
    for (name, value) in says.claims.as_object().unwrap() {
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(name);
        } else {
            claims[name] = value.clone();
        }
    }
    let header = Header { kid: Some(says.key.1.to_owned()), ..Header::new(Algorithm::EdDSA) };
    let id_token = jsonwebtoken::encode(&header, &claims, &key(says.key.0)).unwrap();
    (StatusCode::OK, Json(json!({"access_token": "x", "token_type": "Bearer", "id_token": id_token})))
}

/// Says that an organization has a provider; nobody comes that way.
pub async fn stands_for(app: &TestApp, opened: &Value) {
    sqlx::query("update organizations set sso_provider = 'oidc' where org_id = $1")
        .bind(opened["org"]["id"].as_str().unwrap())
        .execute(app.app.pool())
        .await
        .unwrap();
}
