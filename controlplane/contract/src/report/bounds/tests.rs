use serde_json::json;

use super::*;
use crate::report::{Entry, Outcome};
use crate::{Role, policy::abac::Origin};

/// Every text of it is this one.
fn started(text: &str) -> Started {
    let many = vec![text.to_owned(); 40];
    let verdict = Verdict {
        policy_id: text.into(),
        policy_name: text.to_owned(),
        action: text.to_owned(),
        columns: many.clone(),
        function: Some(text.to_owned()),
    };
    Started {
        query_id: text.into(),
        request_id: text.into(),
        org_id: text.into(),
        user_id: Some(text.into()),
        key_id: Some(text.into()),
        role: Role::Analyst,
        source_ip: None,
        origin: Origin::Rest,
        by_dashboard: false,
        agent: Some(Agent { agent_id: Some(text.to_owned()), framework: Some(text.to_owned()) }),
        grant_id: Some(text.into()),
        sql: text.to_owned(),
        sql_original: text.to_owned(),
        sql_healed: Some(text.to_owned()),
        sql_transpiled: Some(text.to_owned()),
        sql_with_rls: Some(text.to_owned()),
        operation: None,
        tables_accessed: many.clone(),
        columns_masked: many,
        policy_verdicts: vec![verdict; 40],
        abac_evaluation: Some(AbacEvaluation {
            decision: text.to_owned(),
            policies_evaluated: 1,
            evaluation_time_ms: f64::NAN,
        }),
        governance_version: 1,
        snapshot: Some(text.to_owned()),
        estimated_micro_credits: 7,
        at: chrono::DateTime::UNIX_EPOCH,
    }
}

fn all(text: &str) -> Vec<Body> {
    let (text, at) = (text.to_owned(), chrono::DateTime::UNIX_EPOCH);
    let metadata = json!({text.clone(): [text.clone(), {text.clone(): text}]});
    vec![
        Body::Started(Box::new(started(&text))),
        Body::Finished(Box::new(Finished {
            query_id: text.as_str().into(),
            outcome: Outcome::Completed,
            error_code: Some(text.clone()),
            rows_returned: 3,
            micro_credits: 7,
            cache_hit: false,
            execution_time_ms: f64::INFINITY,
            transpilation_time_ms: f64::NAN,
            stages: vec![(text.clone(), f64::NAN); 40],
            at,
        })),
        Body::BranchMerged(Box::new(BranchMerged {
            branch_id: text.clone(),
            branch_name: text.clone(),
            agent_id: text.clone(),
            strategy: text.clone(),
            tables_merged: vec![text.clone(); 40],
            rows_affected: 1,
            actor_id: text.clone(),
            merged_at: at,
        })),
        Body::TriggerFired(Box::new(TriggerFired {
            trigger_id: text.clone(),
            trigger_name: text.clone(),
            fired_at: at,
            similarity_score: f64::NAN,
            threshold: 0.5,
            content: text.clone(),
            content_id: Some(text.clone()),
            agent_id: text.clone(),
            metadata,
        })),
        Body::TriggerError(Box::new(TriggerError {
            trigger_id: text.clone(),
            trigger_name: text.clone(),
            error: text,
            occurred_at: at,
        })),
    ]
}

/// Leaves every text as it is.
fn plain(_: &str) -> Option<String> {
    None
}

/// Cleans one word away.
fn without_secrets(text: &str) -> Option<String> {
    text.contains("secret").then(|| text.replace("secret", "-"))
}

/// As it is read again.
fn read(body: Body) -> (Body, usize) {
    let line = serde_json::to_vec(&Entry { sequence: 1, body }).unwrap();
    (serde_json::from_slice::<Entry>(&line).unwrap().body, line.len())
}

#[test]
fn the_largest_entry_is_bounded_and_can_be_read_again() {
    for body in all(&"\u{1}\0".repeat(50_000)) {
        let bounded = body.bounded(&plain);
        let (again, bytes) = read(bounded.clone());
        assert_eq!(again, bounded);
        assert!(bytes <= ENTRY_BYTES_MAX, "{bytes}");
        assert!(!serde_json::to_string(&again).unwrap().contains("\\u0000"));
    }
}

#[test]
fn what_fits_is_left_as_it_is() {
    for body in all("select 'ä' -- \n").into_iter().skip(2).filter(|body| !matches!(body, Body::TriggerFired(_))) {
        assert_eq!(body.clone().bounded(&plain), body);
    }
    let few = Started { policy_verdicts: vec![], abac_evaluation: None, ..started("main.t") };
    let few = Body::Started(Box::new(few));
    assert_eq!(few.clone().bounded(&plain), few);
}

#[test]
fn an_entry_that_is_cut_alone_is_as_if_nothing_had_been_cleaned() {
    for text in ["select 'ä'", "\u{1}\0".repeat(50_000).as_str()] {
        for body in all(text) {
            assert_eq!(body.clone().cut(), body.bounded(&plain));
        }
    }
}

#[test]
fn each_text_that_somebody_else_wrote_is_cleaned() {
    for body in all("secret") {
        let Body::Started(mut start) = body.clone().bounded(&without_secrets) else {
            let cleaned = body.bounded(&without_secrets);
            let told = serde_json::to_string(&cleaned).unwrap().replace("\"query_id\":\"secret\"", "");
            assert!(!told.contains("secret"), "{told}");
            continue;
        };
        // ids are ours
        start.query_id = "".into();
        start.request_id = "".into();
        start.org_id = "".into();
        (start.user_id, start.key_id, start.grant_id) = (None, None, None);
        let told = serde_json::to_string(&start).unwrap();
        assert!(!told.contains("secret"), "{told}");
    }
}

#[test]
fn what_is_cut_is_marked_and_keeps_whole_characters() {
    let Body::Started(start) = Body::Started(Box::new(started(&"ä".repeat(50_000)))).bounded(&plain) else {
        panic!("a start")
    };
    assert!(start.sql.len() <= TEXT_BYTES_MAX && start.sql.ends_with("ä…"));
    let agent_id = start.agent.unwrap().agent_id.unwrap();
    assert!(agent_id.len() <= NAME_BYTES_MAX && agent_id.ends_with('…'));
    assert_eq!(start.columns_masked.last().map(String::as_str), Some(CUT));
    assert_eq!(start.estimated_micro_credits, 7);
}

#[test]
fn metadata_has_no_depth_and_no_number_that_would_not_be_stored() {
    let mut value = (0..120).fold(json!(1), |inner, _| json!([inner]));
    let mut budget = ListBudget { clean: Some(&plain), left: LISTS_BYTES_MAX };
    budget.json(&mut value, DEPTH_MAX);
    assert_eq!(value.to_string().matches('[').count(), DEPTH_MAX, "{value}");
    for (number, plainly) in [("1.5", true), ("1e300", true), ("0", true), ("-7", true)] {
        let mut value: Value = serde_json::from_str(number).unwrap();
        budget.json(&mut value, 1);
        assert_eq!(value.is_number(), plainly, "{number}");
    }
    // without arbitrary precision they are read as something else, or not at all
    for number in ["1e999999", "1e-999999", &"9".repeat(100)] {
        if let Ok(mut value) = serde_json::from_str::<Value>(number) {
            let written = value.to_string();
            let as_written = written == number;
            budget.json(&mut value, 1);
            assert!(value.is_string() || !as_written, "{number}: {value}");
        }
    }
}
