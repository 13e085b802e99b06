//! The control plane: `/v1`, the audit chain, and the snapshots that rule the data planes.
//!
//! Every request that is not a live query ends here; a query passes through on its way to its
//! environment's data plane, unparsed. PostgreSQL is the one store; a resource module owns its tables.
//!
//! This file is the only place that starts things.
#![forbid(unsafe_code)]

pub mod domain;
#[cfg(test)]
mod platform_tests;
pub mod server;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod worlds;

use std::net::SocketAddr;
use std::sync::Arc;

use platform::identity::{Current, FollowedFiles};
use sqlx::migrate::Migrator;
use sqlx::postgres::PgPoolOptions;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::server::callbacks::CALLBACKS;
use crate::server::snapshots::publisher::Publisher;

pub use ::platform;
pub use platform::{App, Config, Error, OnConstraint, Parts, Result};

/// The migrations of the schema.
pub static MIGRATIONS: Migrator = sqlx::migrate!();

/// A control plane that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("the database cannot be reached: {0}")]
    Database(#[from] sqlx::Error),
    #[error("the database's URL cannot be read: {0}")]
    Url(std::io::Error),
    #[error("the database cannot be migrated: {0}")]
    Migration(#[from] sqlx::migrate::MigrateError),
    #[error("cannot listen: {0}")]
    Listen(#[from] std::io::Error),
    #[error(transparent)]
    App(#[from] Error),
}

/// A control plane that serves.
#[derive(Debug)]
pub struct Running {
    pub app: App,
    pub http: SocketAddr,
    /// Where it tells what it measures.
    pub metrics: SocketAddr,
    /// Where data planes are served, if there is an identity to serve them under.
    pub grpc: Option<SocketAddr>,
}

/// Brings a database to this version's schema. Under an advisory lock, which sqlx takes: of several
/// replicas that start at once one migrates, and the others wait for it.
pub async fn migrate(database_url: &str) -> Result<(), StartError> {
    let pool = PgPoolOptions::new().max_connections(1).connect(database_url).await?;
    Ok(MIGRATIONS.run(&pool).await?)
}

/// A control plane that serves nobody: for a command that does one thing and ends.
pub async fn open(config: Config, parts: Parts) -> Result<App, StartError> {
    let pool = PgPoolOptions::new()
        .max_connections(2)
        .acquire_timeout(config.acquire_timeout())
        .connect(platform::database::url(&config).await.map_err(StartError::Url)?.expose())
        .await?;
    Ok(App::new(config, parts, CALLBACKS, pool)?)
}

/// Connects, migrates, and serves until `parts.shutdown` is cancelled.
pub async fn start(mut config: Config, parts: Parts) -> Result<Running, StartError> {
    let url = platform::database::url(&config).await.map_err(StartError::Url)?;
    let pool = PgPoolOptions::new()
        .max_connections(config.database_max_connections)
        .min_connections(config.database_min_connections)
        .acquire_timeout(config.acquire_timeout())
        .idle_timeout(config.idle_timeout())
        .test_before_acquire(false) // `is_there` does
        .before_acquire(platform::database::is_there)
        .connect(url.expose())
        .await?;
    MIGRATIONS.run(&pool).await?;
    let listener = TcpListener::bind(config.http_listen).await?;
    let http = listener.local_addr()?;
    config.listens_at(http);
    let scraped = TcpListener::bind(config.metrics_listen).await?;
    let metrics = scraped.local_addr()?;
    let grpc_listen = config.grpc_listen;
    let app = App::new(config, parts, CALLBACKS, pool)?;
    domain::runtime::sql::switch(&app).await?;
    domain::storage_integrations::confine(&app).await?;
    if let Some(file) = app.config().database_url_file.clone() {
        let followed = platform::database::FollowedUrl::new(file, url, app.pool().clone());
        app.tasks().spawn(followed.run(app.shutdown().clone()));
    }
    let publisher = Publisher::of(&app);
    app.tasks().spawn({
        let (publisher, shutdown) = (Arc::clone(&publisher), app.shutdown().clone());
        async move { publisher.run(shutdown).await }
    });
    app.tasks().spawn({
        let app = app.clone();
        async move {
            if let Some(resources) = app.resources() {
                resources.follow(&app).await;
            }
        }
    });
    let grpc = match app.identity() {
        Some(identity) => Some(serve_data_planes(&app, publisher, grpc_listen, Arc::clone(identity)).await?),
        None => None,
    };
    let limits = app.config().connection_timeouts.limits();
    app.tasks().spawn(platform::http::serve::serve(
        listener,
        server::router::router(&app),
        limits,
        app.shutdown().clone(),
    ));
    let watched = server::metrics::router(&app).merge(telemetry::log::routes(app.log().cloned()));
    app.tasks().spawn(platform::http::serve::serve(scraped, watched, limits, app.shutdown().clone()));
    server::jobs::schedule(&app).await?;
    for lane in platform::jobs::lane::Lane::ALL {
        app.tasks().spawn(platform::jobs::worker::work(app.clone(), server::jobs::KINDS, lane));
    }
    app.tasks().spawn(domain::webhooks::work(app.clone()));
    app.tasks().spawn(domain::audit::stream::work(app.clone()));
    app.tasks().spawn(domain::shadow_mode::work(app.clone()));
    app.tasks().spawn(platform::mails::work(app.clone()));
    tracing::info!(http.listen = %http, metrics.listen = %metrics, "serving");
    Ok(Running { app, http, metrics, grpc })
}

async fn serve_data_planes(
    app: &App,
    publisher: Arc<Publisher>,
    listen: SocketAddr,
    identity: Arc<Current>,
) -> Result<SocketAddr, StartError> {
    let listener = TcpListener::bind(listen).await?;
    let address = listener.local_addr()?;
    let (serving, served) = (app.clone(), Arc::clone(&identity));
    app.tasks().spawn(async move {
        if let Err(error) = server::grpc::serve(serving, publisher, listener, served).await {
            tracing::error!(error = %error, "data planes are no longer served");
        }
    });
    if let (Some(files), Some(held)) = (app.config().identity(), app.given_identity().cloned()) {
        app.tasks().spawn(FollowedFiles::new(files, held, identity).run(app.shutdown().clone()));
    }
    Ok(address)
}

impl Running {
    /// Waits until every request and every task has ended; something else cancels the token.
    pub async fn drained(self) {
        self.app.shutdown().cancelled().await;
        self.app.tasks().close();
        self.app.tasks().wait().await;
        self.app.pool().close().await;
    }

    /// Serves until SIGINT or SIGTERM, then drains.
    pub async fn until_signal(self, shutdown: CancellationToken) -> std::io::Result<()> {
        let mut terminated = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        tokio::select! {
            interrupted = tokio::signal::ctrl_c() => interrupted?,
            _ = terminated.recv() => {}
            () = shutdown.cancelled() => {}
        }
        shutdown.cancel();
        self.drained().await;
        Ok(())
    }
}
