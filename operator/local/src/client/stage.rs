//! `sluice stage`: files of stages are listed, put there, taken from there and removed.
//!
//! A file that is put there comes whole or not at all, and so does one that is taken: an interrupt leaves nothing.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Subcommand;
use futures::StreamExt;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::load::{FileBody, bar, body};
use super::output::Columns;
use super::{Api, Failure, Group, ShownAnswer};

pub type Args = Group<Wanted>;

#[derive(Debug, Subcommand)]
pub enum Wanted {
    /// List the files of a stage, by path.
    Ls {
        /// As @stage, @schema.stage, @~ or @%table; behind a slash, how their paths begin.
        stage: StageLocation,
    },
    /// Put a file into a stage, in place of one of that path.
    Put {
        /// The file; `-` is standard input.
        file: PathBuf,
        /// As @stage/path; behind @stage, or a slash at its end, goes the file's own name.
        stage: StageLocation,
    },
    /// Take a file from a stage.
    Get {
        /// As @stage/path.
        stage: StageLocation,
        /// Where it goes, which is not there yet; `-` is standard output [default: the file's own name].
        file: Option<PathBuf>,
    },
    /// Remove a file from a stage.
    Rm {
        /// As @stage/path.
        stage: StageLocation,
    },
}

/// A stage, and a path below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageLocation {
    stage: String,
    path: String,
}

impl FromStr for StageLocation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (stage, path) = text.split_once('/').unwrap_or((text, ""));
        let stage = stage.strip_prefix('@').unwrap_or_default();
        // parts of an address that are dots lead elsewhere
        if stage.chars().all(|c| c == '.') {
            return Err("a stage is written @stage or @schema.stage, a file in it @stage/path".to_owned());
        }
        Ok(Self { stage: stage.to_owned(), path: path.to_owned() })
    }
}

const LISTED: Columns = "path, bytes, md5, modified_at";
const GOT: Columns = "path, bytes, file";
const REMOVED: Columns = "path, removed";

pub async fn run(args: Args) -> Result<(), Failure> {
    args.output.may_leave()?;
    let api = args.access.api()?.for_files()?;
    let told = tokio::select! {
        told = done(&api, args.wanted) => told?,
        _ = tokio::signal::ctrl_c() => return Err(Failure::Interrupted),
    };
    told.map_or(Ok(()), |told| told.show(args.output))
}

/// What is to be shown; nothing where the file itself went to standard output.
async fn done(api: &Api, wanted: Wanted) -> Result<Option<ShownAnswer>, Failure> {
    let environment = api.environment().await?;
    Ok(match wanted {
        Wanted::Ls { stage } => {
            let mut told = api.get(&format!("{environment}{}", listing(&stage)?)).await?;
            let Some(Value::Array(files)) = told.get_mut("files").map(Value::take) else {
                return Err(Failure::Broken("the answer cannot be read: it has no files".to_owned()));
            };
            Some(ShownAnswer::list(files, LISTED))
        }
        Wanted::Put { file, stage } => {
            let place = format!("{environment}{}", address(&named(stage, &file)?)?);
            let FileBody { body, length, bar: _ } = body(&file).await?;
            let request =
                api.request(Method::PUT, &place).header(http::header::CONTENT_TYPE, "application/octet-stream");
            let request = match length {
                Some(length) => request.header(http::header::CONTENT_LENGTH, length),
                None => request,
            };
            Some(ShownAnswer::record(api.record(request.body(body)).await?, LISTED))
        }
        Wanted::Get { stage, file } => {
            let place = format!("{environment}{}", address(&stage)?);
            let file = file.unwrap_or_else(|| PathBuf::from(own_name(&stage.path)));
            got(api, api.request(Method::GET, &place), &file).await?.map(|bytes| {
                let told = json!({"path": stage.path, "bytes": bytes, "file": file.display().to_string()});
                ShownAnswer::record(told, GOT)
            })
        }
        Wanted::Rm { stage } => {
            let place = format!("{environment}{}", address(&stage)?);
            Some(ShownAnswer::record(api.delete(&place).await?, REMOVED))
        }
    })
}

/// The last part of a path.
fn own_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The place with the name of the file behind it, if it names no file.
fn named(at: StageLocation, file: &Path) -> Result<StageLocation, Failure> {
    if !at.path.is_empty() && !at.path.ends_with('/') {
        return Ok(at);
    }
    let name = file.file_name().and_then(|name| name.to_str()).filter(|name| *name != "-");
    let name = name.ok_or_else(|| Failure::Usage("name the file in the stage, as @stage/path".to_owned()))?;
    Ok(StageLocation { path: format!("{}{name}", at.path), ..at })
}

/// Path and query behind the environment's, for the list of a stage's files.
fn listing(at: &StageLocation) -> Result<String, Failure> {
    let mut url = behind(&["stages", &at.stage, "files"])?;
    if !at.path.is_empty() {
        url.query_pairs_mut().append_pair("prefix", &at.path);
    }
    Ok(url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path())))
}

/// The path behind the environment's, for a file: its own path is one part of that.
fn address(at: &StageLocation) -> Result<String, Failure> {
    if at.path.chars().all(|c| c == '.') {
        return Err(Failure::Usage("name the file in the stage, as @stage/path".to_owned()));
    }
    Ok(behind(&["stages", &at.stage, "files", &at.path])?.path().to_owned())
}

fn behind(parts: &[&str]) -> Result<reqwest::Url, Failure> {
    let broken = || Failure::Broken("a path cannot be written".to_owned());
    let mut url = reqwest::Url::parse("http://localhost/").map_err(|_| broken())?;
    url.path_segments_mut().map_err(|()| broken())?.pop_if_empty().extend(parts);
    Ok(url)
}

/// How many bytes the file has that was taken; nothing where it went to standard output.
pub(super) async fn got(api: &Api, request: RequestBuilder, file: &Path) -> Result<Option<u64>, Failure> {
    let unwritten = |error: std::io::Error| Failure::Usage(format!("{}: {error}", file.display()));
    if file == Path::new("-") {
        let answer = api.send(request).await?;
        return written(api, answer, tokio::io::stdout()).await.map(|_| None);
    }
    if file.exists() {
        return Err(Failure::Usage(format!("{} is there already: name another file", file.display())));
    }
    let answer = api.send(request).await?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let aside = tempfile::NamedTempFile::new_in(folder).map_err(unwritten)?;
    let open = tokio::fs::File::from_std(aside.reopen().map_err(unwritten)?);
    let bytes = written(api, answer, open).await?;
    aside.persist_noclobber(file).map_err(|error| unwritten(error.error))?;
    Ok(Some(bytes))
}

async fn written(api: &Api, answer: Response, mut to: impl AsyncWrite + Unpin) -> Result<u64, Failure> {
    let bar = bar(answer.content_length());
    let (mut pieces, mut bytes) = (answer.bytes_stream(), 0);
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| api.unanswered(&error))?;
        to.write_all(&piece).await?;
        let more = u64::try_from(piece.len()).unwrap_or_default();
        bar.inc(more);
        bytes += more;
    }
    to.flush().await?;
    bar.finish_and_clear();
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> StageLocation {
        text.parse().unwrap()
    }

    #[test]
    fn a_file_has_one_address_whatever_its_path() {
        for (text, address_of) in [
            ("@files/a.csv", "/stages/files/files/a.csv"),
            ("@s.files/2026/a b.csv", "/stages/s.files/files/2026%2Fa%20b.csv"),
            ("@files/a?b#c", "/stages/files/files/a%3Fb%23c"),
            ("@files/../x", "/stages/files/files/..%2Fx"),
            ("@~/a.csv", "/stages/~/files/a.csv"),
            ("@s.%t/a.csv", "/stages/s.%25t/files/a.csv"),
        ] {
            assert_eq!(address(&at(text)).unwrap(), address_of, "{text}");
        }
        assert_eq!(listing(&at("@files")).unwrap(), "/stages/files/files");
        assert_eq!(listing(&at("@files/2026/")).unwrap(), "/stages/files/files?prefix=2026%2F");
        for text in ["@files", "@files/", "@files/..", "@files/."] {
            assert!(address(&at(text)).is_err(), "{text}");
        }
        for text in ["files/a", "@", "@/a", "@../a", "@./a"] {
            assert!(text.parse::<StageLocation>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_file_keeps_its_name_unless_it_is_given_one() {
        let path = |text: &str, file: &str| named(at(text), Path::new(file)).map(|at| at.path).unwrap_or_default();
        assert_eq!(path("@files", "in/a.csv"), "a.csv");
        assert_eq!(path("@files/2026/", "in/a.csv"), "2026/a.csv");
        assert_eq!(path("@files/b.csv", "in/a.csv"), "b.csv");
        assert_eq!(path("@files/b.csv", "-"), "b.csv");
        assert_eq!(path("@files", "-"), "");
    }
}
