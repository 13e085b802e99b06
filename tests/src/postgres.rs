//! A database of its own for each world, on the server of the test run.

use tokio_postgres::{Client, Config, NoTls};

/// Dropped when the world is.
#[derive(Debug)]
pub struct Database {
    pub url: String,
    name: String,
}

impl Database {
    pub async fn fresh(name: &str) -> Self {
        let (admin, settings) = administrator().await;
        admin.batch_execute(&format!("create database \"{name}\"")).await.unwrap();
        Self { url: url(&settings, name), name: name.to_owned() }
    }

    /// A client beside the platform's own, for a test that tampers.
    pub async fn client(&self) -> Client {
        let mut settings = administrator_settings();
        connect(settings.dbname(&self.name)).await
    }

    /// Lets the platform in, or throws it out and keeps it out.
    pub async fn open(&self, open: bool) {
        let (admin, _) = administrator().await;
        let name = &self.name;
        admin.batch_execute(&format!("alter database \"{name}\" allow_connections {open}")).await.unwrap();
        let cut = "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1";
        if !open {
            admin.query(cut, &[name]).await.unwrap();
        }
    }

    pub async fn dropped(self) {
        let (admin, _) = administrator().await;
        admin.batch_execute(&format!("drop database if exists \"{}\" with (force)", self.name)).await.unwrap();
    }
}

fn administrator_settings() -> Config {
    let url = std::env::var("SLUICE_TEST_POSTGRES")
        .expect("SLUICE_TEST_POSTGRES names a PostgreSQL for tests: run ./dev test product");
    url.parse().unwrap()
}

async fn administrator() -> (Client, Config) {
    let settings = administrator_settings();
    (connect(&settings).await, settings)
}

async fn connect(settings: &Config) -> Client {
    let (client, connection) = settings.connect(NoTls).await.unwrap();
    tokio::task::spawn(connection);
    client
}

fn url(settings: &Config, name: &str) -> String {
    let user = settings.get_user().unwrap_or("postgres");
    match settings.get_hosts().first() {
        Some(tokio_postgres::config::Host::Unix(folder)) => {
            format!("postgresql://{user}@localhost/{name}?host={}", folder.display())
        }
        Some(tokio_postgres::config::Host::Tcp(host)) => {
            let port = settings.get_ports().first().copied().unwrap_or(5432);
            format!("postgresql://{user}@{host}:{port}/{name}")
        }
        None => panic!("SLUICE_TEST_POSTGRES names no host"),
    }
}
