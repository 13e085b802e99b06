//! The answers of queries. The data plane writes them and they stream through unparsed; their shapes
//! are told here, for the reference.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use contract::QueryId;
use contract::wire::header;
use platform::http::signature::{self, Answers, Signature};
use schemars::JsonSchema;
use serde_json::Value;

/// Rows in the format asked for.
pub struct RowsAnswer(pub Response);

/// Rows as JSON.
pub struct JsonRows(pub Response);

/// Rows as an Arrow stream in base64.
pub struct ArrowRows(pub Response);

/// Rows as JSON. A query that fails after its first rows breaks the transfer.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is shown")]
struct QueryAnswer {
    query_id: QueryId,
    columns: Vec<QueryColumn>,
    /// Values in the order of the columns.
    rows: Vec<Vec<Value>>,
    row_count: u64,
    execution_time_ms: f64,
    transpilation_time_ms: f64,
    cache_hit: bool,
    credits_consumed: f64,
    columns_masked: Vec<String>,
    warnings: Vec<Value>,
}

/// A column, with the engine's name of its type.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is shown")]
struct QueryColumn {
    name: String,
    r#type: String,
}

/// An Arrow IPC stream. A query that fails after its first rows breaks the transfer.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its shape is shown")]
struct ArrowAnswer {
    /// `arrow_ipc_base64`.
    format: String,
    data: String,
    rows: u64,
    execution_time_ms: f64,
}

impl IntoResponse for RowsAnswer {
    fn into_response(self) -> Response {
        self.0
    }
}

impl IntoResponse for JsonRows {
    fn into_response(self) -> Response {
        self.0
    }
}

impl IntoResponse for ArrowRows {
    fn into_response(self) -> Response {
        self.0
    }
}

impl Answers for RowsAnswer {
    fn answers(said: &mut Signature<'_>) {
        let json = said.shape::<QueryAnswer>();
        said.says(signature::ResponseSignature {
            status: StatusCode::OK,
            content: vec![
                ("application/json", Some(json)),
                ("text/csv", None),
                ("application/vnd.apache.arrow.stream", None),
                ("application/vnd.apache.parquet", None),
            ],
            headers: &[
                header::QUERY_ID,
                header::COLUMNS_MASKED,
                header::CACHE_HIT,
                header::QUERY_HEALED,
                header::ROW_COUNT,
                header::CREDITS_CONSUMED,
                header::ROWS_WITHHELD,
            ],
        });
    }
}

impl Answers for JsonRows {
    fn answers(said: &mut Signature<'_>) {
        let json = said.shape::<QueryAnswer>();
        said.says(signature::ResponseSignature {
            status: StatusCode::OK,
            content: vec![("application/json", Some(json))],
            headers: &[header::QUERY_ID, header::COLUMNS_MASKED, header::CACHE_HIT],
        });
    }
}

impl Answers for ArrowRows {
    fn answers(said: &mut Signature<'_>) {
        let json = said.shape::<ArrowAnswer>();
        said.says(signature::ResponseSignature {
            status: StatusCode::OK,
            content: vec![("application/json", Some(json))],
            headers: &[header::QUERY_ID, header::QUERY_HEALED, header::ROWS_WITHHELD],
        });
    }
}
