//! `sluice integration`: by which endpoint and credentials an environment reaches files and databases elsewhere.
//!
//! A secret is never an argument, which other users of a machine see: it is read from the variables `AWS_…`, `PG…` or
//! `AZURE_STORAGE_…`, and only where that is asked for.

use std::collections::BTreeMap;

use clap::{Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::api::segment;
use super::output::Columns;
use super::waiting::waited;
use super::{Api, Failure, Group, ShownAnswer};

pub type Args = Group<Wanted>;

#[derive(Debug, Subcommand)]
pub enum Wanted {
    /// List them, never their credentials.
    Ls,
    /// Make one.
    Create(Box<NewIntegration>),
    /// Show one, by its id or name.
    Get { integration: String },
    /// Give one other credentials: they are in force at once.
    Rotate {
        integration: String,
        #[arg(long, value_enum, required_unless_present = "secret")]
        credentials: Option<CredentialSource>,
        #[command(flatten)]
        secret: GivenSecret,
    },
    /// Delete one: stages that name it reach nothing any more.
    Rm { integration: String },
}

/// Where the credentials come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CredentialSource {
    /// None are sent to the store.
    Anonymous,
    /// Those of the data plane's surroundings, where the installation allows it.
    Ambient,
    /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN` as they stand in the environment here.
    Env,
    /// `PGUSER` and `PGPASSWORD` as they stand in the environment here, for a database.
    PgEnv,
    /// `AZURE_STORAGE_ACCOUNT` and `AZURE_STORAGE_KEY` as they stand in the environment here, for an account of Azure.
    AzureEnv,
    /// `AZURE_STORAGE_SAS_TOKEN` as it stands in the environment here, for an account of Azure.
    SasEnv,
}

#[derive(Debug, clap::Args)]
pub struct NewIntegration {
    name: String,
    /// The region of a store that speaks as S3 does.
    #[arg(
        long,
        required_unless_present_any = ["folder", "host", "account"],
        conflicts_with_all = ["folder", "host", "account"]
    )]
    region: Option<String>,
    /// A storage account of Azure, in place of a region.
    #[arg(long, conflicts_with_all = ["folder", "host"])]
    account: Option<String>,
    /// Its base URL; absent: the one of AWS in the region, or the public one of the account.
    #[arg(long, value_name = "URL", conflicts_with_all = ["folder", "host"])]
    endpoint: Option<String>,
    /// The bucket or the account is a part of the path, and not of the host's name.
    #[arg(long, conflicts_with_all = ["folder", "host"])]
    path_style: bool,
    /// A folder of the platform's machine, in place of a store.
    #[arg(long, value_name = "PATH", conflicts_with = "secret")]
    folder: Option<String>,
    #[command(flatten)]
    database: NewDatabase,
    /// What may be reached: `s3://bucket/folder/`, `azure://host/container/folder/`, `file:///folder/`,
    /// `postgres://schema/table` or `*`; may be given several times.
    #[arg(long = "allow", value_name = "PREFIX", required = true)]
    allowed_prefixes: Vec<String>,
    /// What of that may not; may be given several times.
    #[arg(long = "block", value_name = "PREFIX")]
    blocked_prefixes: Vec<String>,
    #[arg(long, value_enum, default_value_t = CredentialSource::Anonymous)]
    credentials: CredentialSource,
    #[command(flatten)]
    secret: GivenSecret,
    /// Make it, and let nothing be reached by it yet.
    #[arg(long)]
    disabled: bool,
}

// Where credentials come from in a cluster. No documentation, which would be taken for that of the command.
#[derive(Debug, Default, clap::Args)]
pub struct GivenSecret {
    /// The Secret of Kubernetes, beside the environment, that holds its access key, its signature, or its user and password.
    #[arg(id = "secret", long = "secret", value_name = "NAME", conflicts_with = "credentials")]
    name: Option<String>,
    /// The key of a part in the Secret, as `access_key_id=id,secret_access_key=secret`, or `sas_token=sas` of a signature;
    /// absent: a key of the part's name.
    #[arg(
        id = "secret_keys",
        long = "secret-keys",
        value_name = "PART=KEY",
        value_delimiter = ',',
        requires = "secret",
        value_parser = part_and_key
    )]
    keys: Vec<(String, String)>,
}

// A PostgreSQL in place of a store. No documentation, which would be taken for that of the command.
#[derive(Debug, Default, clap::Args)]
pub struct NewDatabase {
    /// The host of a PostgreSQL whose tables are read in a schema of the integration's name.
    #[arg(long, conflicts_with = "folder", requires = "database")]
    host: Option<String>,
    /// Its port; absent: 5432.
    #[arg(long, requires = "host")]
    port: Option<u16>,
    /// The database there.
    #[arg(long, requires = "host")]
    database: Option<String>,
    /// `verify-full`, or `disable` for a host that the installation names.
    #[arg(long, requires = "host")]
    ssl_mode: Option<String>,
}

const LISTED: Columns = "storage_integration_id, name, kind, enabled, credentials.type, updated_at";
const SHOWN: Columns = "storage_integration_id, name, kind, endpoint, region, path_style, account, folder, host, \
    port, database, ssl_mode, allowed_prefixes, blocked_prefixes, enabled, credentials.type, credentials.since, \
    credentials.secret.name, credentials.secret.host, credentials.secret.problem, created_at, updated_at";
const DELETED: Columns = "storage_integration_id, deleted_at";

impl CredentialSource {
    /// As the API takes them. `variable` reads one of the environment.
    fn body(self, variable: impl Fn(&str) -> Option<String>) -> Result<Value, Failure> {
        let needed = |name: &str| {
            variable(name)
                .ok_or_else(|| Failure::Usage(format!("{name} is not set: set it, or choose other credentials")))
        };
        Ok(match self {
            Self::Anonymous => json!({"type": "anonymous"}),
            Self::Ambient => json!({"type": "ambient"}),
            Self::Env => json!({
                "type": "access_key",
                "access_key_id": needed("AWS_ACCESS_KEY_ID")?,
                "secret_access_key": needed("AWS_SECRET_ACCESS_KEY")?,
                "session_token": variable("AWS_SESSION_TOKEN"),
            }),
            Self::PgEnv => {
                json!({"type": "password", "user": needed("PGUSER")?, "password": needed("PGPASSWORD")?})
            }
            Self::AzureEnv => json!({
                "type": "access_key",
                "access_key_id": needed("AZURE_STORAGE_ACCOUNT")?,
                "secret_access_key": needed("AZURE_STORAGE_KEY")?,
            }),
            Self::SasEnv => json!({"type": "sas_token", "sas_token": needed("AZURE_STORAGE_SAS_TOKEN")?}),
        })
    }
}

impl NewIntegration {
    fn body(self, variable: impl Fn(&str) -> Option<String>) -> Result<Value, Failure> {
        let kind = match (&self.folder, &self.database.host, &self.account) {
            (Some(_), _, _) => "file",
            (None, Some(_), _) => "postgres",
            (None, None, Some(_)) => "azure",
            (None, None, None) => "s3",
        };
        let NewDatabase { host, port, database, ssl_mode } = self.database;
        Ok(json!({
            "name": self.name,
            "kind": kind,
            "region": self.region,
            "endpoint": self.endpoint,
            "path_style": matches!(kind, "s3" | "azure").then_some(self.path_style),
            "account": self.account,
            "folder": self.folder,
            "host": host,
            "port": port,
            "database": database,
            "ssl_mode": ssl_mode,
            "allowed_prefixes": self.allowed_prefixes,
            "blocked_prefixes": self.blocked_prefixes,
            "enabled": !self.disabled,
            "credentials": credentials(self.secret, Some(self.credentials), variable)?,
        }))
    }
}

/// Those of the Secret, if one is named.
fn credentials(
    secret: GivenSecret,
    source: Option<CredentialSource>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Value, Failure> {
    let GivenSecret { name, keys } = secret;
    let keys: BTreeMap<String, String> = keys.into_iter().collect();
    match (name, source) {
        (Some(name), _) if keys.is_empty() => Ok(json!({"type": "kubernetes_secret", "name": name})),
        (Some(name), _) => Ok(json!({"type": "kubernetes_secret", "name": name, "keys": keys})),
        (None, Some(source)) => source.body(variable),
        (None, None) => Err(Failure::Usage("say where they come from, by --credentials or --secret".to_owned())),
    }
}

/// A part of credentials, and the key of a Secret that it is under.
fn part_and_key(text: &str) -> Result<(String, String), String> {
    let (part, key) = text.split_once('=').ok_or("a key is written PART=KEY, as access_key_id=id")?;
    Ok((part.to_owned(), key.to_owned()))
}

/// A variable of whoever calls.
#[expect(clippy::disallowed_methods, reason = "secrets of a command come as those of the store's own commands do")]
fn set(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The path of the one with this id or name.
async fn found(api: &Api, all: &str, wanted: &str) -> Result<String, Failure> {
    let is_it = |one: &Value| {
        let is = |member: &str| one.get(member).is_some_and(|value| value == wanted);
        is("storage_integration_id") || is("name")
    };
    let one = api.list(all).await?.into_iter().find(is_it);
    let id = one.as_ref().and_then(|one| one.get("storage_integration_id")).and_then(Value::as_str);
    let id = id.ok_or_else(|| {
        Failure::NotSo(format!("there is no storage integration {wanted:?}: sluice integration ls shows all"))
    })?;
    Ok(format!("{all}/{}", segment(id)?))
}

pub async fn run(args: Args) -> Result<(), Failure> {
    let api = args.access.api()?;
    let work = async {
        let all = format!("{}/storage-integrations", api.environment().await?);
        Ok::<_, Failure>(match args.wanted {
            Wanted::Ls => ShownAnswer::list(api.list(&all).await?, LISTED),
            Wanted::Create(new) => ShownAnswer::record(api.post(&all, &new.body(set)?).await?, SHOWN),
            Wanted::Get { integration } => {
                let path = found(&api, &all, &integration).await?;
                ShownAnswer::record(api.get(&path).await?, SHOWN)
            }
            Wanted::Rotate { integration, credentials: source, secret } => {
                let body = json!({"credentials": credentials(secret, source, set)?});
                let path = found(&api, &all, &integration).await?;
                ShownAnswer::record(api.put(&path, &body).await?, SHOWN)
            }
            Wanted::Rm { integration } => {
                let path = found(&api, &all, &integration).await?;
                ShownAnswer::record(api.delete(&path).await?, DELETED)
            }
        })
    };
    waited("storage integrations", work).await?.show(args.output)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::testing::args_of;

    #[test]
    fn credentials_are_read_from_the_environment_only_where_that_is_asked_for() {
        let set = |name: &str| (name != "AWS_SESSION_TOKEN").then(|| name.to_lowercase());
        assert_eq!(CredentialSource::Anonymous.body(set).unwrap(), json!({"type": "anonymous"}));
        assert_eq!(CredentialSource::Ambient.body(set).unwrap(), json!({"type": "ambient"}));
        let expected = json!({
            "type": "access_key", "access_key_id": "aws_access_key_id",
            "secret_access_key": "aws_secret_access_key", "session_token": null,
        });
        assert_eq!(CredentialSource::Env.body(set).unwrap(), expected);
        assert!(CredentialSource::Env.body(|_| None).is_err());
        let expected = json!({"type": "password", "user": "pguser", "password": "pgpassword"});
        assert_eq!(CredentialSource::PgEnv.body(set).unwrap(), expected);
        let expected = json!({
            "type": "access_key", "access_key_id": "azure_storage_account", "secret_access_key": "azure_storage_key",
        });
        assert_eq!(CredentialSource::AzureEnv.body(set).unwrap(), expected);
        let expected = json!({"type": "sas_token", "sas_token": "azure_storage_sas_token"});
        assert_eq!(CredentialSource::SasEnv.body(set).unwrap(), expected);
    }

    #[test]
    fn a_secret_that_is_named_is_sent_by_its_name() {
        let sent = |line: &[&str]| {
            let new: NewIntegration = args_of(line).unwrap();
            new.body(|_| None).unwrap()["credentials"].take()
        };
        let line = ["shop", "--host", "db.example.com", "--database", "shop", "--allow", "*", "--secret", "lake"];
        assert_eq!(sent(&line), json!({"type": "kubernetes_secret", "name": "lake"}));
        let keys = [line.as_slice(), &["--secret-keys", "user=name,password=word"]].concat();
        let expected = json!({"user": "name", "password": "word"});
        assert_eq!(sent(&keys), json!({"type": "kubernetes_secret", "name": "lake", "keys": expected}));
        let without = [&line[..7], &["--secret-keys", "user=name"]].concat();
        let broken = [line.as_slice(), &["--secret-keys", "user"]].concat();
        for refused in [without, broken] {
            assert!(args_of::<NewIntegration>(&refused).is_err(), "{refused:?}");
        }
    }

    #[test]
    fn other_credentials_are_those_of_a_source_or_of_a_secret() {
        let sent = |line: &[&str]| -> Result<Value, String> {
            let args: Args = args_of(&[&["rotate", "shop"][..], line].concat())?;
            let Wanted::Rotate { credentials: source, secret, .. } = args.wanted else { panic!("{line:?}") };
            credentials(secret, source, |_| None).map_err(|failure| failure.to_string())
        };
        assert_eq!(sent(&["--credentials", "ambient"]).unwrap(), json!({"type": "ambient"}));
        let secret = ["--secret", "lake", "--secret-keys", "sas_token=sas"];
        assert_eq!(sent(&secret[..2]).unwrap(), json!({"type": "kubernetes_secret", "name": "lake"}));
        let parts = json!({"sas_token": "sas"});
        assert_eq!(sent(&secret).unwrap(), json!({"type": "kubernetes_secret", "name": "lake", "keys": parts}));
        let both = [&secret[..2], &["--credentials", "ambient"]].concat();
        for refused in [Vec::new(), secret[2..].to_vec(), both] {
            assert!(sent(&refused).is_err(), "{refused:?}");
        }
    }

    fn disk() -> NewIntegration {
        NewIntegration {
            name: "disk".to_owned(),
            region: None,
            account: None,
            endpoint: None,
            path_style: false,
            folder: Some("/srv".to_owned()),
            database: NewDatabase::default(),
            allowed_prefixes: vec!["*".to_owned()],
            blocked_prefixes: Vec::new(),
            credentials: CredentialSource::Anonymous,
            secret: GivenSecret::default(),
            disabled: false,
        }
    }

    #[test]
    fn an_account_of_azure_is_an_integration_of_its_kind() {
        let new = NewIntegration { account: Some("lake1".to_owned()), folder: None, path_style: true, ..disk() };
        let body = new.body(|_| None).unwrap();
        assert_eq!((&body["kind"], &body["account"]), (&json!("azure"), &json!("lake1")));
        assert_eq!((&body["path_style"], &body["region"]), (&json!(true), &Value::Null));
    }

    #[test]
    fn a_folder_has_nothing_of_a_store() {
        let body = disk().body(|_| None).unwrap();
        assert_eq!((&body["kind"], &body["path_style"], &body["region"]), (&json!("file"), &Value::Null, &Value::Null));
    }
}
