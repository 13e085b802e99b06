//! The document of the API, as `GET /openapi.json` serves it.

use tests::golden;

#[test]
fn the_document_is_what_the_routes_say() {
    golden::compare("openapi.json", &controlplane::server::reference::printed());
}
