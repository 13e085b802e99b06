//! A refusal of the API server, for whoever asked by REST: what they may change is named as REST
//! names it, a conflict names the other manager, and a server that is away is not their fault.

use kube::core::Status;
use kube::core::response::StatusCause;
use platform::Error;

const AWAY: &str = "the Kubernetes API cannot be reached";

pub fn refusal(error: kube::Error) -> Error {
    match error {
        kube::Error::Api(status) => of_status(*status),
        error @ (kube::Error::Service(_) | kube::Error::HyperError(_) | kube::Error::ReadEvents(_)) => {
            tracing::warn!(%error, "the Kubernetes API is away");
            Error::Unavailable(AWAY)
        }
        other => Error::internal(other),
    }
}

fn of_status(status: Status) -> Error {
    let causes = status.details.as_ref().map(|details| details.causes.as_slice()).unwrap_or_default();
    match status.code {
        404 => Error::NotFound { kind: "resource" },
        409 => conflict(causes),
        400 | 422 if !causes.is_empty() => invalid(causes, &status.message),
        429 | 500.. => {
            tracing::warn!(error = %status, "the Kubernetes API is away");
            Error::Unavailable(AWAY)
        }
        // Our own request, our own roles, or an admission rule of the cluster.
        _ => Error::internal(status),
    }
}

fn conflict(causes: &[StatusCause]) -> Error {
    let Some(cause) = causes.iter().find(|cause| cause.reason == "FieldManagerConflict") else {
        return Error::conflict("changed_meanwhile", "somebody else changed it at the same time: try again");
    };
    let manager = cause.message.split('"').nth(1).unwrap_or("another manager");
    let field = field(&cause.field);
    Error::conflict("field_managed", format!("`{field}` is managed by {manager}: change it there"))
}

fn invalid(causes: &[StatusCause], message: &str) -> Error {
    match causes.iter().find(|cause| cause.field.contains("spec")).or(causes.first()) {
        Some(cause) => Error::invalid(field(&cause.field), "schema", cause.message.clone()),
        None => Error::invalid("body", "schema", message),
    }
}

/// `.spec.settings.queryTimeoutMs` is `settings.query_timeout_ms` in REST.
fn field(path: &str) -> String {
    let path = path.trim_start_matches('.');
    let path = path.strip_prefix("spec.").unwrap_or(path);
    let mut out = String::with_capacity(path.len() + 4);
    for c in path.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(code: u16, causes: &serde_json::Value) -> Error {
        let status = json!({"code": code, "message": "no", "reason": "R", "details": {"causes": causes}});
        refusal(kube::Error::Api(Box::new(serde_json::from_value(status).unwrap())))
    }

    #[test]
    fn a_conflict_names_the_field_and_its_manager() {
        let error = refused(
            409,
            &json!([{"reason": "FieldManagerConflict", "field": ".spec.settings.queryTimeoutMs",
                "message": "conflict with \"argocd\" using sluice.dev/v1alpha1"}]),
        );
        assert_eq!(error.problem().code.http(), 409);
        assert_eq!(error.to_string(), "`settings.query_timeout_ms` is managed by argocd: change it there");
    }

    #[test]
    fn a_refusal_is_said_as_rest_says_it() {
        let cause = json!([{"reason": "FieldValueInvalid", "field": "spec.billingEmail", "message": "should match"}]);
        for (code, causes, http, field) in [
            (422, cause, 400, Some("billing_email")),
            (409, json!([]), 409, None),
            (404, json!([]), 404, None),
            (403, json!([]), 500, None),
            (429, json!([]), 503, None),
            (500, json!([]), 503, None),
            (504, json!([]), 503, None),
        ] {
            let problem = refused(code, &causes).problem();
            assert_eq!(problem.code.http(), http, "{code}");
            assert_eq!(problem.details.get("field").and_then(|field| field.as_str()), field, "{code}");
        }
    }
}
