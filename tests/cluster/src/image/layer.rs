//! The one layer of an image, as a folder.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use super::Extra;
use crate::{Error, closure, program::run};

const HOME: &str = "usr/local/bin";
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Fills `tree`; returns the path of the program as the image has it.
pub(super) async fn stage(tree: &Path, program: &Path, extras: &[Extra]) -> Result<PathBuf, Error> {
    let home = tree.join(HOME);
    fs::create_dir_all(&home).map_err(Error::at(&home))?;
    let name = program.file_name().ok_or_else(|| Error::Refused(format!("{} is no file", program.display())))?;
    let staged = home.join(name);
    copy(program, &staged)?;
    run("strip", &[&staged]).await?;
    for extra in extras {
        copy(&extra.source, &place_of(tree, &home, extra)?)?;
    }
    libraries(tree, &home).await?;
    account(tree)?;
    Ok(Path::new("/").join(HOME).join(name))
}

fn place_of(tree: &Path, home: &Path, extra: &Extra) -> Result<PathBuf, Error> {
    let refused = || Error::Refused(format!("{} has no place in an image", extra.source.display()));
    match &extra.place {
        Some(place) => Ok(tree.join(place.strip_prefix("/").map_err(|_| refused())?)),
        None => Ok(home.join(extra.source.file_name().ok_or_else(refused)?)),
    }
}

/// Adds what the loader needs for everything that lies in `home`.
async fn libraries(tree: &Path, home: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(home).map_err(Error::at(home))? {
        let path = entry.map_err(Error::at(home))?.path();
        if !path.is_file() || !is_elf(&path)? {
            continue;
        }
        for library in closure::of(&path).await? {
            if !closure::is_system(&library) {
                return Err(Error::Refused(format!("{} is not where a loader looks", library.display())));
            }
            let place = tree.join(library.strip_prefix("/").unwrap_or(&library));
            if !place.exists() {
                copy(&library, &place)?;
            }
        }
    }
    Ok(())
}

fn is_elf(path: &Path) -> Result<bool, Error> {
    use std::io::Read;
    let mut head = Vec::new();
    let file = fs::File::open(path).map_err(Error::at(path))?;
    file.take(4).read_to_end(&mut head).map_err(Error::at(path))?;
    Ok(head == b"\x7fELF")
}

/// The user of the image, a place for temporary files, and whom to trust on the internet.
fn account(tree: &Path) -> Result<(), Error> {
    let files = [
        ("etc/passwd", "root:x:0:0::/:/\nsluice:x:65532:65532::/:/\n"),
        ("etc/group", "root:x:0:\nsluice:x:65532:\n"),
        ("etc/nsswitch.conf", "passwd: files\nhosts: files dns\n"),
    ];
    for (name, text) in files {
        super::write(&tree.join(name), text.as_bytes())?;
    }
    let temporary = tree.join("tmp");
    fs::create_dir_all(&temporary).map_err(Error::at(&temporary))?;
    fs::set_permissions(&temporary, Permissions::from_mode(0o1777)).map_err(Error::at(&temporary))?;
    if Path::new(AUTHORITIES).is_file() {
        copy(Path::new(AUTHORITIES), &tree.join(AUTHORITIES.trim_start_matches('/')))?;
    }
    Ok(())
}

/// Copies a file with its mode, or a folder with all that is in it; links are followed.
fn copy(source: &Path, place: &Path) -> Result<(), Error> {
    if source.is_dir() {
        for entry in fs::read_dir(source).map_err(Error::at(source))? {
            let entry = entry.map_err(Error::at(source))?;
            copy(&entry.path(), &place.join(entry.file_name()))?;
        }
        return Ok(());
    }
    if let Some(home) = place.parent() {
        fs::create_dir_all(home).map_err(Error::at(home))?;
    }
    fs::copy(source, place).map_err(Error::at(source))?;
    let executable = fs::metadata(source).map_err(Error::at(source))?.permissions().mode() & 0o111 != 0;
    let mode = if executable { 0o755 } else { 0o644 };
    fs::set_permissions(place, Permissions::from_mode(mode)).map_err(Error::at(place))
}
