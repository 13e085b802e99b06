//! The database that is attached to the demo: a second PostgreSQL, since the platform's own trusts whoever reaches it.
//!
//! It listens on a port of loopback, where it asks for a password; the state folder keeps both. Nothing of the
//! platform's is in it. The demo serves without it too: why it is not there is told.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

use contract::{Entropy, Redacted};
use serde_json::{Value, json};

use crate::client::{Api, Failure};
use crate::env_file::Access;
use crate::postgres::{self, Durability, Places, Postgres};
use crate::state::{self, State, write_private};

/// The integration, and the schema that its tables are in.
const NAME: &str = "crm";
const USER: &str = "reader";
/// The folder beside that of the platform's own.
const FOLDER: &str = "attached";
const PORT_FILE: &str = "demo_attached_port";
const MADE: &str = "
    create table if not exists accounts (custkey integer primary key, manager text not null);
    insert into accounts values (1, 'Ada'), (2, 'Grace'), (4, 'Ada'), (5, 'Edsger') on conflict do nothing;
    do $$ begin create role reader; exception when duplicate_object then null; end $$;
    grant select on accounts to reader;
";

#[derive(Debug, thiserror::Error)]
pub enum AttachedError {
    #[error(transparent)]
    State(#[from] state::Error),
    #[error("no port of this machine is free: {0}")]
    Port(io::Error),
    #[error(transparent)]
    Postgres(#[from] postgres::Error),
    #[error("it could not be attached: {0}")]
    Integration(#[from] Failure),
}

/// Where it listens, and the password there: those of the last start.
#[derive(Debug)]
pub struct AttachedPlace {
    port: u16,
    password: Redacted<String>,
}

impl AttachedPlace {
    pub fn of(state: &State, entropy: &Entropy) -> Result<Self, AttachedError> {
        let password = state.secret("demo_attached_password", || entropy.base62(20))?;
        Ok(Self { port: port(state)?, password })
    }

    /// As an operator names a host outside of the public internet.
    pub fn host(&self) -> String {
        format!("{}:{}", Ipv4Addr::LOCALHOST, self.port)
    }

    /// Starts it beside the platform's own, and has the demo's environment read it.
    pub async fn serve(&self, own: &Places, durability: Durability, demo: &Access) -> Result<Postgres, AttachedError> {
        let server = Postgres::start(own.another(FOLDER, self.port), durability).await?;
        let password = self.password.expose().replace('\'', "''");
        server.run(&format!("{MADE} alter role {USER} login password '{password}';")).await?;
        Box::pin(self.attach(demo)).await?;
        Ok(server)
    }

    /// As any client does. One that leads there already, or elsewhere, is left as it is.
    async fn attach(&self, demo: &Access) -> Result<(), Failure> {
        let api = Api::new(&demo.url(), &demo.key, None)?;
        let all = format!("/v1/environments/{}/storage-integrations", demo.env_id);
        let host = Ipv4Addr::LOCALHOST.to_string();
        let credentials = json!({"type": "password", "user": USER, "password": self.password.expose()});
        let there = api.list(&all).await?.into_iter().find(|one| one.get("name").is_some_and(|name| name == NAME));
        let Some(there) = there else {
            let new = json!({
                "name": NAME, "kind": "postgres", "host": host, "port": self.port, "database": "postgres",
                "ssl_mode": "disable", "allowed_prefixes": ["postgres://public/"], "credentials": credentials,
            });
            api.post(&all, &new).await?;
            return Ok(());
        };
        let has = |member: &str, value: Value| there.get(member) == Some(&value);
        // the port was somebody else's meanwhile, or a start without the demo's data has not named the host
        let is_lost = has("host", json!(host)) && !(has("port", json!(self.port)) && has("enabled", json!(true)));
        if let Some(id) = there.get("storage_integration_id").and_then(Value::as_str).filter(|_| is_lost) {
            let moved = json!({"port": self.port, "enabled": true, "credentials": credentials});
            api.put(&format!("{all}/{id}"), &moved).await?;
        }
        Ok(())
    }
}

/// The port of the last start, or another where somebody else listens on that now.
fn port(state: &State) -> Result<u16, AttachedError> {
    let kept = state.secret(PORT_FILE, || "0".to_owned())?;
    let kept: u16 = kept.expose().parse().unwrap_or_default();
    let free = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).and_then(|listener| listener.local_addr());
    let found = free(kept).or_else(|_| free(0)).map_err(AttachedError::Port)?.port();
    if found != kept {
        write_private(&state.root().join("secrets").join(PORT_FILE), &found.to_string())?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_stays_the_same_until_somebody_else_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::open(folder.path()).unwrap();
        let entropy = Entropy::seeded(1);
        let place = || AttachedPlace::of(&state, &entropy).unwrap();
        let first = place();
        let again = place();
        assert_eq!((first.port, first.password.expose()), (again.port, again.password.expose()));
        let _taken = TcpListener::bind((Ipv4Addr::LOCALHOST, first.port)).unwrap();
        let moved = place();
        assert_ne!(moved.port, first.port);
        assert_eq!(moved.port, place().port);
        assert_eq!(moved.host(), format!("127.0.0.1:{}", moved.port));
    }
}
