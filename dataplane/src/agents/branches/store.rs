//! The table of branches, and the copies. SQL, and nothing but SQL.

use contract::Timestamp;
use contract::policy::abac::Operation;
use engine::Value;
use serde::Deserialize;
use sql::ast::quote;

use super::{BranchSeed, KEPT_DAYS, TABLE, Wanted, key, merging, remembered};
use crate::Error;
use crate::agents::ownership::maker;
use crate::limits::invalid;
use crate::pipeline::CallerContext;
use crate::storage::branches::{Branch, Copied, Status, base_schema, found, lengths, origin, own_schema};
use crate::storage::system_tables::{ReadTarget, SystemTransaction, at, broken, optional, text};

/// Rows of all tables of a branch together.
const ROWS_MAX: u64 = 5_000_000;
const LISTED_MAX: usize = 200;
/// Where a branch stands in the list: when it was made in microseconds, and its id.
pub type BranchPosition = (i64, String);

impl Branch {
    pub fn listed(&self) -> BranchPosition {
        (self.created_at.timestamp_micros(), self.branch_id.clone())
    }
}

/// A table as the engine finds it.
pub fn path(schema: &str, name: &str) -> String {
    format!("raw.{}.{}", quote::name(schema), quote::name(name))
}

/// The newest first, behind a place of the list; and whether there are more.
pub async fn page(
    standing: &CallerContext,
    status: Option<Status>,
    agent: Option<&str>,
    behind: Option<&BranchPosition>,
) -> Result<(Vec<Branch>, bool), Error> {
    let (micros, id) = behind.map(|(micros, id)| (*micros, id.as_str())).unzip();
    let condition = format!(
        "where ($1::varchar is null or status = $1) and ($2::varchar is null or agent_id = $2) \
         and ($3::timestamptz is null or (created_at, branch_id) < ($3::timestamptz, $4::varchar)) \
         order by created_at desc, branch_id desc limit {}",
        LISTED_MAX + 1
    );
    let (status, agent) = (optional(status.map(Status::as_str)), optional(agent));
    let params = vec![status, agent, micros.map_or(Value::Null, Value::TimestampTz), optional(id)];
    let mut found = found(standing.into(), &condition, params).await?;
    let more = found.len() > LISTED_MAX;
    found.truncate(LISTED_MAX);
    Ok((found, more))
}

/// Copies the tables, and writes down what there is now.
pub async fn create(
    standing: &CallerContext,
    new: &Wanted,
    agent_id: String,
    fresh: BranchSeed,
) -> Result<Branch, Error> {
    let expires_at = new.expires_at(&fresh);
    let BranchSeed { branch_id, salt, now } = fresh;
    let mut transaction = SystemTransaction::begin(standing.into()).await?;
    let tables = described(standing, &transaction.catalog().await?, new)?;
    counted(standing, &mut transaction, &tables).await?;
    for table in &tables {
        key::holds(&mut transaction, table).await?;
    }
    for schema in [own_schema(&branch_id), base_schema(&branch_id)] {
        transaction.run((format!("create schema raw.{}", quote::name(&schema)), Vec::new())).await?;
    }
    for table in &tables {
        copy(&mut transaction, &branch_id, table).await?;
    }
    let branch = Branch {
        name: new.name.clone().unwrap_or_else(|| branch_id.clone()),
        branch_id,
        description: new.description.clone(),
        agent_id,
        made_by: Some(maker(standing).to_owned()),
        tables,
        base_snapshot: transaction.snapshot(),
        status: Status::Active,
        created_at: now,
        expires_at,
        salt,
    };
    let sql = "insert into raw._svc_branches.branches values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, null, $11)";
    let params = vec![
        text(&branch.branch_id),
        text(&branch.name),
        optional(branch.description.as_deref()),
        text(&branch.agent_id),
        Value::Text(serde_json::to_string(&branch.tables).map_err(broken)?),
        text(&branch.base_snapshot),
        text(branch.status.as_str()),
        text(&branch.salt),
        at(branch.created_at),
        at(branch.expires_at),
        optional(branch.made_by.as_deref()),
    ];
    transaction.run((sql.to_owned(), params)).await?;
    transaction.track(&standing.query_id, TABLE, Operation::Insert, 1, now).await?;
    transaction.commit().await?;
    Ok(branch)
}

/// The tables as they are; each must be there.
fn described(standing: &CallerContext, catalog: &engine::Catalog, new: &Wanted) -> Result<Vec<Copied>, Error> {
    if new.tables.is_empty() {
        return Err(invalid("tables", "there is no table that you may see: a branch has one at least"));
    }
    let each = new.tables.iter().enumerate().map(|(place, path)| {
        let (schema, name) = path.split_once('.').unwrap_or(("main", path));
        let table = catalog.table(schema, name);
        let table = table.ok_or_else(|| invalid(&format!("tables[{place}]"), format!("there is no table {path}")))?;
        let mut copied = Copied {
            schema: table.schema.clone(),
            name: table.name.clone(),
            columns: table.columns.clone(),
            primary_key: table.primary_key.clone(),
            given_key: Vec::new(),
            unique: Some(table.unique.clone()),
            checks: Some(table.checks.clone()),
            origin: origin(table.comment.as_deref()),
            lengths: lengths(table),
        };
        if let Some(columns) = new.keys.get(path) {
            copied.given_key = key::given(standing, &copied, columns)?;
        }
        Ok(copied)
    });
    each.collect()
}

/// Are they few enough, also for what the agent was granted? Held against its grant, hidden rows would be counted: so
/// who is granted a number of them must see all.
async fn counted(
    standing: &CallerContext,
    transaction: &mut SystemTransaction,
    tables: &[Copied],
) -> Result<(), Error> {
    if standing.rows_max.is_some() {
        tables.iter().try_for_each(|table| merging::sees_all(standing, table))?;
    }
    let counts = tables.iter().map(|table| format!("(select count(*) from {})", path(&table.schema, &table.name)));
    let sql = format!("select ({})::varchar", counts.collect::<Vec<_>>().join(" + "));
    let rows: u64 = transaction.records((sql, Vec::new())).await?.pop().unwrap_or_default();
    match standing.rows_max.filter(|limit| rows > *limit) {
        Some(limit) => Err(Error::GrantedRows { limit }),
        None if rows > ROWS_MAX => Err(Error::BranchTooLarge { what: "rows", limit: ROWS_MAX }),
        None => Ok(()),
    }
}

/// A column as the engine describes it.
#[derive(Deserialize)]
struct EngineColumn {
    name: String,
    type_name: String,
    nullable: bool,
    default: Option<String>,
}

/// The base holds rows alone. The branch's own table has the keys and checks of the mainline's too,
/// so that what could not be written there cannot be written here.
async fn copy(transaction: &mut SystemTransaction, branch_id: &str, table: &Copied) -> Result<(), Error> {
    let of = || vec![text(&table.schema), text(&table.name)];
    let columns = "select to_json({name: column_name, type_name: data_type, nullable: is_nullable, \
        \"default\": column_default})::varchar from duckdb_columns() \
        where database_name = 'raw' and schema_name = $1 and table_name = $2 order by column_index";
    let columns: Vec<EngineColumn> = transaction.records((columns.to_owned(), of())).await?;
    let constraints = "select to_json(constraint_text)::varchar from duckdb_constraints() \
        where database_name = 'raw' and schema_name = $1 and table_name = $2 \
          and constraint_type in ('PRIMARY KEY', 'UNIQUE', 'CHECK') order by constraint_index";
    let constraints: Vec<String> = transaction.records((constraints.to_owned(), of())).await?;
    let column = |column: EngineColumn| {
        let default = column.default.map(|text| format!(" default ({text})")).unwrap_or_default();
        let nullable = if column.nullable { "" } else { " not null" };
        format!("{} {}{default}{nullable}", quote::name(&column.name), column.type_name)
    };
    let parts: Vec<_> = columns.into_iter().map(column).chain(constraints).collect();
    let (main, own) = (path(&table.schema, &table.name), path(&own_schema(branch_id), &table.name));
    let base = path(&base_schema(branch_id), &table.name);
    for sql in [
        format!("create table {own} ({})", parts.join(", ")),
        format!("insert into {own} select * from {main}"),
        format!("create table {base} as select * from {main}"),
    ] {
        transaction.run((sql, Vec::new())).await?;
    }
    Ok(())
}

/// Ends a branch: its tables and memories go, its record stays for a while.
pub async fn end(place: ReadTarget<'_>, branch: &Branch, status: Status, now: Timestamp) -> Result<(), Error> {
    let mut transaction = SystemTransaction::begin(place).await?;
    ended(&mut transaction, branch, status, now).await?;
    transaction.commit().await
}

/// The same within a transaction.
pub async fn ended(
    transaction: &mut SystemTransaction,
    branch: &Branch,
    status: Status,
    now: Timestamp,
) -> Result<(), Error> {
    let status = branch.status.to(status)?;
    for schema in [own_schema(&branch.branch_id), base_schema(&branch.branch_id)] {
        transaction.run((format!("drop schema raw.{} cascade", quote::name(&schema)), Vec::new())).await?;
    }
    transaction.run(remembered::leave(&branch.branch_id)).await?;
    let sql = "update raw._svc_branches.branches set status = $1, ended_at = $2 \
        where branch_id = $3 and status = 'active'";
    let changed = transaction.run((sql.to_owned(), vec![text(status.as_str()), at(now), text(&branch.branch_id)]));
    if changed.await? != 1 {
        return Err(Error::BranchNotFound);
    }
    let sql = "delete from raw._svc_branches.branches where ended_at < $1";
    transaction.run((sql.to_owned(), vec![at(now - chrono::Duration::days(KEPT_DAYS))])).await?;
    Ok(())
}
