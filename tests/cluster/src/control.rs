//! etcd, the API server, the controllers and the scheduler.

use std::{
    net::{Ipv4Addr, TcpListener},
    path::PathBuf,
};

use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::json;
use tokio::{net::TcpStream, process::Command};

use crate::{
    Error, Level, Pieces,
    authority::{Authority, token_key},
    layout::{API_SERVICE, Layout, NODE, NODE_NAME, SERVICES, flag},
    program::{Program, mortal},
};

const START_SECONDS: u64 = 60;

#[derive(Debug)]
pub(crate) struct Control<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) pieces: &'a Pieces,
    pub(crate) level: Level,
    pub(crate) authority: &'a Authority,
    /// Where the API server is, and the ports behind it.
    address: &'static str,
    port: u16,
    etcd: u16,
    etcd_peers: u16,
}

impl<'a> Control<'a> {
    pub(crate) fn new(
        layout: &'a Layout,
        pieces: &'a Pieces,
        level: Level,
        authority: &'a Authority,
    ) -> Result<Self, Error> {
        // A network of its own has every port; one that is shared has those that the system chooses.
        let (address, [port, etcd, etcd_peers]) = match level {
            Level::Node => (NODE, [6443, 2379, 2380]),
            Level::ApiServer => ("127.0.0.1", free_ports()?),
        };
        Ok(Self { layout, pieces, level, authority, address, port, etcd, etcd_peers })
    }

    pub(crate) fn server(&self) -> String {
        format!("https://{}:{}", self.address, self.port)
    }

    /// A kubeconfig for one of the cluster's own programs, or for people.
    pub(crate) fn kubeconfig(&self, name: &str, user: &str, group: Option<&str>) -> Result<PathBuf, Error> {
        let identity = self.authority.client(user, group)?;
        self.layout.write(name, self.authority.kubeconfig(&self.server(), &identity))
    }

    pub(crate) fn command(&self, name: &str) -> Command {
        let program = self.pieces.kubernetes(name);
        match self.level {
            Level::Node => Command::new(program),
            Level::ApiServer => mortal(program),
        }
    }

    pub(crate) async fn etcd(&self) -> Result<Program, Error> {
        let mut command = self.command("etcd");
        let clients = format!("http://127.0.0.1:{}", self.etcd);
        let peers = format!("http://127.0.0.1:{}", self.etcd_peers);
        command
            .args(["--name=etcd", "--unsafe-no-fsync", "--log-level=warn", "--quota-backend-bytes=2147483648"])
            .arg(flag("data-dir", &self.layout.at("etcd")))
            .args([format!("--listen-client-urls={clients}"), format!("--advertise-client-urls={clients}")])
            .args([format!("--listen-peer-urls={peers}"), format!("--initial-advertise-peer-urls={peers}")])
            .arg(format!("--initial-cluster=etcd={peers}"));
        let mut etcd = Program::start(self.layout, "etcd", command)?;
        let port = self.etcd;
        etcd.answers(START_SECONDS, || async move { TcpStream::connect(("127.0.0.1", port)).await.is_ok() }).await?;
        Ok(etcd)
    }

    pub(crate) async fn api_server(&self) -> Result<(Program, Client), Error> {
        let admin = self.kubeconfig("kubeconfig", "admin", Some("system:masters"))?;
        let mut server = Program::start(self.layout, "kube-apiserver", self.api_server_command()?)?;
        let client = client(&admin).await?;
        let asked = &client;
        server.answers(START_SECONDS, || async move { ready(asked).await }).await?;
        Ok((server, client))
    }

    fn api_server_command(&self) -> Result<Command, Error> {
        let names = ["kubernetes.default.svc", "kubernetes.default", "localhost", self.address, API_SERVICE];
        let serving = self.authority.server(&names)?.store(self.layout, "api-server")?;
        let kubelet =
            self.authority.client("api-server", Some("system:masters"))?.store(self.layout, "api-server-client")?;
        let tokens = token_key(self.layout)?;
        let policy = json!({
            "apiVersion": "audit.k8s.io/v1", "kind": "Policy",
            "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}],
        });
        let mut command = self.command("kube-apiserver");
        command
            .args([format!("--bind-address={}", self.address), format!("--advertise-address={}", self.address)])
            .arg(format!("--secure-port={}", self.port))
            .arg(format!("--etcd-servers=http://127.0.0.1:{}", self.etcd))
            .arg(format!("--service-cluster-ip-range={SERVICES}"))
            .args([
                "--authorization-mode=Node,RBAC",
                "--enable-admission-plugins=NodeRestriction",
                "--allow-privileged",
            ])
            .args(["--service-account-issuer=https://kubernetes.default.svc", "--max-requests-inflight=2000"])
            .arg(flag("service-account-key-file", &tokens.certificate))
            .arg(flag("service-account-signing-key-file", &tokens.key))
            .arg(flag("client-ca-file", &self.authority.store(self.layout)?))
            .arg(flag("tls-cert-file", &serving.certificate))
            .arg(flag("tls-private-key-file", &serving.key))
            .arg(flag("cert-dir", &self.layout.at("pki")))
            .arg(flag("kubelet-client-certificate", &kubelet.certificate))
            .arg(flag("kubelet-client-key", &kubelet.key))
            .args(["--kubelet-preferred-address-types=InternalIP", "--audit-log-maxsize=4096"])
            .arg(flag("audit-policy-file", &self.layout.write("audit-policy", policy.to_string())?))
            .arg(flag("audit-log-path", &self.layout.audit_log()));
        if self.level == Level::ApiServer {
            command.arg("--endpoint-reconciler-type=none"); // an endpoint may not be loopback
        }
        Ok(command)
    }

    pub(crate) fn controllers(&self) -> Result<Program, Error> {
        let config = self.kubeconfig("run/controllers", "system:kube-controller-manager", None)?;
        let mut command = self.command("kube-controller-manager");
        command
            .arg(flag("kubeconfig", &config))
            .arg(flag("service-account-private-key-file", &self.layout.at("pki/tokens.key")))
            .arg(flag("root-ca-file", &self.layout.at("pki/ca.crt")))
            .args(["--use-service-account-credentials", "--leader-elect=false", "--secure-port=0"])
            .args(["--kube-api-qps=1000", "--kube-api-burst=1000"]);
        Program::start(self.layout, "kube-controller-manager", command)
    }

    pub(crate) fn scheduler(&self) -> Result<Program, Error> {
        let config = self.kubeconfig("run/scheduler", "system:kube-scheduler", None)?;
        let mut command = self.command("kube-scheduler");
        command.arg(flag("kubeconfig", &config)).args([
            "--leader-elect=false",
            "--secure-port=0",
            "--kube-api-qps=1000",
            "--kube-api-burst=1000",
        ]);
        Program::start(self.layout, "kube-scheduler", command)
    }

    /// Kubeconfig of the kubelet, in the group that the Node authorizer looks for.
    pub(crate) fn kubelet_config(&self) -> Result<PathBuf, Error> {
        self.kubeconfig("run/kubelet", &format!("system:node:{NODE_NAME}"), Some("system:nodes"))
    }
}

async fn client(kubeconfig: &std::path::Path) -> Result<Client, Error> {
    let refused = |error: &dyn std::fmt::Display| Error::Refused(format!("{}: {error}", kubeconfig.display()));
    let config = Kubeconfig::read_from(kubeconfig).map_err(|error| refused(&error))?;
    let config =
        Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.map_err(|error| refused(&error))?;
    Client::try_from(config).map_err(Error::kube("client"))
}

async fn ready(client: &Client) -> bool {
    let Ok(request) = http::Request::get("/readyz").body(Vec::new()) else { return false };
    client.request_text(request).await.is_ok()
}

/// Three ports of this machine that nobody listens on now.
fn free_ports() -> Result<[u16; 3], Error> {
    let free = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Error::io("a free port"));
    let held = [free()?, free()?, free()?]; // all held at once, so that no two are the same
    let [a, b, c] = held.each_ref().map(|listener| listener.local_addr().map(|address| address.port()));
    let port = |port: std::io::Result<u16>| port.map_err(Error::io("a free port"));
    Ok([port(a)?, port(b)?, port(c)?])
}
