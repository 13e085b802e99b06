//! `sluice` as a person starts it, against a whole platform: the binary, its exit status, what it says.

mod doctor;
mod load;
mod mcp;
mod platform;
mod prompt;
mod sql;
mod stage;

use std::process::{Output, Stdio};

use reqwest::Method;
use serde_json::Value;
use tests::World;
use tests::world::program;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// The output of one run.
#[derive(Debug)]
struct Said {
    code: i32,
    out: Vec<u8>,
    err: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        let err = String::from_utf8(output.stderr).unwrap();
        Self { code: output.status.code().unwrap_or(-1), out: output.stdout, err }
    }
}

impl Said {
    fn text(&self) -> &str {
        str::from_utf8(&self.out).unwrap()
    }

    /// Its output; a failure fails the test with what was said.
    fn ok(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        String::from_utf8(self.out).unwrap()
    }

    fn json(self) -> Value {
        serde_json::from_str(&self.ok()).unwrap()
    }
}

/// The command with nothing of this machine's own in its environment.
fn bare(world: &World, arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    for name in ["SLUICE_URL", "SLUICE_KEY", "SLUICE_KEY_FILE", "SLUICE_ENV_ID", "SLUICE_STATE", "SLUICE_MCP_URL"] {
        command.env_remove(name);
    }
    command.args(arguments).current_dir(world.state()).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The command of somebody with this key.
fn command(world: &World, key: &str, arguments: &[&str]) -> Command {
    let mut command = bare(world, arguments);
    command.env("SLUICE_URL", &world.url).env("SLUICE_KEY", key);
    command
}

/// Runs a command to its end, with `input` on its standard input.
async fn run(mut command: Command, input: &str) -> Said {
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).await.unwrap();
    drop(stdin);
    child.wait_with_output().await.unwrap().into()
}

/// As the owner.
async fn sluice(world: &World, arguments: &[&str]) -> Said {
    run(command(world, &world.key, arguments), "").await
}

/// Until a query with this in its text has this outcome in the log, where one that changes something is from before it
/// runs. The text names the query: of what made the world some may still stand there as running.
async fn logged(world: &World, text: &str, outcome: &str) {
    let path = format!("/v1/environments/{}/audit/queries", world.env_id);
    let is_meant =
        |entry: &Value| entry["outcome"] == outcome && entry["sql"].as_str().is_some_and(|sql| sql.contains(text));
    let is_logged = async || {
        let page = world.ok(Method::GET, &path, &world.owner, Value::Null).await;
        page["data"].as_array().unwrap().iter().any(is_meant).then_some(())
    };
    world.until(is_logged).await;
}
