//! A Secret as a pod sees it: files that are links, all swapped at once.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use controlplane::platform::identity::Pems;

#[derive(Debug)]
pub struct Mount {
    folder: PathBuf,
    versions: AtomicU32,
}

impl Mount {
    pub fn new(folder: &Path) -> Self {
        fs::create_dir_all(folder).unwrap();
        for file in ["tls.crt", "tls.key", "ca.crt"] {
            symlink(Path::new("..data").join(file), folder.join(file)).unwrap();
        }
        Self { folder: folder.to_owned(), versions: AtomicU32::new(0) }
    }

    /// Another content, seen whole or not at all.
    pub fn swap(&self, pems: &Pems) {
        self.swap_raw(&pems.certificate, pems.key.expose(), &pems.authority);
    }

    pub fn swap_raw(&self, certificate: &str, key: &str, authority: &str) {
        let version = self.versions.fetch_add(1, Ordering::Relaxed);
        let name = format!("..{version}");
        let next = self.folder.join(&name);
        fs::create_dir_all(&next).unwrap();
        for (file, text) in [("tls.crt", certificate), ("tls.key", key), ("ca.crt", authority)] {
            fs::write(next.join(file), text).unwrap();
        }
        let link = self.folder.join("..data_tmp");
        symlink(&name, &link).unwrap();
        fs::rename(link, self.folder.join("..data")).unwrap();
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}
