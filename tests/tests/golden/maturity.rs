//! `operator/MATURITY.md` claims nothing that no test proves.

use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    PathBuf::from("../operator")
}

/// The test and the file of each link of a line: ``[`name`](file)``.
fn links(line: &str) -> Vec<(&str, &str)> {
    fn link(text: &str) -> Option<(&str, &str)> {
        let (name, rest) = text.split_once("`](")?;
        let (file, _) = rest.split_once(')')?;
        Some((name, file))
    }
    line.split("[`").skip(1).filter_map(link).collect()
}

/// Lines of tables that are neither head nor rule.
fn claims(page: &str) -> Vec<&str> {
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| The operator …"));
    rows.collect()
}

/// Why the line is not proven; `None`: it is.
fn unproven(claim: &str, folder: &Path) -> Option<String> {
    let links = links(claim);
    if links.is_empty() {
        return Some(format!("no test is named: {claim}"));
    }
    links.into_iter().find_map(|(name, file)| {
        let Ok(source) = std::fs::read_to_string(folder.join(file)) else { return Some(format!("no file {file}")) };
        let there = [format!("fn {name}("), format!("def {name}(")].iter().any(|head| source.contains(head));
        (!there).then(|| format!("no test {name} in {file}"))
    })
}

#[test]
fn every_claim_names_tests_that_are_there() {
    let page = std::fs::read_to_string(folder().join("MATURITY.md")).unwrap();
    let claims = claims(&page);
    assert!(claims.len() > 20, "{} claims", claims.len());
    let unproven: Vec<_> = claims.iter().filter_map(|claim| unproven(claim, &folder())).collect();
    assert_eq!(unproven, Vec::<String>::new());
}

#[test]
fn a_claim_without_a_test_is_found() {
    let here = PathBuf::from("tests/golden");
    let claim = |test: &str| unproven(&format!("| is | [`{test}`](maturity.rs) | plan |"), &here);
    assert_eq!(claim("a_claim_without_a_test_is_found"), None);
    assert_eq!(claim("a_test_of_tomorrow").unwrap(), "no test a_test_of_tomorrow in maturity.rs");
    assert_eq!(unproven("| is | [`x`](nowhere.rs) | plan |", &here).unwrap(), "no file nowhere.rs");
    assert_eq!(unproven("| is | | plan |", &here).unwrap(), "no test is named: | is | | plan |");
}
