//! What storage integrations reach from a data plane, as this installation is set up.

use clap::Args;
use contract::wire::setting;

// No documentation, which would be taken for that of the program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct StorageReach {
    /// Stores outside of the public internet that storage integrations of data planes reach: `host` or `host:port`, each
    /// as the URL has it.
    #[arg(
        id = "storage_hosts",
        long = "storage-hosts",
        value_name = "HOST",
        env = setting::STORAGE_HOSTS,
        value_delimiter = ','
    )]
    pub hosts: Vec<String>,
}

impl StorageReach {
    /// The hosts as a data plane is told of them; none: it is told nothing.
    pub fn told_hosts(&self) -> Option<String> {
        (!self.hosts.is_empty()).then(|| self.hosts.join(","))
    }
}
