//! The cost of an idle connection: memory of the data plane and its engine, shared by many of one protocol.
//!
//! Each has had one answer. REST is the data plane's own, at the port of its tools: connections to the control plane are
//! none of a data plane.

use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tests::pods::{Installation, Pod, Protocol};

use crate::figures;
use crate::goals::{Bound, Goals};

/// As many as a data plane takes of each protocol, but for a few that others may have.
const CONNECTIONS: u32 = 990;
/// Before those that count: they fill what is filled once.
const WARM: u32 = 50;
/// In which what the answers needed is given back.
const SETTLES: Duration = Duration::from_secs(2);

pub async fn print(goals: &mut Goals) {
    // each is a file of the client, two of what is between, and one of the data plane
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, most, most).unwrap();
    let installation = Installation::new().await;
    let pod = Pod::start(&installation, &[]).await;
    installation.psql.route(&[pod.psql]);
    pod.until("ready").await;
    figures::table(&format!("Memory of an idle connection, of {CONNECTIONS}"), &["protocol", "KB each"]);
    for (protocol, name) in
        [(Protocol::WireText, "wire"), (Protocol::RawArrow, "REST"), (Protocol::Flight, "Flight SQL")]
    {
        for _ in 0..WARM {
            drop(Box::pin(installation.connected(&pod, protocol)).await);
        }
        tokio::time::sleep(SETTLES).await;
        let before = pod.memory();
        let mut open = Vec::new();
        for _ in 0..CONNECTIONS {
            open.push(Box::pin(installation.connected(&pod, protocol)).await);
        }
        tokio::time::sleep(SETTLES).await;
        let each = figures::real(pod.memory().saturating_sub(before)) / f64::from(CONNECTIONS) / 1_000.0;
        figures::row(&[name.to_owned(), format!("{each:.0}")]);
        goals.add(&format!("{name}: memory of an idle connection, KB"), each, Bound::AtMost(200.0, Some(100.0)));
        drop(open);
    }
    drop(pod);
    installation.end().await;
}
