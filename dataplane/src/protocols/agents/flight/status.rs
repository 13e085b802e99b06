//! Errors as gRPC says them: the row of the table chooses the status; its details are a `google.rpc.Status` with the
//! stable code, the SQLSTATE and the body that every other protocol has.

use std::collections::HashMap;

use arrow_flight::sql::Any;
use axum::http::{HeaderMap, header};
use contract::{Code, RequestId, Timestamp};
use prost::Message;
use tonic::Status;
use tonic::metadata::{MetadataMap, MetadataValue};

use crate::Error;

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

/// `google.rpc.ErrorInfo`.
#[derive(Clone, PartialEq, Message)]
struct ErrorInfo {
    #[prost(string, tag = "1")]
    reason: String,
    #[prost(string, tag = "2")]
    domain: String,
    #[prost(map = "string, string", tag = "3")]
    metadata: HashMap<String, String>,
}

const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
const DOMAIN: &str = "sluice";

/// Does the request speak gRPC?
pub fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("application/grpc"))
}

pub fn of(error: &Error, request_id: &RequestId, now: Timestamp) -> Status {
    let problem = error.problem();
    let (code, stable) = (grpc(problem.code), problem.code.stable());
    let message = format!("{stable}: {}", problem.message);
    let info = ErrorInfo {
        reason: stable.to_owned(),
        domain: DOMAIN.to_owned(),
        metadata: HashMap::from([
            ("sqlstate".to_owned(), problem.code.sqlstate().to_owned()),
            ("body".to_owned(), problem.machine(request_id, now).to_string()),
        ]),
    };
    let detail = Any { type_url: ERROR_INFO.to_owned(), value: info.encode_to_vec().into() };
    let details = RpcStatus { code: code.into(), message: message.clone(), details: vec![detail] };
    let mut metadata = MetadataMap::new();
    if let Some(seconds) = problem.retry_after_s {
        metadata.insert("retry-after", MetadataValue::from(seconds));
    }
    if let Ok(value) = MetadataValue::try_from(request_id.as_str()) {
        metadata.insert(contract::wire::header::REQUEST_ID, value);
    }
    Status::with_details_and_metadata(code, message, details.encode_to_vec().into(), metadata)
}

/// What a generic client understands of a row.
fn grpc(code: Code) -> tonic::Code {
    use tonic::Code as Grpc;
    match code {
        Code::FailedTransaction | Code::Conflict | Code::DependentObjects => Grpc::FailedPrecondition,
        Code::QueryCancelled => Grpc::Cancelled,
        Code::DuplicateTable | Code::UniqueViolation => Grpc::AlreadyExists,
        Code::WriteConflict | Code::Stale => Grpc::Aborted,
        Code::ValueOutOfRange => Grpc::OutOfRange,
        Code::UnsupportedSql | Code::UnsupportedType => Grpc::Unimplemented,
        other => match other.http() {
            401 => Grpc::Unauthenticated,
            403 => Grpc::PermissionDenied,
            404 => Grpc::NotFound,
            408 => Grpc::DeadlineExceeded,
            413 | 429 => Grpc::ResourceExhausted,
            500 => Grpc::Internal,
            502 | 503 => Grpc::Unavailable,
            _ => Grpc::InvalidArgument,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_details_carry_code_sqlstate_and_body() {
        let error = Error::TableDenied { table: "payroll".to_owned() };
        let status = of(&error, &"req_1".into(), Timestamp::UNIX_EPOCH);
        assert_eq!(status.code(), tonic::Code::PermissionDenied);
        assert!(status.message().starts_with("SVC_ERR_403_TABLE_DENIED: "));
        let details = RpcStatus::decode(status.details()).unwrap();
        assert_eq!((details.code, details.message.as_str()), (7, status.message()));
        let info = ErrorInfo::decode(details.details[0].value.clone()).unwrap();
        assert_eq!((info.reason.as_str(), info.metadata["sqlstate"].as_str()), ("SVC_ERR_403_TABLE_DENIED", "42501"));
        let body: serde_json::Value = serde_json::from_str(&info.metadata["body"]).unwrap();
        assert_eq!(
            (&body["error"]["request_id"], &body["error"]["details"]["table"]),
            (&"req_1".into(), &"payroll".into())
        );
    }
}
