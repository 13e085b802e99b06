//! The tables and columns that whoever asks may see: a statement of the platform's own, as the dashboard's pages need it.
//!
//! No text of a caller is in it. In a browser it is asked by the dashboard itself (`of_pages`) and costs nothing; by a key
//! or a token it is a query like any other. The policies hide in it what they hide in any.

use contract::wire::QueryBody;
use platform::Result;
use platform::http::call::Call;

use super::answer::JsonRows;
use super::forward;

pub(super) const COLUMNS: &str = "select table_schema, table_name, column_name, data_type from information_schema.columns \
    where table_schema not in ('information_schema', 'pg_catalog') \
    order by table_schema, table_name, ordinal_position";

pub(super) async fn catalogue(cx: Call) -> Result<JsonRows> {
    let body = QueryBody { sql: COLUMNS.to_owned(), ..QueryBody::default() };
    forward::forward(&cx, "query", &body).await.map(JsonRows)
}
