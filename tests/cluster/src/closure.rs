//! The loader's closure: every library that a program needs, as the loader of this machine finds it.

use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::Error;

/// Where a loader looks that was told nothing: libraries keep their place there.
const SYSTEM: [&str; 4] = ["/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"];

/// Libraries of `program` outside of its own folder, each at a path where its loader looks.
///
/// Libraries beside the program must be found by the program itself: an image has no
/// `LD_LIBRARY_PATH`, so none is given here.
pub(crate) async fn of(program: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut ldd = Command::new("ldd");
    let done = ldd.arg(program).env_remove("LD_LIBRARY_PATH").env("LC_ALL", "C").output().await;
    let done = done.map_err(Error::io("ldd"))?;
    let said = String::from_utf8_lossy(&done.stdout);
    let excuse = String::from_utf8_lossy(&done.stderr);
    if excuse.contains("not a dynamic executable") || said.contains("statically linked") {
        return Ok(Vec::new());
    }
    if !done.status.success() {
        let output = excuse.trim().to_owned();
        return Err(Error::Program { program: format!("ldd {}", program.display()), status: done.status, output });
    }
    let beside = program.parent().unwrap_or(Path::new("/"));
    let mut needed = Vec::new();
    for line in said.lines() {
        if let Some(path) = library(line, program)?
            && !path.starts_with(beside)
        {
            needed.push(path);
        }
    }
    Ok(needed)
}

/// One line of ldd: `name => path (address)`, or `path (address)` for the loader; the kernel's own
/// has no path.
fn library(line: &str, program: &Path) -> Result<Option<PathBuf>, Error> {
    let found = line.split("=>").last().unwrap_or_default().trim();
    if found.starts_with("not found") {
        let name = line.split("=>").next().unwrap_or_default().trim();
        let program = program.file_name().unwrap_or_default().display();
        return Err(Error::Refused(format!(
            "{program} does not find {name}: name it as a file of the image, and link with rpath $ORIGIN"
        )));
    }
    let path = found.split(" (").next().unwrap_or_default();
    if !path.starts_with('/') {
        return Ok(None);
    }
    Ok(Some(PathBuf::from(path)))
}

/// Whether a loader that was told nothing finds a library at `path`.
pub(crate) fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|folder| path.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_a_library_or_none() {
        let cases = [
            ("\tlinux-vdso.so.1 (0x00007ffd)", None),
            ("\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)", Some("/lib/x86_64-linux-gnu/libc.so.6")),
            ("\t/lib64/ld-linux-x86-64.so.2 (0x00007f)", Some("/lib64/ld-linux-x86-64.so.2")),
        ];
        for (line, expected) in cases {
            assert_eq!(library(line, Path::new("p")).unwrap(), expected.map(PathBuf::from), "{line}");
        }
    }

    #[test]
    fn a_library_that_is_not_found_is_refused_by_name() {
        let error = library("\tlibduckdb.so => not found", Path::new("/x/dataplane")).unwrap_err();
        assert!(error.to_string().starts_with("dataplane does not find libduckdb.so"), "{error}");
    }

    #[tokio::test]
    async fn a_program_of_this_machine_has_its_loader_and_its_c_library() {
        let needed = of(&std::env::current_exe().unwrap()).await.unwrap();
        assert!(needed.iter().any(|path| path.to_string_lossy().contains("/ld-")), "{needed:?}");
        assert!(needed.iter().any(|path| path.to_string_lossy().contains("/libc.so")), "{needed:?}");
        assert!(needed.iter().all(|path| is_system(path)), "{needed:?}");
    }
}
