//! Files of stages: they go to the data plane and come from it as they are, and nothing of them is kept or read here.
//!
//! Who may is the data plane's to say, as for a statement.

use std::marker::PhantomData;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use contract::stage_files::{FilesQuery, ListedFile, ListedFiles, RemovedFile};
use platform::http::call::Call;
use platform::http::json::Query;
use platform::http::signature::{Answers, ResponseSignature, Signature, Takes};
use platform::{App, Error, Result};
use schemars::JsonSchema;

use super::forward;
use super::load::SentFile;

/// The path and query of a request, which are the data plane's too.
pub struct SamePlace(Uri);

impl SamePlace {
    fn as_str(&self) -> Result<&str> {
        let place = self.0.path_and_query().ok_or_else(|| Error::internal("a request without a path"))?;
        Ok(place.as_str())
    }
}

impl FromRequestParts<App> for SamePlace {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self> {
        Ok(Self(parts.uri.clone()))
    }
}

// Its ids are the route's, its query is told by its own argument.
impl Takes for SamePlace {}

/// The data plane's answer, in this shape.
pub struct ToldAs<T>(Response, PhantomData<T>);

impl<T> ToldAs<T> {
    fn new(response: Response) -> Self {
        Self(response, PhantomData)
    }
}

impl<T> IntoResponse for ToldAs<T> {
    fn into_response(self) -> Response {
        self.0
    }
}

impl<T: JsonSchema> Answers for ToldAs<T> {
    fn answers(said: &mut Signature<'_>) {
        said.answers::<T>(StatusCode::OK);
    }
}

/// A file as the data plane sends it.
pub struct FileAnswer(Response);

impl IntoResponse for FileAnswer {
    fn into_response(self) -> Response {
        self.0
    }
}

impl Answers for FileAnswer {
    fn answers(said: &mut Signature<'_>) {
        let content = vec![("application/octet-stream", None)];
        said.says(ResponseSignature { status: StatusCode::OK, content, headers: &[] });
    }
}

pub async fn list(cx: Call, Query(_): Query<FilesQuery>, place: SamePlace) -> Result<ToldAs<ListedFiles>> {
    forward::bare(&cx, Method::GET, place.as_str()?).await.map(ToldAs::new)
}

pub async fn get(cx: Call, place: SamePlace) -> Result<FileAnswer> {
    forward::bare(&cx, Method::GET, place.as_str()?).await.map(FileAnswer)
}

pub async fn put(cx: Call, file: SentFile) -> Result<ToldAs<ListedFile>> {
    let SentFile { uri, length, body } = file;
    let place = SamePlace(uri);
    forward::stream(&cx, (Method::PUT, place.as_str()?), length, body, None).await.map(ToldAs::new)
}

pub async fn remove(cx: Call, place: SamePlace) -> Result<ToldAs<RemovedFile>> {
    forward::bare(&cx, Method::DELETE, place.as_str()?).await.map(ToldAs::new)
}
