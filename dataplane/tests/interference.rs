//! What a caller may not see makes no difference.
//!
//! "Two data sets that differ only in what the caller may not see give identical answers, errors,
//! headers and audit text": a pair of planes, A and B, whose hidden rows, masked values and denied
//! table differ. Every statement is asked of both, at the REST door, at the PostgreSQL wire and over
//! Arrow Flight; only the order of rows and times may differ.

mod attacks;
mod generator;

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::DataType;
use axum::body::Body;
use axum::http::Request;
use axum::http::header::CONTENT_LENGTH;
use contract::policy::{MaskFunction, Policy};
use contract::report::{Body as Entry, Finished, Started};
use contract::wire::{Forwarded, Who, header};
use contract::{Governance, Role};
use dataplane::Ending;
use dataplane::doors::rest::{Door, routes};
use dataplane::memory::Memories;
use dataplane::testing::{analyst_id, analyst_key, denying, filtering, masking};
use dataplane::thoughts::Thoughts;
use futures::TryStreamExt;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio_postgres::{Client, SimpleQueryMessage};
use tower::ServiceExt;

use crate::pgwire::{Wired, wired};
use crate::{agents, flight};
use generator::Dice;

/// In CI; a soak asks for more.
const STATEMENTS: usize = 400;

/// Both sides: the same as far as an analyst of the EU may see.
const SHARED: &[&str] = &[
    "create or replace table customer (id integer, name varchar, email varchar, ssn varchar, region varchar, \
        salary integer, born date, score double, tags json, card varchar)",
    "create or replace table orders (id integer, customer_id integer, region varchar, amount decimal(10,2), \
        status varchar, note varchar)",
    "create or replace table lookup (code varchar, label varchar)",
    "insert into lookup values ('EU', 'Europe'), ('US', 'States'), ('Zelda', 'a name'), ('***', 'stars')",
    "insert into orders values (10, 1, 'EU', 100.50, 'paid', 'a'), (11, 2, 'EU', 250.00, 'open', '12')",
    "drop table if exists made",
    "drop view if exists made_view",
];

/// Each side's own: masked values, hidden rows, the denied table.
const OWN: [&[&str]; 2] = [
    &[
        "insert into customer values \
            (1, 'Alice', 'alice@ex.com', '123-45-6789', 'EU', 91001, '1990-01-02', 1.5, '{\"city\":\"Oslo\",\"list\":[1,2]}', 'c-1111'), \
            (2, 'Bob', 'bobby@ex.com', '987-65-4321', 'EU', 82002, '1985-05-06', 2.5, '{\"city\":\"Rome\",\"list\":[]}', 'c-2222'), \
            (3, 'Zxcarol', 'zxcarol@ex.com', '555-12-3456', 'US', 73003, '1970-07-08', 3.5, '{\"city\":\"zxcity\"}', 'c-3333'), \
            (4, 'Zxdave', 'zxdave@ex.com', '222-33-4444', null, 64004, null, 0, null, 'c-4444')",
        "insert into orders values (12, 3, 'US', 777.77, 'paid', 'zxnote1'), (13, 4, null, 888.88, 'open', 'zxnote2')",
        "create or replace table payroll (id integer, customer_id integer, iban varchar, bonus integer)",
        "insert into payroll values (20, 1, 'PAYIBAN001', 5551), (21, 2, 'PAYIBAN002', 5552)",
    ],
    &[
        "insert into customer values \
            (1, 'Alice', 'qqqqqqqq.com', '911-22-3333', 'EU', 11111, '2001-01-02', 1.5, '{\"city\":\"Oslo\",\"list\":[1,2]}', 'c-1111'), \
            (2, 'Bob', 'wwwwwwww.com', '033-44-5555', 'EU', 99999, '1999-09-09', 2.5, '{\"city\":\"Rome\",\"list\":[]}', 'c-2222'), \
            (3, 'Zyerin', '7', '777-88-9999', 'US', 123456, '2001-02-03', 91001, '{\"list\":[\"zylist\"]}', '77'), \
            (5, 'Zyfred', '8', '000-11-2222', 'US', 654321, null, 0, '[1]', 'c-6666'), \
            (6, 'Zygina', null, null, 'AP', 1, '2011-01-01', null, null, null)",
        "insert into orders values (14, 5, 'US', 1.11, 'void', 'zynote9')",
        "drop table if exists payroll",
    ],
];

/// Texts and numbers that no answer may hold, unless the statement does.
const HIDDEN: &[&str] = &[
    "123-45-6789",
    "987-65-4321",
    "555-12-3456",
    "222-33-4444",
    "91001",
    "82002",
    "73003",
    "64004",
    "alice@ex",
    "bobby@ex",
    "zxc",
    "zxd",
    "zxn",
    "777.77",
    "888.88",
    "payiban",
    "5551",
    "5552",
    "911-22-3333",
    "033-44-5555",
    "777-88-9999",
    "000-11-2222",
    "11111",
    "99999",
    "123456",
    "654321",
    "zyerin",
    "zyfred",
    "zygina",
    "zyn",
    "zyl",
    "c-3333",
    "c-4444",
    "c-6666",
    "1990-01-02",
    "1985-05-06",
    "2001-01-02",
    "1999-09-09",
];

/// Filters that let the same rows pass, in ways that the engine plans differently.
const FILTERS: &[&str] = &[
    "region = {region}",
    "region in ({region}, 'DE')",
    "region = {region} or region = {user_id}",
    "region like 'E%'",
    "case when region = {region} then true else false end",
    "not (region <> {region})",
    "coalesce(region, '') = {region}",
    "region in (select code from lookup where code = {region})",
    "exists (select 1 from lookup l where l.code = region and l.label = 'Europe') and region = {region}",
    "upper(region) = {region}",
];

struct Side {
    wired: Wired,
    client: Option<Client>,
    flight: flight::Client,
    /// The last entry of the log that was looked at.
    seen: u64,
}

struct Pair {
    sides: [Side; 2],
}

impl Pair {
    async fn new() -> Self {
        let mut sides = Vec::new();
        for own in OWN {
            let wired = wired().await;
            let mut flight = flight::client(&agents::door(&wired.world), analyst_key());
            flight.set_header(header::REQUEST_ID, "req-7");
            let side = Side { wired, client: None, flight, seen: 0 };
            side.fill(own).await;
            side.owner("create view seen as select id, name, ssn, email, region, salary, born, score, tags, card from customer").await;
            sides.push(side);
        }
        let sides = sides.try_into().unwrap_or_else(|_| unreachable!());
        Self { sides }
    }

    /// The same rules on both sides: `filter` on both tables, masks of four kinds, a denied table.
    fn rule(&self, filter: &str, role: Role, strong: MaskFunction) {
        for side in &self.sides {
            side.wired.world.change(|rules| {
                rules.policies = policies(filter, strong);
                rules.abac_policies = vec![denying("payroll", &[Role::Owner])];
                as_role(rules, role);
            });
        }
    }

    /// Whether answers are kept for the next who asks alike.
    fn keep(&self, keep: bool) {
        for side in &self.sides {
            side.wired.world.change(|rules| rules.environment.cache_enabled = keep);
        }
    }

    /// The owner, who may see all of it, asks first; what would change something is not theirs to ask here.
    async fn owner_asks(&self, sql: &str) {
        if !sql::parse(sql).is_ok_and(|statement| !statement.is_write()) {
            return;
        }
        for side in &self.sides {
            let _refused_or_answered = side.wired.world.run(sql).await;
        }
    }

    async fn refill(&self) {
        for (side, own) in self.sides.iter().zip(OWN) {
            side.fill(own).await;
        }
    }

    /// Asks both; a difference, or a hidden value, is the error.
    async fn compare(&mut self, sql: &str, door: Surface) -> Result<String, String> {
        let mut shown = Vec::new();
        for side in &mut self.sides {
            shown.push(side.shown(sql, door).await);
        }
        let [a, b] = shown.try_into().unwrap_or_else(|_| unreachable!());
        if a != b {
            return Err(format!("{door:?}: {sql}\n  A: {a}\n  B: {b}"));
        }
        let (answer, asked) = (a.to_lowercase(), sql.to_lowercase());
        match HIDDEN.iter().find(|hidden| answer.contains(**hidden) && !asked.contains(**hidden)) {
            Some(hidden) => Err(format!("{door:?}: {sql}\n  shows {hidden}: {a}")),
            None => Ok(a),
        }
    }

    async fn stop(self) {
        for side in self.sides {
            drop(side.client);
            side.wired.stop().await;
        }
    }
}

fn policies(filter: &str, strong: MaskFunction) -> Vec<Policy> {
    let filter_on = |table: &str| filtering(table, filter);
    vec![
        filter_on("customer"),
        filter_on("orders"),
        masking("customer", "ssn", strong),
        masking("customer", "email", MaskFunction::Partial),
        masking("customer", "salary", MaskFunction::Null),
        masking("customer", "born", MaskFunction::Full),
        masking("customer", "card", MaskFunction::Hash),
    ]
}

fn as_role(rules: &mut Governance, role: Role) {
    if let Some(member) = rules.members.get_mut(&"u-analyst".into()) {
        member.role = role;
    }
}

/// A way to ask and be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Surface {
    Json,
    Csv,
    Arrow,
    Simple,
    Extended,
    /// `COPY (…) TO STDOUT`.
    Copy,
    /// `DECLARE`, `FETCH ALL`.
    Cursor,
    Flight,
    /// Told what it becomes, and not run.
    Transpile,
}

impl Surface {
    /// Those that run it.
    const ALL: [Self; 8] =
        [Self::Json, Self::Csv, Self::Arrow, Self::Simple, Self::Extended, Self::Copy, Self::Cursor, Self::Flight];
}

impl Side {
    async fn owner(&self, sql: &str) {
        self.wired.world.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    async fn fill(&self, own: &[&str]) {
        for sql in SHARED.iter().chain(own) {
            self.owner(sql).await;
        }
    }

    async fn shown(&mut self, sql: &str, door: Surface) -> String {
        self.seen = *self.wired.world.books.log.written().borrow();
        let answer = match door {
            Surface::Json => self.rest("query", json!({"sql": sql}), "json").await,
            Surface::Csv => self.rest("query", json!({"sql": sql, "format": "csv"}), "csv").await,
            Surface::Arrow => self.rest("query", json!({"sql": sql, "format": "arrow"}), "arrow").await,
            Surface::Transpile => self.rest("transpile", json!({"sql": sql}), "json").await,
            Surface::Simple | Surface::Extended | Surface::Copy | Surface::Cursor => self.wire(sql, door).await,
            Surface::Flight => self.flight(sql).await,
        };
        format!("{answer}\n{}", self.logged())
    }

    async fn rest(&self, path: &str, asked: Value, format: &str) -> String {
        let pipeline = self.wired.world.pipeline.clone();
        let (memories, thoughts) = (Memories::default(), Thoughts::default());
        let door = Door { env_id: "env-1".into(), pipeline, memories, thoughts, ending: Ending::default() };
        let caller = Forwarded { who: Who::Key { key_id: analyst_id() }, peer: None };
        let request = Request::post(format!("/v1/environments/env-1/{path}"))
            .header(header::CALLER, serde_json::to_string(&caller).unwrap())
            .header(header::REQUEST_ID, "req-7")
            .body(Body::from(asked.to_string()))
            .unwrap();
        let response = routes(door).oneshot(request).await.unwrap();
        let mut shown = format!("{}", response.status());
        let headers = response.headers().clone();
        let differing = ["x-query-id", "x-execution-time-ms", CONTENT_LENGTH.as_str()];
        for (name, value) in headers.iter().filter(|(name, _)| !differing.contains(&name.as_str())) {
            write!(shown, " {name}={value:?}").unwrap();
        }
        let collected = response.into_body().collect().await.unwrap();
        let trailers = collected.trailers().cloned().unwrap_or_default();
        let bytes = collected.to_bytes();
        // a moment has as many digits as it needs: the length is that of the body, which is compared without it
        let length = headers.get(CONTENT_LENGTH).map(|length| length.to_str().unwrap().parse() == Ok(bytes.len()));
        assert_ne!(length, Some(false), "{headers:?} for {} bytes", bytes.len());
        write!(shown, " length={length:?} {trailers:?}\n{}", body(&bytes, format)).unwrap();
        shown
    }

    async fn flight(&mut self, sql: &str) -> String {
        let answered = match self.flight.execute(sql.to_owned(), None).await {
            Ok(info) => flight::batches(&mut self.flight, &info).await.map(|rows| (info.schema, rows)),
            Err(error) => Err(flight::status(error)),
        };
        match answered {
            Ok((told, (schema, batches))) => {
                format!("{told:?} {schema:?}\n{}", sorted(&table(&batches)))
            }
            Err(status) => format!("{:?} {} {}", status.code(), status.message(), detail(&status)),
        }
    }

    async fn wire(&mut self, sql: &str, door: Surface) -> String {
        if self.client.as_ref().is_none_or(Client::is_closed) {
            let config = self.wired.config("agent", analyst_key());
            self.client = Some(self.wired.connect(&config).await.unwrap());
        }
        let client = self.client.as_ref().unwrap();
        let answer = match door {
            Surface::Extended => extended(client, sql).await,
            Surface::Copy => copied(client, sql).await,
            Surface::Cursor => fetched(client, sql).await,
            _ => simple(client, sql).await,
        };
        let answer = match answer {
            Ok(mut lines) => {
                lines.sort();
                lines.join("\n")
            }
            Err(error) => format!(
                "{:?}",
                error.as_db_error().map(|error| (
                    error.code().clone(),
                    error.to_string(),
                    error.detail().map(str::to_owned),
                    error.hint().map(str::to_owned),
                    error.position().cloned()
                ))
            ),
        };
        let noticed: Vec<String> = self.wired.noticed().iter().map(ToString::to_string).collect();
        format!("{answer} {noticed:?}")
    }

    /// The statement's entries of the log, without times and marks of the run.
    fn logged(&self) -> String {
        let entries = self.wired.world.entries_after(self.seen);
        entries.iter().map(|entry| logged(&entry.body)).collect::<Vec<_>>().join(" ")
    }
}

/// Moments as numbers: what prints them knows no time zone by its name.
fn table(batches: &[RecordBatch]) -> String {
    let plain = |column: &ArrayRef| match column.data_type() {
        DataType::Timestamp(_, Some(_)) => arrow::compute::cast(column, &DataType::Int64).unwrap(),
        _ => Arc::clone(column),
    };
    let lines = batches.iter().flat_map(|batch| {
        let columns: Vec<_> = batch.columns().iter().map(plain).collect();
        (0..batch.num_rows()).map(move |row| {
            let cells = columns.iter().map(|column| format!("{:?}", column.slice(row, 1)));
            cells.collect::<Vec<_>>().join(" ").replace('\n', " ")
        })
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn logged(entry: &Entry) -> String {
    match entry {
        Entry::Started(started) => {
            let Started { sql, sql_with_rls, operation, tables_accessed, columns_masked, policy_verdicts, .. } =
                &**started;
            format!("{sql} {sql_with_rls:?} {operation:?} {tables_accessed:?} {columns_masked:?} {policy_verdicts:?}")
        }
        Entry::Finished(finished) => {
            let Finished { outcome, error_code, rows_returned, micro_credits, stages, .. } = &**finished;
            let stages: Vec<_> = stages.iter().map(|(name, _)| name).collect();
            format!("{outcome:?} {error_code:?} {rows_returned} {micro_credits} {stages:?}")
        }
        Entry::BranchMerged(_) | Entry::TriggerFired(_) | Entry::TriggerError(_) => String::new(), // no query
    }
}

/// The body that the details of a status hold.
fn detail(status: &tonic::Status) -> String {
    let details = String::from_utf8_lossy(status.details());
    let at = details.find("{\"error\"").unwrap_or_else(|| panic!("no body in {status:?}"));
    let mut bodies = serde_json::Deserializer::from_str(&details[at..]).into_iter::<Value>();
    body(bodies.next().unwrap().unwrap().to_string().as_bytes(), "json")
}

/// Rows in one order, without what differs from run to run.
fn body(bytes: &[u8], format: &str) -> String {
    if let Ok(mut answer) = serde_json::from_slice::<Value>(bytes) {
        for key in ["query_id", "execution_time_ms", "transpilation_time_ms"] {
            answer.as_object_mut().map(|answer| answer.remove(key));
        }
        if let Some(error) = answer.get_mut("error").and_then(Value::as_object_mut) {
            error.remove("timestamp");
        }
        if let Some(rows) = answer.get_mut("rows").and_then(Value::as_array_mut) {
            rows.sort_by_key(ToString::to_string);
        }
        return answer.to_string();
    }
    if format == "arrow" {
        let reader = arrow::ipc::reader::StreamReader::try_new(bytes, None).unwrap();
        let schema = format!("{:?}", reader.schema());
        let batches: Vec<_> = reader.map(Result::unwrap).collect();
        let table = arrow::util::pretty::pretty_format_batches(&batches).unwrap().to_string();
        return format!("{schema}\n{}", sorted(&table));
    }
    sorted(&String::from_utf8_lossy(bytes))
}

fn sorted(text: &str) -> String {
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

async fn simple(client: &Client, sql: &str) -> Result<Vec<String>, tokio_postgres::Error> {
    let messages = client.simple_query(sql).await?;
    let shown = messages.iter().map(|message| match message {
        SimpleQueryMessage::Row(row) => {
            (0..row.len()).map(|at| row.get(at).unwrap_or("NULL")).collect::<Vec<_>>().join("|")
        }
        SimpleQueryMessage::RowDescription(columns) => {
            columns.iter().map(tokio_postgres::SimpleColumn::name).collect::<Vec<_>>().join(" ")
        }
        SimpleQueryMessage::CommandComplete(rows) => format!("({rows})"),
        _ => String::new(),
    });
    Ok(shown.collect())
}

/// Prepared, bound, run; the columns with their types, and how many rows there are.
async fn extended(client: &Client, sql: &str) -> Result<Vec<String>, tokio_postgres::Error> {
    let statement = client.prepare(sql).await?;
    let columns =
        statement.columns().iter().map(|column| format!("{} {}", column.name(), column.type_())).collect::<Vec<_>>();
    let rows = client.query(&statement, &[]).await?;
    Ok(vec![columns.join(" "), format!("({})", rows.len())])
}

/// The lines that leave.
async fn copied(client: &Client, sql: &str) -> Result<Vec<String>, tokio_postgres::Error> {
    let pieces: Vec<bytes::Bytes> = client.copy_out(&format!("copy ({sql}) to stdout")).await?.try_collect().await?;
    Ok(String::from_utf8_lossy(&pieces.concat()).lines().map(str::to_owned).collect())
}

/// The rows of a cursor; its transaction ends, whatever comes of it.
async fn fetched(client: &Client, sql: &str) -> Result<Vec<String>, tokio_postgres::Error> {
    client.batch_execute("begin").await?;
    let fetched = async {
        client.simple_query(&format!("declare c cursor for {sql}")).await?;
        simple(client, "fetch all from c").await
    };
    let fetched = fetched.await;
    if !client.is_closed() {
        client.batch_execute("rollback").await?;
    }
    fetched
}

/// A number of the environment, for a soak.
fn asked_for(name: &str) -> Option<u64> {
    std::env::var_os(name)?.to_str()?.parse().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn random_statements_are_answered_alike_whatever_is_hidden() {
    let seed = asked_for("SLUICE_SEED").unwrap_or(1);
    let wanted = asked_for("SLUICE_STATEMENTS").map_or(STATEMENTS, |wanted| usize::try_from(wanted).unwrap());
    println!("seed {seed}: {wanted} statements"); // SLUICE_SEED and SLUICE_STATEMENTS give others
    let dice = Dice::new(seed);
    let mut pair = Pair::new().await;
    let (mut breaches, mut answered) = (Vec::new(), 0);
    for number in 0..wanted {
        if number % 50 == 0 {
            let role = if number % 100 == 0 { Role::Developer } else { Role::Analyst };
            let strong = if dice.below(2) == 0 { MaskFunction::Full } else { MaskFunction::Null };
            pair.rule(FILTERS[dice.below(FILTERS.len())], role, strong);
        }
        let made = dice.statement();
        let door = Surface::ALL[dice.below(Surface::ALL.len())];
        match pair.compare(&made.sql, door).await {
            Ok(answer) => answered += usize::from(answer.starts_with("200") || answer.contains("Completed")),
            Err(breach) => breaches.push(format!("{number} {breach}")),
        }
        if made.writes {
            for sql in [
                "select * from customer",
                "select * from orders",
                "select * from lookup",
                "select * from made",
                "select * from made_view",
            ] {
                if let Err(breach) = pair.compare(sql, Surface::Json).await {
                    breaches.push(format!("{number} after {}\n  {breach}", made.sql));
                }
            }
            pair.refill().await;
        }
    }
    println!("{answered} of {wanted} were answered with rows");
    assert!(breaches.is_empty(), "seed {seed}: {} breaches\n{}", breaches.len(), breaches.join("\n"));
    assert!(answered * 4 > wanted, "only {answered} of {wanted} were answered: they show nothing");
    pair.stop().await;
}
