//! Databases as storage integrations: which host they may name, and under which name their tables appear.

use contract::storage_integration::{POSTGRES_PORT, SslMode, StorageKind, may_be_a_schema};
use platform::egress::storage_endpoint;
use platform::{App, Error, Result};

const HOST_BYTES_MAX: usize = 253;
/// As PostgreSQL names databases.
const DATABASE_BYTES_MAX: usize = 63;

/// The members of a request that are a database's alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DatabaseMembers {
    pub host: Option<String>,
    pub port: Option<u16>,
    pub database: Option<String>,
    pub ssl_mode: Option<SslMode>,
}

impl DatabaseMembers {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What is kept, changed by what is given.
    pub fn over(self, (host, port, database, ssl_mode): (&str, u16, &str, SslMode)) -> Self {
        Self {
            host: self.host.or_else(|| Some(host.to_owned())),
            port: self.port.or(Some(port)),
            database: self.database.or_else(|| Some(database.to_owned())),
            ssl_mode: self.ssl_mode.or(Some(ssl_mode)),
        }
    }

    /// The database, if the installation lets its host be reached so.
    pub fn kind(self, app: &App) -> Result<StorageKind> {
        let (host, database) = (self.host.unwrap_or_default().to_ascii_lowercase(), self.database.unwrap_or_default());
        let (port, ssl_mode) = (self.port.unwrap_or(POSTGRES_PORT), self.ssl_mode.unwrap_or_default());
        let is_named = reached(app, &host, port)?;
        if ssl_mode == SslMode::Disable && !is_named {
            let message = "`ssl_mode` `disable` is for hosts that whoever runs the installation names: leave it out";
            return Err(Error::invalid("ssl_mode", "verify-full", message));
        }
        let is_sized = (1..=DATABASE_BYTES_MAX).contains(&database.len());
        if !is_sized || database.chars().any(char::is_control) {
            let message = format!("`database` is the name of a database, of 1 to {DATABASE_BYTES_MAX} bytes");
            return Err(Error::invalid("database", format!("1..{DATABASE_BYTES_MAX}"), message));
        }
        Ok(StorageKind::Postgres { host, port, database, ssl_mode })
    }
}

/// Whether the host is one that the operator names; one of the public internet is not. Any other is refused.
fn reached(app: &App, host: &str, port: u16) -> Result<bool> {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
    if host.is_empty() || host.len() > HOST_BYTES_MAX || !host.bytes().all(fits) || port == 0 {
        let message = "`host` is a name or an IPv4 address, without a port, which `port` is for";
        return Err(Error::invalid("host", "a host", message));
    }
    let place = format!("{host}:{port}");
    let is_usual = port == POSTGRES_PORT;
    let is_it = |named: &String| named.eq_ignore_ascii_case(&place) || (is_usual && named.eq_ignore_ascii_case(host));
    if app.config().storage.storage_hosts.iter().any(is_it) {
        return Ok(true);
    }
    if storage_endpoint::admit(&format!("https://{host}"), &[]).is_err() {
        let message = "`host` leads to no host of the public internet: have whoever runs the installation name it";
        return Err(Error::invalid("host", "public host", message));
    }
    Ok(false)
}

/// Whether the installation lets this database be reached; it may have let more when the integration was made.
pub fn is_within(app: &App, host: &str, port: u16, ssl_mode: SslMode) -> bool {
    reached(app, host, port).is_ok_and(|is_named| is_named || ssl_mode == SslMode::VerifyFull)
}

/// A name under which tables may appear.
pub fn schema_name(kind: &StorageKind, name: String) -> Result<String> {
    if kind.is_database() && !may_be_a_schema(&name) {
        let message =
            format!("`name` `{name}` is that of another schema: the tables of a database need one of their own");
        return Err(Error::invalid("name", "no other schema's name", message));
    }
    Ok(name)
}
