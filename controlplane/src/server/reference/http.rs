//! The document, its page, and the catalogue, as they are served.

use std::sync::OnceLock;

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use platform::http::call::Visit;
use platform::http::signature::{Answers, ResponseSignature, Signature};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::html::STYLE;
use super::{catalogue, document as whole, page};
use crate::domain::runtime;
use crate::server::endpoints;

/// JSON that was made once.
pub struct ServedDocument(Bytes);

/// A page that needs nothing but itself.
pub struct Html(Bytes);

/// The reference of the API, made at the first request.
struct Reference {
    document: Bytes,
    page: Bytes,
}

impl Reference {
    fn made(has_runtime: bool) -> Self {
        let rows = endpoints::rows().iter().filter(|row| has_runtime || !row.path.starts_with(runtime::PREFIX));
        let document: Value = whole(&rows.collect::<Vec<_>>());
        Self { page: page::page(&document).into(), document: document.to_string().into() }
    }

    /// Of the endpoints that this installation serves.
    fn of(visit: &Visit) -> &'static Self {
        static WHOLE: OnceLock<Reference> = OnceLock::new();
        static WITHOUT_RUNTIME: OnceLock<Reference> = OnceLock::new();
        if visit.app.config().v2_runtime_enabled {
            WHOLE.get_or_init(|| Self::made(true))
        } else {
            WITHOUT_RUNTIME.get_or_init(|| Self::made(false))
        }
    }
}

pub async fn document(visit: Visit) -> ServedDocument {
    ServedDocument(Reference::of(&visit).document.clone())
}

pub async fn page(visit: Visit) -> Html {
    Html(Reference::of(&visit).page.clone())
}

pub async fn errors(_: Visit) -> Html {
    Html(catalogue::page().into())
}

impl IntoResponse for ServedDocument {
    fn into_response(self) -> Response {
        ([(CONTENT_TYPE, "application/json")], self.0).into_response()
    }
}

/// No script, no request to anywhere, the one style that is in the page.
fn policy() -> &'static str {
    static POLICY: OnceLock<String> = OnceLock::new();
    POLICY.get_or_init(|| {
        let style = STANDARD.encode(Sha256::digest(STYLE));
        format!(
            "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
    })
}

impl IntoResponse for Html {
    fn into_response(self) -> Response {
        let headers = [
            ("content-type", "text/html; charset=utf-8"),
            ("content-security-policy", policy()),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
        ];
        (headers, self.0).into_response()
    }
}

impl Answers for ServedDocument {
    fn answers(said: &mut Signature<'_>) {
        said.says(ResponseSignature {
            status: StatusCode::OK,
            content: vec![("application/json", None)],
            headers: &[],
        });
    }
}

impl Answers for Html {
    fn answers(said: &mut Signature<'_>) {
        said.says(ResponseSignature { status: StatusCode::OK, content: vec![("text/html", None)], headers: &[] });
    }
}
