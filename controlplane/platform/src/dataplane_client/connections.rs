//! The connections to all data planes, kept while they are used, each with its circuit breaker.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use contract::{EnvId, wire};
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls_pki_types::ServerName;

use super::breaker::Breaker;
use super::connect::Connector;
use crate::identity::Current;
use crate::{Error, Result};

const IDLE: Duration = Duration::from_mins(1);
/// Data planes that connections are kept to.
const LINES_MAX: u64 = 10_000;

/// The connections to all data planes, under the control plane's certificate.
pub struct DataPlanes {
    identity: Arc<Current>,
    lines: moka::sync::Cache<EnvId, Arc<DataPlaneConnection>>,
}

/// The way to one data plane.
pub struct DataPlaneConnection {
    address: Arc<str>,
    pub client: Client<Connector, Full<Bytes>>,
    /// For bodies that go on as they come.
    pub streaming: Client<Connector, Body>,
    pub breaker: Breaker,
}

impl DataPlanes {
    /// `identity` holds the control plane's certificate and believes the platform's authority alone.
    pub fn new(identity: Arc<Current>) -> Self {
        let lines = moka::sync::Cache::builder().max_capacity(LINES_MAX).time_to_idle(Duration::from_hours(1)).build();
        Self { identity, lines }
    }

    /// The line to an environment; a new one when its data plane has moved.
    pub fn line(&self, env_id: &EnvId, address: &str) -> Result<Arc<DataPlaneConnection>> {
        if let Some(line) = self.lines.get(env_id).filter(|line| *line.address == *address) {
            return Ok(line);
        }
        let address: Arc<str> = address.into();
        let name = ServerName::try_from(wire::environment_name(env_id)).map_err(Error::internal)?;
        let connector = Connector { address: Arc::clone(&address), name, identity: Arc::clone(&self.identity) };
        let mut builder = Client::builder(TokioExecutor::new());
        builder.pool_idle_timeout(IDLE).pool_timer(TokioTimer::new());
        let (client, streaming) = (builder.build(connector.clone()), builder.build(connector));
        let line = Arc::new(DataPlaneConnection { address, client, streaming, breaker: Breaker::default() });
        self.lines.insert(env_id.clone(), Arc::clone(&line));
        Ok(line)
    }
}
