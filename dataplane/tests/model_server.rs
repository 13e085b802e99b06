//! A server of models on loopback that answers as it is told, and keeps what it was asked.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Response, Uri, header};
use axum::response::IntoResponse;
use contract::{Clock, Redacted, SystemClock, TestClock};
use dataplane::model::ModelSettings;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

pub const KEY: &str = "hush-key";

type Answers = dyn Fn(&Value) -> Response<Body> + Send + Sync;

#[derive(Clone)]
pub struct Asked {
    pub path: String,
    pub authorization: String,
    pub body: Value,
}

#[derive(Clone)]
struct Told {
    asked: Arc<Mutex<Vec<Asked>>>,
    answers: Arc<Mutex<Arc<Answers>>>,
}

pub struct ModelServer {
    url: String,
    told: Told,
    /// Ends with it.
    _serving: JoinSet<()>,
}

impl ModelServer {
    pub async fn answering(answers: impl Fn(&Value) -> Response<Body> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let told = Told { asked: Arc::default(), answers: Arc::new(Mutex::new(Arc::new(answers))) };
        let heard = told.clone();
        let app = Router::new().fallback(move |uri: Uri, headers: HeaderMap, body: Bytes| {
            let heard = heard.clone();
            async move { heard.answer(&uri, &headers, &body) }
        });
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, told, _serving: serving }
    }

    /// From now on.
    pub fn answers(&self, answers: impl Fn(&Value) -> Response<Body> + Send + Sync + 'static) {
        *self.told.answers.lock().unwrap() = Arc::new(answers);
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.told.asked.lock().unwrap().clone()
    }

    pub fn healing(&self) -> ModelSettings {
        ModelSettings { healing: Some("small".to_owned()), ..self.settings() }
    }

    pub fn embedding(&self) -> ModelSettings {
        ModelSettings { embedding: Some("near".to_owned()), ..self.settings() }
    }

    fn settings(&self) -> ModelSettings {
        let (url, key) = (Some(self.url.parse().unwrap()), Some(Redacted::new(KEY.to_owned())));
        ModelSettings { url, key, ..ModelSettings::default() }
    }
}

impl Told {
    fn answer(&self, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Response<Body> {
        let authorization = headers.get(header::AUTHORIZATION).map_or("", |value| value.to_str().unwrap()).to_owned();
        let body: Value = serde_json::from_slice(body).unwrap();
        let answers = Arc::clone(&self.answers.lock().unwrap());
        let answer = answers(&body);
        self.asked.lock().unwrap().push(Asked { path: uri.path().to_owned(), authorization, body });
        answer
    }
}

/// A clock that starts now and stands still.
pub fn clock() -> TestClock {
    TestClock::at(SystemClock.now())
}

/// Of a model that answers with this text.
pub fn says(content: &str) -> Response<Body> {
    axum::Json(json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": content}}]})).into_response()
}

/// Of a model that writes this statement.
pub fn writes(sql: &str) -> Response<Body> {
    says(&json!({"sql": sql}).to_string())
}

pub fn status(code: u16) -> Response<Body> {
    Response::builder().status(code).body(Body::empty()).unwrap()
}
