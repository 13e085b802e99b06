//! Lineage: what an artifact was made from, and what was made from it.

use contract::OrgId;
use platform::Result;
use platform::http::call::Call;
use platform::http::json::{Json, Query};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::{Artifact, store};
use crate::domain::runtime::fields;

pub const DEPTH: i32 = 10;
const DEPTH_MAX: i32 = 50;
const NODES_MAX: usize = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "LineageDirection")]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Upstream,
    Downstream,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LineageGraph")]
pub struct Graph {
    root: String,
    direction: Direction,
    depth: i32,
    /// The root, then the nearest first.
    pub nodes: Vec<LineageNode>,
    edges: Vec<LineageEdge>,
    /// There are more than are shown.
    truncated: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct LineageNode {
    distance: i32,
    #[serde(flatten)]
    artifact: Artifact,
}

/// `from` was made of `to`.
#[derive(Debug, Serialize, JsonSchema)]
struct LineageEdge {
    from: String,
    to: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct LineageExtent {
    depth: Option<i64>,
}

pub async fn upstream(cx: Call, Query(extent): Query<LineageExtent>) -> Result<Json<Graph>> {
    walked(&cx, Direction::Upstream, &extent).await
}

pub async fn downstream(cx: Call, Query(extent): Query<LineageExtent>) -> Result<Json<Graph>> {
    walked(&cx, Direction::Downstream, &extent).await
}

async fn walked(cx: &Call, direction: Direction, extent: &LineageExtent) -> Result<Json<Graph>> {
    let depth = fields::integer("depth", extent.depth.unwrap_or(DEPTH.into()), 1, DEPTH_MAX)?;
    let mut conn = cx.app.pool().acquire().await?;
    let root = store::find(&mut conn, cx.org_id(), &cx.id::<String>("artifact_id")?).await?;
    walk(&mut conn, cx.org_id(), &root.id, direction, depth).await.map(Json)
}

/// What can be reached within this many steps.
pub async fn walk(
    conn: &mut PgConnection,
    org_id: &OrgId,
    root: &str,
    direction: Direction,
    depth: i32,
) -> Result<Graph> {
    let mut reached = match direction {
        Direction::Upstream => above(conn, org_id, root, depth).await?,
        Direction::Downstream => below(conn, org_id, root, depth).await?,
    };
    let truncated = reached.len() > NODES_MAX;
    reached.truncate(NODES_MAX);
    let ids: Vec<String> = reached.iter().map(|(id, _)| id.clone()).collect();
    let distance = |id: &str| reached.iter().find(|(other, _)| other == id).map_or(0, |(_, distance)| *distance);
    let artifacts = store::all(conn, &ids).await?;
    let mut edges = Vec::new();
    for artifact in &artifacts {
        let made_of = artifact.depends_on.as_array().into_iter().flatten().filter_map(|id| id.as_str());
        let shown = made_of.filter(|id| ids.iter().any(|other| other == id));
        edges.extend(shown.map(|to| LineageEdge { from: artifact.id.clone(), to: to.to_owned() }));
    }
    let mut nodes: Vec<LineageNode> =
        artifacts.into_iter().map(|artifact| LineageNode { distance: distance(&artifact.id), artifact }).collect();
    nodes.sort_by_key(|node| node.distance);
    Ok(Graph { root: root.to_owned(), direction, depth, nodes, edges, truncated })
}

async fn above(conn: &mut PgConnection, org_id: &OrgId, root: &str, depth: i32) -> Result<Vec<(String, i32)>> {
    let rows = sqlx::query!(
        r#"with recursive walk (id, distance) as (
             select $2::text, 0
             union
             select made.id, w.distance + 1
             from walk w
             join svc_runtime.artifact_instances a on a.id = w.id and a.org_id = $1
             cross join lateral jsonb_array_elements_text(a.depends_on) as made (id)
             where w.distance < $3
           )
           select id as "id!", min(distance) as "distance!" from walk group by id order by 2, 1 limit $4"#,
        org_id.as_str(),
        root,
        depth,
        limit(),
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(|row| (row.id, row.distance)).collect())
}

async fn below(conn: &mut PgConnection, org_id: &OrgId, root: &str, depth: i32) -> Result<Vec<(String, i32)>> {
    let rows = sqlx::query!(
        r#"with recursive walk (id, distance) as (
             select $2::text, 0
             union
             select a.id, w.distance + 1
             from walk w
             join svc_runtime.artifact_instances a on a.depends_on ? w.id and a.org_id = $1
             where w.distance < $3
           )
           select id as "id!", min(distance) as "distance!" from walk group by id order by 2, 1 limit $4"#,
        org_id.as_str(),
        root,
        depth,
        limit(),
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(|row| (row.id, row.distance)).collect())
}

/// One more than is shown tells that there are more.
fn limit() -> i64 {
    i64::try_from(NODES_MAX).unwrap_or(i64::MAX).saturating_add(1)
}
