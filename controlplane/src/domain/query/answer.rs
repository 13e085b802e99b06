//! The answers of queries. The data plane writes them and they stream through unparsed; their shapes
//! are told here, for the reference.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use contract::QueryId;
use contract::wire::header;
use platform::http::signature::{self, Answers, Signature};
use schemars::JsonSchema;
use serde_json::Value;

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

/// Answers that stream through: each with its shape as JSON, its other types and its headers.
macro_rules! streamed {
    ($($(#[$about:meta])* $name:ident: $shape:ty, [$($other:literal),*], [$($header:ident),+];)+) => {$(
        $(#[$about])*
        pub struct $name(pub Response);

        impl IntoResponse for $name {
            fn into_response(self) -> Response {
                self.0
            }
        }

        impl Answers for $name {
            fn answers(said: &mut Signature<'_>) {
                let json = said.shape::<$shape>();
                said.says(signature::ResponseSignature {
                    status: StatusCode::OK,
                    content: vec![("application/json", Some(json)) $(, ($other, None))*],
                    headers: &[$(header::$header),+],
                });
            }
        }
    )+};
}

streamed! {
    /// Rows in the format asked for.
    RowsAnswer: QueryAnswer, ["text/csv", "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"],
        [QUERY_ID, COLUMNS_MASKED, CACHE_HIT, QUERY_HEALED, ROW_COUNT, CREDITS_CONSUMED, ROWS_WITHHELD];
    /// Rows as JSON.
    JsonRows: QueryAnswer, [], [QUERY_ID, COLUMNS_MASKED, CACHE_HIT];
    /// Rows as an Arrow stream in base64.
    ArrowRows: ArrowAnswer, [], [QUERY_ID, QUERY_HEALED, ROWS_WITHHELD];
}
