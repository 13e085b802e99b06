//! The cluster: what is started, in which order, and what a command is told of it.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    pin::pin,
    time::Instant,
};

use futures::{FutureExt, future::select_all};
use kube::Client;

use crate::{
    Error, Level, Pieces,
    authority::Authority,
    control::Control,
    database::Database,
    dns, image,
    layout::{Layout, NODE},
    network, node,
    program::Program,
    volumes,
};

#[derive(Debug, Clone)]
pub struct Options {
    pub level: Level,
    pub pieces: Pieces,
    /// An empty folder, which the cluster may fill: whoever made it removes it.
    pub folder: PathBuf,
    /// Archives that the node shall have, made by [`image`].
    pub images: Vec<PathBuf>,
    /// Is told what was reached, and how long after the start.
    pub progress: fn(&str),
}

/// A cluster that runs. Dropped, its programs are killed.
pub struct Cluster {
    layout: Layout,
    level: Level,
    client: Client,
    database: Option<Database>,
    programs: Vec<Program>,
}

impl Cluster {
    /// Starts it, and returns when a pod can run (or, without nodes, when objects are accepted).
    ///
    /// With a node it must be alone in its network, mount and process namespaces, as
    /// `cluster run` makes them.
    pub async fn start(options: Options) -> Result<Self, Error> {
        let missing = options.pieces.missing(options.level);
        if !missing.is_empty() {
            return Err(Error::Missing(missing));
        }
        let steps = Steps { began: Instant::now(), said: options.progress };
        let layout = Layout::new(&options.folder);
        let authority = Authority::new()?;
        let control = Control::new(&layout, &options.pieces, options.level, &authority)?;
        if options.level == Level::Node {
            network::inside(&layout).await?;
        }
        let database = match &options.pieces.postgres {
            Some(postgres) => Some(Database::start(&control, postgres).await?),
            None => None,
        };
        let etcd = control.etcd().await?;
        let (server, client) = control.api_server().await?;
        steps.reached("API server");
        let mut programs = vec![etcd, server, control.controllers()?];
        if options.level == Level::Node {
            programs.extend(add_node(&control, &client, &options.images, &steps).await?);
        }
        node::admits(&client).await?;
        drop(control);
        Ok(Self { layout, level: options.level, client, database, programs })
    }

    /// As its administrator.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// What a command that uses the cluster finds in its environment.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let mut variables: Vec<(&'static str, OsString)> = vec![
            ("KUBECONFIG", self.layout.kubeconfig().into()),
            ("SLUICE_TEST_KUBECONFIG", self.layout.kubeconfig().into()),
            ("SLUICE_TEST_CLUSTER", self.layout.root.clone().into()),
            ("SLUICE_TEST_AUDIT_LOG", self.layout.audit_log().into()),
        ];
        if self.level == Level::Node {
            variables.push(("SLUICE_TEST_NODE_ADDRESS", NODE.into()));
        }
        if let Some(database) = &self.database {
            variables.push(("SLUICE_TEST_DATABASE_URL", database.url().into()));
            variables.push(("SLUICE_TEST_POSTGRES", database.socket_url().into()));
        }
        variables
    }

    /// Puts an image on the node.
    pub async fn load(&self, archive: &Path) -> Result<(), Error> {
        image::load(&self.layout.root, archive).await
    }

    /// Keeps the cluster whole; returns when one of its programs has ended, which none should.
    pub async fn watch(&mut self) -> Error {
        let mut ends = vec![volumes::provision(&self.layout, &self.client).boxed_local()];
        if self.level == Level::ApiServer {
            ends.clear(); // a claim stays pending: no pod will use it
        }
        ends.extend(self.database.iter_mut().map(|database| database.program.ended().boxed_local()));
        ends.extend(self.programs.iter_mut().map(|program| program.ended().boxed_local()));
        let (error, ..) = pin!(select_all(ends)).await;
        error
    }

    /// Kills its programs, the youngest first, and waits for each.
    pub async fn stop(self) {
        for program in self.programs.into_iter().rev().chain(self.database.map(|database| database.program)) {
            program.stop().await;
        }
    }
}

async fn add_node(
    control: &Control<'_>,
    client: &Client,
    images: &[PathBuf],
    steps: &Steps,
) -> Result<Vec<Program>, Error> {
    let mut programs = vec![control.scheduler()?, node::containerd(control).await?];
    for archive in images {
        image::load(&control.layout.root, archive).await?;
        steps.reached(&format!("image {}", archive.file_name().unwrap_or_default().display()));
    }
    volumes::class(client).await?;
    programs.push(node::kubelet(control, client).await?);
    steps.reached("node");
    programs.push(node::proxy(control).await?); // asks for the node, and for half a minute if there is none
    programs.push(dns::start(control, client).await?);
    steps.reached("Services");
    Ok(programs)
}

struct Steps {
    began: Instant,
    said: fn(&str),
}

impl Steps {
    fn reached(&self, what: &str) {
        (self.said)(&format!("{what} ({:.1} s)", self.began.elapsed().as_secs_f32()));
    }
}
