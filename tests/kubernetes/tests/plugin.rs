//! `kubectl sluice` as a person starts it, against a real API server: the binary, its exit status, and
//! what it says.

mod changes;
mod plan;
mod report;
mod status;

use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use kubernetes::World;
use kubernetes::world::kubeconfig;

use crate::objects::program;

/// The output of one run.
struct Said {
    code: i32,
    out: String,
    err: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

fn command(world: &World, arguments: &[&str]) -> Command {
    let mut command = Command::new(program("sluice"));
    command.arg("kubectl").args(arguments).args(["--namespace", &world.namespace]);
    command.env("KUBECONFIG", kubeconfig()).stdin(Stdio::null());
    command
}

/// Runs it to its end, beside whatever the test does meanwhile.
async fn kubectl_sluice(world: &World, arguments: &[&str]) -> Said {
    let mut command = command(world, arguments);
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap().into()
}

fn environment() -> Value {
    json!({
        "apiVersion": "sluice.dev/v1alpha1", "kind": "Environment", "metadata": {"name": "acme-prod"},
        "spec": {"organizationRef": {"name": "acme"}, "slug": "prod", "name": "Production"},
    })
}

fn status(generation: i64, phase: &str, ready: &str, reason: &str) -> Value {
    json!({
        "observedGeneration": generation, "phase": phase,
        "conditions": [{
            "type": "Ready", "status": ready, "reason": reason, "message": "as a test says",
            "observedGeneration": generation, "lastTransitionTime": "2026-11-21T00:00:00Z",
        }],
    })
}
