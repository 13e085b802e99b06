use axum::http::Method;
use serde_json::Value;

use crate::server::endpoints;
use crate::worlds::World;

/// "They keep working", and each says so, whatever it answers.
#[tokio::test]
async fn every_deprecated_endpoint_says_since_when_until_when_and_what_instead() {
    let world = World::start().await;
    let mut seen = 0;
    for row in endpoints::rows().iter().filter(|row| row.deprecated) {
        let path = row.path.replace("{org_id}", world.org_id.as_str()).replace("{env_id}", world.env_id.as_str());
        let method = Method::from_bytes(row.method.as_str().as_bytes()).unwrap();
        let answer = world.app.call(method, &path.replace(['{', '}'], ""), &world.owner, Value::Null).await;
        assert_eq!(answer.headers["deprecation"], "@1767225600", "{path}");
        assert_eq!(answer.headers["sunset"], "Sat, 01 Jan 2028 00:00:00 GMT", "{path}");
        let links: Vec<_> = answer.headers.get_all("link").iter().map(|link| link.to_str().unwrap()).collect();
        assert!(links[0].contains("rel=\"deprecation\""), "{path}: {links:?}");
        let successor = row.successor.map(|path| format!("<{path}>; rel=\"successor-version\""));
        assert_eq!(links.get(1).copied(), successor.as_deref(), "{path}");
        seen += 1;
    }
    assert!(seen > 10, "{seen} deprecated endpoints");
}

#[test]
fn a_successor_is_an_endpoint_that_is_not_deprecated() {
    for successor in endpoints::rows().iter().filter_map(|row| row.successor) {
        assert!(endpoints::rows().iter().any(|row| row.path == successor && !row.deprecated), "{successor}");
    }
}
