//! The reach of storage integrations from a data plane, as this installation is set up.

use clap::Args;
use contract::network::range;
use contract::wire::setting;

// No documentation, which would be taken for that of the program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct StorageReach {
    /// Stores and databases outside of the public internet that storage integrations of data planes reach: `host` or
    /// `host:port`, each as a URL has it.
    #[arg(long, value_name = "HOST", env = setting::STORAGE_HOSTS, value_delimiter = ',')]
    pub storage_hosts: Vec<String>,
    /// Ports of stores and databases that data planes may reach, as 443. Absent: their policies open no way to them.
    #[arg(
        long,
        value_name = "PORT",
        env = "SLUICE_STORAGE_PORTS",
        value_delimiter = ',',
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    pub storage_ports: Vec<u16>,
    /// Networks that they may reach at these ports. Absent: any.
    #[arg(
        long,
        value_name = "CIDR",
        env = "SLUICE_STORAGE_CIDRS",
        value_delimiter = ',',
        value_parser = network,
        requires = "storage_ports"
    )]
    pub storage_cidrs: Vec<String>,
    /// Storage integrations may use the credentials that the surroundings of a data plane give it, such as the role of
    /// its service account. Never those of a lake, which opens its own bucket with them.
    #[arg(long, env = setting::STORAGE_AMBIENT)]
    pub storage_ambient: bool,
}

impl StorageReach {
    /// The hosts as a data plane is told of them; none: it is told nothing.
    pub fn told_hosts(&self) -> Option<String> {
        (!self.storage_hosts.is_empty()).then(|| self.storage_hosts.join(","))
    }
}

/// A network in the one form that the API server keeps.
fn network(text: &str) -> Result<String, String> {
    let found = range(text).map(|range| range.to_string());
    found.ok_or_else(|| "a CIDR range of one kind of addresses is wanted".to_owned())
}
