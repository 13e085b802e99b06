//! Who asked the API server for what: budgets and rights are checked against what really happened.

use std::{
    fs::File,
    io::{BufRead, BufReader, Seek, SeekFrom},
    path::PathBuf,
};

use jiff::Timestamp;
use serde::Deserialize;

/// The API server's audit log, from some moment on.
#[derive(Debug)]
pub struct Audit {
    path: PathBuf,
    from: u64,
    since: Timestamp,
}

/// One request that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub user: String,
    pub agent: String,
    pub verb: String,
    /// With its subresource: `deployments`, `environments/status`.
    pub resource: String,
    pub namespace: String,
    pub name: String,
    pub code: u16,
    /// When it arrived.
    pub at: Timestamp,
}

impl Request {
    /// Whether it changed, or tried to change, anything.
    pub fn is_write(&self) -> bool {
        ["create", "update", "patch", "delete", "deletecollection"].contains(&self.verb.as_str())
    }
}

impl Audit {
    /// What is asked from now on.
    pub fn begin() -> Self {
        let path: PathBuf =
            std::env::var("SLUICE_TEST_AUDIT_LOG").expect("SLUICE_TEST_AUDIT_LOG: run ./dev test kubernetes").into();
        let from = std::fs::metadata(&path).unwrap().len();
        Self { path, from, since: Timestamp::now() }
    }

    /// Every request so far that was answered to `user`, in order. A watch is answered when it ends.
    pub fn of(&self, user: &str) -> Vec<Request> {
        self.requests().into_iter().filter(|request| request.user == user).collect()
    }

    pub fn requests(&self) -> Vec<Request> {
        let mut file = File::open(&self.path).unwrap();
        file.seek(SeekFrom::Start(self.from)).unwrap();
        let lines = BufReader::new(file).lines().map(Result::unwrap);
        // the last line may be half written: then it is no JSON yet
        let events = lines.filter_map(|line| serde_json::from_str::<Event>(&line).ok());
        // what was answered before may be written down after
        events.filter_map(Event::request).filter(|request| request.at >= self.since).collect()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    stage: String,
    verb: String,
    user: User,
    user_agent: Option<String>,
    object_ref: Option<Object>,
    response_status: Option<Status>,
    request_received_timestamp: Timestamp,
}

#[derive(Deserialize)]
struct User {
    username: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Object {
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Deserialize)]
struct Status {
    code: u16,
}

impl Event {
    fn request(self) -> Option<Request> {
        if self.stage != "ResponseComplete" {
            return None;
        }
        let object = self.object_ref.unwrap_or_default();
        let resource = if object.subresource.is_empty() {
            object.resource
        } else {
            format!("{}/{}", object.resource, object.subresource)
        };
        Some(Request {
            user: self.user.username,
            agent: self.user_agent.unwrap_or_default(),
            verb: self.verb,
            resource,
            namespace: object.namespace,
            name: object.name,
            code: self.response_status.map_or(0, |status| status.code),
            at: self.request_received_timestamp,
        })
    }
}
