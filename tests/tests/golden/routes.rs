//! The whole API on one screen, against the specification's Endpoints part.

use std::collections::BTreeMap;

use controlplane::platform::http::routes::screen;
use controlplane::server::endpoints;
use tests::golden;

#[test]
fn the_api_is_on_one_screen() {
    golden::compare("routes.txt", &screen(endpoints::rows()));
}

/// The shape of `METHOD path` to the role column, as the specification prints them.
fn specified() -> BTreeMap<String, String> {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let endpoint = shape(&format!("{} {}", words.next()?, words.next()?));
        Some((endpoint, words.collect::<Vec<_>>().join(" ")))
    };
    golden::read("spec_routes.txt").lines().filter_map(line).collect()
}

/// The endpoint without the names of its parameters, which the specification is not of one mind about.
fn shape(endpoint: &str) -> String {
    let part = |part: &str| if part.starts_with([':', '{']) { "{}".to_owned() } else { part.to_owned() };
    endpoint.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// What is not built yet is absent; what is there stands in the specification, with its role.
#[test]
fn a_row_is_the_specifications_or_marked_ours() {
    let specified = specified();
    for row in endpoints::rows() {
        let endpoint = format!("{} {}", row.method, row.path);
        let Some(role) = specified.get(&shape(&endpoint)) else {
            assert!(row.ours, "{endpoint} is in no table of the specification");
            continue;
        };
        assert!(!row.ours, "{endpoint} is the specification's");
        let role = match role.as_str() {
            "any authenticated" | "JWT or API key" => "any".to_owned(),
            other => other.replace(", ", ","),
        };
        assert!(role == "-" || role == row.access.as_str(), "{endpoint}: {role}, not {}", row.access.as_str());
    }
}
