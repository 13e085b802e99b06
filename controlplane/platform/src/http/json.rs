//! JSON in and out. A body that does not fit answers 400 with the field and what it should be.

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::http::signature::{Answers, ResponseSignature, Signature, Takes};
use crate::http::suggestion::meant;
use crate::http::{body, members};
use crate::{App, Error, Result};

/// Bodies that are answered as JSON, each with its status.
macro_rules! answered {
    ($($(#[$about:meta])* $name:ident = $status:ident;)+) => {$(
        $(#[$about])*
        #[derive(Debug, Clone)]
        pub struct $name<T>(pub T);

        impl<T: Serialize> IntoResponse for $name<T> {
            fn into_response(self) -> Response {
                render(StatusCode::$status, &self.0)
            }
        }

        impl<T: JsonSchema> Answers for $name<T> {
            fn answers(said: &mut Signature<'_>) {
                said.answers::<T>(StatusCode::$status);
            }
        }
    )+};
}

answered! {
    /// A JSON body, read or answered with 200.
    Json = OK;
    /// Answered with 201.
    Created = CREATED;
    /// Answered with 202.
    Accepted = ACCEPTED;
}

/// Answered with 200, or with 204 where there is nothing.
#[derive(Debug, Clone)]
pub struct OrNothing<T>(pub Option<T>);

/// A JSON body that may be left out.
#[derive(Debug, Clone)]
pub struct MaybeJson<T>(pub T);

/// A JSON body, or the same members sent by a form of one of our pages.
#[derive(Debug, Clone)]
pub struct JsonOrForm<T>(pub T);

/// The query part of the URL.
#[derive(Debug, Clone)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned> FromRequest<App> for Json<T> {
    type Rejection = Error;

    async fn from_request(request: Request, _: &App) -> Result<Self> {
        is_json(request.headers())?;
        let bytes = body::read(request.into_body(), body::BYTES_MAX, body::WITHIN).await?;
        parse(&bytes).map(Self)
    }
}

impl<T: DeserializeOwned + Default> FromRequest<App> for MaybeJson<T> {
    type Rejection = Error;

    async fn from_request(request: Request, _: &App) -> Result<Self> {
        let (parts, body) = request.into_parts();
        let bytes = body::read(body, body::BYTES_MAX, body::WITHIN).await?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        is_json(&parts.headers)?;
        parse(&bytes).map(Self)
    }
}

impl<T: DeserializeOwned> FromRequest<App> for JsonOrForm<T> {
    type Rejection = Error;

    async fn from_request(request: Request, app: &App) -> Result<Self> {
        if essence(request.headers()) != "application/x-www-form-urlencoded" {
            return Json::from_request(request, app).await.map(|Json(body)| Self(body));
        }
        body::is_plain(request.headers())?;
        let (parts, body) = request.into_parts();
        let bytes = body::read(body, body::BYTES_MAX, body::WITHIN).await?;
        let request = Request::from_parts(parts, Body::from(bytes));
        match axum::extract::Form::from_request(request, app).await {
            Ok(axum::extract::Form(body)) => Ok(Self(body)),
            Err(rejection) => Err(Error::invalid("body", "form", innermost(&rejection))),
        }
    }
}

impl<T: DeserializeOwned> FromRequestParts<App> for Query<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self> {
        match axum::extract::Query::try_from_uri(&parts.uri) {
            Ok(axum::extract::Query(value)) => Ok(Self(value)),
            Err(rejection) => Err(Error::invalid("query", "format", innermost(&rejection))),
        }
    }
}

fn innermost(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), innermost)
}

/// The content type without its parameters.
fn essence(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// No type at all is taken for JSON; any other type is refused, and so is an encoding.
fn is_json(headers: &HeaderMap) -> Result<()> {
    body::is_plain(headers)?;
    if !headers.contains_key(CONTENT_TYPE) {
        return Ok(());
    }
    let essence = essence(headers);
    let fits = essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"));
    fits.then_some(()).ok_or(Error::UnsupportedMedia { expected: "application/json" })
}

/// Every body is an object; serde would take a list of its members' values for one.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    let is_json = || serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok();
    if !bytes.trim_ascii_start().starts_with(b"{") && is_json() {
        return Err(Error::invalid("body", "type", "the body is not a JSON object".to_owned()));
    }
    members::are_distinct(bytes)?;
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| unfit(&error, is_json()))?;
    reader.end().map_err(|_| Error::invalid("body", "json", "the body goes on after its JSON value".to_owned()))?;
    Ok(value)
}

/// serde names a missing member in its message; the path leads only to its parent. What is no value of a list of words
/// it calls bad syntax, though it is JSON.
fn unfit(error: &serde_path_to_error::Error<serde_json::Error>, is_json: bool) -> Error {
    let inner = error.inner().to_string();
    let message = inner.split(" at line ").next().unwrap_or_default().to_owned();
    let parent = error.path().to_string();
    let named = message.split('`').nth(1).unwrap_or_default();
    let below = |name: &str| if parent == "." { name.to_owned() } else { format!("{parent}.{name}") };
    if is_json && error.inner().is_syntax() && parent != "." {
        let message = format!("`{parent}` is none of the values it may have");
        return Error::invalid(parent, "type", message);
    }
    if error.inner().is_syntax() || error.inner().is_eof() {
        return Error::invalid("body", "json", format!("the body is not JSON: {message}"));
    }
    if message.starts_with("missing field") {
        return Error::invalid(below(named), "required", format!("`{named}` is required"));
    }
    if message.starts_with("unknown field") {
        // For these the path leads to the member itself.
        return Error::invalid(parent, "known", suggesting(message));
    }
    let field = if parent == "." { "body".to_owned() } else { parent };
    let message = format!("`{field}`: {}", suggesting(message));
    Error::invalid(field, "type", message)
}

/// serde lists in backticks what it was given, and then all that it would have taken.
fn suggesting(message: String) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let is_list = message.starts_with("unknown field") || message.starts_with("unknown variant");
    match quoted.next().filter(|_| is_list).map(|given| meant(given, quoted)) {
        Some(suggestion) => message + &suggestion,
        None => message,
    }
}

fn render<T: Serialize>(status: StatusCode, value: &T) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => (status, [(CONTENT_TYPE, "application/json")], bytes).into_response(),
        Err(error) => Error::internal(error).into_response(),
    }
}

impl<T: Serialize> IntoResponse for OrNothing<T> {
    fn into_response(self) -> Response {
        self.0.map_or_else(|| StatusCode::NO_CONTENT.into_response(), |value| render(StatusCode::OK, &value))
    }
}

impl<T: JsonSchema> Takes for Json<T> {
    fn takes(said: &mut Signature<'_>) {
        said.reads::<T>(true);
    }
}

/// The form is one of our own pages': a program sends JSON.
impl<T: JsonSchema> Takes for JsonOrForm<T> {
    fn takes(said: &mut Signature<'_>) {
        said.reads::<T>(true);
    }
}

impl<T: JsonSchema> Takes for MaybeJson<T> {
    fn takes(said: &mut Signature<'_>) {
        said.reads::<T>(false);
    }
}

impl<T: JsonSchema> Takes for Query<T> {
    fn takes(said: &mut Signature<'_>) {
        said.asks::<T>();
    }
}

impl<T: JsonSchema> Answers for OrNothing<T> {
    fn answers(said: &mut Signature<'_>) {
        said.answers::<T>(StatusCode::OK);
        said.says(ResponseSignature { status: StatusCode::NO_CONTENT, content: Vec::new(), headers: &[] });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its shape is read")]
    struct Body {
        name: String,
        settings: Option<Settings>,
    }

    #[derive(Debug, serde::Deserialize)]
    #[expect(dead_code, reason = "only its shape is read")]
    struct Settings {
        depth: u8,
    }

    #[test]
    fn a_member_that_was_probably_meant_is_named() {
        let message = |body: &str| parse::<Body>(body.as_bytes()).unwrap_err().to_string();
        assert!(message(r#"{"nmae": "a"}"#).ends_with(": did you mean `name`?"));
        assert!(message(r#"{"name": "a", "setings": {}}"#).ends_with(": did you mean `settings`?"));
        assert!(!message(r#"{"zebra": 1}"#).contains("did you mean"));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        for (body, field, constraint) in [
            ("{}", "name", "required"),
            (r#"{"name": 1}"#, "name", "type"),
            (r#"{"name": "a", "nmae": "b"}"#, "nmae", "known"),
            (r#"{"name": "a", "settings": {"depth": -1}}"#, "settings.depth", "type"),
            (r#"{"name": "a", "settings": {}}"#, "settings.depth", "required"),
            (r#"{"name": "a", "name": "b"}"#, "name", "unique"),
            (r#"{"name": "a""#, "body", "json"),
            (r#"{"name": "a"} x"#, "body", "json"),
            ("[]", "body", "type"),
            ("", "body", "json"),
        ] {
            let details = parse::<Body>(body.as_bytes()).unwrap_err().problem().details;
            assert_eq!(
                (details["field"].as_str(), details["constraint"].as_str()),
                (Some(field), Some(constraint)),
                "{body}"
            );
        }
    }
}
