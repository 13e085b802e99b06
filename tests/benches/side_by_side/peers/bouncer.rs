//! A `PgBouncer` before a PostgreSQL, where it is installed.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::{Child, Command};

use super::PeerAddress;
use super::pgbench::installed;

/// Who it runs as where root would start it, which it refuses.
const NOBODY: u32 = 65_534;
const WITHIN: Duration = Duration::from_secs(30);

/// Ended when it is dropped.
pub(super) struct Bouncer {
    pub address: PeerAddress,
    _process: Child,
    _folder: TempDir,
}

impl Bouncer {
    /// None where it is not installed.
    pub async fn start(server: &PeerAddress) -> Option<Self> {
        let program = installed("pgbouncer")?;
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        let PeerAddress { host, port: behind, user, database, .. } = server;
        let settings = format!(
            "[databases]\n{database} = host={host} port={behind} dbname={database} user={user}\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = session\ndefault_pool_size = 100\nmax_client_conn = 100\n"
        );
        let file = folder.path().join("pgbouncer.ini");
        std::fs::write(&file, settings).unwrap();
        for (path, mode) in [(folder.path(), 0o755), (file.as_path(), 0o644)] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let mut command = Command::new(program);
        command.arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        if nix::unistd::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        let process = command.spawn().unwrap();
        let address = PeerAddress { host: "127.0.0.1".to_owned(), port, password: String::new(), ..server.clone() };
        let answers = async {
            while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(WITHIN, answers).await.expect("pgbouncer listens");
        Some(Self { address, _process: process, _folder: folder })
    }
}

/// A port that the system chose and nobody has now.
pub(super) fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}
