use super::*;

#[test]
fn every_event_type_has_a_name_of_its_own() {
    let names: std::collections::BTreeSet<_> = EventType::ALL.iter().map(|kind| kind.as_str()).collect();
    assert_eq!(names.len(), EventType::ALL.len());
}
