//! Errors of a cluster: always what was being done, and where more is written.

use std::{io, path::Path, process::ExitStatus};

use crate::pieces::Missing;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{what}: {source}")]
    Io { what: String, source: io::Error },
    #[error("{what}: {source}")]
    Kube { what: String, source: Box<kube::Error> },
    #[error("certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    #[error("{program} failed ({status}): {output}")]
    Program { program: String, status: ExitStatus, output: String },
    #[error("{0}")]
    Ended(String),
    #[error("waited {seconds} s for {what}{detail}")]
    Late { what: String, seconds: u64, detail: String },
    #[error("missing:\n{}", list(.0))]
    Missing(Vec<Missing>),
    #[error("{0}")]
    Refused(String),
}

impl Error {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        Self::io(path.display().to_string())
    }

    pub(crate) fn kube(what: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let what = what.into();
        move |source| Self::Kube { what, source: Box::new(source) }
    }
}

fn list(missing: &[Missing]) -> String {
    missing.iter().map(|one| format!("  {}: {}", one.what, one.fix)).collect::<Vec<_>>().join("\n")
}
