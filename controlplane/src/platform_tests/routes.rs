use std::collections::BTreeSet;

/// They cost nothing, so that what anybody may put a statement into is never among them.
#[test]
fn what_the_dashboard_asks_for_its_pages_is_this_and_reads() {
    let rows = crate::server::endpoints::rows().iter().filter(|row| row.of_pages);
    let asked: Vec<_> = rows.map(|row| format!("{} {}", row.method, row.path)).collect();
    assert_eq!(
        asked,
        [
            "GET /v1/environments/{env_id}/catalogue",
            "GET /v1/organizations/{org_id}/agent-memory",
            "GET /v1/organizations/{org_id}/agent-memory/embedding-stats",
            "GET /v1/cot/sessions",
            "GET /v1/cot/sessions/{session_id}/replay",
            "GET /v1/organizations/{org_id}/branches",
            "GET /v1/organizations/{org_id}/branches/{branch_id}",
            "GET /v1/organizations/{org_id}/branches/{branch_id}/diff",
            "GET /v1/organizations/{org_id}/branches/{branch_id}/changes",
            "GET /v1/organizations/{org_id}/branches/{branch_id}/conflicts",
            "GET /v1/organizations/{org_id}/triggers",
        ]
    );
}

#[test]
fn no_endpoint_has_two_rows() {
    let routes = crate::server::endpoints::routes();
    let mut seen = BTreeSet::new();
    for row in routes.rows() {
        assert!(seen.insert((row.method.as_str().to_owned(), row.path)), "{} {}", row.method, row.path);
    }
}
