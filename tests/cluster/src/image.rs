//! Images without docker: an OCI layout of one layer in a tar archive, and its way onto a node.
//!
//! The layer holds a program in `/usr/local/bin`, what it wants beside it, the libraries that the
//! loader will look for, the certificates of public authorities, and a user. Nothing else: no shell.

mod layer;

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{Error, layout::Layout, program::run};

/// Who a program runs as, unless its pod says otherwise.
const USER: &str = "65532:65532";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

/// A file or folder of an image that is not the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extra {
    pub source: PathBuf,
    /// Absolute; without it the file lies beside the program.
    pub place: Option<PathBuf>,
}

/// What an image is made of.
#[derive(Debug, Clone)]
pub struct Recipe {
    name: String,
    program: PathBuf,
    extras: Vec<Extra>,
}

impl Recipe {
    /// `name` as pods name it, with a tag: `sluice.dev/operator:dev`.
    pub fn new(name: impl Into<String>, program: impl Into<PathBuf>) -> Self {
        Self { name: name.into(), program: program.into(), extras: Vec::new() }
    }

    pub fn with(mut self, extras: impl IntoIterator<Item = Extra>) -> Self {
        self.extras.extend(extras);
        self
    }

    /// Writes the archive. The same program makes the same bytes.
    pub async fn build(&self, archive: &Path) -> Result<(), Error> {
        if !self.name.split('/').next_back().is_some_and(|last| last.contains(':')) {
            return Err(Error::Refused(format!(
                "{}: an image's name ends in a tag, as in {}:dev",
                self.name, self.name
            )));
        }
        let home = archive.parent().filter(|home| !home.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(home).map_err(Error::at(home))?;
        let work = tempfile::tempdir_in(home).map_err(Error::at(home))?;
        let tree = work.path().join("tree");
        let entry = layer::stage(&tree, &self.program, &self.extras).await?;
        let layer = work.path().join("layer");
        pack(&tree, &layer).await?;

        let blobs = work.path().join("layout");
        let layer = keep_file(&blobs, &layer, LAYER)?;
        let config = keep(&blobs, &config(&entry, &layer.digest), CONFIG)?;
        let manifest =
            json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config.json(), "layers": [layer.json()]});
        let mut manifest = keep(&blobs, &manifest, MANIFEST)?.json();
        manifest["annotations"] =
            json!({"io.containerd.image.name": self.name, "org.opencontainers.image.ref.name": self.name});
        let index = json!({"schemaVersion": 2, "manifests": [manifest]});
        write(&blobs.join("index.json"), index.to_string().as_bytes())?;
        write(&blobs.join("oci-layout"), br#"{"imageLayoutVersion":"1.0.0"}"#)?;
        pack(&blobs, archive).await
    }
}

/// Imports an archive into the containerd of the cluster in `folder`.
pub async fn load(folder: &Path, archive: &Path) -> Result<(), Error> {
    let socket = Layout::new(folder).containerd_socket();
    let words = ["--address", "--namespace", "images"].map(OsString::from);
    let [address, namespace, images] = words;
    let arguments = [address, socket.into(), namespace, "k8s.io".into(), images, "import".into(), archive.into()];
    run("ctr", &arguments).await.map(drop)
}

struct Blob {
    kind: &'static str,
    digest: String,
    size: u64,
}

impl Blob {
    fn json(&self) -> Value {
        json!({"mediaType": self.kind, "digest": self.digest, "size": self.size})
    }
}

fn config(entry: &Path, layer: &str) -> Value {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    json!({
        "architecture": architecture, "os": "linux",
        "config": {
            "User": USER, "Entrypoint": [entry], "WorkingDir": "/",
            "Env": ["PATH=/usr/local/bin", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"],
        },
        "rootfs": {"type": "layers", "diff_ids": [layer]},
    })
}

fn keep(blobs: &Path, value: &Value, kind: &'static str) -> Result<Blob, Error> {
    let text = value.to_string();
    let digest = hex::encode(Sha256::digest(&text));
    write(&blobs.join("blobs/sha256").join(&digest), text.as_bytes())?;
    Ok(Blob { kind, digest: format!("sha256:{digest}"), size: text.len() as u64 })
}

fn keep_file(blobs: &Path, file: &Path, kind: &'static str) -> Result<Blob, Error> {
    let digest = digest_of(file).map_err(Error::at(file))?;
    let place = blobs.join("blobs/sha256").join(&digest);
    write(&place, b"")?;
    fs::rename(file, &place).map_err(Error::at(&place))?;
    let size = fs::metadata(&place).map_err(Error::at(&place))?.len();
    Ok(Blob { kind, digest: format!("sha256:{digest}"), size })
}

fn digest_of(file: &Path) -> io::Result<String> {
    let mut file = File::open(file)?;
    let mut sum = Sha256::new();
    let mut part = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut part)?;
        if read == 0 {
            return Ok(hex::encode(sum.finalize()));
        }
        sum.update(part.get(..read).unwrap_or_default());
    }
}

fn write(place: &Path, bytes: &[u8]) -> Result<(), Error> {
    if let Some(home) = place.parent() {
        fs::create_dir_all(home).map_err(Error::at(home))?;
    }
    fs::write(place, bytes).map_err(Error::at(place))
}

/// An archive that depends on nothing but the content: order, times and owners are fixed.
async fn pack(folder: &Path, archive: &Path) -> Result<(), Error> {
    let fixed = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu", "-cf"];
    let mut arguments: Vec<OsString> = fixed.iter().map(OsString::from).collect();
    arguments.extend([archive.into(), "-C".into(), folder.into(), ".".into()]);
    run("tar", &arguments).await.map(drop)
}
