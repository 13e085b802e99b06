//! Why an attempt failed, where its agent did not say: concluded from its words, its last validation
//! and its last call to a model. Never a kind that blocks: that would need to be sure.

use platform::Result;
use sqlx::PgConnection;

use super::FailureKind;

pub async fn derived(conn: &mut PgConnection, attempt_id: &str, reason: &str) -> Result<FailureKind> {
    if let Some(kind) = by_words(reason) {
        return Ok(kind);
    }
    let last = sqlx::query!(
        r#"select
             (select v.result = 'fail' from svc_runtime.artifact_validations v
              join svc_runtime.artifact_instances a on a.id = v.artifact_id
              where a.attempt_id = $1 order by v.position desc limit 1) as validation_failed,
             (select i.error is not null from svc_runtime.llm_invocations i
              join svc_runtime.model_decisions d on d.id = i.decision_id
              where d.attempt_id = $1 order by i.position desc limit 1) as call_failed"#,
        attempt_id,
    )
    .fetch_one(conn)
    .await?;
    Ok(match (last.validation_failed, last.call_failed) {
        (Some(true), _) => FailureKind::ValidationFailed,
        (_, Some(true)) => FailureKind::ProviderError,
        _ => FailureKind::Other,
    })
}

fn by_words(reason: &str) -> Option<FailureKind> {
    let reason = reason.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| reason.contains(word));
    FailureKind::WORDS.iter().find(|(_, words)| says(words)).map(|(kind, _)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_says_names_the_kind() {
        for (said, kind) in [
            ("HTTP 429 Too Many Requests", Some(FailureKind::RateLimited)),
            ("the call timed out", Some(FailureKind::Timeout)),
            ("Validation failed: 3 tests", Some(FailureKind::ValidationFailed)),
            ("breaks the contract of the API", Some(FailureKind::ContractViolation)),
            ("the provider is overloaded", Some(FailureKind::ProviderError)),
            ("it rained", None),
            ("policy denied", None),
        ] {
            assert_eq!(by_words(said), kind, "{said}");
        }
    }
}
