//! The error table against the specification's three.

use contract::Code;
use tests::golden;

#[test]
fn the_catalogue_is_the_table() {
    golden::compare("codes.md", &contract::codes::markdown());
}

/// "Every row exists with that status."
#[test]
fn every_code_of_the_specification_is_a_row() {
    for line in golden::read("spec_codes.txt").lines() {
        let [table, http, code] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let fits = |row: &&Code| {
            let spelled = if table == "stable" { row.stable() } else { row.control_plane() };
            spelled == code && row.http().to_string() == http
        };
        assert!(Code::ALL.iter().any(|row| fits(&row)), "{line}");
    }
}

/// Ours carry names of the specification: no code that its readers have not seen.
#[test]
fn no_row_has_a_code_of_its_own_making() {
    let specified = golden::read("spec_codes.txt");
    for row in Code::ALL {
        for code in [row.control_plane(), row.stable()] {
            assert!(specified.lines().any(|line| line.ends_with(&format!(" {code}"))), "{row:?} {code}");
        }
    }
}
