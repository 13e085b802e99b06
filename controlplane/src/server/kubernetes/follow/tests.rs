//! Objects that are unlike their type.

use kube::core::DeserializeGuard;

#[test]
fn an_object_unlike_its_type_still_says_which_it_is() {
    let good = r#"{"metadata": {"uid": "a", "generation": 3}, "spec": {"organizationRef": {"name": "acme"},
        "slug": "dev", "name": "Dev", "settings": {"queryTimeoutMs": 7}}}"#;
    let read = serde_json::from_str::<DeserializeGuard<crds::Environment>>(good).unwrap().0.unwrap();
    assert_eq!((read.metadata.generation, read.spec.settings.query_timeout_ms), (Some(3), 7));
    let bad = good.replace('7', "\"soon\"");
    let unread = serde_json::from_str::<DeserializeGuard<crds::Environment>>(&bad).unwrap().0.unwrap_err();
    assert_eq!(unread.metadata.uid.as_deref(), Some("a"));
    assert!(unread.error.contains("nvalid type"), "{}", unread.error);
}
