//! `…/stages/{stage}/files`: the files of a stage are listed, and one is sent, put there or removed.
//!
//! Who may not is told so before a file comes. A file that comes is in the stage once it is whole, or never.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, Query, Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Uri};
use axum::response::Response;
use bytes::Bytes;
use contract::stage_files::{FilesQuery, ListedFile, ListedFiles, PATH_BYTES_MAX, PUT_WITHIN_SECS, RemovedFile};
use contract::wire::Forwarded;
use contract::{EnvId, RequestId};
use futures::{Stream, StreamExt, stream};
use serde::Serialize;
use sql::StagePlace;
use telemetry::Place;
use tokio::time::error::Elapsed;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::load::incoming;
use super::load::of_a_file;
use super::{RestContext, forwarded, json_response};
use crate::error::StageFileFault;
use crate::pipeline::FileAction;
use crate::protocols::request_id;
use crate::storage::stage_files::{FILE_BYTES_MAX, StageFile, StageWriter, blocking};
use crate::{Ask, Error, Pipeline};

/// Bytes that are read or written at a time.
const PIECE_BYTES: usize = 1 << 20;

/// One request about the files of a stage, of whom the control plane names.
struct FileRequest {
    pipeline: Arc<Pipeline>,
    caller: Forwarded,
    request_id: RequestId,
    place: Place,
    cancel: CancellationToken,
    stage: String,
}

impl FileRequest {
    async fn of(
        context: &RestContext,
        (env_id, stage): (&EnvId, String),
        headers: &HeaderMap,
        request_id: &RequestId,
    ) -> Result<Self, Error> {
        context.serves(env_id)?;
        let caller = forwarded(headers)?;
        context.announced(&caller.who).await;
        Ok(Self {
            pipeline: Arc::clone(&context.pipeline),
            caller,
            request_id: request_id.clone(),
            place: Place::of_headers(headers),
            cancel: context.ending.closed.child_token(),
            stage,
        })
    }

    fn ask(&self) -> Ask {
        of_a_file(&self.pipeline, &self.caller, (&self.request_id, &self.place, &self.cancel))
    }

    async fn stage(&self, action: FileAction) -> Result<StagePlace, Error> {
        Box::pin(self.pipeline.stage(&self.ask(), &self.stage, action)).await
    }

    async fn listed(&self, uri: &Uri) -> Result<ListedFiles, Error> {
        let invalid = |message: String| Error::InvalidParams { field: "prefix", message };
        let Query(FilesQuery { prefix }) =
            Query::try_from_uri(uri).map_err(|rejection| invalid(rejection.body_text()))?;
        let prefix = prefix.unwrap_or_default();
        if prefix.len() > PATH_BYTES_MAX {
            return Err(invalid(format!("prefix has at most {PATH_BYTES_MAX} bytes")));
        }
        let stage = self.stage(FileAction::List).await?;
        let found = Box::pin(self.pipeline.list_files(self.ask(), &stage, &prefix)).await?;
        Ok(ListedFiles { files: found.into_iter().map(told).collect() })
    }

    async fn put(&self, path: &str, parts: &Parts, body: Body) -> Result<ListedFile, Error> {
        let stage = self.stage(FileAction::Put).await?;
        let too_large = || StageFileFault::TooLarge { limit: FILE_BYTES_MAX };
        if let Some(length) = incoming::length(parts)? {
            if length > FILE_BYTES_MAX {
                return Err(too_large().into());
            }
            if stage.location.is_none() {
                self.pipeline.has_room_for(length)?;
            }
        }
        let (files, id, path) = (self.pipeline.stage_files.clone(), stage.id.clone(), path.to_owned());
        let writer = blocking(move || files.writer(&id, &path)).await?;
        let late =
            |_: Elapsed| Error::InvalidParams { field: "body", message: "a file takes at most an hour".to_owned() };
        let taken = tokio::time::timeout(Duration::from_secs(PUT_WITHIN_SECS), taken_in(writer, body)).await;
        let writer = taken.map_err(late)??;
        Box::pin(self.pipeline.put_file(self.ask(), &stage, writer)).await.map(told)
    }

    async fn removed(&self, path: &str) -> Result<RemovedFile, Error> {
        let stage = self.stage(FileAction::Remove).await?;
        Box::pin(self.pipeline.remove_file(self.ask(), &stage, path)).await?;
        Ok(RemovedFile { path: path.to_owned(), removed: true })
    }

    /// What is held is kept until the last byte has gone, or nobody takes one any more.
    async fn sent(&self, path: &str, held: (TaskTrackerToken, DropGuard)) -> Result<Response, Error> {
        let stage = self.stage(FileAction::Get).await?;
        let (file, bytes) = Box::pin(self.pipeline.get_file(self.ask(), &stage, path)).await?;
        let body = Body::from_stream(read_on(file).map(move |piece| held_by(piece, &held)));
        let mut response = Response::new(body);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
        headers.insert(CONTENT_LENGTH, HeaderValue::from(bytes));
        Ok(response)
    }
}

/// Answers a request about the files of a stage in JSON, or refuses it.
async fn answered<T: Serialize, F: Future<Output = Result<T, Error>>>(
    context: &RestContext,
    (env_id, stage): (&EnvId, String),
    headers: &HeaderMap,
    answer: impl FnOnce(FileRequest) -> F,
) -> Response {
    let _serving = context.ending.serving(); // until it is answered
    let request_id = request_id::of(&context.pipeline, headers);
    let answered = async {
        let asked = FileRequest::of(context, (env_id, stage), headers, &request_id).await?;
        let _give_up = asked.cancel.clone().drop_guard();
        answer(asked).await
    };
    let answered = Box::pin(answered).await;
    json_response(context, &request_id, answered)
}

pub(super) async fn list(
    State(context): State<RestContext>,
    Path((env_id, stage)): Path<(EnvId, String)>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    answered(&context, (&env_id, stage), &headers, async |asked: FileRequest| asked.listed(&uri).await).await
}

pub(super) async fn put(
    State(context): State<RestContext>,
    Path((env_id, stage, path)): Path<(EnvId, String, String)>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let put = async |asked: FileRequest| asked.put(&path, &parts, body).await;
    answered(&context, (&env_id, stage), &parts.headers, put).await
}

pub(super) async fn remove(
    State(context): State<RestContext>,
    Path((env_id, stage, path)): Path<(EnvId, String, String)>,
    headers: HeaderMap,
) -> Response {
    answered(&context, (&env_id, stage), &headers, async |asked: FileRequest| asked.removed(&path).await).await
}

pub(super) async fn get(
    State(context): State<RestContext>,
    Path((env_id, stage, path)): Path<(EnvId, String, String)>,
    headers: HeaderMap,
) -> Response {
    let serving = context.ending.serving();
    let request_id = request_id::of(&context.pipeline, &headers);
    let sent = async {
        let asked = FileRequest::of(&context, (&env_id, stage), &headers, &request_id).await?;
        let give_up = asked.cancel.clone().drop_guard();
        asked.sent(&path, (serving, give_up)).await
    };
    match Box::pin(sent).await {
        Ok(response) => request_id::known_by(response, &request_id),
        Err(error) => json_response(&context, &request_id, Err::<(), _>(error)),
    }
}

/// The bytes of a file as they are asked for. One that breaks off breaks the answer off.
fn read_on(file: Box<dyn Read + Send>) -> impl Stream<Item = io::Result<Bytes>> {
    stream::try_unfold(file, |mut file| async move {
        let reading = tokio::task::spawn_blocking(move || {
            let mut piece = Vec::with_capacity(PIECE_BYTES);
            let limit = u64::try_from(PIECE_BYTES).unwrap_or(u64::MAX);
            file.by_ref().take(limit).read_to_end(&mut piece)?;
            Ok::<_, io::Error>((Bytes::from(piece), file))
        });
        let (piece, file) = reading.await.map_err(io::Error::other)??;
        Ok::<_, io::Error>((!piece.is_empty()).then_some((piece, file)))
    })
}

/// The piece; what is asked for with each of them is kept until the last.
fn held_by<T>(piece: T, _: &(TaskTrackerToken, DropGuard)) -> T {
    piece
}

fn told(file: StageFile) -> ListedFile {
    ListedFile { path: file.path, bytes: file.bytes, md5: file.md5, modified_at: file.modified.into() }
}

/// Writes the body to the file, whole.
async fn taken_in(mut writer: StageWriter, body: Body) -> Result<StageWriter, Error> {
    let (mut body, mut held) = (body.into_data_stream(), Vec::new());
    while let Some(bytes) = incoming::next(&mut body).await? {
        held.extend_from_slice(&bytes);
        if held.len() >= PIECE_BYTES {
            writer = writer.with(std::mem::take(&mut held)).await?;
        }
    }
    writer.with(held).await
}
