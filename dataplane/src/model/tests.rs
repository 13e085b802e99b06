//! Settings of models, and those that are refused before a request.

use std::sync::Arc;

use contract::{Redacted, SharedClock, SystemClock};

use super::*;

fn settings(url: &str) -> ModelSettings {
    ModelSettings {
        url: Some(url.parse().unwrap()),
        healing: Some("small".to_owned()),
        embedding: Some(String::new()),
        ..ModelSettings::default()
    }
}

fn models(settings: &ModelSettings) -> Result<Models, Unusable> {
    let clock: SharedClock = Arc::new(SystemClock);
    Models::new(settings, &clock, ModelMetrics::default())
}

#[test]
fn without_an_endpoint_no_model_is_asked_and_without_a_name_not_for_that() {
    let none = models(&ModelSettings { healing: Some("small".to_owned()), ..ModelSettings::default() }).unwrap();
    assert!(none.healing.is_none() && none.embedding.is_none());
    let one = models(&settings("https://models.example.com/v1")).unwrap();
    assert!(one.healing.is_some() && one.embedding.is_none(), "an empty name is none");
}

#[test]
fn others_listen_only_where_that_is_permitted() {
    let plain = settings("http://models.ml:8000/v1");
    let refused = models(&plain).unwrap_err();
    assert!(refused.to_string().contains("SLUICE_MODEL_PLAIN"), "{refused}");
    assert!(models(&ModelSettings { plain: true, ..plain }).is_ok());
    assert!(models(&settings("http://127.0.0.1:8000/v1")).is_ok());
}

#[test]
fn a_key_that_no_header_takes_is_refused_and_none_is_ever_shown() {
    let with = |key: &str| {
        let key = Some(Redacted::new(key.to_owned()));
        ModelSettings { key, ..settings("https://models.example.com/v1") }
    };
    let refused = models(&with("hush\nhush")).unwrap_err();
    assert!(matches!(refused, Unusable::Key) && !refused.to_string().contains("hush"), "{refused}");
    let settings = with("hush");
    let shown = format!("{settings:?} {:?}", models(&settings).unwrap());
    assert!(!shown.contains("hush"), "{shown}");
}
