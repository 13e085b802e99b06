//! The node: containerd, the kubelet and the rules of Services.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use kube::{Api, Client, runtime::wait::await_condition};
use nix::sys::statfs::{OVERLAYFS_SUPER_MAGIC, statfs};
use serde_json::json;
use tokio::{
    net::{TcpStream, UnixStream},
    process::Command,
    time::timeout,
};

use crate::{
    Error,
    control::Control,
    image,
    layout::{API_SERVICE, DNS_SERVICE, Layout, NODE, NODE_NAME, PODS, flag},
    program::{Program, wait},
};

const START_SECONDS: u64 = 60;
const PAUSE: &str = "sluice.dev/pause:1";

pub(crate) async fn containerd(control: &Control<'_>) -> Result<Program, Error> {
    let layout = control.layout;
    let mut command = Command::new("containerd");
    command.arg("--config").arg(layout.write("containerd.toml", containerd_config(control)?)?);
    let mut containerd = Program::start(layout, "containerd", command)?;
    let socket = layout.containerd_socket();
    let socket = &socket;
    containerd.answers(START_SECONDS, || async move { UnixStream::connect(socket).await.is_ok() }).await?;
    let pause = image::Recipe::new(PAUSE, control.pieces.kubernetes("pause"));
    let archive = layout.at("pause.tar");
    pause.build(&archive).await?;
    image::load(&layout.root, &archive).await?;
    Ok(containerd)
}

fn containerd_config(control: &Control<'_>) -> Result<String, Error> {
    let layout = control.layout;
    let plugins = control.pieces.cni().ok_or_else(|| Error::Refused("no network plugins".to_owned()))?;
    let snapshotter = snapshotter(&layout.root)?;
    let [root, socket, cni, optional] =
        [layout.at("containerd"), layout.containerd_socket(), layout.at("cni"), layout.at("containerd/optional")]
            .map(|path| path.display().to_string());
    let plugins = plugins.display();
    // restrict_oom_score_adj: where CAP_SYS_RESOURCE is missing, no sandbox starts without it.
    Ok(format!(
        r#"version = 2
root = "{root}"
state = "/run/containerd"
[grpc]
address = "{socket}"
[plugins."io.containerd.internal.v1.opt"]
path = "{optional}"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE}"
restrict_oom_score_adj = true
disable_apparmor = true
max_concurrent_downloads = 1
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{plugins}"
conf_dir = "{cni}"
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "{snapshotter}"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false
"#
    ))
}

/// Layers are stacked by the kernel, but not on a stack: there they are copied.
fn snapshotter(folder: &Path) -> Result<&'static str, Error> {
    let kind = statfs(folder).map_err(|error| Error::io(folder.display().to_string())(error.into()))?.filesystem_type();
    Ok(if kind == OVERLAYFS_SUPER_MAGIC { "native" } else { "overlayfs" })
}

pub(crate) async fn kubelet(control: &Control<'_>, client: &Client) -> Result<Program, Error> {
    let layout = control.layout;
    let serving = control.authority.server(&[NODE_NAME, NODE])?.store(layout, "kubelet")?;
    let mut command = control.command("kubelet");
    command
        .arg(flag("config", &kubelet_config(layout, &serving.certificate, &serving.key)?))
        .arg(flag("kubeconfig", &control.kubelet_config()?))
        .arg(flag("root-dir", &layout.folder("kubelet")?))
        .arg(flag("cert-dir", &layout.at("pki")))
        .args([format!("--hostname-override={NODE_NAME}"), format!("--node-ip={NODE}")]);
    let mut kubelet = Program::start(layout, "kubelet", command)?;
    let nodes: Api<Node> = Api::all(client.clone());
    let ready = await_condition(nodes, NODE_NAME, |node: Option<&Node>| node.is_some_and(is_ready));
    tokio::select! {
        ended = kubelet.ended() => return Err(ended),
        waited = timeout(Duration::from_secs(START_SECONDS), ready) => match waited {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return Err(Error::Refused(format!("node: {error}"))),
            Err(_) => return Err(Error::Late { what: "the node".to_owned(), seconds: START_SECONDS, detail: String::new() }),
        },
    }
    Ok(kubelet)
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn kubelet_config(layout: &Layout, certificate: &Path, key: &Path) -> Result<PathBuf, Error> {
    let config = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "address": NODE,
        "authentication": {
            "anonymous": {"enabled": false}, "webhook": {"enabled": false},
            "x509": {"clientCAFile": layout.at("pki/ca.crt")},
        },
        "authorization": {"mode": "AlwaysAllow"},
        "tlsCertFile": certificate, "tlsPrivateKeyFile": key,
        "containerRuntimeEndpoint": format!("unix://{}", layout.containerd_socket().display()),
        "cgroupDriver": "cgroupfs",
        "cgroupsPerQOS": false, "enforceNodeAllocatable": [], "failCgroupV1": false,
        "failSwapOn": false, "localStorageCapacityIsolation": false, "oomScoreAdj": 0,
        "clusterDNS": [DNS_SERVICE], "clusterDomain": "cluster.local",
        "resolvConf": layout.at("resolv.conf"),
        "podLogsDir": layout.folder("pods")?, "volumePluginDir": layout.folder("kubelet/plugins")?,
        "evictionHard": {"memory.available": "1Mi", "nodefs.available": "0%", "imagefs.available": "0%"},
        "imageGCHighThresholdPercent": 100, "serializeImagePulls": false, "maxPods": 250,
        "kubeAPIQPS": 200, "kubeAPIBurst": 400,
    });
    layout.write("kubelet.json", config.to_string())
}

/// Services: rules of the node, and proof that one answers.
pub(crate) async fn proxy(control: &Control<'_>) -> Result<Program, Error> {
    let config = control.kubeconfig("run/proxy", "system:kube-proxy", None)?;
    let mut command = control.command("kube-proxy");
    command
        .arg(flag("kubeconfig", &config))
        .args([format!("--hostname-override={NODE_NAME}"), format!("--cluster-cidr={PODS}")])
        .args(["--proxy-mode=iptables", "--iptables-min-sync-period=100ms"])
        .args([
            "--conntrack-max-per-core=0",
            "--conntrack-tcp-timeout-established=0",
            "--conntrack-tcp-timeout-close-wait=0",
        ]);
    let mut proxy = Program::start(control.layout, "kube-proxy", command)?;
    proxy
        .answers(START_SECONDS, || async {
            let connected = timeout(Duration::from_secs(1), TcpStream::connect((API_SERVICE, 443))).await;
            matches!(connected, Ok(Ok(_)))
        })
        .await?;
    Ok(proxy)
}

/// A pod of the namespace `default` is admitted once it has its account.
pub(crate) async fn admits(client: &Client) -> Result<(), Error> {
    let accounts: &Api<ServiceAccount> = &Api::namespaced(client.clone(), "default");
    wait("the account of the namespace default", START_SECONDS, || async move { accounts.get("default").await.is_ok() })
        .await
}
