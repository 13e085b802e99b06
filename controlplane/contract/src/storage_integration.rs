//! Storage integrations: by which endpoint and credentials an environment reaches files and databases elsewhere.

use serde::{Deserialize, Serialize};

use crate::{Code, Redacted};

mod azure;
mod location;

pub use azure::{
    AZURE_SCHEME, azure_account_of, azure_host_of, is_azure_account, is_azure_container, is_azure_host_of_another,
};
pub use location::{Location, MalformedLocation};

/// The port of a PostgreSQL that names none.
pub const POSTGRES_PORT: u16 = 5_432;

/// Names of schemas that mean something else: no database is attached under them.
const TAKEN_SCHEMAS: [&str; 10] = [
    "main",
    "raw",
    "temp",
    "system",
    "memory",
    "information_schema",
    "svc_runtime",
    "svc_memory",
    "svc_thoughts",
    "public",
];

/// The prefix that stands for every location of the integration's kind.
pub const ANY_PREFIX: &str = "*";

/// A storage integration of an environment, as its data plane must know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageIntegration {
    /// As `STORAGE_INTEGRATION = name` has it; unique in its environment, whatever the letters' case.
    pub name: String,
    #[serde(flatten)]
    pub kind: StorageKind,
    /// `s3://bucket/folder/`, `azure://account.blob.core.windows.net/container/folder/`, `file:///folder/`,
    /// `postgres://schema/table` or `*`; none: nothing is permitted.
    pub allowed_prefixes: Vec<String>,
    /// Of what is allowed, what is not.
    pub blocked_prefixes: Vec<String>,
    pub enabled: bool,
    pub credentials: StorageCredentials,
}

/// The kind of a store, and how it is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StorageKind {
    S3 {
        /// The base URL of a store that speaks as S3 does; none: the one of AWS in the region.
        #[serde(default)]
        endpoint: Option<String>,
        region: String,
        /// The bucket is the first part of the path, and not of the host's name.
        #[serde(default)]
        path_style: bool,
    },
    File {
        /// An absolute path: nothing outside of this folder is reached.
        folder: String,
    },
    /// A database whose tables are read in a schema of the integration's name.
    Postgres {
        /// A name or an IPv4 address, without a port.
        host: String,
        #[serde(default = "postgres_port", with = "as_text")]
        port: u16,
        database: String,
        #[serde(default)]
        ssl_mode: SslMode,
    },
    /// A storage account of Azure, with all of its containers.
    Azure {
        account: String,
        /// The base URL at which it is reached; none: the public one of the account.
        #[serde(default)]
        endpoint: Option<String>,
        /// The account is the first part of the path there, and not of the host's name.
        #[serde(default)]
        path_style: bool,
    },
}

const fn postgres_port() -> u16 {
    POSTGRES_PORT
}

/// Whether a connection to a PostgreSQL is by TLS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SslMode {
    /// By TLS, with a certificate of a public authority for the host's name.
    #[default]
    VerifyFull,
    /// In the clear, where whoever runs the installation names the host.
    Disable,
}

impl StorageKind {
    /// The name of the kind on the wire and in the database.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::S3 { .. } => "s3",
            Self::File { .. } => "file",
            Self::Postgres { .. } => "postgres",
            Self::Azure { .. } => "azure",
        }
    }

    /// What a URL of the kind begins with.
    pub const fn scheme(&self) -> &'static str {
        match self {
            Self::S3 { .. } => "s3://",
            Self::File { .. } => "file://",
            Self::Postgres { .. } => "postgres://",
            Self::Azure { .. } => AZURE_SCHEME,
        }
    }

    /// Whether it is a database, and no place of files.
    pub const fn is_database(&self) -> bool {
        matches!(self, Self::Postgres { .. })
    }

    /// Whether data planes of before the kind do not read it: it travels apart from the kinds that they know.
    pub const fn is_later(&self) -> bool {
        matches!(self, Self::Azure { .. })
    }
}

/// How the store knows who asks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StorageCredentials {
    /// It is asked without any, as a public bucket is.
    #[default]
    Anonymous,
    /// By what the data plane's own surroundings give it, such as its service account's role.
    Ambient,
    /// As a data plane keeps them on its disk. Where they cannot be opened, nothing is reached.
    Sealed {
        text: String,
    },
    AccessKey(AccessKey),
    Password(DatabaseUser),
    SasToken(SasToken),
}

impl StorageCredentials {
    /// Is there something in it that nobody may read?
    pub const fn are_secret(&self) -> bool {
        !matches!(self, Self::Anonymous | Self::Ambient | Self::Sealed { .. })
    }

    /// The name of the type on the wire and in the database.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Anonymous => "anonymous",
            Self::Ambient => "ambient",
            Self::Sealed { .. } => "sealed",
            Self::AccessKey(_) => "access_key",
            Self::Password(_) => "password",
            Self::SasToken(_) => "sas_token",
        }
    }
}

/// An access key of a store. Only the snapshot, and what is sealed in the database and on a data plane's disk, hold it.
/// That of an account of Azure has the account's name as its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessKey {
    #[serde(with = "exposed")]
    pub access_key_id: Redacted<String>,
    #[serde(with = "exposed")]
    pub secret_access_key: Redacted<String>,
    /// With keys that end.
    #[serde(with = "exposed", default = "no_token")]
    pub session_token: Redacted<Option<String>>,
}

/// A user of a database with their password, held where access keys are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseUser {
    #[serde(with = "exposed")]
    pub user: Redacted<String>,
    #[serde(with = "exposed")]
    pub password: Redacted<String>,
}

/// A shared access signature of an account of Azure, which each request has in its query, held where access keys are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SasToken {
    #[serde(with = "exposed")]
    pub sas_token: Redacted<String>,
}

const fn no_token() -> Redacted<Option<String>> {
    Redacted::new(None)
}

/// A location that an integration does not reach.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StorageDenied {
    #[error("the storage integration `{0}` is disabled: ask an owner or admin to enable it")]
    Disabled(String),
    #[error(transparent)]
    Malformed(#[from] MalformedLocation),
    #[error("the storage integration `{0}` does not allow this location: name one below its allowed prefixes")]
    NotAllowed(String),
    #[error("the storage integration `{0}` blocks this location: name one outside of its blocked prefixes")]
    Blocked(String),
}

impl StorageDenied {
    pub const fn code(&self) -> Code {
        match self {
            Self::Malformed(_) => Code::InvalidParams,
            Self::Disabled(_) | Self::NotAllowed(_) | Self::Blocked(_) => Code::PolicyDenied,
        }
    }
}

/// Whether a database may be attached under this name: no other schema has it, nor what the engine or we reserve.
pub fn may_be_a_schema(name: &str) -> bool {
    let begins = |prefix: &str| name.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix));
    let is_taken = TAKEN_SCHEMAS.iter().any(|taken| name.eq_ignore_ascii_case(taken));
    !is_taken && !["_", "pg_", "duckdb_", "pragma_", "sqlite_"].into_iter().any(begins)
}

impl StorageIntegration {
    /// The location that a URL names, if the integration reaches it.
    pub fn permits(&self, url: &str) -> Result<Location, StorageDenied> {
        if !self.enabled {
            return Err(StorageDenied::Disabled(self.name.clone()));
        }
        let location = Location::of(url)?;
        let within = match &self.kind {
            StorageKind::S3 { .. } | StorageKind::Postgres { .. } => location.scheme() == self.kind.scheme(),
            StorageKind::File { folder } => Location::of_folder(folder).is_ok_and(|folder| folder.holds(&location)),
            // its credentials are those of one account, and are sent to no other
            StorageKind::Azure { account, .. } => location.azure_account() == Some(account.as_str()),
        };
        // a prefix that cannot be read allows nothing, and blocks everything
        let allowed = |prefix: &String| holds(prefix, &location).unwrap_or(false);
        let blocked = |prefix: &String| holds(prefix, &location).unwrap_or(true);
        if !within || !self.allowed_prefixes.iter().any(allowed) {
            return Err(StorageDenied::NotAllowed(self.name.clone()));
        }
        if self.blocked_prefixes.iter().any(blocked) {
            return Err(StorageDenied::Blocked(self.name.clone()));
        }
        Ok(location)
    }
}

fn holds(prefix: &str, location: &Location) -> Result<bool, MalformedLocation> {
    if prefix == ANY_PREFIX {
        return Ok(true);
    }
    Ok(Location::of(prefix)?.holds(location))
}

/// A number as text: one that may have any precision is not read again where its type is told by a member beside it.
mod as_text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<T: Display, S: Serializer>(number: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    pub fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// In the clear: for the snapshot, which travels under mutual TLS, and for what is sealed after.
mod exposed {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::Redacted;

    pub fn serialize<T: Serialize, S: Serializer>(secret: &Redacted<T>, serializer: S) -> Result<S::Ok, S::Error> {
        secret.expose().serialize(serializer)
    }

    pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Redacted<T>, D::Error> {
        T::deserialize(deserializer).map(Redacted::new)
    }
}

#[cfg(test)]
mod tests;
