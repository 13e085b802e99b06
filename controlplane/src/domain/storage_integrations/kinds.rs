//! The kind of a storage integration, made of the members of a request that belong to some kinds alone.

use contract::storage_integration::StorageKind;
use platform::{App, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::postgres::DatabaseMembers;
use super::{admission, azure};

/// Which store it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StorageKindName {
    S3,
    File,
    Postgres,
    Azure,
}

/// The members of a request that belong to some kinds alone.
#[derive(Debug, Default)]
pub struct KindMembers {
    pub endpoint: Option<String>,
    pub region: Option<String>,
    pub path_style: Option<bool>,
    pub account: Option<String>,
    pub folder: Option<String>,
    pub database: DatabaseMembers,
}

impl StorageKindName {
    pub const fn of(kind: &StorageKind) -> Self {
        match kind {
            StorageKind::S3 { .. } => Self::S3,
            StorageKind::File { .. } => Self::File,
            StorageKind::Postgres { .. } => Self::Postgres,
            StorageKind::Azure { .. } => Self::Azure,
        }
    }

    /// Its name, and the members that it has; of those of a database, its host stands for all.
    const fn row(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::S3 => ("s3", &["endpoint", "region", "path_style"]),
            Self::File => ("file", &["folder"]),
            Self::Postgres => ("postgres", &["host"]),
            Self::Azure => ("azure", &["account", "endpoint", "path_style"]),
        }
    }
}

impl KindMembers {
    /// The kind with these members, if the installation lets it be reached.
    pub fn kind(self, app: &App, kind: StorageKindName) -> Result<StorageKind> {
        let (name, own) = kind.row();
        if let Some(member) = self.given().find(|member| !own.contains(member)) {
            let message = format!("an integration of the kind `{name}` has no `{member}`: leave it out");
            return Err(Error::invalid(member, "absent", message));
        }
        let path_style = self.path_style.unwrap_or_default();
        match kind {
            StorageKindName::S3 => admission::s3(app, self.endpoint, self.region, path_style),
            StorageKindName::File => admission::file(app, self.folder),
            StorageKindName::Postgres => self.database.kind(app),
            StorageKindName::Azure => azure::kind(app, self.account, self.endpoint, path_style),
        }
    }

    /// What is kept, changed by what is given.
    pub fn over(self, app: &App, kept: &StorageKind) -> Result<StorageKind> {
        if self.given().next().is_none() {
            // one that the installation would not take any more can still be disabled
            return Ok(kept.clone());
        }
        let whole = match kept {
            StorageKind::S3 { endpoint, region, path_style } => Self {
                endpoint: self.endpoint.or_else(|| endpoint.clone()),
                region: self.region.or_else(|| Some(region.clone())),
                path_style: self.path_style.or(Some(*path_style)),
                ..self
            },
            StorageKind::Azure { account, endpoint, path_style } => Self {
                account: self.account.or_else(|| Some(account.clone())),
                endpoint: self.endpoint.or_else(|| endpoint.clone()),
                path_style: self.path_style.or(Some(*path_style)),
                ..self
            },
            StorageKind::File { folder } => Self { folder: self.folder.or_else(|| Some(folder.clone())), ..self },
            StorageKind::Postgres { host, port, database, ssl_mode } => {
                Self { database: self.database.over((host, *port, database, *ssl_mode)), ..self }
            }
        };
        whole.kind(app, StorageKindName::of(kept))
    }

    /// The names of those that are given.
    fn given(&self) -> impl Iterator<Item = &'static str> {
        let members = [
            ("folder", self.folder.is_some()),
            ("account", self.account.is_some()),
            ("region", self.region.is_some()),
            ("endpoint", self.endpoint.is_some()),
            ("path_style", self.path_style.is_some()),
            ("host", !self.database.is_empty()),
        ];
        members.into_iter().filter(|(_, is_given)| *is_given).map(|(member, _)| member)
    }
}

/// Would requests go to another host?
pub fn moves(before: &StorageKind, after: &StorageKind) -> bool {
    match (before, after) {
        (StorageKind::S3 { endpoint: old, .. }, StorageKind::S3 { endpoint: new, .. }) => old != new,
        _ => before != after,
    }
}
