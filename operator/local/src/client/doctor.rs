//! `sluice doctor`: is a platform well, as whoever asks it would find it, and if not, what to do.
//!
//! It looks from outside, one thing after another, and stops where what follows could not be told. What is
//! missing on a machine that is to run a platform is `./dev doctor`'s to say.

use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::output::Columns;
use super::waiting::waited;
use super::{Access, Api, Class, Failure, Output, ShownAnswer};

/// A port that cannot be connected to within it is not reached.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

#[derive(Debug, clap::Args)]
pub struct Args {
    #[arg(long, short, value_enum, default_value_t)]
    output: Output,
    #[command(flatten)]
    access: Access,
}

/// As many columns as are told by name.
const LISTS_SHOWN: usize = 20;
const LISTS: &str = "select table_schema || '.' || table_name || '.' || column_name from information_schema.columns \
                     where data_type = 'ARRAY' order by 1";

const SHOWN: Columns = "check, state, says, fix";

/// The finding of one look.
#[derive(Debug, Serialize)]
struct Finding {
    check: &'static str,
    state: State,
    says: String,
    fix: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Bad,
    /// Who asks may not know.
    Hidden,
}

impl Finding {
    fn ok(check: &'static str, says: impl Into<String>) -> Self {
        Self { check, state: State::Ok, says: says.into(), fix: None }
    }

    fn hidden(check: &'static str) -> Self {
        Self { check, state: State::Hidden, says: "who asks may not read it".to_owned(), fix: None }
    }

    fn bad(check: &'static str, says: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check, state: State::Bad, says: says.into(), fix: Some(fix.into()) }
    }

    /// A failure says itself what to do, after its first line; else this is to be done.
    fn failed(check: &'static str, failure: &Failure, fix: &str) -> Self {
        let said = failure.to_string();
        let mut lines = said.lines();
        let says = lines.next().unwrap_or_default();
        let hint = lines.find_map(|line| line.strip_prefix("hint: "));
        Self::bad(check, says, hint.unwrap_or(fix))
    }
}

pub async fn run(args: Args) -> Result<(), Failure> {
    let api = args.access.api()?;
    let found = waited("doctor", looked(&api)).await;
    ShownAnswer::list(found.iter().map(|finding| json!(finding)).collect(), SHOWN).show(args.output)?;
    match found.iter().filter(|finding| finding.state == State::Bad).count() {
        0 => Ok(()),
        bad => Err(Failure::NotSo(format!("{bad} of {} are not as they should be", found.len()))),
    }
}

/// In the order in which one thing needs the other.
async fn looked(api: &Api) -> Vec<Finding> {
    let mut found = Vec::new();
    let place = match basis(api, &mut found).await {
        Ok(place) => place,
        Err(finding) => {
            found.push(finding);
            return found;
        }
    };
    found.push(environment(&place));
    found.push(statement(api, &place).await);
    found.push(lists(api, &place).await);
    found.push(pg_port(&place).await);
    found.push(chain(api, &place).await);
    found
}

/// An environment, and where it is in the API.
struct Place {
    path: String,
    /// None: who asks may not read it.
    record: Option<Value>,
}

/// Without these there is nothing else to look at.
async fn basis(api: &Api, found: &mut Vec<Finding>) -> Result<Place, Finding> {
    let health = api.get("/health").await;
    let health = health.map_err(|failure| {
        Finding::failed("address", &failure, "is it running? `sluice up` starts one here; SLUICE_URL names another")
    })?;
    let (version, ours) = (text(&health, "/version"), env!("CARGO_PKG_VERSION"));
    let other = if version == ours { String::new() } else { format!("; this command is of {ours}") };
    found.push(Finding::ok("address", format!("{}, version {version}{other}", api.url())));
    found.push(ready(api).await);
    let me = api.get("/v1/auth/me").await.map_err(|failure| {
        Finding::failed("credential", &failure, "`sluice keys create` makes a key; SLUICE_KEY holds it")
    })?;
    found.push(Finding::ok("credential", format!("role {}", text(&me, "/role"))));
    let asked = async {
        let (organization, env_id) = (api.organization().await?, api.env_id().await?);
        let record = match api.get(&format!("{organization}/environments/{env_id}")).await {
            Err(failure) if failure.class() == Class::Auth => None,
            answered => Some(answered?),
        };
        Ok(Place { path: api.environment().await?, record })
    };
    asked.await.map_err(|failure| Finding::failed("environment", &failure, "`sluice env list` shows which there are"))
}

async fn ready(api: &Api) -> Finding {
    let answered = match api.request(reqwest::Method::GET, "/ready").send().await {
        Ok(answer) => answer.json::<Value>().await.unwrap_or_default(),
        Err(error) => return Finding::failed("control plane", &api.unanswered(&error), "look at its log"),
    };
    let checks = answered.pointer("/checks").and_then(Value::as_array);
    let failed = checks.into_iter().flatten().filter(|check| check.get("ok") != Some(&Value::Bool(true)));
    let failed: Vec<_> = failed.map(|check| text(check, "/name")).collect();
    match (answered.get("ready").and_then(Value::as_bool), failed.as_slice()) {
        (Some(true), _) => Finding::ok("control plane", "ready"),
        (_, []) => Finding::bad("control plane", "not ready", "it starts or stops: wait, then look at its log"),
        (_, failed) => {
            let says = format!("not ready: {}", failed.join(", "));
            Finding::bad("control plane", says, "look at PostgreSQL and at the control plane's log")
        }
    }
}

fn environment(place: &Place) -> Finding {
    let Some(record) = &place.record else { return Finding::hidden("environment") };
    let (slug, status) = (text(record, "/slug"), text(record, "/status"));
    let says = format!("{slug} is {status}");
    match status.as_str() {
        "active" => Finding::ok("environment", says),
        "suspended" => Finding::bad("environment", says, "an owner or admin resumes it"),
        _ => Finding::bad("environment", says, "wait; on Kubernetes `kubectl sluice status` names the reason"),
    }
}

async fn statement(api: &Api, place: &Place) -> Finding {
    let began = Instant::now();
    match api.post(&format!("{}/query", place.path), &json!({"sql": "select 1"})).await {
        Ok(_) => Finding::ok("query", format!("answered in {} ms", began.elapsed().as_millis())),
        Err(failure) => Finding::failed("query", &failure, "look at the log of the environment's data plane"),
    }
}

/// Columns that are lists: `[1, 2]` is the warehouse's ARRAY, but a column that was made of it before is not.
async fn lists(api: &Api, place: &Place) -> Finding {
    let asked = json!({"sql": format!("{LISTS} limit {}", LISTS_SHOWN + 1)});
    let told = match api.post(&format!("{}/query", place.path), &asked).await {
        Ok(told) => told,
        Err(failure) if failure.class() == Class::Auth => return Finding::hidden("lists"),
        Err(failure) => return Finding::failed("lists", &failure, "look at the log of the environment's data plane"),
    };
    let rows = told.pointer("/rows").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let columns: Vec<_> = rows.iter().map(|row| text(row, "/0")).collect();
    let (shown, more) = columns.split_at(columns.len().min(LISTS_SHOWN));
    Finding::ok(
        "lists",
        match (shown, more) {
            ([], _) => "no column is a list".to_owned(),
            (_, []) => format!("counted from 1, not ARRAY from 0: {}", shown.join(", ")),
            (_, [..]) => format!("counted from 1, not ARRAY from 0: {} and more", shown.join(", ")),
        },
    )
}

/// Whether the PostgreSQL port can be connected to from here; nothing is sent.
async fn pg_port(place: &Place) -> Finding {
    let Some(record) = &place.record else { return Finding::hidden("psql") };
    let (host, port) = (text(record, "/connection/host"), record.pointer("/connection/port"));
    let Some(port) = port.and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok()) else {
        return Finding::bad("psql", "the environment tells no address", "wait until it is active");
    };
    let opened = tokio::time::timeout(CONNECT_WITHIN, TcpStream::connect((host.as_str(), port))).await;
    match opened {
        Ok(Ok(_)) => Finding::ok("psql", format!("{host}:{port} opens")),
        Ok(Err(_)) | Err(_) => Finding::bad(
            "psql",
            format!("{host}:{port} cannot be reached from here"),
            "REST may still be; inside of a cluster, `kubectl sluice psql` finds the way",
        ),
    }
}

async fn chain(api: &Api, place: &Place) -> Finding {
    match api.get(&format!("{}/audit/admin/verify-chain", place.path)).await {
        Ok(told) if told.get("chain_valid") == Some(&Value::Bool(true)) => {
            Finding::ok("audit chain", format!("whole, {} events", told.get("events_verified").unwrap_or(&Value::Null)))
        }
        Ok(told) => Finding::bad(
            "audit chain",
            format!("broken at {}", told.get("break_detected_at").unwrap_or(&Value::Null)),
            "somebody has changed the database: keep it as it is, and compare it with the archive's signed heads",
        ),
        Err(failure) if failure.class() == Class::Auth => Finding::hidden("audit chain"),
        Err(failure) => Finding::failed("audit chain", &failure, "look at the control plane's log"),
    }
}

fn text(value: &Value, place: &str) -> String {
    value.pointer(place).and_then(Value::as_str).unwrap_or_default().to_owned()
}
