//! The network of the one node, in a namespace of its own; and the way into it from the host.

use serde_json::json;
use tokio::process::Command;

use crate::{
    Error,
    layout::{DNS_SERVICE, HOST, Layout, NODE, PODS, SERVICES},
    program::{finish, run},
};

const BRIDGE: &str = "sluice0";
const UPLINK: &str = "sluice-host";

/// A bridge with the node's address, and everything routed to it.
pub(crate) async fn inside(layout: &Layout) -> Result<(), Error> {
    let node = format!("{NODE}/24");
    let steps: [&[&str]; 5] = [
        &["link", "set", "lo", "up"],
        &["link", "add", BRIDGE, "type", "bridge"],
        &["address", "add", &node, "dev", BRIDGE],
        &["link", "set", BRIDGE, "up"],
        &["route", "add", "default", "dev", BRIDGE],
    ];
    for step in steps {
        run("ip", step).await?;
    }
    let forward = "/proc/sys/net/ipv4/ip_forward";
    tokio::fs::write(forward, "1").await.map_err(Error::io(forward))?;
    pods(layout)
}

/// Each pod has a pair of devices and a route, and no bridge: traffic from pod to pod through a
/// Service passes the node's rules both ways.
fn pods(layout: &Layout) -> Result<(), Error> {
    let network = json!({
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [
            {"type": "ptp", "ipam": {
                "type": "host-local",
                "ranges": [[{"subnet": PODS}]],
                "routes": [{"dst": "0.0.0.0/0"}],
                "dataDir": layout.at("addresses"),
            }},
            {"type": "portmap", "capabilities": {"portMappings": true}},
        ],
    });
    layout.write("cni/pods.conflist", network.to_string())?;
    layout.write("resolv.conf", format!("nameserver {DNS_SERVICE}\n"))?;
    Ok(())
}

/// Refuses when this host already has the address: then another cluster is up, or the network is
/// used for something else.
pub(crate) async fn free() -> Result<(), Error> {
    let route = run("ip", &["-oneline", "route", "get", NODE]).await.unwrap_or_default();
    let addresses = run("ip", &["-oneline", "address", "show", "to", "10.99.0.0/24"]).await?;
    if addresses.trim().is_empty() && (route.is_empty() || route.contains(" via ")) {
        return Ok(());
    }
    let taken = if addresses.trim().is_empty() { route } else { addresses };
    Err(Error::Refused(format!("10.99.0.0/24 is in use here, perhaps by another `cluster up`: {}", taken.trim())))
}

/// Joins the host to the cluster whose first process is `pid`: nodes, pods and Services are reached.
/// The pair of devices goes away with the namespace.
pub(crate) async fn join(pid: u32) -> Result<(), Error> {
    let pid = pid.to_string();
    let host = format!("{HOST}/24");
    run("ip", &["link", "add", UPLINK, "type", "veth", "peer", "name", "uplink", "netns", &pid]).await?;
    let enter = ["--target", &pid, "--net", "ip", "link", "set", "uplink", "master", BRIDGE, "up"];
    finish("nsenter", Command::new("nsenter").args(enter)).await?;
    let steps: [&[&str]; 4] = [
        &["address", "add", &host, "dev", UPLINK],
        &["link", "set", UPLINK, "up"],
        &["route", "add", PODS, "via", NODE],
        &["route", "add", SERVICES, "via", NODE],
    ];
    for step in steps {
        run("ip", step).await?;
    }
    Ok(())
}
