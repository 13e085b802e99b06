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

/// The recipe of an image.
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
        let name = canonical(&self.name)?;
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
        let manifest = keep(&blobs, &manifest, MANIFEST)?;
        let named = json!({
            "mediaType": manifest.kind, "digest": manifest.digest, "size": manifest.size,
            "annotations": {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name},
        });
        let index = json!({"schemaVersion": 2, "manifests": [named]});
        write(&blobs.join("index.json"), index.to_string().as_bytes())?;
        write(&blobs.join("oci-layout"), br#"{"imageLayoutVersion":"1.0.0"}"#)?;
        pack(&blobs, archive).await
    }
}

/// As a node looks it up: a name without a registry is in the one that docker made the default.
fn canonical(name: &str) -> Result<String, Error> {
    let (path, _) = name
        .rsplit_once(':')
        .filter(|(_, tag)| !tag.is_empty() && !tag.contains('/'))
        .ok_or_else(|| Error::Refused(format!("{name}: an image's name ends in a tag, as in {name}:dev")))?;
    Ok(match path.split_once('/') {
        Some((registry, _)) if registry.contains(['.', ':']) || registry == "localhost" => name.to_owned(),
        Some(_) => format!("docker.io/{name}"),
        None => format!("docker.io/library/{name}"),
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_a_node_looks_up() {
        let cases = [
            ("sluice-operator:dev", "docker.io/library/sluice-operator:dev"),
            ("acme/operator:dev", "docker.io/acme/operator:dev"),
            ("sluice.dev/pause:1", "sluice.dev/pause:1"),
            ("localhost:5000/x:1", "localhost:5000/x:1"),
        ];
        for (name, expected) in cases {
            assert_eq!(canonical(name).unwrap(), expected);
        }
        for untagged in ["sluice-operator", "localhost:5000/x", "x:"] {
            assert!(canonical(untagged).unwrap_err().to_string().contains("ends in a tag"), "{untagged}");
        }
    }

    async fn built(folder: &Path) -> Vec<u8> {
        let archive = folder.join("image.tar");
        let program = std::env::current_exe().unwrap();
        let notes = folder.join("notes");
        fs::write(&notes, "read me").unwrap();
        let extra = Extra { source: notes, place: Some("/usr/share/notes".into()) };
        Recipe::new("x:1", program).with([extra]).build(&archive).await.unwrap();
        fs::read(&archive).unwrap()
    }

    #[tokio::test]
    async fn the_same_program_makes_the_same_bytes() {
        let [one, other] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        assert!(built(one.path()).await == built(other.path()).await);
    }

    #[tokio::test]
    async fn a_layer_runs_by_itself() {
        let folder = tempfile::tempdir().unwrap();
        let program = std::env::current_exe().unwrap();
        let entry = layer::stage(folder.path(), &program, &[]).await.unwrap();
        assert_eq!(entry, Path::new("/usr/local/bin").join(program.file_name().unwrap()));
        for name in ["etc/passwd", "etc/group", "tmp"] {
            assert!(folder.path().join(name).exists(), "{name}");
        }
        for library in crate::closure::of(&program).await.unwrap() {
            assert!(folder.path().join(library.strip_prefix("/").unwrap()).is_file(), "{}", library.display());
        }
    }
}
