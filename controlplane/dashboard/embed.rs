//! Lists what is in `dist/`, for `files.rs` to include.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

#[expect(clippy::print_stdout, reason = "cargo reads it")]
fn main() -> Result<(), Box<dyn Error>> {
    let here = env::var_os("CARGO_MANIFEST_DIR").ok_or("cargo names no CARGO_MANIFEST_DIR")?;
    let dist = Path::new(&here).join("dist");
    let mut list = "[".to_owned();
    println!("cargo::rerun-if-changed=embed.rs");
    if cfg!(feature = "built") {
        println!("cargo::rerun-if-changed=dist");
        // A build that was kept has its old times: it is told by its name.
        println!("cargo::rerun-if-env-changed=SLUICE_DASHBOARD_BUILT");
        if !dist.join("index.html").is_file() {
            return Err(format!(
                "{} is not built: `./dev prepare`, or `npm ci && npm run build` there",
                dist.display()
            )
            .into());
        }
        for folder in [dist.clone(), dist.join("assets")] {
            let mut files: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
            files.sort_by_key(fs::DirEntry::path);
            for file in files.iter().map(fs::DirEntry::path).filter(|path| is_served(path)) {
                let name = file.strip_prefix(&dist)?.display().to_string();
                writeln!(
                    list,
                    "({name:?}, include_bytes!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {:?})) as &[u8]),",
                    format!("/dist/{name}")
                )?;
            }
        }
    }
    list.push(']');
    let out = env::var_os("OUT_DIR").ok_or("cargo names no OUT_DIR")?;
    fs::write(Path::new(&out).join("files.rs"), list)?;
    Ok(())
}

/// What a build notes for itself begins with a dot.
fn is_served(path: &Path) -> bool {
    path.is_file() && path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.'))
}
