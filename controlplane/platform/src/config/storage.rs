//! How far storage integrations may reach: whoever runs the installation says so, for all organizations.

use std::path::PathBuf;

use contract::wire::setting;

// The setting. No documentation, which would be taken for that of the program.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct StorageSettings {
    /// A folder of this machine: storage integrations of the kind `file` name it or a folder below it. Absent, and where
    /// environments are resources of Kubernetes: there are none of the kind.
    #[arg(long, env = "SLUICE_STORAGE_FOLDER")]
    pub storage_folder: Option<PathBuf>,
    /// Stores and databases outside of the public internet that storage integrations may name: `host` or `host:port`,
    /// each as a URL has it. They may be asked without TLS.
    #[arg(long, env = setting::STORAGE_HOSTS, value_delimiter = ',')]
    pub storage_hosts: Vec<String>,
    /// Storage integrations may use the credentials that a data plane's surroundings give it, such as its service
    /// account's role. Whoever manages them then reaches whatever that role does.
    #[arg(long, env = setting::STORAGE_AMBIENT)]
    pub storage_ambient: bool,
    /// Secrets of Kubernetes, beside environments, that storage integrations may take an access key or a password from.
    /// Each says by an annotation which environments may use it. Absent: none is read.
    #[arg(long, env = "SLUICE_STORAGE_SECRETS", value_delimiter = ',')]
    pub storage_secrets: Vec<String>,
}
