//! Servers that a person may know, beside the platform: PostgreSQL, `PgBouncer` before it, and DuckDB's own server.
//!
//! One that is not installed is left out, and a line says which. PostgreSQL is the tests' own: it is asked through its
//! socket, and the platform over TCP, as `PgBouncer` is.

mod bouncer;
mod pgbench;
mod quack;

use contract::Entropy;
use tests::postgres::Database;
use tokio_postgres::config::Host;

use crate::amounts::Amounts;
use crate::figures;
use crate::sides::Sides;

use bouncer::Bouncer;
use pgbench::{CLIENTS, PROTOCOLS, Pgbench};

/// Where a database is, and as whom it is asked.
#[derive(Debug, Clone)]
struct PeerAddress {
    host: String,
    port: u16,
    user: String,
    password: String,
    database: String,
}

pub async fn print(sides: &Sides, amounts: &Amounts) {
    match Pgbench::found(amounts) {
        Some(pgbench) => by_key(&pgbench, sides, amounts).await,
        None => left_out("pgbench"),
    }
    quack::print(sides, amounts).await;
}

/// Says that a part has no figures.
fn left_out(missing: &str) {
    println!("\nLeft out: {missing} is not installed.");
}

async fn by_key(pgbench: &Pgbench, sides: &Sides, amounts: &Amounts) {
    let name = format!("peers_{}", Entropy::system().unwrap().base62(12).to_lowercase());
    let database = Database::fresh(&name).await;
    filled(&database, amounts).await;
    let own = PeerAddress {
        host: "127.0.0.1".to_owned(),
        port: sides.world.pgwire.port(),
        user: "agent".to_owned(),
        password: sides.world.key.clone(),
        database: "main".to_owned(),
    };
    let postgres = of_tests(&name);
    let bouncer = Bouncer::start(&postgres).await;
    let mut servers = vec![("Sluice", own), ("PostgreSQL", postgres)];
    match &bouncer {
        Some(bouncer) => servers.push(("PgBouncer before it", bouncer.address.clone())),
        None => left_out("pgbouncer"),
    }
    let title = "A row by its key, `pgbench -n`, statements a second";
    let clients = CLIENTS.map(|clients| format!("{clients} clients"));
    let columns: Vec<&str> = std::iter::once("server").chain(clients.iter().map(String::as_str)).collect();
    figures::table(title, &columns);
    for (server, address) in servers {
        for protocol in PROTOCOLS {
            let mut cells = vec![format!("{server}, {protocol}")];
            for count in CLIENTS {
                cells.push(format!("{:.0}", pgbench.rate(&address, protocol, count).await));
            }
            figures::row(&cells);
        }
    }
    drop(bouncer);
    database.dropped().await;
}

/// The rows of `points`, by PostgreSQL's words.
async fn filled(database: &Database, amounts: &Amounts) {
    let client = database.client().await;
    let rows = format!(
        "create table points (id bigint primary key, name varchar, amount double precision, region varchar); \
         insert into points select i, 'name ' || i, i * 0.25, case when i % 2 = 0 then 'EU' else 'US' end \
         from generate_series(0, {}) t(i)",
        amounts.points - 1
    );
    client.batch_execute(&rows).await.unwrap();
    client.batch_execute("vacuum analyze points").await.unwrap();
}

/// A database of this name on the server of the tests.
fn of_tests(database: &str) -> PeerAddress {
    let url = std::env::var("SLUICE_TEST_POSTGRES").expect("SLUICE_TEST_POSTGRES, as ./dev sets it");
    let settings: tokio_postgres::Config = url.parse().unwrap();
    let host = match settings.get_hosts().first() {
        Some(Host::Unix(folder)) => folder.display().to_string(),
        Some(Host::Tcp(host)) => host.clone(),
        None => unreachable!("it names a host"),
    };
    PeerAddress {
        host,
        port: settings.get_ports().first().copied().unwrap_or(5432),
        user: settings.get_user().unwrap_or("postgres").to_owned(),
        password: settings.get_password().map(String::from_utf8_lossy).unwrap_or_default().into_owned(),
        database: database.to_owned(),
    }
}
