//! A PostgreSQL beside the cluster: on the node's address where there is one, on a socket always.
//! It is for tests: nothing that it holds survives, so nothing is flushed to disk.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;
use tokio::process::Command;

use crate::{
    Error, Level,
    control::Control,
    layout::NODE,
    program::{Program, finish, mortal},
};

/// PostgreSQL refuses to run as root.
const NOBODY: u32 = 65_534;
const START_SECONDS: u64 = 60;

#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) program: Program,
    folder: PathBuf,
    level: Level,
}

impl Database {
    pub(crate) async fn start(control: &Control<'_>, postgres: &Path) -> Result<Self, Error> {
        let folder = control.layout.folder("postgres")?;
        let open = std::fs::Permissions::from_mode(0o711); // PostgreSQL's user passes through, and reads nothing
        std::fs::set_permissions(&control.layout.root, open).map_err(Error::at(&control.layout.root))?;
        if geteuid().is_root() {
            chown(&folder, Some(NOBODY), Some(NOBODY)).map_err(Error::at(&folder))?;
        }
        let data = folder.join("data");
        let mut create = unprivileged(postgres.join("bin/initdb"));
        create.arg("-D").arg(&data).args(["-U", "sluice", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"]);
        finish("initdb", create.current_dir(&folder)).await?;
        // What reaches the node's address is inside of this cluster.
        let rules = data.join("pg_hba.conf");
        std::fs::write(&rules, "local all all trust\nhost all all 10.0.0.0/8 trust\n").map_err(Error::at(&rules))?;
        let mut serve = unprivileged(postgres.join("bin/postgres"));
        let address = if control.level == Level::Node { NODE } else { "" };
        serve.arg("-D").arg(&data).arg("-k").arg(&folder).args(["-c", &format!("listen_addresses={address}")]);
        for setting in ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=400"] {
            serve.args(["-c", setting]);
        }
        let mut program = Program::start(control.layout, "postgres", serve)?;
        let ask = postgres.join("bin/pg_isready");
        let asks = (&ask, &folder);
        program
            .answers(START_SECONDS, || async move {
                let mut ask = Command::new(asks.0);
                finish("pg_isready", ask.arg("-q").arg("-h").arg(asks.1)).await.is_ok()
            })
            .await?;
        Ok(Self { program, folder, level: control.level })
    }

    /// As an administrator, by whoever runs on this machine.
    pub(crate) fn socket_url(&self) -> String {
        let folder = self.folder.display().to_string().replace('/', "%2F");
        format!("postgresql://sluice@{folder}:5432/postgres")
    }

    /// As it is reached from pods, where there are any.
    pub(crate) fn url(&self) -> String {
        match self.level {
            Level::Node => format!("postgresql://sluice@{NODE}:5432/postgres"),
            Level::ApiServer => self.socket_url(),
        }
    }
}

/// Root gives itself up; anybody else runs it as himself.
fn unprivileged(program: PathBuf) -> Command {
    if !geteuid().is_root() {
        return mortal(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--pdeathsig", "KILL", "--"]).arg(program);
    command
}
