//! The warehouse's documented examples of stages, file formats and COPY INTO: one case a line of these files.
//!
//! A case answers as the document says, or is refused by a message that names what is not there, for the reason that the
//! case has. Values that no document can say, such as sums and times, are not compared.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::Read;

use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::Value;

use crate::copied::{packed, put, staged};
use crate::world::{World, world};

const FILES: [&str; 2] = [include_str!("documented.jsonl"), include_str!("documented/loads.jsonl")];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Example {
    /// Where it is documented.
    page: String,
    case: String,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Step {
    /// A statement that succeeds.
    Run(String),
    /// A file is put there; one whose name ends in `.gz` is packed.
    Put(ExampleFile),
    Ask(Answered),
    Refused(Refusal),
    /// There is such a file.
    File(ExampleFile),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExampleFile {
    /// The stage, a slash and the path.
    at: String,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answered {
    sql: String,
    /// The names of all its columns, where the document says them.
    #[serde(default)]
    columns: Vec<String>,
    /// As many of its columns as these have are compared.
    rows: Vec<Vec<Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refusal {
    sql: String,
    /// Words of the message.
    names: String,
    why: String,
}

/// What stands in a statement for the query id of the last COPY INTO before it.
const JOB: &str = "<query_id>";

/// The ids by which the files of stages are kept, and that of the last load.
type StageIds = BTreeMap<String, String>;

/// The name of the stage that a statement makes.
fn made_stage(sql: &str) -> Option<String> {
    let words: Vec<&str> = sql.split_whitespace().take(6).collect();
    let place = words.iter().position(|word| *word == "stage").filter(|_| words.first() == Some(&"create"))?;
    words.get(place + 1).map(|name| (*name).to_owned())
}

fn with_job(ids: &StageIds, sql: &str) -> String {
    ids.get(JOB).map_or_else(|| sql.to_owned(), |id| sql.replace(JOB, id))
}

fn is_packed(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, end)| end == "gz")
}

/// The id of a file's stage, and its path.
fn place<'f>(ids: &'f StageIds, file: &'f ExampleFile) -> (&'f str, &'f str) {
    let (stage, path) = file.at.split_once('/').unwrap();
    (ids.get(stage).unwrap_or_else(|| panic!("no stage {stage}")), path)
}

impl Step {
    async fn done(&self, world: &World, ids: &mut StageIds) -> Result<(), String> {
        match self {
            Self::Run(sql) => {
                let name = made_stage(sql).or_else(|| sql.starts_with("copy into ").then(|| JOB.to_owned()));
                let Some(name) = name else {
                    let ran = world.run(&with_job(ids, sql)).await;
                    return ran.map(drop).map_err(|error| format!("{sql}: {error}"));
                };
                ids.insert(name, staged(world, sql).await);
                Ok(())
            }
            Self::Put(file) => {
                let (id, path) = place(ids, file);
                let bytes = if is_packed(path) { packed(&file.text) } else { file.text.clone().into_bytes() };
                put(world, id, path, bytes);
                Ok(())
            }
            Self::Ask(asked) => asked.done(world, &with_job(ids, &asked.sql)).await,
            Self::Refused(refusal) => refusal.done(world, &with_job(ids, &refusal.sql)).await,
            Self::File(file) => {
                let (id, path) = place(ids, file);
                let mut bytes = Vec::new();
                let opened = world.pipeline.stage_files.open(id, path);
                opened.map_err(|error| format!("{}: {error}", file.at))?.read_to_end(&mut bytes).unwrap();
                if is_packed(path) {
                    let mut unpacked = Vec::new();
                    GzDecoder::new(bytes.as_slice()).read_to_end(&mut unpacked).unwrap();
                    bytes = unpacked;
                }
                let text = String::from_utf8(bytes).unwrap();
                if text == file.text { Ok(()) } else { Err(format!("{}: {text:?}", file.at)) }
            }
        }
    }
}

impl Answered {
    async fn done(&self, world: &World, sql: &str) -> Result<(), String> {
        let got = world.run(sql).await.map_err(|error| format!("{sql}: {error}"))?;
        let names: Vec<&str> = got.answer.columns.iter().map(|column| column.name.as_str()).collect();
        if !self.columns.is_empty() && names != self.columns {
            return Err(format!("{sql}: {names:?}"));
        }
        let mut rows: Vec<Vec<Value>> = serde_json::from_str(&format!("[{}]", got.json)).unwrap();
        let width = self.rows.first().map_or(0, Vec::len);
        if width > 0 {
            for row in &mut rows {
                row.truncate(width);
            }
        }
        if rows == self.rows { Ok(()) } else { Err(format!("{sql}: {}", serde_json::to_string(&rows).unwrap())) }
    }
}

impl Refusal {
    async fn done(&self, world: &World, sql: &str) -> Result<(), String> {
        assert!(!self.why.is_empty(), "{sql}: a reason");
        match world.run(sql).await {
            Ok(got) => Err(format!("{sql}: it is answered, {}", got.json)),
            Err(error) if error.to_string().to_lowercase().contains(&self.names.to_lowercase()) => Ok(()),
            Err(error) => Err(format!("{sql}: {error}")),
        }
    }
}

#[tokio::test]
async fn documented_examples_answer_as_documented_or_are_refused_by_name() {
    let world = world().await;
    let mut wrong = String::new();
    for line in FILES.into_iter().flat_map(str::lines) {
        let example: Example = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        let mut ids = StageIds::new();
        for step in &example.steps {
            if let Err(said) = step.done(&world, &mut ids).await {
                let _ = writeln!(wrong, "{}, {}: {said}", example.page, example.case);
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    world.stop().await;
}
