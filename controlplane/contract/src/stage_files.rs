//! Files of stages over REST: what is asked and what is answered, on both planes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// The longest time that a file may take on its way into a stage.
pub const PUT_WITHIN_SECS: u64 = crate::load::WITHIN_SECS;
/// Bytes that the path of a file may have.
pub const PATH_BYTES_MAX: usize = 1_024;

/// Query of `GET /v1/environments/{env_id}/stages/{stage}/files`, on both planes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StageFilesQuery")]
#[serde(deny_unknown_fields)]
pub struct FilesQuery {
    /// How the paths of the files begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
}

/// The files of a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StageFiles")]
pub struct ListedFiles {
    /// By path.
    pub files: Vec<ListedFile>,
}

/// A file of a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StageFile")]
pub struct ListedFile {
    /// Below the stage, with slashes between its parts.
    pub path: String,
    pub bytes: u64,
    /// In hexadecimal.
    pub md5: String,
    pub modified_at: Timestamp,
}

/// A file that was removed from a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StageFileRemoved")]
pub struct RemovedFile {
    pub path: String,
    pub removed: bool,
}
